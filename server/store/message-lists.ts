/** Lists of messages as callers see them: each by the index that narrows it most, the rest of the filter row by row. */

import { type Expression, type Kysely, type SqlBool, sql } from "kysely";
import type { Channel, Direction, MessageStatus } from "../../sdk/wire.ts";
import { type ChatId, type CustomerId, firstIdAt, type MessageId } from "../core/id.ts";
import type { Message } from "../core/message.ts";
import { decodePage, decodeRows } from "./quarantine.ts";
import { type Database, decode } from "./rows.ts";
import { type IndexedList, indexed, is, type ListPage, type PageStart, readPage, since, until } from "./windows.ts";

/** Which messages. Times are epoch milliseconds. */
export interface MessageFilter {
  status?: MessageStatus | undefined;
  to?: string | undefined;
  from?: string | undefined;
  direction?: Direction | undefined;
  externalMessageId?: string | undefined;
  channel?: Channel | undefined;
  chatId?: ChatId | undefined;
  /** Words that are all in the text, as `searchWords` (`core/search.ts`) has them. */
  words?: string | undefined;
  /** Inclusive. */
  createdAfter?: number | undefined;
  /** Exclusive. */
  createdBefore?: number | undefined;
}

/** Statuses that few messages have: an index holds these alone (`messages_rare`). */
const RARE = ["failed", "unsent", "cancelled"] as const satisfies MessageStatus[];
/** Rows of a window whose texts are searched: some 10 µs each. */
const SEARCHED_ROWS = 1_000;
/** How far the time in a message's id may be ahead of the time in its record, in milliseconds: the machine's clock is set. */
const SKEW_MS = 60_000;

/** A customer's messages, newest first, without deleted ones. */
export function listMessages(
  db: Kysely<Database>,
  customerId: CustomerId,
  filter: MessageFilter,
  start: PageStart,
  limit: number,
): Promise<ListPage<Message>> {
  const { createdBefore } = filter;
  // Ids hold real time, records the shifted one, which is never behind it.
  const newest = createdBefore === undefined ? null : firstIdAt("msg", createdBefore + SKEW_MS);
  const list = messageList(db, customerId, [...conditionsOf(filter), NOT_DELETED], filter);
  return readPage(list, { ...start, from: start.from ?? newest }, limit);
}

/** Messages of a chat, newest first, without deleted ones. */
export function listMessagesOfChat(
  db: Kysely<Database>,
  id: ChatId,
  start: PageStart,
  limit: number,
): Promise<ListPage<Message>> {
  const list = { ...messageRows(db), narrow: [indexed("chat_id", id)], filter: [NOT_DELETED] };
  return readPage(list, start, limit);
}

/** A customer's messages whose ids are before `beforeId`, the oldest first, deleted ones too: those changed at `changedSince` or later. */
export function listOldest(
  db: Kysely<Database>,
  customerId: CustomerId,
  { beforeId, changedSince }: { beforeId: string; changedSince: number },
  start: PageStart,
  limit: number,
): Promise<ListPage<Message>> {
  const narrow = [indexed("customer_id", customerId)];
  const filter = since("updated_at", changedSince);
  return readPage({ ...messageRows(db), order: "oldest", narrow, stop: beforeId, filter }, start, limit);
}

/** Those of up to 100 ids that are messages of the customer, and match; deleted ones too, whatever their text was. */
export async function findMatching(
  db: Kysely<Database>,
  customerId: CustomerId,
  ids: readonly MessageId[],
  filter: MessageFilter,
): Promise<Message[]> {
  if (ids.length === 0) return [];
  const { words, ...others } = filter;
  const text = words === undefined ? [] : [sql<SqlBool>`(+deleted_at is not null or ${textHas(words)})`];
  const conditions = [...is("customer_id", customerId), ...conditionsOf(others), ...text];
  const { rows } = await sql<object>`select * from messages where id in (${sql.join(ids)})
    and ${sql.join(conditions, sql` and `)}`.execute(db);
  return decodeRows(db, "messages", rows);
}

/** Where a page of scheduled messages begins: behind this one. */
export interface ScheduledCursor {
  scheduledAt: number;
  id: string;
}

/** A customer's scheduled messages, soonest first. */
export async function listScheduled(
  db: Kysely<Database>,
  customerId: CustomerId,
  after: ScheduledCursor | null,
  limit: number,
): Promise<Message[]> {
  const behind = after === null ? sql`` : sql`and (scheduled_at, id) > (${after.scheduledAt}, ${after.id})`;
  // A deleted one is cancelled first, so each row of this index is shown.
  return decodePage(db, "messages", limit, async (skip, count) => {
    const { rows } = await sql<object>`select * from messages
      where customer_id = ${customerId} and status = 'scheduled' and deleted_at is null ${behind}
      order by scheduled_at, id limit ${count} + 0 offset ${skip} + 0`.execute(db);
    return rows;
  });
}

const NOT_DELETED = sql<SqlBool>`+deleted_at is null`;

function messageRows(db: Kysely<Database>) {
  return {
    db,
    table: "messages",
    column: "id",
    order: "newest",
    decode: (row: object) => decode("messages", row),
    placeOf: ({ id }: Message) => id,
  } as const;
}

/** The list by the index that leaves the fewest rows: an identifier of the caller's, a chat, a recipient, a contact who wrote, a rare status, or all. */
function messageList(
  db: Kysely<Database>,
  customerId: CustomerId,
  conditions: readonly Expression<SqlBool>[],
  { externalMessageId, chatId, to, from, direction, status, words }: MessageFilter,
): IndexedList<Message> {
  const list = { ...messageRows(db), ...(words === undefined ? {} : { windowRows: SEARCHED_ROWS }) };
  if (chatId !== undefined && externalMessageId === undefined) {
    return { ...list, narrow: [indexed("chat_id", chatId)], filter: [...is("customer_id", customerId), ...conditions] };
  }
  const owned = indexed("customer_id", customerId);
  const narrowed = () => {
    if (externalMessageId !== undefined) return [indexed("external_message_id", externalMessageId)];
    if (to !== undefined) return [indexed("to", to)];
    if (from !== undefined && direction === "inbound") {
      return [indexed("from", from), sql<SqlBool>`direction = 'inbound'`];
    }
    if (status === undefined || !(RARE as readonly string[]).includes(status)) return [];
    // In words that the planner knows the index by.
    return [indexed("status", status), sql<SqlBool>`status in (${sql.join(RARE.map((one) => sql.lit(one)))})`];
  };
  return { ...list, narrow: [owned, ...narrowed()], filter: conditions };
}

function conditionsOf(filter: MessageFilter): Expression<SqlBool>[] {
  const { words } = filter;
  return [
    ...is("status", filter.status),
    ...is("to", filter.to),
    ...is("from", filter.from),
    ...is("direction", filter.direction),
    ...is("external_message_id", filter.externalMessageId),
    ...is("channel", filter.channel),
    ...is("chat_id", filter.chatId),
    ...since("created_at", filter.createdAfter),
    ...until("created_at", filter.createdBefore),
    // Last: it costs the most.
    ...(words === undefined ? [] : [textHas(words)]),
  ];
}

/** A function of the readers' own (`sqlite/query.ts`). */
function textHas(words: string): Expression<SqlBool> {
  return sql<SqlBool>`has_words(+text, ${words})`;
}
