/**
 * SQL for the rows of a lane's queue. On SQLite an index of the records is the queue. On PostgreSQL the queue is a table of its own
 * (`due_messages`, `due_deliveries`), with a row for each record that has a due time. Those that are leased, of which a lane has few,
 * are not in the index of its order: both parts are merged.
 */

import { type SqlBool, sql } from "kysely";
import { spelled } from "./spelling.ts";

/** `isDue`: whether the record of a leased row has a due time. */
const dueRows = (table: "due_messages" | "due_deliveries", isDue = sql<SqlBool>`true`) =>
  sql`(select * from ${sql.table(table)} where lease is null
    union all select * from ${sql.table(table)} where lease is not null and ${isDue}) q`;

/** A message has no due time during its send attempt. */
const DUE_MESSAGES = dueRows("due_messages", sql<SqlBool>`is_held = 0`);

/** A queue by itself, with `lane`, `dueAt` and `id`; the queue with its records; and the columns of the queue in both. */
export const MESSAGE_QUEUE = {
  rows: spelled(sql`messages`, DUE_MESSAGES),
  records: spelled(sql`messages`, sql`${DUE_MESSAGES} join messages on messages.id = q.id`),
  lane: spelled(sql<string>`messages.instance_id`, sql`q.lane`),
  dueAt: spelled(sql<number>`messages.due_at`, sql`q.due_at`),
  id: spelled(sql<string>`messages.id`, sql`q.id`),
  /** Whether the message is due for something else than to be sent. */
  isTimer: spelled(sql<SqlBool>`messages.status <> 'queued'`, sql`q.is_queued = 0`),
};

export const DELIVERY_QUEUE = {
  rows: spelled(sql`deliveries`, dueRows("due_deliveries")),
  records: spelled(sql`deliveries`, sql`${dueRows("due_deliveries")} join deliveries on deliveries.id = q.id`),
  lane: spelled(sql<string>`deliveries.lane`, sql`q.lane`),
  dueAt: spelled(sql<number>`deliveries.due_at`, sql`q.due_at`),
  replayId: spelled(sql<string | null>`deliveries.replay_id`, sql`q.replay_id`),
};
