/** Copies a snapshot of a database that is in use, and checks copies. */

import { chmodSync, closeSync, fsyncSync, openSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { errorCode, openReader, SQLITE_FULL, SQLITE_IOERR } from "./connection.ts";
import { schemaIdOf } from "./make-tables.ts";
import { SQLITE_SCHEMA } from "./schema.ts";

/** Pages copied between two reports of progress: 4 MiB. */
const PAGES_AT_ONCE = 1_000;
/** Free space that a copy leaves, in bytes: for the manifest and for others. */
const SPACE_LEFT_MIN = 1024 * 1024;

/** Is called with the bytes that are done. It may throw to stop the work. */
export type ByteProgress = (doneBytes: number, totalBytes: number) => void;

/** There is not enough free space. */
export class NoSpace extends Error {}

/** The copy is damaged. */
export class DatabaseDamaged extends Error {}

/** Tables whose rows a copy counts. */
const COUNTED = ["customers", "messages", "events", "deliveries"] as const;

/** The tables of a copy, and the numbers of their rows. */
export interface CopyContent {
  /** The id of its schema. */
  schema: string;
  counts: Record<string, number>;
}

/**
 * Copies a database to a new file, which is on disk when the promise resolves. The copy is one snapshot: other
 * connections may write meanwhile. Throws `NoSpace` if the disk is full or a write fails.
 */
export async function copyDatabase(from: string, to: string, progress: ByteProgress): Promise<void> {
  const source = openReader(from);
  try {
    // A backup outside of a read transaction begins again after each commit of another connection.
    source.exec("begin");
    source.prepare("select count(*) from sqlite_schema").get();
    const pageBytes = numberOf(source, "pragma page_size");
    const totalBytes = numberOf(source, "pragma page_count") * pageBytes;
    requireSpace(dirname(to), totalBytes);
    progress(0, totalBytes);
    await backup(source, to, {
      rate: PAGES_AT_ONCE,
      progress: ({ totalPages, remainingPages }) =>
        progress((totalPages - remainingPages) * pageBytes, totalPages * pageBytes),
    });
    progress(totalBytes, totalBytes);
    chmodSync(to, 0o600);
    syncFile(to);
  } catch (error) {
    const code = errorCode(error);
    throw code === SQLITE_FULL || code === SQLITE_IOERR ? new NoSpace(`${dirname(to)} has no space left`) : error;
  } finally {
    source.close();
  }
}

/** Throws `NoSpace` if the directory has less free space than this. */
export function requireSpace(directory: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(directory);
  const free = bavail * bsize;
  const needed = bytes + SPACE_LEFT_MIN;
  if (free >= needed) return;
  throw new NoSpace(`${directory} has ${inMegabytes(free)} free, and ${inMegabytes(needed)} are needed`);
}

/**
 * Checks the pages of a copy that no other connection has open, and counts rows. `isThorough`: also checks the indexes.
 * Throws `DatabaseDamaged`.
 */
export function inspectCopy(path: string, isThorough: boolean): CopyContent {
  const database = openCopy(path);
  try {
    const found = database.prepare(isThorough ? "pragma integrity_check(1)" : "pragma quick_check(1)").get() ?? {};
    const [verdict] = Object.values(found);
    if (verdict !== "ok") throw new DatabaseDamaged(String(verdict));
    const tables = database.prepare("select name from sqlite_schema where type = 'table'").all();
    const names = new Set(tables.map(({ name }) => name));
    const schema = schemaIdOf(database);
    if (schema === null || schema === "") throw new DatabaseDamaged("it has no tables of Tightbeam");
    const counted = COUNTED.filter((table) => names.has(table));
    const counts = Object.fromEntries(
      counted.map((table) => [table, numberOf(database, `select count(*) from "${table}"`)]),
    );
    return { schema, counts };
  } catch (error) {
    if (error instanceof DatabaseDamaged || errorCode(error) === null) throw error;
    throw new DatabaseDamaged((error as Error).message);
  } finally {
    database.close();
  }
}

/** A stored setting of a copy; null if there is none. */
export function settingOfCopy(path: string, name: string): string | null {
  const database = openCopy(path);
  try {
    const value = database.prepare("select value from settings where name = ?").get(name)?.value;
    return typeof value === "string" ? value : null;
  } finally {
    database.close();
  }
}

/** Whether a schema is that of this version of the program. */
export function isOwnSchema(id: string): boolean {
  return id === SQLITE_SCHEMA.id;
}

/** Opens a copy for reads. SQLite makes no files beside it. */
export function openCopy(path: string): DatabaseSync {
  const url = pathToFileURL(path);
  url.searchParams.set("immutable", "1");
  return new DatabaseSync(url, { readOnly: true });
}

function numberOf(database: DatabaseSync, sql: string): number {
  return Number(Object.values(database.prepare(sql).get() ?? {})[0]);
}

/** A size for people: `1.4 MB`. */
function inMegabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Flushes a file or a directory to disk. */
export function syncFile(path: string): void {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
