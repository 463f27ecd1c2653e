/** The form of a phone number that a contact last wrote with, and one key for all forms of a phone. */

import { type Kysely, sql } from "kysely";
import { movePhoneKeys } from "./move-phone-keys.ts";

/** Kysely runs it once, in a transaction. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table chats add column last_form text`.execute(db);
  await movePhoneKeys(db);
}
