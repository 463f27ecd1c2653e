/** Finds the positions at which a replay begins and ends, without scanning the events. */

import type { Kysely } from "kysely";
import { type CustomerId, type EventId, firstIdAt } from "../core/id.ts";
import type { Database } from "./rows.ts";
import { ofCustomer } from "./rows-of-customer.ts";

/** Position of the oldest event of any customer whose id was made at or after `at` (real time); null if there is none. */
export async function findPositionAt(db: Kysely<Database>, at: number): Promise<number | null> {
  const query = db
    .selectFrom("events")
    .select("position")
    .where("id", ">=", firstIdAt("evt", at) as EventId);
  const row = await query.orderBy("id").limit(1).executeTakeFirst();
  return row?.position ?? null;
}

/** Position of a customer's newest event, or of any customer's (null); 0 if there is none. */
export async function findLastPosition(db: Kysely<Database>, customerId: CustomerId | null): Promise<number> {
  const all = db.selectFrom("events").select("position");
  const query = customerId === null ? all : all.where(ofCustomer(customerId));
  const row = await query.orderBy("position", "desc").limit(1).executeTakeFirst();
  return row?.position ?? 0;
}
