/** Reads of chats. */

import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { Channel } from "../../sdk/wire.ts";
import { type Chat, type LastMessage, threadKey, threadKeysBetween } from "../core/chat.ts";
import type { ChatId, CustomerId } from "../core/id.ts";
import { phoneKey, subscriberForms } from "../core/phone-forms.ts";
import { amongNewest } from "./list-windows.ts";
import { decodeRows, fillPage } from "./quarantine.ts";
import { type Database, decode } from "./rows.ts";
import { countItems, hasItem, isOneOf, narrowedId } from "./sql-dialects.ts";

/** The chat with this key, of any customer; null if there is none. */
export async function findChatByKey(db: Kysely<Database>, key: string): Promise<Chat | null> {
  // Written as SQL: each first message to a contact needs it, and building the query costs more than running it.
  const { rows } = await sql<Database["chats"]>`select * from chats where key = ${key}`.execute(db);
  const [row] = rows;
  return row === undefined ? null : decode("chats", row);
}

/** A customer's chat; null for another customer's. */
export async function findChat(db: Kysely<Database>, customerId: CustomerId, id: string): Promise<Chat | null> {
  const row = await db
    .selectFrom("chats")
    .selectAll()
    .where("id", "=", id as ChatId)
    .where("customer_id", "=", customerId)
    .executeTakeFirst();
  return row === undefined ? null : decode("chats", row);
}

/** A customer's groups without a provider reference yet that the customer has not left; the oldest first. */
export async function findUnnamedGroups(db: Kysely<Database>, customerId: CustomerId, from: string): Promise<Chat[]> {
  // Written as SQL with constants, so that the planner picks the partial index.
  const { rows } = await sql<object>`select * from chats where customer_id = ${customerId} and "from" = ${from}
    and is_group = 1 and reference is null and left_at is null order by id`.execute(db);
  return decodeRows(db, "chats", rows);
}

/** How many newest groups of an address are compared with the participants of a new group. */
const COMPARED_GROUPS_MAX = 10_000;

/**
 * The newest group of a customer's address on an instance with exactly these participants, in any order and form, that
 * the customer has not left; null if there is none among the 10,000 newest groups of the address.
 */
export async function findGroupOfPeople(
  db: Kysely<Database>,
  { customerId, from, instanceId }: Pick<Chat, "customerId" | "from" | "instanceId">,
  participants: readonly string[],
): Promise<Chat | null> {
  // Lists that name each phone once have the same phones if they are as long, and the one has each phone of the other.
  const isSame = participants.map((one) => {
    const forms = subscriberForms(one).map((form) => hasItem("found.participants", form));
    return sql` and (${sql.join(forms, sql` or `)})`;
  });
  const { rows } = await sql<Database["chats"]>`
    select * from (
      select * from chats
      where customer_id = ${customerId} and "from" = ${from} and is_group = 1 and left_at is null
      order by ${narrowedId("chats")} desc limit ${COMPARED_GROUPS_MAX} + 0) found
    where instance_id = ${instanceId} and channel = 'imessage'
      and ${countItems("participants")} = ${participants.length}${sql.join(isSame, sql``)}
    order by id desc limit 1`.execute(db);
  const [row] = rows;
  return row === undefined ? null : decode("chats", row);
}

/**
 * Whether a row of `chats` is a customer's thread with a contact. There is one for each of the customer's addresses
 * that wrote with the contact. The keys between the bounds also include threads with names that begin with the contact
 * and a slash, as an SMS may come from one.
 */
export function isThreadWith(customerId: CustomerId, contact: string): RawBuilder<SqlBool> {
  const [after, before] = threadKeysBetween(customerId, phoneKey(contact));
  return sql<SqlBool>`chats."key" > ${after} and chats."key" < ${before} and ${isOneOf(sql.ref("chats.contact"), subscriberForms(contact))}`;
}

/** A customer's newest one-to-one thread with a contact; `from` restricts it to one of the customer's addresses. */
export async function findThreadByContact(
  db: Kysely<Database>,
  customerId: CustomerId,
  contact: string,
  from: string | null,
): Promise<Chat | null> {
  if (from !== null) return findChatByKey(db, threadKey(customerId, from, contact));
  const threads = db.selectFrom("chats").selectAll().where(isThreadWith(customerId, contact));
  const row = await threads.orderBy(narrowedId("chats"), "desc").limit(1).executeTakeFirst();
  return row === undefined ? null : decode("chats", row);
}

/** How many newest messages of a thread are searched for one that is not scheduled. */
const LOOKED_AT = 20;
/** The most threads with one contact that a read looks at. */
const SENDERS_MAX = 100;

/**
 * A customer's own addresses in threads with `contact`, the thread of the newest message first. Scheduled and cancelled
 * messages do not count. Only the newest messages of each thread are read, so the read is bounded.
 */
export async function listSendersTo(
  db: Kysely<Database>,
  customerId: CustomerId,
  contact: string,
): Promise<readonly string[]> {
  // Written as SQL, like `findChatByKey`: each message to a new contact needs it.
  const { rows } = await sql<{ from: string }>`
    select "from" from (
      select chats."from", (
        select m.number from (
          select rowid as number, status from messages where chat_id = chats.id order by rowid desc limit ${LOOKED_AT} + 0) m
        where m.status not in ('scheduled', 'cancelled') order by m.number desc limit 1) as newest
      from chats where ${isThreadWith(customerId, contact)} order by ${narrowedId("chats")} desc limit ${SENDERS_MAX} + 0) found
    where newest is not null order by newest desc`.execute(db);
  return rows.map(({ from }) => from);
}

/** A chat with its newest message that is neither deleted nor scheduled; null if it has none. */
export interface ListedChat {
  chat: Chat;
  last: LastMessage | null;
}

const theirs = sql`m.chat_id = chats.id`;

/**
 * For each chat of a query, the time and channel of its newest message, with a space between them. Looks at the chat's
 * 200 newest messages only, so that the read is bounded.
 */
const LAST_MESSAGE = sql<string | null>`(
  select m.created_at || ' ' || m.channel from messages m
  where ${theirs} and ${amongNewest(200, theirs)} and m.deleted_at is null and m.status not in ('scheduled', 'cancelled')
  order by m.rowid desc limit 1)`;

function selectListed(db: Kysely<Database>) {
  return db.selectFrom("chats").selectAll().select(LAST_MESSAGE.as("last_message"));
}

function listed(row: object & { last_message: string | null }): ListedChat {
  const chat = decode("chats", row);
  if (row.last_message === null) return { chat, last: null };
  const [at, channel] = row.last_message.split(" ");
  return { chat, last: { at: Number(at), channel: channel as Channel } };
}

/** A customer's chats, newest first, older than `before` (an id) if given. */
export async function listChats(
  db: Kysely<Database>,
  customerId: CustomerId,
  before: string | null,
  limit: number,
): Promise<ListedChat[]> {
  const read = (skip: number, count: number) => {
    const query = selectListed(db)
      .where("customer_id", "=", customerId)
      .orderBy(narrowedId("chats"), "desc")
      .limit(count)
      .offset(skip);
    return (before === null ? query : query.where(narrowedId("chats"), "<", before)).execute();
  };
  return fillPage(db, limit, read, listed);
}

/** The newest message of a chat. */
export async function findLastMessage(db: Kysely<Database>, id: ChatId): Promise<LastMessage | null> {
  const row = await selectListed(db).where("id", "=", id).executeTakeFirst();
  return row === undefined ? null : listed(row).last;
}
