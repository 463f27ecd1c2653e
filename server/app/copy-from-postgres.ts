/** Copies one snapshot of a PostgreSQL database into a new file of the embedded database, while services use PostgreSQL. */

import { ConfigError } from "../config.ts";
import { COPIED, type CopiedTable, fitRow, keyOf, type RowProgress, RowSum } from "../store/copied-tables.ts";
import { checkServer } from "../store/postgres/check-server.ts";
import { CopySource } from "../store/postgres/copy-source.ts";
import { failureOf } from "../store/postgres/sql.ts";
import type { SqlValue } from "../store/rows.ts";
import { RowSource } from "../store/sqlite/row-source.ts";
import { RowTarget } from "../store/sqlite/row-target.ts";

/** Rows that are compared at once; fewer if they are files. */
const COMPARED_AT_ONCE = 1_000;
const FILES_AT_ONCE = 8;

/**
 * Copies the database at a URL into the new file `path`, and compares the copy with what was read. Throws `ConfigError` with one line
 * if it cannot.
 */
export async function copyFromPostgres(url: string, path: string, progress: RowProgress): Promise<void> {
  await checkServer(url);
  const sums = await copyRows(url, path, progress);
  const total = [...sums.values()].reduce((sum, { rows }) => sum + rows, 0);
  const copy = new RowSource(path);
  try {
    let done = 0;
    for (const table of COPIED) {
      const step = (rows: number) => {
        done += rows;
        progress("checking", done, total);
      };
      const found = sumOf(copy, table, step);
      const expected = sums.get(table.name);
      if (found.rows === expected?.rows && found.checksum === expected.checksum) continue;
      throw new ConfigError(
        `The copy of ${table.name} differs from PostgreSQL (${found.rows} rows of ${expected?.rows}): report this as a bug, and use pg_dump.`,
      );
    }
  } finally {
    copy.close();
  }
}

async function copyRows(url: string, path: string, progress: RowProgress): Promise<Map<string, RowSum>> {
  const sums = new Map<string, RowSum>();
  const target = RowTarget.make(path);
  try {
    const source = await CopySource.open(url);
    try {
      const estimate = await source.estimate();
      let done = 0;
      for (const table of COPIED) {
        const sum = new RowSum();
        sums.set(table.name, sum);
        await source.readAll(table, (rows) => {
          target.write(table, rows);
          for (const row of rows) sum.add(row);
          done += rows.length;
          progress("copying", done, Math.max(estimate, done));
        });
      }
      target.finish(await source.lastPosition());
    } finally {
      await source.close();
    }
  } catch (error) {
    if (failureOf(error) !== "unavailable") throw error;
    throw new ConfigError(`PostgreSQL was lost (${(error as Error).message}): run the command again.`);
  } finally {
    target.close();
  }
  return sums;
}

function sumOf(copy: RowSource, table: CopiedTable, step: (rows: number) => void): RowSum {
  const sum = new RowSum();
  const limit = table.name === "contents" ? FILES_AT_ONCE : COMPARED_AT_ONCE;
  for (let after: SqlValue[] | null = null; ; ) {
    const rows = copy.read(table, after, limit);
    const last = rows.at(-1);
    if (last === undefined) return sum;
    for (const row of rows) sum.add(fitRow(table, row).values);
    after = keyOf(table, last);
    step(rows.length);
  }
}
