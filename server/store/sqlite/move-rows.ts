/** Moves rows of older versions into the tables of this one, batch by batch. */

import type { DatabaseSync } from "node:sqlite";
import { MOVED, type MovedTable } from "../migrations/0014-lean-tables.ts";

/** Rows moved in one transaction. */
const BATCH_ROWS = 2_000;

/**
 * Moves all rows and drops the tables they were in; does nothing if those are gone. A batch leaves its old table in the
 * transaction in which it enters the new one, so a process that is stopped in between goes on at its next start, and the file
 * grows little. `report` gets the number of rows moved so far, after each batch.
 */
export function moveRows(database: DatabaseSync, report: (moved: number) => void = () => {}): void {
  let moved = 0;
  for (const table of MOVED) {
    if (!hasTable(database, table.before)) continue;
    for (const count of moveTable(database, table)) {
      moved += count;
      report(moved);
    }
    database.exec(`drop table ${table.before}`);
  }
}

/** Moves a table. Yields the number of rows of each batch. */
function* moveTable(database: DatabaseSync, { name, before, columns }: MovedTable): Generator<number> {
  const names = Object.keys(columns).join(", ");
  const values = Object.values(columns).join(", ");
  const last = database.prepare(`select max(rowid) as last from (select rowid from ${before} order by rowid limit ?)`);
  const copy = database.prepare(
    `insert into ${name} (${names}) select ${values} from ${before} where rowid <= ? order by rowid`,
  );
  const remove = database.prepare(`delete from ${before} where rowid <= ?`);
  for (;;) {
    const until = last.get(BATCH_ROWS)?.last;
    if (typeof until !== "number") return;
    yield transaction(database, () => {
      copy.run(until);
      return Number(remove.run(until).changes);
    });
  }
}

/**
 * Takes AUTOINCREMENT from the table of events: the writer counts positions itself, and the table of SQLite's counter would be
 * one more page of each commit. The rows of the table are the same with it and without it.
 */
export function countPositionsByWriter(database: DatabaseSync): void {
  const row = database.prepare("select sql from sqlite_schema where name = 'events'").get();
  const sql = String(row?.sql);
  const plain = sql.replace(" autoincrement", "");
  if (plain === sql) return;
  database.enableDefensive(false);
  try {
    transaction(database, () => {
      const version = Number(database.prepare("pragma schema_version").get()?.schema_version);
      database.exec("pragma writable_schema = on");
      database.prepare("update sqlite_schema set sql = ? where name = 'events' and type = 'table'").run(plain);
      database.exec(`pragma schema_version = ${version + 1}`);
      database.exec("delete from sqlite_sequence where name = 'events'");
    });
  } finally {
    database.exec("pragma writable_schema = reset");
    database.enableDefensive(true);
  }
}

function hasTable(database: DatabaseSync, name: string): boolean {
  return database.prepare("select 1 from sqlite_schema where type = 'table' and name = ?").get(name) !== undefined;
}

function transaction<Result>(database: DatabaseSync, work: () => Result): Result {
  database.exec("begin immediate");
  try {
    const result = work();
    database.exec("commit");
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec("rollback");
    throw error;
  }
}
