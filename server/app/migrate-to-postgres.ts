/** Copies the embedded database of a data directory into PostgreSQL, while no service runs on it. Leaves a mark in the data directory, and changes nothing else there. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Config, ConfigError } from "../config.ts";
import { CLOCK_SHIFT, shiftMsOf } from "../engine/sandbox/clock.ts";
import { secretKeysIn } from "../secrets.ts";
import { CopyDiffers, type CopyOptions, compareRows, copyRows, NAMED_MAX, type RowCopy } from "../store/copy-rows.ts";
import { checkServer } from "../store/postgres/check-server.ts";
import { CopySource } from "../store/postgres/copy-source.ts";
import { CopyTarget } from "../store/postgres/copy-target.ts";
import { failureOf } from "../store/postgres/sql.ts";
import type { SettingEntry } from "../store/records.ts";
import { lockDirectory } from "../store/sqlite/connection.ts";
import { finishRestore } from "../store/sqlite/restored-files.ts";
import { RowSource } from "../store/sqlite/row-source.ts";
import { StoreUnusable } from "../store/store.ts";
import { DATABASE_FILE } from "./backup-manifest.ts";
import { markMigrated } from "./migrated-mark.ts";

export interface MigrationOptions extends CopyOptions {
  /** Real epoch milliseconds. */
  now: number;
}

/** A table whose copy has the same rows as the table. */
export interface MigratedTable {
  table: string;
  rows: number;
  /** A sum of the SHA-256 of its rows. */
  checksum: string;
}

export interface MigrationResult {
  dataDir: string;
  tables: MigratedTable[];
  /** When the copy was completed, by an earlier run of the command too. */
  completedAt: string;
  /** Values that PostgreSQL cannot hold, up to a number: `table key column`. */
  replaced: string[];
  /** The file with the secret key; null if the key is a setting. */
  keyFile: string | null;
  warnings: string[];
}

/** The part of a result that the copy keeps. */
type Completed = Pick<MigrationResult, "completedAt" | "tables" | "replaced">;

/**
 * Copies the database into the empty PostgreSQL database at a URL, and compares the copy. A run that was interrupted goes on.
 * Throws `ConfigError` with one line if it cannot.
 */
export async function migrateToPostgres(
  { dataDir }: Pick<Config, "dataDir">,
  url: string,
  options: MigrationOptions,
): Promise<MigrationResult> {
  const path = join(dataDir, DATABASE_FILE);
  const open: { close(): void }[] = [];
  try {
    if (!existsSync(dataDir)) throw new ConfigError(`There is no directory ${dataDir}: name the one of the service.`);
    open.unshift(lockDirectory(join(dataDir, "lock.db")));
    finishRestore(dataDir);
    if (!existsSync(path))
      throw new ConfigError(`There is no database in ${dataDir}: name the data directory of the service.`);
    const source = new RowSource(path);
    open.unshift(source);
    const warnings = await checkServer(url);
    const { completed } = await copyInto(url, source, options);
    markMigrated(dataDir, completed.completedAt);
    const keyFile = secretKeysIn(dataDir).length > 0 ? join(dataDir, "secret.key") : null;
    return { dataDir, ...completed, keyFile, warnings };
  } catch (error) {
    throw error instanceof StoreUnusable ? new ConfigError(error.message) : error;
  } finally {
    for (const one of open) one.close();
  }
}

/** The copy of a backup, and not of a data directory. */
interface RestoredCopy {
  /** Identifies the backup: a copy of it that was interrupted goes on. */
  identity: string;
  /** Is stored with the end of the copy. */
  setting: SettingEntry;
}

export interface CopyResult {
  completed: Completed;
  /** Whether an earlier call had completed the copy. */
  wasComplete: boolean;
}

/** Copies a database into PostgreSQL, or goes on with a copy of it. Throws `ConfigError`, or `StoreUnusable`. */
export async function copyInto(
  url: string,
  source: RowSource,
  options: MigrationOptions,
  restored: RestoredCopy | null = null,
): Promise<CopyResult> {
  const target = new CopyTarget(url);
  try {
    await target.begin(restored?.identity ?? source.identity);
    const known = await target.result();
    if (known !== null) return { completed: JSON.parse(known) as Completed, wasComplete: true };
    const copied = await copyRows(source, target, options);
    await compareWith(url, copied, options);
    const completed = completedOf(copied, options.now);
    await target.finish({
      lastPosition: source.lastPosition,
      now: options.now + shiftMsOf(source.setting(CLOCK_SHIFT)),
      result: JSON.stringify(completed),
      setting: restored?.setting ?? null,
    });
    return { completed, wasComplete: false };
  } catch (error) {
    if (error instanceof CopyDiffers) throw new ConfigError(`${error.message}: empty the database, and begin again.`);
    const failure = failureOf(error);
    if (failure !== "unavailable" && failure !== "full") throw error;
    const what = failure === "full" ? "has no space left" : "was lost";
    throw new ConfigError(
      `PostgreSQL ${what} (${(error as Error).message}): run the same command again, and it goes on where it was.`,
    );
  } finally {
    await target.close();
  }
}

async function compareWith(url: string, copied: RowCopy, options: CopyOptions): Promise<void> {
  const copy = await CopySource.open(url, { isPartial: true });
  try {
    await compareRows(copied, copy, options);
  } finally {
    await copy.close();
  }
}

function completedOf(copied: RowCopy, now: number): Completed {
  return {
    completedAt: new Date(now).toISOString(),
    tables: [...copied].map(([{ name }, { rows, checksum }]) => ({ table: name, rows, checksum })),
    replaced: [...copied.values()].flatMap(({ replaced }) => replaced).slice(0, NAMED_MAX),
  };
}
