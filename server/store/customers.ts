/** Reads of customers. */

import { type Kysely, sql } from "kysely";
import type { Customer } from "../core/customer.ts";
import type { CustomerId, InstanceId } from "../core/id.ts";
import type { CustomerNumber } from "../core/number.ts";
import { decodePage, decodeRows } from "./quarantine.ts";
import { type Database, decode } from "./rows.ts";
import { narrowedId } from "./sql-dialects.ts";

/** The most ids that one statement names. */
const IDS_PER_READ = 500;

export async function findCustomer(db: Kysely<Database>, id: CustomerId): Promise<Customer | null> {
  const row = await db.selectFrom("customers").selectAll().where("id", "=", id).executeTakeFirst();
  return row === undefined ? null : decode("customers", row);
}

/** The fields of a customer that sign webhooks. */
export type Signer = Pick<Customer, "id" | "secret" | "previousSecret" | "previousSecretUntil">;

/** Signers by customer. Unknown ids, and rows that cannot be decoded, are left out. */
export async function findSigners(db: Kysely<Database>, ids: readonly CustomerId[]): Promise<Signer[]> {
  const signers: Signer[] = [];
  for (let from = 0; from < ids.length; from += IDS_PER_READ) {
    const columns = ["id", "secret", "previous_secret", "previous_secret_until"] as const;
    const some = ids.slice(from, from + IDS_PER_READ);
    const rows = await db.selectFrom("customers").select(columns).where("id", "in", some).execute();
    signers.push(...decodeRows(db, "customers", rows));
  }
  return signers;
}

/** A customer with a route to the instance; null without such a customer. */
export async function findCustomerRouting(db: Kysely<Database>, instanceId: InstanceId): Promise<Customer | null> {
  const row = await customersRoutingTo(db, instanceId).selectAll().executeTakeFirst();
  return row === undefined ? null : decode("customers", row);
}

/** Phone numbers of the customers with a route to the instance, wherever the numbers are, by age. */
export async function findRoutedNumbers(db: Kysely<Database>, instanceId: InstanceId): Promise<CustomerNumber[]> {
  const routing = customersRoutingTo(db, instanceId).select("id");
  const query = db.selectFrom("numbers").selectAll().where("customer_id", "in", routing).where("address", "like", "+%");
  return decodeRows(db, "numbers", await query.orderBy("id").execute());
}

function customersRoutingTo(db: Kysely<Database>, instanceId: InstanceId) {
  // Ids contain no wildcard characters.
  const named = `%"instanceId":${JSON.stringify(instanceId)}%`;
  return db.selectFrom("customers").where("routes", "like", named as never);
}

/** Customers with this e-mail address, in any case, the oldest first: `limit` of them. */
export async function findCustomersByEmail(db: Kysely<Database>, email: string, limit: number): Promise<Customer[]> {
  const { rows } = await sql<object>`select * from customers
    where email is not null and lower(email) = ${email.toLowerCase()} order by ${narrowedId("customers")} limit ${limit} + 0`.execute(
    db,
  );
  return decodeRows(db, "customers", rows);
}

/** Customers older than `before` (an id; all when null), newest first. */
export async function listCustomers(db: Kysely<Database>, before: string | null, limit: number): Promise<Customer[]> {
  return decodePage(db, "customers", limit, (skip, count) => {
    const query = db.selectFrom("customers").selectAll().orderBy("id", "desc").limit(count).offset(skip);
    return (before === null ? query : query.where("id", "<", before as CustomerId)).execute();
  });
}

/** Whether there is more than one customer, whether or not their rows can be decoded. */
export async function hasSeveralCustomers(db: Kysely<Database>): Promise<boolean> {
  return (await db.selectFrom("customers").select("id").limit(2).execute()).length > 1;
}

/** Whether there is a customer with this id, whether or not its row can be decoded. */
export async function hasCustomer(db: Kysely<Database>, id: CustomerId): Promise<boolean> {
  return (await db.selectFrom("customers").select("id").where("id", "=", id).executeTakeFirst()) !== undefined;
}
