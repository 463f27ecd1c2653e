/** Reads of customers' numbers. */

import type { Kysely } from "kysely";
import type { CustomerId, InstanceId } from "../core/id.ts";
import type { CustomerNumber } from "../core/number.ts";
import { type Database, decode } from "./rows.ts";

/** Numbers of a customer, the default first, then by age. */
export async function findNumbers(db: Kysely<Database>, customerId: CustomerId): Promise<CustomerNumber[]> {
  const query = db.selectFrom("numbers").selectAll().where("customer_id", "=", customerId);
  const rows = await query.orderBy("is_default", "desc").orderBy("id").execute();
  return rows.map((row) => decode("numbers", row));
}

/** The number with this address, whoever has it. */
export async function findNumberByAddress(db: Kysely<Database>, address: string): Promise<CustomerNumber | null> {
  const row = await db.selectFrom("numbers").selectAll().where("address", "=", address).executeTakeFirst();
  return row === undefined ? null : decode("numbers", row);
}

/** Numbers that are on the instance, whoever has them, by age. */
export async function findNumbersOn(db: Kysely<Database>, instanceId: InstanceId): Promise<CustomerNumber[]> {
  const query = db.selectFrom("numbers").selectAll().where("instance_id", "=", instanceId).orderBy("id");
  return (await query.execute()).map((row) => decode("numbers", row));
}
