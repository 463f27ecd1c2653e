/**
 * Takes the copy of an embedded database. It writes rows and its progress in one transaction, so that a copy whose process
 * was killed goes on where it was. The table `embedded_copy` has the progress. No service starts until the copy is complete.
 */

import type pg from "pg";
import { timeOfId } from "../../core/id.ts";
import { COPIED, type CopiedTable, type CopiedValue } from "../copied-tables.ts";
import { NOT_BEGUN, type RowWriter, type TableProgress } from "../copy-rows.ts";
import { dayOf, dayOfPosition } from "../positions.ts";
import type { SettingEntry } from "../records.ts";
import { StoreUnusable } from "../store.ts";
import { inTransaction } from "./in-transaction.ts";
import { makeTables } from "./make-tables.ts";
import { addPartition } from "./partitions.ts";
import { createPool } from "./pool.ts";
import { skipPositions } from "./restored-database.ts";
import type { Sql } from "./sql.ts";

/** One for the transaction, and one for the partitions that are added beside it. */
const CONNECTIONS_MAX = 2;
/** Within so many days back from today each day of deliveries gets its own partition. An older partition has so many days. */
const RECENT_DAYS = 60;
const OLD_DAYS = 30;
/** How long one statement may take, in milliseconds: the last statements of a copy read whole tables. */
const QUERY_MS_MAX = 3_600_000;
/** The step whose value is the result of the completed copy. */
const DONE = "done";
/** The step whose value identifies the embedded database. */
const SOURCE = "source";

/** The end of a copy. */
export interface CopyEnd {
  /** Later events get positions after this one. */
  lastPosition: number;
  now: number;
  result: string;
  /**
   * A setting that says that the copy comes from a backup. Positions that events since the backup
   * may have taken are then skipped. Null: the copy comes from a database that was stopped.
   */
  setting: SettingEntry | null;
}

/** Throws `StoreUnusable` if a copy into the database has begun and is not complete. */
export async function requireNoPartialCopy(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query("select to_regclass('embedded_copy') as name");
  if (rows[0]?.name === null || (await stepOf(pool, DONE)) !== null) return;
  throw new StoreUnusable(
    "the copy of an embedded database into this one is not complete: run tightbeam migrate again",
  );
}

async function stepOf(pool: pg.Pool, step: string): Promise<string | null> {
  const { rows } = await pool.query<{ value: string }>("select value from embedded_copy where step = $1", [step]);
  return rows[0]?.value ?? null;
}

export class CopyTarget implements RowWriter {
  readonly #pool: pg.Pool;
  /** Days that have a partition, or need none, with the name of their table. */
  readonly #days = new Set<string>();

  constructor(url: string) {
    this.#pool = createPool(url, CONNECTIONS_MAX, QUERY_MS_MAX);
  }

