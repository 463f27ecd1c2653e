/** Reads of customers' numbers. */

import type { Kysely } from "kysely";
import type { CustomerId, InstanceId } from "../core/id.ts";
import type { CustomerNumber } from "../core/number.ts";
import { decodeRows } from "./quarantine.ts";
import { type Database, decode } from "./rows.ts";

/** Numbers of a customer, the default first, then by age. */
export async function findNumbers(db: Kysely<Database>, customerId: CustomerId): Promise<CustomerNumber[]> {
  const query = db.selectFrom("numbers").selectAll().where("customer_id", "=", customerId);
  const rows = await query.orderBy("is_default", "desc").orderBy("id").execute();
  return decodeRows(db, "numbers", rows);
}

/** The number with this address, of any customer. */
export async function findNumberByAddress(db: Kysely<Database>, address: string): Promise<CustomerNumber | null> {
  const row = await db.selectFrom("numbers").selectAll().where("address", "=", address).executeTakeFirst();
  return row === undefined ? null : decode("numbers", row);
}

/** Numbers on the instance, of any customer, oldest first. */
export async function findNumbersOn(db: Kysely<Database>, instanceId: InstanceId): Promise<CustomerNumber[]> {
  const query = db.selectFrom("numbers").selectAll().where("instance_id", "=", instanceId).orderBy("id");
  return decodeRows(db, "numbers", await query.execute());
}

/** Whether a customer has a number that is on no sandbox, whether or not its row can be decoded. */
export async function hasRealNumber(db: Kysely<Database>, customerId: CustomerId): Promise<boolean> {
  const query = db.selectFrom("numbers").select("id").where("customer_id", "=", customerId);
  return (await query.where("provider", "<>", "sandbox").limit(1).executeTakeFirst()) !== undefined;
}
