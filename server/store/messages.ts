/** Reads of messages for the engine. The lists of the API are in `message-lists.ts`. */

import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { CustomerId, InstanceId, MessageId } from "../core/id.ts";
import type { Message } from "../core/message.ts";
import { isAwaited } from "./deliveries-of-event.ts";
import { decodeRows, isNotQuarantined } from "./quarantine.ts";
import { MESSAGE_QUEUE } from "./queue-rows.ts";
import { type Database, decode } from "./rows.ts";
import { valuesOf } from "./sql-dialects.ts";

/** A message of any customer, deleted or not. */
export async function findMessage(db: Kysely<Database>, id: MessageId): Promise<Message | null> {
  const row = await db.selectFrom("messages").selectAll().where("id", "=", id).executeTakeFirst();
  return row === undefined ? null : decode("messages", row);
}

/** A customer's message, deleted or not; null for another customer's. */
export async function findMessageOf(db: Kysely<Database>, customerId: CustomerId, id: string): Promise<Message | null> {
  const message = await findMessage(db, id as MessageId);
  return message?.customerId === customerId ? message : null;
}

/** Deleted messages whose stored events still contain the text, and have no open delivery left. */
export async function listAwaitingErasure(db: Kysely<Database>, limit: number): Promise<Message[]> {
  // A scalar subquery, as in `isNotQuarantined`.
  const nobodyWaits = sql<boolean>`(
    select 1 from events e where e.message_id = messages.id and ${isAwaited("e")} limit 1) is null`;
  const rows = await db
    .selectFrom("messages")
    .selectAll()
    .where("deleted_at", "is not", null)
    .where("erased_at", "is", null)
    .where(nobodyWaits)
    .where(isNotQuarantined("messages"))
    .limit(limit)
    .execute();
  return decodeRows(db, "messages", rows);
}

/** The lanes with a due timer at `now`: a due message that is not `queued`. */
export async function findLanesWithDueTimers(
  db: Kysely<Database>,
  lanes: readonly InstanceId[],
  now: number,
): Promise<InstanceId[]> {
  if (lanes.length === 0) return [];
  const { rows: queue, dueAt } = MESSAGE_QUEUE;
  const { rows } = await sql<{ lane: InstanceId }>`
    select named.lane from (select value as lane from ${valuesOf(lanes)} given) named where exists (select 1 from ${queue}
      where ${MESSAGE_QUEUE.lane} = named.lane and ${dueAt} is not null and ${dueAt} <= ${now} and ${MESSAGE_QUEUE.isTimer})`.execute(
    db,
  );
  return rows.map(({ lane }) => lane);
}

/**
 * A message whose send attempt was interrupted by the end of a process; `unknownSince` is null if no reconciliation was
 * tried.
 */
export type InterruptedMessage = Pick<Message, "id" | "from" | "to" | "unknownSince">;

/**
 * Messages of a lane whose send attempt was interrupted by the end of a process, as a start finds them: no
 * reconciliation was tried, or the first try was less than `withinMs` ago.
 */
export async function listInterrupted(
  db: Kysely<Database>,
  lane: InstanceId,
  { now, withinMs }: { now: number; withinMs: number },
): Promise<InterruptedMessage[]> {
  // `status <> 'queued'` is in the condition of the index.
  const { records, dueAt, isTimer } = MESSAGE_QUEUE;
  const { rows } = await sql<{ id: MessageId; from: string; to: string; unknown_since: number | null }>`
    select messages.id, messages."from", messages."to", messages.unknown_since from ${records}
    where ${MESSAGE_QUEUE.lane} = ${lane} and ${dueAt} is not null and ${dueAt} <= ${now + withinMs} and ${isTimer}
      and messages.status = 'pending'
      and (messages.unknown_since is null or messages.unknown_since > ${now - withinMs})`.execute(db);
  return rows.map(({ unknown_since: unknownSince, ...row }) => ({ ...row, unknownSince }));
}

/** A queued message that is to be sent again later. */
export interface PutOffMessage extends Pick<InterruptedMessage, "id" | "from" | "to"> {
  dueAt: number;
}

/**
 * The messages that were attempted and put off, in a window of a lane's queue. Reads backwards from `before`. `next`:
 * where the next window begins; null at the end of the queue. Leaves out a message that has its old place again, as
 * after an outage of its instance.
 */
export async function listAttempted(
  db: Kysely<Database>,
  lane: InstanceId,
  before: QueuePosition,
): Promise<{ records: PutOffMessage[]; next: QueuePosition | null }> {
  const { lane: ofLane, dueAt, id } = MESSAGE_QUEUE;
  const where = sql<SqlBool>`${ofLane} = ${lane} and ${dueAt} is not null and (${dueAt}, ${id}) < (${before.dueAt}, ${before.id})`;
  const order = sql`${dueAt} desc, ${id} desc`;
  const isPutOff = sql<number>`case when messages.status = 'queued' and messages.send_attempts > 0
    and messages.due_at >= messages.updated_at then 1 else 0 end`;
  const { rows } = await sql<PutOffMessage & { isPutOff: number }>`
    select messages.id, messages."from", messages."to", ${dueAt} as "dueAt", ${isPutOff} as "isPutOff"
    from ${MESSAGE_QUEUE.firstRecords({ where, order, limit: WINDOW_ROWS })} where ${where}
    order by ${order} limit ${WINDOW_ROWS} + 0`.execute(db);
  const last = rows[WINDOW_ROWS - 1];
  return {
    records: rows
      .filter((row) => row.isPutOff === 1)
      .map((row) => ({ id: row.id, from: row.from, to: row.to, dueAt: row.dueAt })),
    next: last === undefined ? null : { dueAt: last.dueAt, id: last.id },
  };
}