  /**
   * Makes the tables in an empty database, or goes on with the copy from the same `source`. Throws `StoreUnusable` if the database
   * has anything else in it.
   */
  async begin(source: string): Promise<void> {
    const { rows } = await this.#pool.query("select to_regclass('embedded_copy') as name");
    if (rows[0]?.name === null) {
      await requireEmpty(this.#pool);
      await makeTables(this.#pool);
      await inTransaction(this.#pool, async (sql) => {
        await sql.values(`create table embedded_copy (step text collate "C" primary key, value text not null)`);
        await sql.values("insert into embedded_copy values ($1, $2)", [SOURCE, source]);
      });
    }
    if ((await stepOf(this.#pool, SOURCE)) === source) return;
    throw new StoreUnusable(
      "the copy in this database is of another embedded database, or of this one before it changed: empty it, and begin again",
    );
  }

  close(): Promise<void> {
    return this.#pool.end();
  }

  /** The result that `finish` noted; null if the copy is not complete yet. */
  async result(): Promise<string | null> {
    return stepOf(this.#pool, DONE);
  }

  async progressOf({ name }: CopiedTable): Promise<TableProgress> {
    const value = await stepOf(this.#pool, name);
    return value === null ? NOT_BEGUN : (JSON.parse(value) as TableProgress);
  }

  async write(table: CopiedTable, rows: readonly CopiedValue[][], progress: TableProgress): Promise<void> {
    await inTransaction(this.#pool, async (sql) => {
      await this.#addDays(sql, table, rows);
      await sql.values(insertOf(table), [rowsAsJson(table, rows)]);
      await note(sql, table.name, JSON.stringify(progress));
    });
  }

  /**
   * Makes the queues, ends the leases of the process that was stopped, and lets sequences go on after the copied rows. `now` is
   * shifted time. `result` is noted, and `setting` is stored.
   */
  async finish({ lastPosition, now, result, setting }: CopyEnd): Promise<void> {
    await inTransaction(this.#pool, async (sql) => {
      // These statements may take as long as they need.
      await sql.values("set local statement_timeout = 0");
      await sql.values("set local idle_in_transaction_session_timeout = 0");
      await sql.values("analyze");
      await addPartition(sql, "events", dayOfPosition(lastPosition), 1);
      for (const [sequence, last] of [
        ["event_positions", `select ${lastPosition}::bigint`],
        ["delivery_rows", "select max(rowid) from deliveries"],
        [`pg_get_serial_sequence('messages', 'rowid')`, "select max(rowid) from messages"],
        [`pg_get_serial_sequence('requests', 'position')`, "select max(position) from requests"],
      ] as const) {
        const name = sequence.includes("(") ? sequence : `'${sequence}'`;
        await sql.values(`select setval(${name}, found.last) from (${last}) as found (last) where found.last > 0`);
      }
      if (setting !== null) {
        await skipPositions(sql, lastPosition);
        await sql.values(
          "insert into settings (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value",
          [setting.name, setting.value],
        );
      }
      for (const statement of FINISHING) await sql.values(statement, statement.includes("$1") ? [now] : []);
      await note(sql, DONE, result);
    });
  }

  /**
   * Adds the partitions that rows need; a recent day gets its own. Deliveries of future days go to the
   * default partition. Positions of events tell a day only if the events were in PostgreSQL before.
   */
  async #addDays(sql: Sql, { name, columns }: CopiedTable, rows: readonly CopiedValue[][]): Promise<void> {
    if (name !== "deliveries" && name !== "events") return;
    const at = columns.findIndex(({ column }) => column === (name === "events" ? "position" : "id"));
    const today = dayOf(Number((await sql.values(NOW))[0]?.[0]));
    for (const row of rows) {
      const value = row[at] ?? "";
      const day = name === "events" ? dayOfPosition(Number(value)) : dayOf(timeOfId(value));
      if (Number.isNaN(day) || this.#days.has(`${name} ${day}`)) continue;
      if (name === "deliveries" && day > today) continue;
      await addPartition(sql, name, day, day < today - RECENT_DAYS ? OLD_DAYS : 1);
      this.#days.add(`${name} ${day}`);
    }
  }
}

const NOW = "select (extract(epoch from clock_timestamp()) * 1000)::bigint";

/** A `queued` message keeps its place, as at the start of a service. */
const FINISHING = [
  `update messages set claimed_until = null, version = version + 1, due_at =
     case status when 'queued' then least(coalesce(scheduled_at, created_at), $1::bigint) else $1 end
   where claimed_until is not null`,
  `insert into due_messages (id, lane, due_at, is_queued, "from", "to")
     select id, instance_id, due_at, (status = 'queued')::int, "from", phone_key("to") from messages where due_at is not null`,
  `insert into due_deliveries (id, lane, due_at, row, replay_id)
     select id, lane, due_at, rowid, replay_id from deliveries where due_at is not null`,
];

async function note(sql: Sql, step: string, value: string): Promise<void> {
  await sql.values(
    "insert into embedded_copy (step, value) values ($1, $2) on conflict (step) do update set value = excluded.value",
    [step, value],
  );
}

function insertOf({ name, columns }: CopiedTable): string {
  const names = columns.map(({ column }) => `"${column}"`).join(", ");
  const types = columns.map(({ column, type }) => `"${column}" ${type}`).join(", ");
  const identity = name === "messages" || name === "requests" ? "overriding system value" : "";
  return `insert into ${name} (${names}) ${identity} select ${names} from json_to_recordset($1::json) as x (${types})`;
}

function rowsAsJson({ columns }: CopiedTable, rows: readonly CopiedValue[][]): string {
  return JSON.stringify(
    rows.map((row) => Object.fromEntries(columns.map(({ column }, index) => [column, row[index] ?? null]))),
  );
}

/** Throws `StoreUnusable` if a record is in the database, or a table of another program. */
async function requireEmpty(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(
    "select tablename::text as name from pg_tables where schemaname = current_schema()",
  );
  const found = new Set(rows.map(({ name }) => name));
  if (found.size > 0 && !found.has("schema_id"))
    throw new StoreUnusable("the database has tables of another program: create a database for Tightbeam");
  for (const { name } of [...COPIED, { name: "members" }]) {
    if (!found.has(name)) continue;
    const { rows: some } = await pool.query(`select 1 from ${name} limit 1`);
    if (some.length > 0)
      throw new StoreUnusable(
        `the database is not empty (${name} has rows): name an empty one, since nothing is merged`,
      );
  }
}
