/** Reads one snapshot of a database, table by table, while services use it. Changes nothing. */

import type pg from "pg";
import { COPIED, type CopiedTable, type CopiedValue } from "../copied-tables.ts";
import type { CopiedPage, RowReader } from "../copy-rows.ts";
import { unpackEnvelope } from "../packed-envelope.ts";
import type { SqlValue } from "../rows.ts";
import { storedColumn } from "../split-timeline.ts";
import { StoreUnusable } from "../store.ts";
import { requireNoPartialCopy } from "./copy-target.ts";
import { hasTables } from "./make-tables.ts";
import { createPool } from "./pool.ts";
import { type Sql, sqlOn } from "./sql.ts";

/** How long one statement may take, in milliseconds. It reads a part of a table at most. */
const QUERY_MS_MAX = 600_000;

/** A query of the number of rows by the server's statistics, partitions included. */
const ESTIMATE = `select coalesce(sum(greatest(c.reltuples, 0)), 0)::bigint
  from unnest($1::text[]) as named (name), pg_partition_tree(named.name::regclass) as part
  join pg_class c on c.oid = part.relid where part.isleaf`;

export class CopySource implements RowReader {
  readonly #pool: pg.Pool;
  readonly #client: pg.PoolClient;
  readonly #sql: Sql;

  /**
   * Begins the snapshot. Throws `StoreUnusable` if the database does not have the tables of this version, or if a copy into it has begun
   * and is not complete. `isPartial`: the caller makes that copy.
   */
  static async open(url: string, { isPartial = false } = {}): Promise<CopySource> {
    const pool = createPool(url, 1, QUERY_MS_MAX);
    try {
      if (!isPartial) await requireComplete(pool);
      const source = new CopySource(pool, await pool.connect());
      await source.#sql.values("begin transaction isolation level repeatable read, read only");
      for (const setting of ["statement_timeout = 0", "idle_in_transaction_session_timeout = 0", "bytea_output = hex"])
        await source.#sql.values(`set local ${setting}`);
      return source;
    } catch (error) {
      await pool.end();
      throw error;
    }
  }

  private constructor(pool: pg.Pool, client: pg.PoolClient) {
    this.#pool = pool;
    this.#client = client;
    this.#sql = sqlOn(client, () => {});
  }

  /** The number of rows by the server's statistics. */
  async count(): Promise<number> {
    return Number((await this.#sql.values(ESTIMATE, [COPIED.map(({ name }) => name)]))[0]?.[0]);
  }

  /** All rows, by a cursor and in no order. */
  async *pages(table: CopiedTable, _after: SqlValue[] | null, limit: number): AsyncIterable<CopiedPage> {
    const { name, columns } = table;
    const list = columns.map(({ column }) => `(${storedColumn(name, column, "t")})::text`).join(", ");
    await this.#sql.values(`declare copied no scroll cursor for select ${list} from ${name} t`);
    for (;;) {
      const rows = (await this.#sql.values(`fetch ${limit} from copied`)) as CopiedValue[][];
      if (rows.length === 0) break;
      yield { rows: name === "events" ? rows.map((row) => withBytes(table, row)) : rows, after: null, replaced: [] };
    }
    await this.#sql.values("close copied");
  }

  /** A position that no event of the snapshot exceeds. */
  async lastPosition(): Promise<number> {
    return Number((await this.#sql.values("select last_value from event_positions"))[0]?.[0]);
  }

  async close(): Promise<void> {
    this.#client.release(true);
    await this.#pool.end();
  }
}

/** The row of an event, with the bytes that the event was created with. */
function withBytes({ columns }: CopiedTable, row: readonly CopiedValue[]): CopiedValue[] {
  const at = (name: string) => columns.findIndex(({ column }) => column === name);
  const text = (name: string) => row[at(name)] ?? "";
  const names = { id: text("id"), type: text("type"), correlationId: text("correlation_id") };
  const envelope = { ...names, messageId: row[at("message_id")] ?? null };
  return row.with(at("bytes"), unpackEnvelope(text("bytes"), envelope));
}

async function requireComplete(pool: pg.Pool): Promise<void> {
  if (!(await hasTables(pool))) throw new StoreUnusable("The database of DATABASE_URL has no tables of Tightbeam.");
  await requireNoPartialCopy(pool);
}
