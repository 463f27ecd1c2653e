/**
 * Vacuums the database file after an erasure. SQLite overwrites erased rows. But when SQLite moves a row to another
 * page, a copy stays in the unused part of the former page, whatever `secure_delete` says. A vacuum writes every page
 * anew.
 */

import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { ERASED_SINCE_VACUUM } from "../settings.ts";
import { StoreUnusable } from "../store.ts";
import { errorCode, isLost, SQLITE_IOERR } from "./connection.ts";
import { requireSpace } from "./snapshot.ts";

/**
 * Bytes that a vacuum writes in a second. Measured on a virtual disk and 2 cores: 94 MB when idle, 28 MB beside a load
 * of 30.
 */
const BYTES_A_SECOND = 50e6;
/** The largest database that a start vacuums by itself, in bytes. It takes about a minute. */
const BY_ITSELF_BYTES_MAX = 60 * BYTES_A_SECOND;
/**
 * The most vacuums that starts begin for an erasure. A supervisor that waits for less time may end a start that
 * vacuums, and must not end every start for ever.
 */
const BEGUN_MAX = 2;
/** A vacuum copies the database into a temporary file, and then into the write-ahead log. */
const COPIES = 2;

/**
 * Vacuums a database if a contact was erased since its last vacuum, it has at most `bytesMax` used bytes, and the disk
 * has room. Returns null, or the reason why it was not vacuumed, as the end of a sentence. A later call tries again,
 * unless `BEGUN_MAX` vacuums did not end. `begin` gets a line before a vacuum. Throws only `StoreUnusable`, if the disk
 * failed.
 */
export function vacuumAfterErasure(
  database: DatabaseSync,
  path: string,
  begin: (line: string) => void,
  bytesMax = BY_ITSELF_BYTES_MAX,
): string | null {
  const begun = database.prepare("select value from settings where name = ?").get(ERASED_SINCE_VACUUM)?.value;
  if (begun === undefined) return null;
  const bytes = usedBytes(database);
  if (bytes > bytesMax) return `it is too large to be vacuumed without being asked for (${sizeOf(bytes)})`;
  if (!(Number(begun) < BEGUN_MAX)) return `${BEGUN_MAX} vacuums were begun and did not end`;
  try {
    requireRoom(path, bytes);
    begin(`a contact was erased: vacuuming ${sizeOf(bytes)}, which takes ${timeOf(bytes)}`);
    const note = database.prepare("update settings set value = ? where name = ?");
    note.run(String(Number(begun) + 1), ERASED_SINCE_VACUUM);
    vacuum(database, path);
    return null;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (isLost(error) && errorCode(error) === SQLITE_IOERR)
      throw new StoreUnusable(`${path} could not be vacuumed: ${reason}`);
    return `it could not be vacuumed (${reason})`;
  }
}

/**
 * Writes all pages anew, and makes the file as small as its rows permit. Row numbers of tables with an index stay.
 * Nothing else runs in the thread meanwhile. A process that is killed has changed nothing. Throws `NoSpace` without
 * room, and an `Error` if another connection reads.
 */
export function vacuum(database: DatabaseSync, path: string): void {
  requireRoom(path, usedBytes(database));
  withTemporaryFiles(database, () => {
    database.exec("vacuum");
    // The former pages are in the file and in the write-ahead log until this checkpoint.
    const { busy } = database.prepare("pragma wal_checkpoint(truncate)").get() ?? {};
    if (busy !== 0) throw new Error("another program, such as a backup, is reading it");
    database.prepare("delete from settings where name = ?").run(ERASED_SINCE_VACUUM);
  });
}

/**
 * Runs `work`, for which SQLite writes temporary files into the directory of the database: this directory is writable and protects
 * texts, and any other one may be read-only or small. The directory is a setting of the process, so nothing else may do the same
 * meanwhile.
 */
function withTemporaryFiles(database: DatabaseSync, work: () => void): void {
  const path = database.location();
  const directory = path === null ? "" : dirname(path).replaceAll("'", "''");
  database.exec(`pragma temp_store = file; pragma temp_store_directory = '${directory}'`);
  try {
    work();
  } finally {
    database.exec("pragma temp_store = memory; pragma temp_store_directory = ''");
  }
}

function requireRoom(path: string, bytes: number): void {
  requireSpace(dirname(path), COPIES * bytes);
}

/** Bytes of the pages in use, which a vacuum writes anew. */
export function usedBytes(database: DatabaseSync): number {
  const row = database
    .prepare(`select (page_count - freelist_count) * page_size as bytes
      from pragma_page_count, pragma_freelist_count, pragma_page_size`)
    .get();
  return Number(row?.bytes);
}

/** About how long a vacuum of so many bytes takes, for people. */
export function timeOf(bytes: number): string {
  const seconds = bytes / BYTES_A_SECOND;
  if (seconds < 1) return "less than a second";
  return seconds < 100 ? `about ${Math.ceil(seconds)} s` : `about ${Math.ceil(seconds / 60)} min`;
}

/** A size for people: `12.4 MB`. */
function sizeOf(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
