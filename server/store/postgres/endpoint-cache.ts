/**
 * A cache of the endpoints of customers, from which the deliveries of
 * events are made. Each entry has the version of the customer's endpoints.
 */

import { Cached } from "../../core/cached.ts";
import type { Endpoint } from "../../core/webhook.ts";
import { decodeEach, decodeRecord, LAYOUT, type UnreadableRow } from "../rows.ts";
import type { Sql } from "./sql.ts";

/** Customers whose endpoints are cached. */
const CUSTOMERS_CACHED_MAX = 1_000;

/** The endpoints of a customer. Each change of one increments the version. */
export interface Routing {
  version: number;
  endpoints: readonly Endpoint[];
}

const COLUMNS = LAYOUT.endpoints.map(({ column }) => `e."${column}"`).join(", ");
const ENDPOINT_ID = 2;

const LOAD = `select c.id, coalesce(r.version, 0), ${COLUMNS}
  from unnest($1::text[]) as c (id) left join endpoint_versions r on r.customer_id = c.id left join endpoints e on e.customer_id = c.id
  order by c.id, e.id`;

export class EndpointCache {
  readonly #byCustomer = new Cached<string, Routing>({ max: CUSTOMERS_CACHED_MAX });

  /** The endpoints of customers, read now unless they are cached. Also returns the rows of endpoints that cannot be decoded. */
  async load(
    sql: Sql,
    customerIds: ReadonlySet<string>,
  ): Promise<{ routing: ReadonlyMap<string, Routing>; unreadable: UnreadableRow[] }> {
    const unreadable: UnreadableRow[] = [];
    const routing = await this.#byCustomer.getAll(customerIds, async (missing) => {
      const rows = await sql.values(LOAD, [missing]);
      const read = new Map<string, Routing>();
      for (const [id, own] of Map.groupBy(rows, ([customerId]) => String(customerId))) {
        const decoded = decodeEach(
          own.filter((row) => row[ENDPOINT_ID] !== null),
          (row) => decodeRecord("endpoints", row.slice(ENDPOINT_ID)),
        );
        unreadable.push(...decoded.unreadable);
        read.set(id, { version: Number(own[0]?.[1] ?? 0), endpoints: decoded.records });
      }
      return read;
    });
    return { routing, unreadable };
  }

  /** The endpoints of these customers have changed. */
  forget(customerIds: Iterable<string>): void {
    for (const id of customerIds) this.#byCustomer.forget(id);
  }

  clear(): void {
    this.#byCustomer.clear();
  }
}

/** The customers that these endpoints belong to. */
export async function customersOfEndpoints(sql: Sql, ids: readonly string[]): Promise<string[]> {
  const rows = await sql.values("select distinct customer_id from endpoints where id = any($1::text[])", [ids]);
  return rows.map(([id]) => String(id));
}

/** Raises the versions of customers whose endpoints change in this SQL transaction: once it commits, the caches of other processes are stale. */
export async function changeRouting(sql: Sql, customerIds: readonly string[]): Promise<void> {
  await sql.values(
    `insert into endpoint_versions (customer_id, version) select id, 1 from unnest($1::text[]) as c (id) order by id
     on conflict (customer_id) do update set version = endpoint_versions.version + 1`,
    [customerIds],
  );
}
