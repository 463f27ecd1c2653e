/** Reads of deliveries with their attempts. The API does not list deliveries to the sandbox's inbox. */

import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { DeliveryStatus } from "../../sdk/wire.ts";
import type { Delivery } from "../core/delivery.ts";
import type { CustomerId, DeliveryId } from "../core/id.ts";
import { apartFromEvent, besideEvent } from "./deliveries-of-event.ts";
import { type Database, decode } from "./rows.ts";
import { nearCustomer, ofCustomer } from "./rows-of-customer.ts";
import { type IndexedList, is, type ListPage, type PageStart, readNamed, readPage } from "./windows.ts";

export interface DeliveryFilter {
  status?: DeliveryStatus | undefined;
  webhookId?: string | undefined;
  eventId?: string | undefined;
  messageId?: string | undefined;
}

/** A customer's deliveries, newest first. */
export function listDeliveries(
  db: Kysely<Database>,
  customerId: CustomerId,
  filter: DeliveryFilter,
  start: PageStart,
  limit: number,
): Promise<ListPage<Delivery>> {
  const list: IndexedList<Delivery> = {
    db,
    table: "deliveries",
    column: "id",
    order: "newest",
    narrow: [nearCustomer(customerId)],
    filter: [
      ...is("customer_id", customerId),
      ...is("status", filter.status),
      ...is("endpoint_id", filter.webhookId),
      sql<SqlBool>`(+endpoint_id is null or +endpoint_id not in (
        select id from endpoints where customer_id = ${customerId} and kind = 'inbox'))`,
    ],
    decode: (row) => decode("deliveries", row),
    placeOf: ({ id }) => id,
  };
  const named = namedBy(filter);
  return named === null ? readPage(list, start, limit) : readNamed(list, named, start, limit);
}

/** The most deliveries of one event or message that are read: an event has one per endpoint, and more after replays. */
const NAMED_MAX = 5_000;

/** Ids of the deliveries of an event or message; null if the filter names neither. */
function namedBy({ eventId, messageId }: DeliveryFilter): RawBuilder<{ id: string }> | null {
  if (messageId !== undefined) {
    const ofEvent = eventId === undefined ? sql`` : sql`and e.id = ${eventId}`;
    const [beside, apart] = [besideEvent("d", "e.id", "e.customer_id"), apartFromEvent("d", "e.id")].map(
      (found) => sql`select d.id from events e cross join deliveries d on ${sql.raw(found)}
        where e.message_id = ${messageId} ${ofEvent}`,
    );
    return sql`${beside} union all ${apart} limit ${NAMED_MAX} + 0`;
  }
  if (eventId === undefined) return null;
  const [beside, apart] = [besideEvent("d", "e.id", "e.customer_id"), apartFromEvent("d", "e.id")].map(
    (found) => sql`select d.id from events e cross join deliveries d on ${sql.raw(found)} where e.id = ${eventId}`,
  );
  return sql`${beside} union all ${apart} limit ${NAMED_MAX} + 0`;
}

/** A customer's delivery, those to the sandbox's inbox included. */
export async function findDelivery(
  db: Kysely<Database>,
  { id, customerId }: Pick<Delivery, "id" | "customerId">,
): Promise<Delivery | null> {
  const query = db.selectFrom("deliveries").selectAll().where(ofCustomer(customerId));
  const row = await query.where("id", "=", id).executeTakeFirst();
  return row === undefined ? null : decode("deliveries", row);
}

/** A customer's delivery; null for another customer's and for one to the inbox. */
export async function findDeliveryOf(
  db: Kysely<Database>,
  customerId: CustomerId,
  id: string,
): Promise<Delivery | null> {
  const inbox = db
    .selectFrom("endpoints")
    .select("id")
    .where("customer_id", "=", customerId)
    .where("kind", "=", "inbox");
  const row = await db
    .selectFrom("deliveries")
    .selectAll()
    .where("id", "=", id as DeliveryId)
    .where(ofCustomer(customerId))
    .where((where) => where.or([where("endpoint_id", "is", null), where("endpoint_id", "not in", inbox)]))
    .executeTakeFirst();
  return row === undefined ? null : decode("deliveries", row);
}

/** The ids of a customer's deliveries that exist. */
export async function findExisting(
  db: Kysely<Database>,
  customerId: CustomerId,
  ids: readonly DeliveryId[],
): Promise<ReadonlySet<DeliveryId>> {
  if (ids.length === 0) return new Set();
  const query = db.selectFrom("deliveries").select("id").where(ofCustomer(customerId));
  const rows = await query.where("id", "in", ids).execute();
  return new Set(rows.map((row) => row.id));
}

/** Due times of a lane that one statement reads: it cannot be interrupted. */
const WINDOW_ROWS = 500;

/** A delivery whose time was taken from a clock that was ahead. */
export type DeliveryAhead = Pick<Delivery, "id" | "version">;

/**
 * Up to `limit` deliveries of a lane without an attempt that become due after `from` although they were created after `now`,
 * from the next deliveries by due time. `until` is the due time of the last delivery that was read; null if there are no more.
 */
export async function listDeliveriesAhead(
  db: Kysely<Database>,
  lane: string,
  { now, from }: { now: number; from: number },
  limit: number,
): Promise<{ records: DeliveryAhead[]; until: number | null }> {
  const { rows: ends } = await sql<{ until: number }>`select due_at as until from deliveries
    where lane = ${lane} and due_at > ${from} order by due_at limit 1 offset ${WINDOW_ROWS - 1} + 0`.execute(db);
  const until = ends[0]?.until ?? null;
  const { rows } = await sql<DeliveryAhead>`select id, version from deliveries
    where lane = ${lane} and due_at > ${from} and due_at <= ${until ?? Number.MAX_SAFE_INTEGER}
      and created_at > ${now} and status = 'pending' and attempt_count = 0 limit ${limit} + 0`.execute(db);
  return { records: rows, until };
}
