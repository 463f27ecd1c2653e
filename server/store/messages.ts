/** Reads of messages for the engine. The lists of the API are in `message-lists.ts`. */

import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { CustomerId, InstanceId, MessageId } from "../core/id.ts";
import type { Message } from "../core/message.ts";
import { hasOpenDelivery } from "./deliveries-of-event.ts";
import { decodeRows, isNotQuarantined } from "./quarantine.ts";
import { type Database, decode } from "./rows.ts";

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
  const nobodyWaits = sql<boolean>`not exists (
    select 1 from events e where e.message_id = messages.id and ${sql.raw(hasOpenDelivery("e"))})`;
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
  const named = sql.join(lanes.map((lane) => sql`(${lane})`));
  const { rows } = await sql<{ lane: InstanceId }>`
    with lanes (lane) as (values ${named})
    select lane from lanes where exists (select 1 from messages
      where instance_id = lane and due_at is not null and due_at <= ${now} and status <> 'queued')`.execute(db);
  return rows.map(({ lane }) => lane);
}

/** A message whose send attempt was interrupted by the end of a process; `unknownSince` is null if no reconciliation was tried. */
export type InterruptedMessage = Pick<Message, "id" | "from" | "to" | "unknownSince">;

/**
 * Messages of a lane whose send attempt was interrupted by the end of a process, as a start finds them: no reconciliation was
 * tried, or the first try was less than `withinMs` ago.
 */
export async function listInterrupted(
  db: Kysely<Database>,
  lane: InstanceId,
  { now, withinMs }: { now: number; withinMs: number },
): Promise<InterruptedMessage[]> {
  // `status <> 'queued'` is in the condition of the index.
  const { rows } = await sql<{ id: MessageId; from: string; to: string; unknown_since: number | null }>`
    select id, "from", "to", unknown_since from messages
    where instance_id = ${lane} and due_at is not null and due_at <= ${now + withinMs} and status <> 'queued'
      and status = 'pending' and (unknown_since is null or unknown_since > ${now - withinMs})`.execute(db);
  return rows.map(({ unknown_since: unknownSince, ...row }) => ({ ...row, unknownSince }));
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
  let query = db
    .selectFrom("messages")
    .selectAll()
    .where("instance_id", "=", lane)
    .where("status", "=", "queued")
    .where("due_at", "is not", null)
    .where("due_at", "<=", now)
    .where(isNotQuarantined("messages"))
    .orderBy("due_at")
    .orderBy("id")
    .limit(limit);
  if (after !== null) query = query.where(sql<boolean>`(due_at, id) > (${after.dueAt}, ${after.id})`);
  return decodeRows(db, "messages", await query.execute());
}

/** Rows of a queue that one statement reads: it cannot be interrupted. */
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
  const { rows, next } = await readWindow(db, { lane: instanceId, span, after }, sql`*`, [
    sql<SqlBool>`status = 'queued'`,
    sql<SqlBool>`customer_id = ${customerId}`,
    isNotQuarantined("messages"),
  ]);
  return { records: decodeRows(db, "messages", rows), next };
}

/** A message whose time was taken from a clock that was ahead. */
export type MessageAhead = Pick<Message, "id" | "version" | "status">;

/**
 * The messages in a window of a lane's queue, after `now`, whose time was taken from a clock that was ahead: those `queued`
 * without a send attempt although they were last written in the future, and those `pending` whose lookup is due after
 * `lookupsUntil`.
 */
export async function listMessagesAhead(
  db: Kysely<Database>,
  lane: InstanceId,
  { now, lookupsUntil }: { now: number; lookupsUntil: number },
  after: QueuePosition | null,
): Promise<QueueWindow<MessageAhead>> {
  const window = { lane, span: { from: now, until: Number.MAX_SAFE_INTEGER }, after };
  const { rows, next } = await readWindow(db, window, sql`id, version, status`, [
    sql<SqlBool>`(status = 'queued' and send_attempts = 0 and updated_at > ${now}
      or status = 'pending' and due_at > ${lookupsUntil})`,
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
  const { dueAt, id } = after ?? { dueAt: span.from + 1, id: "" };
  const begin = sql`instance_id = ${lane} and due_at is not null and (due_at, id) > (${dueAt}, ${id})`;
  const { rows: ends } = await sql<QueuePosition>`select due_at as "dueAt", id from messages
    where ${begin} and due_at <= ${span.until} order by due_at, id limit 1 offset ${WINDOW_ROWS - 1} + 0`.execute(db);
  const [next = null] = ends;
  // One bound at the end: given two, SQLite would compare the other one row by row.
  const end = next === null ? sql`due_at <= ${span.until}` : sql`(due_at, id) <= (${next.dueAt}, ${next.id})`;
  const { rows } = await sql<object>`select ${columns} from messages
    where ${begin} and ${end} and ${sql.join(filter, sql` and `)} order by due_at, id`.execute(db);
  return { rows, next };
}