/** Where a page of queued messages begins: after this position. */
export interface QueuePosition {
  dueAt: number;
  id: MessageId;
}

/** The position after a page; null after an empty page. */
export function positionAfter(page: readonly Message[]): QueuePosition | null {
  const last = page.at(-1);
  return last === undefined || last.dueAt === null ? null : { dueAt: last.dueAt, id: last.id };
}

/** Queued messages of a lane that are due at `now`, in the order of the queue. */
export async function listWaiting(
  db: Kysely<Database>,
  lane: InstanceId,
  now: number,
  after: QueuePosition | null,
  limit: number,
): Promise<Message[]> {
  const { dueAt, id } = MESSAGE_QUEUE;
  const behind = after === null ? sql`` : sql`and (${dueAt}, ${id}) > (${after.dueAt}, ${after.id})`;
  const where = sql<SqlBool>`${MESSAGE_QUEUE.lane} = ${lane} and ${MESSAGE_QUEUE.isQueued} and ${dueAt} is not null
    and ${dueAt} <= ${now} ${behind} and ${isNotQuarantined("messages", id)}`;
  const order = sql`${dueAt}, ${id}`;
  const { rows } = await sql<object>`select messages.* from ${MESSAGE_QUEUE.firstRecords({ where, order, limit })}
    where ${where} order by ${order} limit ${limit} + 0`.execute(db);
  return decodeRows(db, "messages", rows);
}

/** The most rows of a queue that one statement reads, since it cannot be interrupted. */
const WINDOW_ROWS = 500;

/** A window of a queue: the records that match, and where the next window begins; null at the end of the queue. */
export interface QueueWindow<Record_> {
  records: Record_[];
  next: QueuePosition | null;
}

/** Times between which a queue is read, exclusive and inclusive. */
export interface QueueSpan {
  from: number;
  until: number;
}

/** The customer's queued messages in a window of an instance's queue, in the order of the queue. */
export async function listDeferred(
  db: Kysely<Database>,
  { customerId, instanceId }: Pick<Message, "customerId" | "instanceId">,
  span: QueueSpan,
  after: QueuePosition | null,
): Promise<QueueWindow<Message>> {
  const { rows, next } = await readWindow(db, { lane: instanceId, span, after }, sql`messages.*`, [
    sql<SqlBool>`messages.status = 'queued'`,
    sql<SqlBool>`messages.customer_id = ${customerId}`,
    isNotQuarantined("messages"),
  ]);
  return { records: decodeRows(db, "messages", rows), next };
}

/** A message whose time was taken from a clock that was ahead. */
export type MessageAhead = Pick<Message, "id" | "version" | "status">;

/**
 * The messages in a window of a lane's queue, after `now`, whose time came from a clock that was ahead. These are
 * `queued` messages without a send attempt that were last written in the future, and `pending` messages whose lookup is
 * due after `lookupsUntil`.
 */
export async function listMessagesAhead(
  db: Kysely<Database>,
  lane: InstanceId,
  { now, lookupsUntil }: { now: number; lookupsUntil: number },
  after: QueuePosition | null,
): Promise<QueueWindow<MessageAhead>> {
  const window = { lane, span: { from: now, until: Number.MAX_SAFE_INTEGER }, after };
  const { rows, next } = await readWindow(db, window, sql`messages.id, messages.version, messages.status`, [
    sql<SqlBool>`(messages.status = 'queued' and messages.send_attempts = 0 and messages.updated_at > ${now}
      or messages.status = 'pending' and messages.due_at > ${lookupsUntil})`,
  ]);
  return { records: rows as MessageAhead[], next };
}

/** Reads the rows of a window that match. The first statement finds its end in the index alone. */
async function readWindow(
  db: Kysely<Database>,
  { lane, span, after }: { lane: InstanceId; span: QueueSpan; after: QueuePosition | null },
  columns: RawBuilder<unknown>,
  filter: readonly RawBuilder<SqlBool>[],
): Promise<{ rows: object[]; next: QueuePosition | null }> {
  const queue = MESSAGE_QUEUE;
  const { dueAt, id } = after ?? { dueAt: span.from + 1, id: "" };
  const place = sql`${queue.dueAt}, ${queue.id}`;
  const begin = sql`${queue.lane} = ${lane} and ${queue.dueAt} is not null and (${place}) > (${dueAt}, ${id})`;
  const where = sql<SqlBool>`${begin} and ${queue.dueAt} <= ${span.until}`;
  const first = queue.firstRows({ where, order: place, limit: WINDOW_ROWS });
  const { rows: ends } = await sql<QueuePosition>`select ${queue.dueAt} as "dueAt", ${queue.id} as id from ${first}
    where ${where} order by ${place} limit 1 offset ${WINDOW_ROWS - 1} + 0`.execute(db);
  const [next = null] = ends;
  // One bound at the end: given two, SQLite would compare the other one row by row.
  const end = next === null ? sql`${queue.dueAt} <= ${span.until}` : sql`(${place}) <= (${next.dueAt}, ${next.id})`;
  const records = queue.firstRecords({ where: sql`${begin} and ${end}`, order: place, limit: WINDOW_ROWS });
  const { rows } = await sql<object>`select ${columns} from ${records}
    where ${begin} and ${end} and ${sql.join(filter, sql` and `)} order by ${place}`.execute(db);
  return { rows, next };
}
