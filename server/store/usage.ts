/** Reads of usage: counters added up over subjects and time. */

import { type Kysely, sql } from "kysely";
import type { UsageCounts } from "../../sdk/wire.ts";
import type { CustomerId, KeyId } from "../core/id.ts";
import { noUsage } from "../core/usage.ts";
import { columnOf, type Database } from "./rows.ts";
import { narrowedId } from "./sql-dialects.ts";

/** The subject of a usage report: a key, a customer with all its keys, or everyone. */
export type UsageOf =
  | { of: "key"; keyId: KeyId; customerId: CustomerId | null }
  | { of: "customer"; customerId: CustomerId }
  | { of: "all" };

/** `fromAt` is a full hour, `toAt` exclusive; `stepMs` is a whole number of hours. Epoch milliseconds. */
export interface UsagePeriod {
  fromAt: number;
  toAt: number;
  stepMs: number;
}

/** Counters of keys, and counters of customers. */
const KEY_FIELDS = ["requests", "rateLimited", "messagesSent", "segments"] as const satisfies (keyof UsageCounts)[];
const CUSTOMER_FIELDS = [
  "messagesReceived",
  "webhooksDelivered",
  "webhooksFailed",
] as const satisfies (keyof UsageCounts)[];

/** Hours that one statement adds up, at the most: it cannot be interrupted. */
const HOURS_MAX = 10_000;
const HOUR_MS = 3_600_000;
/** Subjects that are looked up at once. */
const SUBJECTS_MAX = 200;

/** Counts by the start of the step they fall into, a multiple of `stepMs`. A step without any is left out. */
export async function sumUsage(
  db: Kysely<Database>,
  whose: UsageOf,
  period: UsagePeriod,
): Promise<Map<number, UsageCounts>> {
  const sums = new Map<number, UsageCounts>();
  const hours = Math.max(1, Math.ceil((period.toAt - period.fromAt) / HOUR_MS));
  const together = Math.min(SUBJECTS_MAX, Math.max(1, Math.floor(HOURS_MAX / hours)));
  for await (const ids of keysOf(db, whose, together)) await addSums(db, sums, KEY_FIELDS, ids, period);
  for await (const ids of customersOf(db, whose, together)) await addSums(db, sums, CUSTOMER_FIELDS, ids, period);
  return sums;
}

async function* keysOf(db: Kysely<Database>, whose: UsageOf, limit: number): AsyncGenerator<string[]> {
  if (whose.of === "key") yield [whose.keyId];
  else yield* idsOf(db, "keys", whose.of === "customer" ? whose.customerId : null, limit);
}

/** Yields nothing for a key without a customer. */
async function* customersOf(db: Kysely<Database>, whose: UsageOf, limit: number): AsyncGenerator<string[]> {
  if (whose.of === "all") yield* idsOf(db, "customers", null, limit);
  else if (whose.customerId !== null) yield [whose.customerId];
}

/** Ids of a table, of one customer or of all, `limit` at a time. */
async function* idsOf(
  db: Kysely<Database>,
  table: "keys" | "customers",
  customerId: CustomerId | null,
  limit: number,
): AsyncGenerator<string[]> {
  const owned = customerId === null ? sql`` : sql`customer_id = ${customerId} and`;
  const place = customerId === null ? sql.ref("id") : narrowedId(table);
  for (let last = ""; ; ) {
    const { rows } = await sql<{ id: string }>`select id from ${sql.table(table)} where ${owned} ${place} > ${last}
      order by ${place} limit ${limit} + 0`.execute(db);
    const ids = rows.map(({ id }) => id);
    if (ids.length > 0) yield ids;
    if (ids.length < limit) return;
    last = ids.at(-1) ?? last;
  }
}

async function addSums(
  db: Kysely<Database>,
  sums: Map<number, UsageCounts>,
  fields: readonly (keyof UsageCounts)[],
  subjects: readonly string[],
  { fromAt, toAt, stepMs }: UsagePeriod,
): Promise<void> {
  const step = sql.lit(stepMs);
  const point = sql<number>`at - at % ${step}`;
  const rows = await db
    .selectFrom("usage")
    .select(point.as("point"))
    .select(fields.map((field) => sql<number>`sum(${sql.ref(columnOf(field))})`.as(field)))
    .where("subject", "in", subjects as (CustomerId | KeyId)[])
    .where("at", ">=", fromAt)
    .where("at", "<", toAt)
    .groupBy(point)
    .execute();
  for (const row of rows) {
    const at = Number(row.point);
    const counts = sums.get(at) ?? noUsage();
    for (const field of fields) counts[field] += Number(row[field]);
    sums.set(at, counts);
  }
}
