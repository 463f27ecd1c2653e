/**
 * Lists of messages for the API: each uses the most selective index, and checks the rest of the filter row by row. They
 * are in the order in which messages were inserted, which is that of row numbers. Cursors name a message by its id.
 *
 * On PostgreSQL a row can be seen only after one with a later number, if two processes insert at once. A list from the
 * newest on then misses that message on pages that were read before its commit, as it misses every message that is
 * accepted meanwhile: the next read of the first page has it. `listOldest` goes forward, but only up to messages that
 * are hours old. A reader that must miss nothing follows the positions of a customer's events (`message-changes.ts`).
 */

import { type Expression, type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { Channel, Direction, MessageStatus } from "../../sdk/wire.ts";
import { type ChatId, type CustomerId, firstIdAt, type MessageId } from "../core/id.ts";
import type { Message } from "../core/message.ts";
import { subscriberForms } from "../core/phone-forms.ts";
import { hasWords } from "../core/search.ts";
import {
  type IndexedList,
  indexed,
  is,
  type ListPage,
  type PageStart,
  readPage,
  since,
  until,
} from "./list-windows.ts";
import { decodePage, decodeRows } from "./quarantine.ts";
import { type Database, decode } from "./rows.ts";
import { hasWholeId, nearCustomer } from "./rows-of-customer.ts";
import { isOneOf, perDialect, unindexed } from "./sql-dialects.ts";

/** A filter of messages. Times are epoch milliseconds. */
export interface MessageFilter {
  status?: MessageStatus | undefined;
  to?: string | undefined;
  from?: string | undefined;
  direction?: Direction | undefined;
  externalMessageId?: string | undefined;
  channel?: Channel | undefined;
  chatId?: ChatId | undefined;
  /** Words that must all be in the text, from `searchWords` (`core/search.ts`). */
  words?: string | undefined;
  /** Inclusive. */
  createdAfter?: number | undefined;
  /** Exclusive. */
  createdBefore?: number | undefined;
}

/** Statuses that few messages have: the index `messages_rare` covers only these. */
const RARE = ["failed", "unsent", "cancelled"] as const satisfies MessageStatus[];
/** The most rows of a window in a search of texts: about 10 µs each. */
const SEARCHED_ROWS = 1_000;
/**
 * How far the time in a message's id may be ahead of its record, in milliseconds, after the machine's clock was set.
 */
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
  // Ids contain real time; records contain shifted time, which is never earlier.
  const newest = createdBefore === undefined ? null : firstIdAt("msg", createdBefore + SKEW_MS);
  const conditions = [...conditionsOf(filter), NOT_DELETED];
  return readMessages(messageList(db, customerId, conditions, filter), { ...start, from: start.from ?? newest }, limit);
}

/** Messages of a chat, newest first, without deleted ones. */
export function listMessagesOfChat(
  db: Kysely<Database>,
  id: ChatId,
  start: PageStart,
  limit: number,
): Promise<ListPage<Message>> {
  const list = { ...messageRows(db), narrow: [indexed("chat_id", id)], filter: [NOT_DELETED] };
  return readMessages(list, start, limit);
}

/**
 * A customer's messages with ids before `beforeId` that changed at `changedSince` or later, oldest first, deleted ones
 * included.
 */
export async function listOldest(
  db: Kysely<Database>,
  customerId: CustomerId,
  { beforeId, changedSince }: { beforeId: string; changedSince: number },
  start: PageStart,
  limit: number,
): Promise<ListPage<Message>> {
  const filter = [hasWholeId(customerId), ...since("updated_at", changedSince)];
  const list = { ...messageRows(db), order: "oldest", narrow: [nearCustomer(customerId)], filter } as const;
  const stop = await findRow(db, beforeId, "newest");
  return readMessages(stop === null ? list : { ...list, stop }, start, limit);
}

/** Messages of the customer among up to 100 ids that match the filter. A deleted message matches any words. */
export async function findMatching(
  db: Kysely<Database>,
  customerId: CustomerId,
  ids: readonly MessageId[],
  filter: MessageFilter,
): Promise<Message[]> {
  if (ids.length === 0) return [];
  const { words, ...others } = filter;
  const text = words === undefined ? [] : [sql<SqlBool>`(${unindexed("deleted_at")} is not null or ${mayHave(words)})`];
  const conditions = [...is("customer_id", customerId), ...conditionsOf(others), ...text];
  const { rows } = await sql<SearchedRow>`select * from messages where id in (${sql.join(ids)})
    and ${sql.join(conditions, sql` and `)}`.execute(db);
  // The words decide before a row is decoded, so that both databases decode the same rows.
  const matching = ({ deleted_at, text }: SearchedRow) =>
    words === undefined || deleted_at !== null || (text !== null && hasWords(text, words));
  return decodeRows(db, "messages", rows.filter(matching));
}

interface SearchedRow {
  deleted_at: number | null;
  text: string | null;
}

/** Where a page of scheduled messages begins: after this one. */
export interface ScheduledCursor {
  scheduledAt: number;
  id: string;
}

const SCHEDULED = {
  isScheduled: perDialect(sql<SqlBool>`status = 'scheduled'`, sql<SqlBool>`waits_until is not null`),
  at: perDialect(sql<number>`scheduled_at`, sql<number>`waits_until`),
};

/** A customer's scheduled messages, soonest first. */
export async function listScheduled(
  db: Kysely<Database>,
  customerId: CustomerId,
  after: ScheduledCursor | null,
  limit: number,
): Promise<Message[]> {
  const { isScheduled, at } = SCHEDULED;
  const behind = after === null ? sql`` : sql`and (${at}, id) > (${after.scheduledAt}, ${after.id})`;
  // A scheduled message is cancelled before it is deleted, so each row of this index is listed.
  return decodePage(db, "messages", limit, async (skip, count) => {
    const { rows } = await sql<object>`select * from messages
      where customer_id = ${customerId} and ${isScheduled} and deleted_at is null ${behind}
      order by ${at}, id limit ${count} + 0 offset ${skip} + 0`.execute(db);
    return rows;
  });
}

