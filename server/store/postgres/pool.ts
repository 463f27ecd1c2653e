/** The connections to PostgreSQL, and how its values are read. */

import pg from "pg";

const INT8 = 20;
const BYTEA = 17;

const parseBytes: (hex: string) => Buffer = pg.types.getTypeParser(BYTEA, "text");

/** Parses `bigint` as a number, since no stored number is greater than a `Date` can hold, and `bytea` as bytes. `pg` parses the other types. */
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

/** How long a statement may take, in milliseconds. A server that went away without a word never answers. */
export const QUERY_MS_MAX = 30_000;

/**
 * A pool of at most `connectionsMax` connections. Each statement may take `queryMsMax` (0: no limit). `options`
 * of `pg` are added; of the settings here they may override only the time in which a connection has to open.
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
    // A statement is sent at once, also if the one before it is not answered yet.
    pipeline: true,
  });
  // An idle connection that the server ends is replaced at its next use.
  pool.on("error", () => {});
  // If a connection ends between two statements of its user, the next statement fails.
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}
