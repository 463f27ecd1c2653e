/** Opens SQLite files with the settings that durability needs, and checks them. */

import { DatabaseSync } from "node:sqlite";
import { StoreUnusable } from "../store.ts";

/** Oldest SQLite without the WAL-reset bug. */
const SQLITE_MIN = [3, 51, 3] as const;

const WAL_PAGES_BEFORE_CHECKPOINT = 4_000;
const WAL_BYTES_KEPT_MAX = 64 * 1024 * 1024;
const CACHE_KIB = 16 * 1024;
/** How long a connection waits, in milliseconds, while another one recovers the log after a crash. */
const BUSY_MS_MAX = 10_000;

/**
 * Opens the writer's connection with WAL and an fsync at every commit (`synchronous=FULL`). Reads these settings back.
 * Throws `StoreUnusable` if SQLite did not take them.
 */
export function openWriter(path: string): DatabaseSync {
  const database = open(path, { readOnly: false, timeout: BUSY_MS_MAX });
  try {
    makeDurable(database, path);
    return database;
  } catch (error) {
    database.close();
    if (error instanceof StoreUnusable) throw error;
    throw new StoreUnusable(`${path} cannot be used: ${reason(error)}`);
  }
}

/**
 * Sets the pragmas for durability. `secure_delete = fast` overwrites deleted and erased data where that writes no more
 * pages.
 */
function makeDurable(database: DatabaseSync, path: string): void {
  requireVersion(database);
  database.exec(`
    pragma journal_mode = wal;
    pragma synchronous = full;
    pragma fullfsync = on;
    pragma checkpoint_fullfsync = on;
    pragma wal_autocheckpoint = ${WAL_PAGES_BEFORE_CHECKPOINT};
    pragma journal_size_limit = ${WAL_BYTES_KEPT_MAX};
    pragma temp_store = memory;
    pragma cache_size = -${CACHE_KIB};
    pragma secure_delete = fast;
  `);
  const mode = pragma(database, "journal_mode");
  const synchronous = pragma(database, "synchronous");
  const durable = synchronous === 2 && (mode === "wal" || path === ":memory:");
  if (!durable) {
    throw new StoreUnusable(
      `${path}: SQLite runs with journal_mode=${mode}, synchronous=${synchronous}; a file system with WAL and fsync is needed`,
    );
  }
}

/** Opens a read-only connection. Each query sees all earlier commits. */
export function openReader(path: string): DatabaseSync {
  const database = open(path, { readOnly: true, timeout: BUSY_MS_MAX });
  database.exec(`pragma temp_store = memory; pragma cache_size = -${CACHE_KIB};`);
  return database;
}

/**
 * Locks the data directory for this process by an exclusive lock on a small file beside the database. The kernel
 * releases the lock when the process ends. Throws `StoreUnusable` if another process holds it.
 */
export function lockDirectory(path: string): DatabaseSync {
  const lock = open(path, { readOnly: false, timeout: 0 });
  try {
    lock.exec("pragma journal_mode = delete; begin exclusive;");
  } catch (error) {
    lock.close();
    if (errorCode(error) === SQLITE_BUSY) {
      throw new StoreUnusable(
        `${path} is locked: another Tightbeam runs on this data directory; stop it or set TB_DATA_DIR`,
      );
    }
    throw new StoreUnusable(`${path} cannot be locked: ${reason(error)}`);
  }
  return lock;
}

function open(path: string, options: { readOnly: boolean; timeout: number }): DatabaseSync {
  try {
    return new DatabaseSync(path, { ...options, enableForeignKeyConstraints: false });
  } catch (error) {
    throw new StoreUnusable(`${path} cannot be opened: ${reason(error)}; the data directory must be writable`);
  }
}

function requireVersion(database: DatabaseSync): void {
  const row = database.prepare("select sqlite_version() as version").get();
  const version = String(row?.version);
  const parts = version.split(".").map(Number);
  for (const [index, least] of SQLITE_MIN.entries()) {
    const part = parts[index] ?? 0;
    if (part > least) return;
    if (part < least)
      throw new StoreUnusable(`SQLite ${version} is too old; Node must bring ${SQLITE_MIN.join(".")} or newer`);
  }
}

function pragma(database: DatabaseSync, name: string): unknown {
  const row = database.prepare(`pragma ${name}`).get() ?? {};
  return Object.values(row)[0];
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Primary result codes of SQLite (sqlite.org/rescode.html). */
const SQLITE_BUSY = 5;
export const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
export const SQLITE_FULL = 13;
/** Extended codes of a failed fsync, of a file and of a directory. */
const FSYNC_FAILED: readonly number[] = [SQLITE_IOERR | (4 << 8), SQLITE_IOERR | (5 << 8)];

/** The primary result code of an error of node:sqlite, null for any other error. */
export function errorCode(error: unknown): number | null {
  const code = extendedCode(error);
  return code === null ? null : code & 0xff;
}

/** Whether the state of the disk is unknown: an fsync failed, or the file is damaged. */
export function isLost(error: unknown): boolean {
  const code = extendedCode(error);
  return code !== null && (FSYNC_FAILED.includes(code) || (code & 0xff) === SQLITE_CORRUPT);
}

function extendedCode(error: unknown): number | null {
  if (!(error instanceof Error) || !("errcode" in error)) return null;
  return typeof error.errcode === "number" ? error.errcode : null;
}
