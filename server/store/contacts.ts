/** Reads of contacts, and of conversations with an address. */

import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { Contact, ContactAddress } from "../core/contact.ts";
import type { ContactId, CustomerId, InstanceId } from "../core/id.ts";
import { subscriberForms } from "../core/phone-forms.ts";
import { searchForm } from "../core/search.ts";
import { isThreadWith } from "./chats.ts";
import { amongNewest, type IndexedList, indexed } from "./list-windows.ts";
import { decodeRows } from "./quarantine.ts";
import { type Database, decode } from "./rows.ts";
import { ofCustomer, ofSameCustomer } from "./rows-of-customer.ts";
import { hasItem, unindexed } from "./sql-dialects.ts";

/** A customer's contact; null for another customer's. */
export async function findContact(db: Kysely<Database>, customerId: CustomerId, id: string): Promise<Contact | null> {
  const [contact = null] = await findContacts(db, customerId, [id]);
  return contact;
}

/** The customer's contacts with these ids. Unknown ids are left out. */
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

/** The customer's contact addresses among `addresses`. */
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

/** A filter of contacts: `search` is a literal part of name, address or company; `tag` is an exact tag. */
export interface ContactFilter {
  search: string;
  tag: string | undefined;
}

/** The list of a customer's contacts, newest first, for `readPage` and `countAll`. */
export function contactList(
  db: Kysely<Database>,
  customerId: CustomerId,
  { search, tag }: ContactFilter,
): IndexedList<Contact> {
  const isFound = subscriberForms(search).map((form) => {
    const pattern = `%${searchForm(form).replace(/[!%_]/g, "!$&")}%`;
    return sql<SqlBool>`search_text like ${pattern} escape '!'`;
  });
  return {
    db,
    table: "contacts",
    column: "id",
    order: "newest",
    narrow: [indexed("customer_id", customerId)],
    // A page of contacts has no cursor to end with.
    windowsMax: Number.POSITIVE_INFINITY,
    filter: [...(search === "" ? [] : [anyOf(isFound)]), ...(tag === undefined ? [] : [hasItem("tags", tag)])],
    decode: (row) => decode("contacts", row),
    placeOf: ({ id }) => id,
  };
}

/** Whether one of the conditions holds. The list must not be empty. */
function anyOf(conditions: readonly RawBuilder<SqlBool>[]): RawBuilder<SqlBool> {
  return sql<SqlBool>`(${sql.join(conditions, sql` or `)})`;
}

/**
 * When the customer last wrote to each of these contacts, by id (epoch milliseconds): the newest message to one of its
 * addresses that is neither cancelled nor scheduled. Contacts without one are missing.
 */
export async function findLastContacts(
  db: Kysely<Database>,
  contacts: readonly Contact[],
): Promise<Map<ContactId, number>> {
  const ids = contacts.map(({ id }) => id);
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom("contacts")
    .select([
      "id",
      newestTo(sql.ref("contacts.phone_number")).as("by_phone"),
      newestTo(sql.ref("contacts.email")).as("by_email"),
    ])
    .where("id", "in", ids)
    .execute();
  const others = await Promise.all(contacts.map((contact) => findLastByOtherForm(db, contact)));
  const byOtherForm = new Map(contacts.map(({ id }, index) => [id, others[index] ?? 0]));
  return new Map(
    rows.flatMap(({ id, by_phone, by_email }) => {
      const at = Math.max(by_phone ?? 0, by_email ?? 0, byOtherForm.get(id) ?? 0);
      return at === 0 ? [] : [[id, at]];
    }),
  );
}

/**
 * When the customer last wrote to the other form of a contact's phone; 0 if never. Reads nothing for a phone with one
 * form.
 */
async function findLastByOtherForm(db: Kysely<Database>, { id, phoneNumber }: Contact): Promise<number> {
  const [, other] = phoneNumber === null ? [] : subscriberForms(phoneNumber);
  if (other === undefined) return 0;
  const row = await db
    .selectFrom("contacts")
    .select(newestTo(sql`${other}`).as("at"))
    .where("id", "=", id)
    .executeTakeFirst();
  return row?.at ?? 0;
}

/**
 * The time of the newest message that counts among the newest 200 messages to an address, so that the read is bounded.
 * A scheduled message counts when it was sent.
 */
function newestTo(address: RawBuilder<unknown>) {
  const theirs = sql`${ofSameCustomer("m", "contacts.customer_id")} and m."to" = ${address}`;
  return sql<number | null>`(
    select coalesce(m.sent_at, m.scheduled_at, m.created_at) from messages m
    where ${theirs} and ${amongNewest(200, theirs)}
      and m.direction = 'outbound' and m.status not in ('scheduled', 'cancelled')
    order by m.rowid desc limit 1)`;
}

/** How many newest messages are read to find out whether two addresses have written with each other. */
const LOOKED_AT = 1_000;

/** The instance of the newest thread in which both the customer and the contact have written; null if there is none. */
export async function findDialogueInstance(
  db: Kysely<Database>,
  customerId: CustomerId,
  contact: string,
): Promise<InstanceId | null> {
  const hasSent = anyOf(
    subscriberForms(contact).map((form) => {
      const theirs = sql`${ofSameCustomer("m", "chats.customer_id")} and m."to" = ${form}`;
      return sql<SqlBool>`exists (select 1 from messages m where ${theirs} and ${amongNewest(LOOKED_AT, theirs)}
        and ${unindexed("m.from")} = chats."from" and m.status in ('sent', 'delivered', 'read', 'unsent'))`;
    }),
  );
  const hasInbound = hasMessageWhere(sql`m.direction = 'inbound'`);
  const thread = await db
    .selectFrom("chats")
    .select("instance_id")
    .where(isThreadWith(customerId, contact))
    .where(hasSent)
    .where(hasInbound)
    .orderBy("id", "desc")
    .executeTakeFirst();
  return thread?.instance_id ?? null;
}

/** Whether the contact has received or written an iMessage with the customer. */
export async function hasUsedImessage(db: Kysely<Database>, customerId: CustomerId, contact: string): Promise<boolean> {
  for (const form of subscriberForms(contact)) {
    const theirs = sql`${ofCustomer(customerId)} and m."to" = ${form}`;
    const { rows } = await sql`select 1 from messages m where ${theirs} and ${amongNewest(LOOKED_AT, theirs)}
      and m.channel = 'imessage' and ${unindexed("m.status")} in ('delivered', 'read') limit 1`.execute(db);
    if (rows.length > 0) return true;
  }
  const hasInbound = hasMessageWhere(sql`m.direction = 'inbound' and m.channel = 'imessage'`);
  const chats = db.selectFrom("chats").select("id").where(isThreadWith(customerId, contact));
  return (await chats.where(hasInbound).executeTakeFirst()) !== undefined;
}

/** Whether one of the newest messages of a chat matches. */
function hasMessageWhere(is: RawBuilder<unknown>): RawBuilder<boolean> {
  const theirs = sql`m.chat_id = chats.id`;
  return sql<boolean>`exists (select 1 from messages m where ${theirs} and ${amongNewest(LOOKED_AT, theirs)} and ${is})`;
}
