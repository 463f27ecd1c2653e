/** Reads of erasures and of the records they still have to erase. Each read is bounded and uses an index. */

import { type Kysely, type SqlBool, sql } from "kysely";
import type { Call } from "../core/call.ts";
import { ERASED, type Erasure } from "../core/erasure.ts";
import type { ChatId, CustomerId, MessageId } from "../core/id.ts";
import { isThreadWith } from "./chats.ts";
import { isAwaited } from "./deliveries-of-event.ts";
import type { PositionedEvent } from "./events.ts";
import { FIRST_PAGE, type IndexedList, indexed, readPage } from "./list-windows.ts";
import { decodeRows } from "./quarantine.ts";
import { type Database, decode } from "./rows.ts";
import { ofCustomer } from "./rows-of-customer.ts";
import { perDialect, unindexed, valuesOf } from "./sql-dialects.ts";

/** A customer's erasure of a contact; null if none was requested. */
export async function findErasure(
  db: Kysely<Database>,
  customerId: CustomerId,
  contactId: string,
): Promise<Erasure | null> {
  const query = db
    .selectFrom("erasures")
    .selectAll()
    .where("contact_id", "=", contactId as Erasure["contactId"]);
  const row = await query.where("customer_id", "=", customerId).executeTakeFirst();
  return row === undefined ? null : decode("erasures", row);
}

/** Erasures that are not complete, the oldest first. */
export async function listOpenErasures(db: Kysely<Database>, limit: number): Promise<Erasure[]> {
  const query = db.selectFrom("erasures").selectAll().where("completed_at", "is", null);
  const rows = await query.orderBy("requested_at").limit(limit).execute();
  return decodeRows(db, "erasures", rows);
}

/** Messages of the person that can be erased now: queued and pending messages are left until they end. */
export async function listErasable(
  db: Kysely<Database>,
  { customerId, addresses, before }: Erasure,
  limit: number,
): Promise<MessageId[]> {
  const found = addresses.map(async (address) => {
    const { rows } = await sql<{ id: MessageId }>`
      select id from (select id from messages where ${ofCustomer(customerId)} and "to" = ${address}
        and direction = 'outbound' and id < ${before} and status not in ('queued', 'pending') limit ${limit} + 0) found
      union all
      select id from (select id from messages where ${ofCustomer(customerId)} and "from" = ${address}
        and direction = 'inbound' and id < ${before} limit ${limit} + 0) found`.execute(db);
    return rows.map(({ id }) => id);
  });
  return (await Promise.all(found)).flat().slice(0, limit);
}

/** Whether a message with one of the person's addresses is left to be erased. */
export async function hasMessages(db: Kysely<Database>, { customerId, addresses, before }: Erasure): Promise<boolean> {
  const found = addresses.map(async (address) => {
    const { rows } = await sql`
      select 1 from messages where ${ofCustomer(customerId)} and "to" = ${address} and direction = 'outbound' and id < ${before}
      union all
      select 1 from messages where ${ofCustomer(customerId)} and "from" = ${address} and direction = 'inbound' and id < ${before}
      limit 1`.execute(db);
    return rows.length > 0;
  });
  return (await Promise.all(found)).includes(true);
}

/** Whether some events of the customer's erased messages still have to be rewritten, since a delivery is open. */
export async function hasUnerasedEvents(db: Kysely<Database>, customerId: CustomerId): Promise<boolean> {
  const messages = perDialect(sql`messages indexed by messages_erase`, sql`messages`);
  const { rows } = await sql`
    select 1 from ${messages} where deleted_at is not null and erased_at is null
    and customer_id = ${customerId}
    and ("to" = ${ERASED} or "from" = ${ERASED}) limit 1`.execute(db);
  return rows.length > 0;
}

/** An event of no message, and whether it has an open delivery. */
export type StandaloneEvent = PositionedEvent & { waits: boolean };

/** A customer's events of no message after `position`, up to `eventsUntil`, in order. */
export async function listStandaloneEvents(
  db: Kysely<Database>,
  { customerId, position, eventsUntil }: Erasure,
  limit: number,
): Promise<StandaloneEvent[]> {
  const rows = await db
    .selectFrom("events")
    .selectAll()
    .select(isAwaited("events").as("waits"))
    .where("customer_id", "=", customerId)
    .where("message_id", "is", null)
    .where("position", ">", position)
    .where("position", "<=", eventsUntil)
    .orderBy("position")
    .limit(limit)
    .execute();
  return rows.map(({ waits: waiting, ...row }) => ({
    ...decode("events", row),
    position: row.position,
    waits: Boolean(waiting),
  }));
}

/** The tables of records that name a person, and the columns that show whether the person was erased. */
const NAMING = { messages: ["to", "from"], calls: ["to", "from", "caller"], payments: ["to"] } as const;

/**
 * The ids, among these, of a customer's messages, calls and payment requests with an erased person. At most a few
 * hundred ids.
 */
export async function findErasedIds(
  db: Kysely<Database>,
  customerId: CustomerId,
  ids: readonly string[],
): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const found = Object.entries(NAMING).map(async ([table, columns]) => {
    const isErased = columns.map((column) => sql<SqlBool>`${unindexed(column)} = ${ERASED}`);
    const { rows } = await sql<{ id: string }>`select id from ${sql.table(table)} where id in ${valuesOf(ids)}
      and ${unindexed("customer_id")} = ${customerId} and (${sql.join(isErased, sql` or `)})`.execute(db);
    return rows.map(({ id }) => id);
  });
  return new Set((await Promise.all(found)).flat());
}

/** Up to `limit` calls with the person. */
export async function listCallsWith(
  db: Kysely<Database>,
  { customerId, addresses }: Erasure,
  limit: number,
): Promise<Call[]> {
  const those = sql.join(addresses);
  const list: IndexedList<Call> = {
    db,
    table: "calls",
    column: "id",
    order: "oldest",
    narrow: [indexed("customer_id", customerId)],
    filter: [
      sql<SqlBool>`(${unindexed("from")} in (${those}) or caller in (${those}) or ${unindexed("to")} in (${those}))`,
    ],
    windowsMax: Number.POSITIVE_INFINITY,
    decode: (row) => decode("calls", row),
    placeOf: ({ id }) => id,
  };
  return (await readPage(list, FIRST_PAGE, limit)).records;
}

/** Ids of the one-to-one threads with the person. */
export async function listThreadIds(
  db: Kysely<Database>,
  { customerId, addresses }: Erasure,
  limit: number,
): Promise<ChatId[]> {
  const found = addresses.map((address) =>
    db.selectFrom("chats").select("id").where(isThreadWith(customerId, address)).limit(limit).execute(),
  );
  return (await Promise.all(found))
    .flat()
    .slice(0, limit)
    .map(({ id }) => id);
}
