/**
 * The readers of PostgreSQL: connections for reads of single records, and
 * others for lists and for looks. The server interrupts a long list or look.
 */

import type pg from "pg";
import type { ReaderPort } from "../jobs/list-readers.ts";
import type { SqlQuery } from "../jobs/queries.ts";
import type { Reads } from "../jobs/store-client.ts";
import { StoreUnavailable } from "../store.ts";
import { createPool } from "./pool.ts";
import { failureOf } from "./sql.ts";

/** Connections for reads of single records. */
const READERS = 3;
/** Connections for looks at the queues: no look waits behind a read that hangs. */
const LOOKERS = 1;
/** Connections for lists. A customer uses at most one of them at a time. */
const LIST_READERS = 2;
/** How long one statement of a list may take, in milliseconds: it reads a bounded number of rows. */
const LIST_MS_MAX = 10_000;
/** How long one statement of a look may take, in milliseconds. A look finds due work that nobody has announced to this worker. */
const LOOK_MS_MAX = 1_000;
/** How long a look waits for its connection, and for its answer. A server or network that went dark does not answer. */
const LOOK_ANSWER_MS_MAX = 2 * LOOK_MS_MAX;
/** SQLSTATE of a statement that ran into its timeout. */
const TIMED_OUT = "57014";

/** Wraps each read: turns errors of the connection into `StoreUnavailable`. */
type During = <Rows>(read: () => Promise<Rows>) => Promise<Rows>;

/** Opens the readers of the database at a URL. */
export function openReads(url: string, during: During): Reads {
  const single = createPool(url, READERS);
  const lists = createPool(url, LIST_READERS);
  const looks = createPool(url, LOOKERS, LOOK_ANSWER_MS_MAX, { connectionTimeoutMillis: LOOK_ANSWER_MS_MAX });
  const list: ReaderPort = (query) => during(() => readList(lists, query, LIST_MS_MAX));
  return {
    read: (query) => during(async () => (await single.query(query.sql, query.parameters)).rows),
    look: (query) => during(() => readLook(looks, query)),
    lists: Array.from({ length: LIST_READERS }, () => list),
    async close() {
      await Promise.all([single.end(), lists.end(), looks.end()]);
    },
  };
}

/**
 * Runs a statement of a list or a look. The server ends the statement after `msMax`, so that neither the read nor its connection waits
 * without end. The planner may not read a table whole (`enable_seqscan`). It takes the rows of a customer for spread over all ids: if
 * all rows of a customer are old, it may expect a thousand times the rows of a window. A read of the whole table, if there is no other
 * way, then counts as expensive, and older servers would compile the statement (`jit`). The settings are those of a transaction:
 * settings of the session would stay with a connection that PgBouncer gives to others. `planner`: further settings of this kind.
 */
export async function readList(
  pool: pg.Pool,
  { sql, parameters }: SqlQuery,
  msMax: number,
  planner: readonly string[] = [],
): Promise<unknown[]> {
  const client = await pool.connect();
  const settings = [
    `statement_timeout = ${msMax}`,
    `idle_in_transaction_session_timeout = ${msMax}`,
    "enable_seqscan = off",
    "jit = off",
    ...planner,
  ];
  try {
    await client.query(["begin read only", ...settings.map((one) => `set local ${one}`)].join("; "));
    const { rows } = await client.query(sql, parameters);
    end(client, "commit");
    return rows;
  } catch (error) {
    const isTimedOut = (error as NodeJS.ErrnoException).code === TIMED_OUT;
    // The server ends a read that takes too long, and its connection stays as it was.
    if (failureOf(error) === "unavailable" && !isTimedOut) client.release(true);
    else end(client, "rollback");
    if (!isTimedOut) throw error;
    throw new StoreUnavailable(`a read took longer than ${msMax} ms`, { cause: error });
  }
}

/**
 * Runs a look at a queue, which reads the first rows of each lane in the order of an index. The server knows how large
 * the queue was at its last analysis. If the queue was empty then, the server would rather read and sort all of its rows.
 */
export function readLook(pool: pg.Pool, query: SqlQuery): Promise<unknown[]> {
  return readList(pool, query, LOOK_MS_MAX, ["enable_sort = off", "enable_bitmapscan = off"]);
}

/** Ends a transaction that wrote nothing, and gives its connection back. Nobody waits for this. */
function end(client: pg.PoolClient, how: "commit" | "rollback"): void {
  client.query(how).then(
    () => client.release(),
    () => client.release(true),
  );
}
