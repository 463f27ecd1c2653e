/** Reads of usage: counters added up over subjects and time. */

import { type Expression, type ExpressionBuilder, type Kysely, type SqlBool, sql } from "kysely";
import type { UsageCounts } from "../../sdk/wire.ts";
import type { CustomerId, KeyId } from "../core/id.ts";
import { noUsage } from "../core/usage.ts";
import { columnOf, type Database } from "./rows.ts";

/** Whose usage: of a key with its customer's part, of a customer with all its keys, or of everybody. */
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

/** What is counted for a key, and what for a customer (contract 2). */
const KEY_FIELDS = ["requests", "rateLimited", "messagesSent", "segments"] as const satisfies (keyof UsageCounts)[];
const CUSTOMER_FIELDS = [
  "messagesReceived",
  "webhooksDelivered",
  "webhooksFailed",
] as const satisfies (keyof UsageCounts)[];

/** Counts by the start of the step they fall into, a multiple of `stepMs`. A step without any is left out. */
export async function sumUsage(
  db: Kysely<Database>,
  whose: UsageOf,
  period: UsagePeriod,
): Promise<Map<number, UsageCounts>> {
  const sums = new Map<number, UsageCounts>();
  await Promise.all([
    addSums(db, sums, KEY_FIELDS, ofKeys(whose), period),
    addSums(db, sums, CUSTOMER_FIELDS, ofCustomers(whose), period),
  ]);
  return sums;
}

type Subjects = (where: ExpressionBuilder<Database, "usage">) => Expression<SqlBool>;

function ofKeys(whose: UsageOf): Subjects {
  switch (whose.of) {
    case "key":
      return (where) => where("subject", "=", whose.keyId);
    case "customer":
      return (where) => {
        const keys = where.selectFrom("keys").select("keys.id").where("customer_id", "=", whose.customerId);
        return where("subject", "in", keys);
      };
    case "all":
      return (where) => where("subject", "like", "key%" as KeyId);
  }
}

/** Null: the key has no customer. */
function ofCustomers(whose: UsageOf): Subjects | null {
  if (whose.of === "all") return (where) => where("subject", "like", "cust%" as CustomerId);
  const { customerId } = whose;
  return customerId === null ? null : (where) => where("subject", "=", customerId);
}

async function addSums(
  db: Kysely<Database>,
  sums: Map<number, UsageCounts>,
  fields: readonly (keyof UsageCounts)[],
  subjects: Subjects | null,
  { fromAt, toAt, stepMs }: UsagePeriod,
): Promise<void> {
  if (subjects === null) return;
  const step = sql.lit(stepMs);
  const point = sql<number>`at - at % ${step}`;
  const rows = await db
    .selectFrom("usage")
    .select(point.as("point"))
    .select(fields.map((field) => sql<number>`sum(${sql.ref(columnOf(field))})`.as(field)))
    .where(subjects)
    .where("at", ">=", fromAt)
    .where("at", "<", toAt)
    .groupBy(point)
    .execute();
  for (const row of rows) {
    const at = Number(row.point);
    const counts = sums.get(at) ?? noUsage();
    for (const field of fields) counts[field] = Number(row[field]);
    sums.set(at, counts);
  }
}
