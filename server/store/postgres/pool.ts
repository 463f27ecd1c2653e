/** The connections to PostgreSQL, and how its values are read. */

import pg from "pg";

const INT8 = 20;
const BYTEA = 17;

const parseBytes: (hex: string) => Buffer = pg.types.getTypeParser(BYTEA, "text");

/**
 * Parses `bigint` as a number, since no stored number is greater than a `Date` can hold, and `bytea` as the bytes of a row. Other
 * types are as `pg` parses them.
 */
const TYPES = {
  getTypeParser(oid: number, format?: "text" | "binary") {
    if (oid === INT8) return Number;
    if (oid === BYTEA) return (hex: string) => new Uint8Array(parseBytes(hex));
    return pg.types.getTypeParser(oid as 20, format as "text");
  },
} as pg.CustomTypesConfig;

/** The name of every connection of the service. */
export const APPLICATION_NAME = "tightbeam";

/** How long a connection may take to open, in milliseconds. */
export const CONNECT_MS_MAX = 5_000;

/** How long a statement may take, in milliseconds: a server that went away without a word does not answer. */
export const QUERY_MS_MAX = 30_000;

/**
 * A pool of at most `connectionsMax` connections, each of whose statements may take `queryMsMax` (0: no limit). `options` of `pg`
 * go before its defaults, but for the limit of the time in which a connection opens.
 */
export function createPool(
  url: string,
  connectionsMax: number,
  queryMsMax = QUERY_MS_MAX,
  options: pg.PoolConfig = {},
): pg.Pool {
  const pool = new pg.Pool({
    connectionTimeoutMillis: CONNECT_MS_MAX,
    ...options,
    connectionString: url,
    max: connectionsMax,
    types: TYPES,
    application_name: APPLICATION_NAME,
    query_timeout: queryMsMax,
    keepAlive: true,
    // A statement that is not awaited before the next one is followed by it at once.
    pipeline: true,
  });
  // An idle connection that the server ends is replaced at its next use.
  pool.on("error", () => {});
  // A connection that ends between two statements of its user: the next one fails.
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}
