/**
 * Deliveries that requests changed within the last minute. Other processes
 * find them here, since no index tells which deliveries have changed.
 */

import { type Kysely, sql } from "kysely";
import type { CustomerId } from "../../core/id.ts";
import type { Database } from "../rows.ts";
import type { AnnouncedDeliveries } from "../shared-database.ts";

/** How long an announcement is kept, by the clock of the database. Processes look several times a second. */
const KEPT = sql`interval '60 s'`;

/** Announces deliveries, and deletes old announcements. */
export async function announceDeliveries(
  db: Kysely<Database>,
  { customerId, ids }: AnnouncedDeliveries,
): Promise<void> {
  await sql`with old as (delete from announced_deliveries where at < clock_timestamp() - ${KEPT})
    insert into announced_deliveries (customer_id, ids) values (${customerId}, ${JSON.stringify(ids)})`.execute(db);
}

/** Deliveries of these customers (null: of all) that were announced within the last `withinMs` milliseconds, and how long ago. */
export async function announcedDeliveries(
  db: Kysely<Database>,
  customerIds: readonly CustomerId[] | null,
  withinMs: number,
): Promise<(AnnouncedDeliveries & { agoMs: number })[]> {
  const { rows } = await sql<{ customer_id: CustomerId; ids: string; ago: number }>`select customer_id, ids,
      (extract(epoch from clock_timestamp() - at) * 1000)::float8 as ago from announced_deliveries
    where ${customerIds === null ? sql`true` : sql`customer_id in (${sql.join(customerIds)})`}
      and at >= clock_timestamp() - ${Math.ceil(withinMs)}::bigint * interval '1 millisecond'`.execute(db);
  return rows.map(({ customer_id: customerId, ids, ago: agoMs }) => ({ customerId, ids: JSON.parse(ids), agoMs }));
}
