/** The scope of opt-outs, the settings of a customer's, and who caused a message if no request did. Older opt-outs hold for one number. */

import { type Kysely, sql } from "kysely";

const STATEMENTS = [
  "alter table opt_outs add column scope text not null default 'number'",
  "create index opt_outs_of_customer on opt_outs (customer_id, contact) where scope = 'customer'",
  "alter table customers add column opt_outs text",
  "alter table messages add column origin text",
];

/** Kysely runs it once, in a transaction. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
