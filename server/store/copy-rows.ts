/** Copies the rows of all tables from one database into another, and compares the copy with the rows that were read. */

import { hash } from "node:crypto";
import { COPIED, type CopiedTable, type CopiedValue } from "./copied-tables.ts";
import type { SqlValue } from "./rows.ts";

/** Rows that are read and written at once. */
const ROWS_AT_ONCE = 1_000;
/** Files that are read and written at once: they may be large. */
const FILES_AT_ONCE = 8;

/** Some rows of a table. */
export interface CopiedPage {
  rows: CopiedValue[][];
  /** The key of the last row; null if the rows are in no order: a copy of them cannot go on after an interruption. */
  after: SqlValue[] | null;
  /** Values that PostgreSQL cannot hold, for which `rows` has other values: `table key column`. */
  replaced: string[];
}

/** A database from which rows are copied, or a copy that is compared. Each database has one. */
export interface RowReader {
  /** The number of rows of all tables; it may be an estimate. */
  count(): number | Promise<number>;
  /** All rows of a table, or those after a key, up to `limit` in a page. */
  pages(table: CopiedTable, after: SqlValue[] | null, limit: number): Iterable<CopiedPage> | AsyncIterable<CopiedPage>;
}

/** A database into which rows are copied. Each database has one. */
export interface RowWriter {
  /** How far an interrupted copy of a table is. */
  progressOf(table: CopiedTable): TableProgress | Promise<TableProgress>;
  /** Writes rows in one transaction, together with the progress after them. */
  write(table: CopiedTable, rows: readonly CopiedValue[][], progress: TableProgress): unknown;
}

/** How far the copy of a table is. */
export interface TableProgress {
  rows: number;
  /** The sum of the SHA-256 of these rows, in any order. 64 hexadecimal digits. */
  checksum: string;
  /** The key of the last row. */
  after: SqlValue[] | null;
  /** Values that PostgreSQL cannot hold, up to `NAMED_MAX`: `table key column`. */
  replaced: string[];
}

/** The progress of a table before anything is copied. */
export const NOT_BEGUN: TableProgress = { rows: 0, checksum: "0".repeat(64), after: null, replaced: [] };
/** The most values that a copy names because PostgreSQL cannot hold them. */
export const NAMED_MAX = 20;

/** A copy in which each table is complete. */
export type RowCopy = ReadonlyMap<CopiedTable, TableProgress>;

export interface CopyOptions {
  /** Is called with the work in progress, and how many rows are done. It may throw to stop the work. */
  progress(doing: "copying" | "checking", done: number, total: number): void;
  /** Rows that one transaction copies, if not the usual number. */
  rowsAtOnce?: number;
}

/** The copy of a table does not have the rows of the table. */
export class CopyDiffers extends Error {}

/** Copies the rows that are not copied yet. */
export async function copyRows(reader: RowReader, writer: RowWriter, options: CopyOptions): Promise<RowCopy> {
  const estimate = await reader.count();
  const copied = new Map<CopiedTable, TableProgress>();
  for (const table of COPIED) copied.set(table, await writer.progressOf(table));
  let done = rowsOf(copied);
  options.progress("copying", done, Math.max(estimate, done));
  for (const [table, begun] of copied) {
    let progress = begun;
    for await (const page of reader.pages(table, begun.after, limitOf(table, options))) {
      progress = advance(progress, page);
      await writer.write(table, page.rows, progress);
      done += page.rows.length;
      options.progress("copying", done, Math.max(estimate, done));
    }
    copied.set(table, progress);
  }
  return copied;
}

/**
 * Reads the whole copy again. Throws `CopyDiffers` if the rows of a table differ from the rows read from the source.
 */
export async function compareRows(copied: RowCopy, copy: RowReader, options: CopyOptions): Promise<void> {
  const total = rowsOf(copied);
  let done = 0;
  for (const [table, expected] of copied) {
    let found = NOT_BEGUN;
    for await (const page of copy.pages(table, null, limitOf(table, options))) {
      found = advance(found, page);
      done += page.rows.length;
      options.progress("checking", done, total);
    }
    if (found.rows === expected.rows && found.checksum === expected.checksum) continue;
    throw new CopyDiffers(
      `The copy of ${table.name} has ${found.rows} rows with the checksum ${found.checksum.slice(0, 12)}, and the table has ${expected.rows} with ${expected.checksum.slice(0, 12)}`,
    );
  }
}

function limitOf({ name }: CopiedTable, { rowsAtOnce = ROWS_AT_ONCE }: CopyOptions): number {
  return name === "contents" ? FILES_AT_ONCE : rowsAtOnce;
}

function rowsOf(copied: RowCopy): number {
  return [...copied.values()].reduce((sum, { rows }) => sum + rows, 0);
}

function advance(progress: TableProgress, { rows, after, replaced }: CopiedPage): TableProgress {
  let sum = BigInt(`0x${progress.checksum}`);
  for (const row of rows) sum += BigInt(`0x${hash("sha256", JSON.stringify(row))}`);
  return {
    rows: progress.rows + rows.length,
    checksum: (sum & ((1n << 256n) - 1n)).toString(16).padStart(64, "0"),
    after,
    replaced: [...progress.replaced, ...replaced].slice(0, NAMED_MAX),
  };
}
