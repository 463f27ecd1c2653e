/** Gives the threads and contact addresses of older versions the key that all forms of a phone share. Migrations of both databases run it. */

import { type Kysely, sql } from "kysely";
import { threadKey } from "../../core/chat.ts";
import type { CustomerId } from "../../core/id.ts";
import { phoneKey, subscriberForms } from "../../core/phone-forms.ts";

/** Rows that one statement reads. */
const BATCH_ROWS = 1_000;

/** Beginnings of the addresses that may have two forms; a narrower test follows. */
const PREFIXES = sql.join(
  ["+52%", "+54%", "+55%", "+225%", "+229%"].map((prefix) => sql`address like ${prefix}`),
  sql` or `,
);

/** A row with an address, and whether a contact has written in the thread. */
interface Addressed {
  id: string;
  customer_id: CustomerId;
  address: string;
  from: string;
  written: number;
}

/** Of two rows with one phone, the one that has the key already keeps it; else the older one gets it. The other one stays as it is. */
export async function movePhoneKeys(db: Kysely<unknown>): Promise<void> {
  const threads = sql`select id, customer_id, contact as address, "from", case when exists (
    select 1 from messages m where m.chat_id = chats.id and m.direction = 'inbound') then 1 else 0 end as written
    from chats where contact is not null`;
  for await (const { id, customer_id, address, from, written } of rowsOf(db, threads)) {
    const key = threadKey(customer_id, from, address);
    const lastForm = written === 1 ? address : null;
    await sql`update chats set last_form = ${lastForm} where id = ${id}`.execute(db);
    await sql`update chats set "key" = ${key} where id = ${id} and not exists (select 1 from chats where "key" = ${key})`.execute(
      db,
    );
  }
  const addresses = sql`select contact_id as id, customer_id, address, '' as "from", 0 as written from contact_addresses`;
  for await (const { customer_id, address } of rowsOf(db, addresses)) {
    const key = phoneKey(address);
    await sql`update contact_addresses set address = ${key} where customer_id = ${customer_id} and address = ${address}
      and not exists (select 1 from contact_addresses where customer_id = ${customer_id} and address = ${key})`.execute(
      db,
    );
  }
}

/** The rows of a query whose address has two forms, the oldest first. A contact has one phone, so no id is there twice. */
async function* rowsOf(db: Kysely<unknown>, query: ReturnType<typeof sql>): AsyncGenerator<Addressed> {
  for (let after = ""; ; ) {
    const { rows } = await sql<Addressed>`select * from (${query}) found
      where id > ${after} and (${PREFIXES}) order by id limit ${BATCH_ROWS}`.execute(db);
    for (const row of rows) if (subscriberForms(row.address).length > 1) yield row;
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
}
