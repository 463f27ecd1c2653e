/**
 * A cache of the endpoints of customers, from which the deliveries of events are made.
 * Each entry has the version of the customer's endpoints. Each change of an endpoint increments the version.
 */

import { Cached } from "../../core/cached.ts";
import type { CustomerId } from "../../core/id.ts";
import type { Endpoint } from "../../core/webhook.ts";
import { decodeEach, decodeRecord, LAYOUT, type UnreadableRow } from "../rows.ts";
import type { Sql } from "./sql.ts";

/** Customers whose endpoints are cached. */
const CUSTOMERS_CACHED_MAX = 1_000;

interface CachedEndpoints {
  version: number;
  endpoints: readonly Endpoint[];
}

/** The statement that reads the versions of customers. A customer without a row has version 0. */
export const ENDPOINT_VERSIONS =
  "select customer_id, version from endpoint_versions where customer_id = any($1::text[])";

const COLUMNS = LAYOUT.endpoints.map(({ column }) => `"${column}"`).join(", ");
const CUSTOMER = LAYOUT.endpoints.findIndex(({ property }) => property === "customerId");

const LOAD = `select ${COLUMNS} from endpoints where customer_id = any($1::text[]) order by id`;

export class EndpointCache {
  readonly #byCustomer = new Cached<CustomerId, CachedEndpoints>({ max: CUSTOMERS_CACHED_MAX });

  /**
   * The endpoints of customers that are locked, read now unless they are cached with their versions.
   * Also returns the rows of endpoints that cannot be decoded.
   */
  async load(
    sql: Sql,
    versions: ReadonlyMap<CustomerId, number>,
  ): Promise<{ endpoints: [CustomerId, readonly Endpoint[]][]; unreadable: UnreadableRow[] }> {
    for (const [id, version] of versions)
      if (this.#byCustomer.peek(id)?.version !== version) this.#byCustomer.forget(id);
    const unreadable: UnreadableRow[] = [];
    const cached = await this.#byCustomer.getAll(versions.keys(), async (missing) => {
      const rows = Map.groupBy(await sql.values(LOAD, [missing]), (row) => row[CUSTOMER] as CustomerId);
      return new Map(
        missing.map((id) => {
          const read = decodeEach(rows.get(id) ?? [], (row) => decodeRecord("endpoints", row));
          unreadable.push(...read.unreadable);
          return [id, { version: versions.get(id) ?? 0, endpoints: read.records }];
        }),
      );
    });
    return { endpoints: [...cached].map(([id, { endpoints }]) => [id, endpoints]), unreadable };
  }

  clear(): void {
    this.#byCustomer.clear();
  }
}

/** The customers that these endpoints belong to. */
export async function customersOfEndpoints(sql: Sql, ids: readonly string[]): Promise<CustomerId[]> {
  const rows = await sql.values("select distinct customer_id from endpoints where id = any($1::text[])", [ids]);
  return rows.map(([id]) => id as CustomerId);
}

/** Raises the versions of customers whose endpoints change in this SQL transaction: once it commits, the caches of all processes are stale. */
export async function changeRouting(sql: Sql, customerIds: readonly CustomerId[]): Promise<void> {
  await sql.values(
    `insert into endpoint_versions (customer_id, version) select id, 1 from unnest($1::text[]) as c (id) order by id
     on conflict (customer_id) do update set version = endpoint_versions.version + 1`,
    [customerIds],
  );
}
