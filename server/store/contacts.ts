/** Reads of contacts, and of who was written with. */

import { type Kysely, type SelectQueryBuilder, sql } from "kysely";
import { type Contact, type ContactAddress, searchForm } from "../core/contact.ts";
import type { ContactId, CustomerId, InstanceId } from "../core/id.ts";
import { type Database, decode } from "./rows.ts";

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
  return rows.map((row) => decode("contactAddresses", row));
}

/** Which contacts: those with `search` in their names, addresses or company, literally; those with exactly this tag. */
export interface ContactFilter {
  search: string;
  tag: string | undefined;
}

/** A customer's contacts, newest first. */
export async function listContacts(
  db: Kysely<Database>,
  customerId: CustomerId,
  filter: ContactFilter,
  page: { limit: number; offset: number },
): Promise<Contact[]> {
  const rows = await filtered(db.selectFrom("contacts").selectAll(), filter)
    .where("customer_id", "=", customerId)
    .orderBy("id", "desc")
    .limit(page.limit)
    .offset(page.offset)
    .execute();
  return rows.map((row) => decode("contacts", row));
}

/** How many contacts of a customer there are. */
export async function countContacts(
  db: Kysely<Database>,
  customerId: CustomerId,
  filter: ContactFilter,
): Promise<number> {
  const { count } = await filtered(db.selectFrom("contacts"), filter)
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("customer_id", "=", customerId)
    .executeTakeFirstOrThrow();
  return Number(count);
}

function filtered<Output>(
  contacts: SelectQueryBuilder<Database, "contacts", Output>,
  { search, tag }: ContactFilter,
): SelectQueryBuilder<Database, "contacts", Output> {
  let query = contacts;
  if (search !== "") {
    const pattern = `%${searchForm(search).replace(/[!%_]/g, "!$&")}%`;
    query = query.where(sql<boolean>`search_text like ${pattern} escape '!'`);
  }
  if (tag !== undefined) query = query.where(sql<boolean>`exists (select 1 from json_each(tags) where value = ${tag})`);
  return query;
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

/** Of the index of recipients the last entry that counts. A scheduled message was sent long after it was accepted. */
function newestTo(address: "phone_number" | "email") {
  return sql<number | null>`(
    select coalesce(m.sent_at, m.scheduled_at, m.created_at) from messages m
    where m.customer_id = contacts.customer_id and m."to" = contacts.${sql.ref(address)}
      and m.direction = 'outbound' and m.status not in ('scheduled', 'cancelled')
    order by m.id desc limit 1)`;
}

/** The instance of the newest thread in which both a customer and `peer` have written; null when there is none. */
export async function findDialogue(
  db: Kysely<Database>,
  customerId: CustomerId,
  peer: string,
): Promise<InstanceId | null> {
  const said = sql<boolean>`exists (select 1 from messages m where m.customer_id = chats.customer_id
    and m."to" = chats.peer and m."from" = chats."from" and m.status in ('sent', 'delivered', 'read', 'unsent'))`;
  const heard = sql<boolean>`exists (select 1 from messages m where m.chat_id = chats.id and m.direction = 'inbound')`;
  const thread = await db
    .selectFrom("chats")
    .select("instance_id")
    .where("customer_id", "=", customerId)
    .where("peer", "=", peer)
    .where(said)
    .where(heard)
    .orderBy("id", "desc")
    .executeTakeFirst();
  return thread?.instance_id ?? null;
}

/** Whether `peer` and the customer have written over iMessage: then it is known to be there. */
export async function hasBeenOnImessage(db: Kysely<Database>, customerId: CustomerId, peer: string): Promise<boolean> {
  const reached = await db
    .selectFrom("messages")
    .select("id")
    .where("customer_id", "=", customerId)
    .where("to", "=", peer)
    .where("channel", "=", "imessage")
    .where("status", "in", ["delivered", "read"])
    .limit(1)
    .executeTakeFirst();
  if (reached !== undefined) return true;
  const heard = sql<boolean>`exists (select 1 from messages m where m.chat_id = chats.id
    and m.direction = 'inbound' and m.channel = 'imessage')`;
  const chats = db.selectFrom("chats").select("id").where("customer_id", "=", customerId).where("peer", "=", peer);
  return (await chats.where(heard).executeTakeFirst()) !== undefined;
}
