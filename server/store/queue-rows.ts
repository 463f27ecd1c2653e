/**
 * SQL for the rows of a lane's queue. On SQLite an index of the records is the queue. On PostgreSQL the queue is a
 * table of its own (`due_messages`, `due_deliveries`), with a row for each record that has a due time. Messages that
 * are leased, of which a lane has few, are not in the index of its order: both parts are merged.
 */

import { type RawBuilder, type SqlBool, sql } from "kysely";
import { perDialect } from "./sql-dialects.ts";

/**
 * Rows that are not leased, and leased rows whose message has a due time. A message has no due time during its send
 * attempt.
 */
const DUE_MESSAGES = sql`(select * from due_messages where lease is null
    union all select * from due_messages where lease is not null and is_held = 0) q`;

/** The first rows of a queue that a read needs. */
interface FirstRows {
  /** Conditions on the columns of the queue alone. */
  where: RawBuilder<SqlBool>;
  order: RawBuilder<unknown>;
  limit: number;
}

/**
 * The first messages that are not leased, and the leased ones. Cuts the first part before both are merged: if the
 * server takes the queue for empty, it would sort both parts and read the whole lane.
 */
const firstMessages = ({ where, order, limit }: FirstRows) =>
  sql`(select * from (select * from due_messages q where lease is null and ${where} order by ${order} limit ${limit}) free
    union all select * from due_messages q where lease is not null and is_held = 0 and ${where}) q`;

const firstDeliveries = ({ where, order, limit }: FirstRows) =>
  sql`(select * from due_deliveries q where ${where} order by ${order} limit ${limit}) q`;

/**
 * A queue by itself, with `lane`, `dueAt` and `id`; the queue with its records; and the columns of the queue in both.
 */
export const MESSAGE_QUEUE = {
  rows: perDialect(sql`messages`, DUE_MESSAGES),
  records: perDialect(sql`messages`, sql`${DUE_MESSAGES} join messages on messages.id = q.id`),
  firstRows: (first: FirstRows) => perDialect(sql`messages`, firstMessages(first)),
  firstRecords: (first: FirstRows) =>
    perDialect(sql`messages`, sql`${firstMessages(first)} join messages on messages.id = q.id`),
  lane: perDialect(sql<string>`messages.instance_id`, sql`q.lane`),
  dueAt: perDialect(sql<number>`messages.due_at`, sql`q.due_at`),
  id: perDialect(sql<string>`messages.id`, sql`q.id`),
  /** Whether the message is due for something else than to be sent. */
  isTimer: perDialect(sql<SqlBool>`messages.status <> 'queued'`, sql`q.is_queued = 0`),
  isQueued: perDialect(sql<SqlBool>`messages.status = 'queued'`, sql`q.is_queued = 1`),
};

export const DELIVERY_QUEUE = {
  rows: perDialect(sql`deliveries`, sql`due_deliveries q`),
  records: perDialect(sql`deliveries`, sql`due_deliveries q join deliveries on deliveries.id = q.id`),
  firstRows: (first: FirstRows) => perDialect(sql`deliveries`, firstDeliveries(first)),
  firstRecords: (first: FirstRows) =>
    perDialect(sql`deliveries`, sql`${firstDeliveries(first)} join deliveries on deliveries.id = q.id`),
  lane: perDialect(sql<string>`deliveries.lane`, sql`q.lane`),
  dueAt: perDialect(sql<number>`deliveries.due_at`, sql`q.due_at`),
  replayId: perDialect(sql<string | null>`deliveries.replay_id`, sql`q.replay_id`),
};
