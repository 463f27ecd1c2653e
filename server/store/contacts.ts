/** Reads of contacts, and of who was written with. */

import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { Contact, ContactAddress } from "../core/contact.ts";
import type { ContactId, CustomerId, InstanceId } from "../core/id.ts";
import { searchForm } from "../core/search.ts";
import { decodeRows } from "./quarantine.ts";
import { type Database, decode } from "./rows.ts";
import { amongNewest, type IndexedList, indexed } from "./windows.ts";

/** A customer's contact; null for another customer's. */
export async function findContact(db: Kysely<Database>, customerId: CustomerId, id: string): Promise<Contact | null> {
  const [contact = null] = await findContacts(db, customerId, [id]);
  return contact;
}

/** Those of `ids` that are contacts of the customer. */
export async function findContacts(
  db: Kysely<Database>,
  customerId: CustomerId,
  ids: readonly string[],
): Promise<Contact[]> {
  if (ids.length === 0) return [];
  const rows = await db
    .selectFrom("contacts")
    .selectAll()
    .where("customer_id", "=", customerId)
    .where("id", "in", ids as ContactId[])
    .execute();
  return rows.map((row) => decode("contacts", row));
}

/** Those of `addresses` that contacts of the customer have. */
export async function findContactAddresses(
  db: Kysely<Database>,
  customerId: CustomerId,
  addresses: readonly string[],
): Promise<ContactAddress[]> {
  if (addresses.length === 0) return [];
  const rows = await db
    .selectFrom("contact_addresses")
    .selectAll()
    .where("customer_id", "=", customerId)
    .where("address", "in", addresses)
    .execute();
  return decodeRows(db, "contactAddresses", rows);
}

/** Which contacts: those with `search` in their names, addresses or company, literally; those with exactly this tag. */
export interface ContactFilter {
  search: string;
  tag: string | undefined;
}

/** Which contacts of a customer, newest first, for `readPage` and `countAll`. */
export function contactList(
  db: Kysely<Database>,
  customerId: CustomerId,
  { search, tag }: ContactFilter,
): IndexedList<Contact> {
  const pattern = `%${searchForm(search).replace(/[!%_]/g, "!$&")}%`;
  return {
    db,
    table: "contacts",
    column: "id",
    order: "newest",
    narrow: [indexed("customer_id", customerId)],
    // A page of contacts has no cursor to end with.
    windowsMax: Number.POSITIVE_INFINITY,
    filter: [
      ...(search === "" ? [] : [sql<SqlBool>`search_text like ${pattern} escape '!'`]),
      ...(tag === undefined
        ? []
        : [
            sql<SqlBool>`exists (select 1 from json_each(iif(json_valid(contacts.tags), contacts.tags, '[]')) where value = ${tag})`,
          ]),
    ],
    decode: (row) => decode("contacts", row),
    placeOf: ({ id }) => id,
  };
}

/**
 * When each of these contacts was last written to, by id (epoch milliseconds): the newest message to one of its
 * addresses that was neither cancelled nor is still scheduled. Those never written to are missing.
 */
export async function findLastContacts(
  db: Kysely<Database>,
  contacts: readonly Contact[],
): Promise<Map<ContactId, number>> {
  const ids = contacts.map(({ id }) => id);
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom("contacts")
    .select(["id", newestTo("phone_number").as("by_phone"), newestTo("email").as("by_email")])
    .where("id", "in", ids)
    .execute();
  return new Map(
    rows.flatMap(({ id, by_phone, by_email }) => {
      const at = Math.max(by_phone ?? 0, by_email ?? 0);
      return at === 0 ? [] : [[id, at]];
    }),
  );
}

/**
 * Of the newest 200 messages to an address the last one that counts: a statement must not read through those that do not. A
 * scheduled message was sent long after it was accepted.
 */
function newestTo(address: "phone_number" | "email") {
  const theirs = sql`m.customer_id = contacts.customer_id and m."to" = contacts.${sql.ref(address)}`;
  return sql<number | null>`(
    select coalesce(m.sent_at, m.scheduled_at, m.created_at) from messages m
    where ${theirs} and ${amongNewest(200, theirs)}
      and m.direction = 'outbound' and m.status not in ('scheduled', 'cancelled')
    order by m.id desc limit 1)`;
}

/** Rows that are looked at to learn what was between two people: the newest ones. */
const LOOKED_AT = 1_000;

/** The instance of the newest thread in which both a customer and `peer` have written; null when there is none. */
export async function findDialogueInstance(
  db: Kysely<Database>,
  customerId: CustomerId,
  contact: string,
): Promise<InstanceId | null> {
  const theirs = sql`m.customer_id = chats.customer_id and m."to" = chats.peer`;
  const said = sql<boolean>`exists (select 1 from messages m where ${theirs} and ${amongNewest(LOOKED_AT, theirs)}
    and +m."from" = chats."from" and m.status in ('sent', 'delivered', 'read', 'unsent'))`;
  const heard = heardIn(sql`m.direction = 'inbound'`);
  const thread = await db
    .selectFrom("chats")
    .select("instance_id")
    .where("customer_id", "=", customerId)
    .where("peer", "=", contact)
    .where(said)
    .where(heard)
    .orderBy("id", "desc")
    .executeTakeFirst();
  return thread?.instance_id ?? null;
}

/** Whether `peer` and the customer have written over iMessage: then it is known to be there. */
export async function hasUsedImessage(db: Kysely<Database>, customerId: CustomerId, contact: string): Promise<boolean> {
  const theirs = sql`m.customer_id = ${customerId} and m."to" = ${contact}`;
  const { rows } = await sql`select 1 from messages m where ${theirs} and ${amongNewest(LOOKED_AT, theirs)}
    and m.channel = 'imessage' and +m.status in ('delivered', 'read') limit 1`.execute(db);
  if (rows.length > 0) return true;
  const heard = heardIn(sql`m.direction = 'inbound' and m.channel = 'imessage'`);
  const chats = db.selectFrom("chats").select("id").where("customer_id", "=", customerId).where("peer", "=", contact);
  return (await chats.where(heard).executeTakeFirst()) !== undefined;
}

/** Whether a message of a chat is so. */
function heardIn(is: RawBuilder<unknown>): RawBuilder<boolean> {
  const theirs = sql`m.chat_id = chats.id`;
  return sql<boolean>`exists (select 1 from messages m where ${theirs} and ${amongNewest(LOOKED_AT, theirs)} and ${is})`;
}