const NOT_DELETED = sql<SqlBool>`${unindexed("deleted_at")} is null`;

interface NumberedMessage {
  message: Message;
  row: number;
}

type MessageRows = IndexedList<NumberedMessage, number>;

function messageRows(db: Kysely<Database>) {
  return {
    db,
    table: "messages",
    column: "rowid",
    order: "newest",
    decode: (row: object) => ({ message: decode("messages", row), row: (row as { row_number: number }).row_number }),
    placeOf: ({ row }: NumberedMessage) => row,
  } as const;
}

/** Reads a page that begins after the message with the id `from`. */
async function readMessages(list: MessageRows, { from, skip }: PageStart, limit: number): Promise<ListPage<Message>> {
  const row = from === null ? null : await findRow(list.db, from, list.order);
  const { records, next } = await readPage(list, { from: row, skip }, limit);
  const id = next === null || next.from === null ? null : await findIdOfRow(list, next.from);
  return {
    records: records.map(({ message }) => message),
    next: next === null || id === null ? null : { from: id, skip: next.skip },
  };
}

/**
 * The row number of the message with this id. If the message is gone, the row number of the next message by id, of any
 * customer: the later one for `newest`, the earlier one for `oldest`. Null if there is none.
 */
async function findRow(db: Kysely<Database>, id: string, order: "newest" | "oldest"): Promise<number | null> {
  const beside = order === "newest" ? sql`id >= ${id} order by id` : sql`id <= ${id} order by id desc`;
  const { rows } = await sql<{ row: number }>`select rowid as row from messages where ${beside} limit 1`.execute(db);
  return rows[0]?.row ?? null;
}

/**
 * The id of the list's message with this row number. If the message is gone, the id of the last one before it; null if
 * there is none.
 */
async function findIdOfRow({ db, narrow }: MessageRows, row: number): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`select id from messages
    where ${sql.join(narrow, sql` and `)} and rowid <= ${row} order by rowid desc limit 1`.execute(db);
  return rows[0]?.id ?? null;
}

/**
 * The list by its most selective index: external id, chat, recipient, inbound sender, rare status, or all of the
 * customer.
 */
function messageList(
  db: Kysely<Database>,
  customerId: CustomerId,
  conditions: readonly Expression<SqlBool>[],
  { externalMessageId, chatId, to, from, direction, status, words }: MessageFilter,
): MessageRows {
  const list = { ...messageRows(db), ...(words === undefined ? {} : { windowRows: SEARCHED_ROWS, words }) };
  if (chatId !== undefined && externalMessageId === undefined) {
    return { ...list, narrow: [indexed("chat_id", chatId)], filter: [...is("customer_id", customerId), ...conditions] };
  }
  const narrowed = () => {
    if (externalMessageId !== undefined) return [indexed("external_message_id", externalMessageId)];
    if (to !== undefined) return [isOneOf(sql.ref("to"), subscriberForms(to))];
    if (from !== undefined && direction === "inbound") {
      return [isOneOf(sql.ref("from"), subscriberForms(from)), sql<SqlBool>`direction = 'inbound'`];
    }
    if (status === undefined || !(RARE as readonly string[]).includes(status)) return [];
    return [hasRareStatus(status)];
  };
  const filter = [hasWholeId(customerId), ...conditions];
  return { ...list, narrow: [nearCustomer(customerId), ...narrowed()], filter };
}

/** Whether a message has this rare status, written like the condition of the partial index. */
function hasRareStatus(status: MessageStatus): RawBuilder<SqlBool> {
  const isRare = sql`status in (${sql.join(RARE.map((one) => sql.lit(one)))})`;
  return perDialect(sql<SqlBool>`status = ${status} and ${isRare}`, sql<SqlBool>`rare_status = ${status}`);
}

function conditionsOf(filter: MessageFilter): Expression<SqlBool>[] {
  const { words } = filter;
  return [
    ...is("status", filter.status),
    ...isFormOf("to", filter.to),
    ...isFormOf("from", filter.from),
    ...is("direction", filter.direction),
    ...is("external_message_id", filter.externalMessageId),
    ...is("channel", filter.channel),
    ...is("chat_id", filter.chatId),
    ...since("created_at", filter.createdAfter),
    ...until("created_at", filter.createdBefore),
    // Last, since it costs the most.
    ...(words === undefined ? [] : [mayHave(words)]),
  ];
}

/** Whether an address is this one, in any form of its phone; empty without an address. */
function isFormOf(column: string, address: string | undefined): RawBuilder<SqlBool>[] {
  return address === undefined ? [] : [isOneOf(unindexed(column), subscriberForms(address))];
}

/**
 * Whether a text may have the words. SQLite calls `hasWords` (`sqlite/query.ts`). No function of PostgreSQL follows the
 * rules of `core/search.ts` in every version and locale. So PostgreSQL decides only about ASCII texts, and `hasWords`
 * here decides about the others.
 */
function mayHave(words: string): RawBuilder<SqlBool> {
  const parts = words.split("\n").map((word) => sql`strpos(lower(text), ${word}) > 0`);
  const hasAll = sql`${sql.join(parts, sql` and `)}`;
  return perDialect(
    sql<SqlBool>`has_words(text, ${words})`,
    sql<SqlBool>`text is not null and (octet_length(text) <> length(text) or ${hasAll})`,
  );
}
