/** Copies the embedded database of a data directory into PostgreSQL, while no service runs on it. Leaves a mark in the data directory, and changes nothing else there. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Config, ConfigError } from "../config.ts";
import { CLOCK_SHIFT } from "../engine/sandbox/clock.ts";
import { secretKeysIn } from "../secrets.ts";
import { COPIED, type CopiedTable, fitRow, keyOf, type RowProgress, RowSum } from "../store/copied-tables.ts";
import { checkServer } from "../store/postgres/check-server.ts";
import { CopyTarget, type TableProgress } from "../store/postgres/copy-target.ts";
import { failureOf } from "../store/postgres/sql.ts";
import type { SettingEntry } from "../store/records.ts";
import type { SqlValue } from "../store/rows.ts";
import { lockDirectory } from "../store/sqlite/connection.ts";
import { finishRestore } from "../store/sqlite/restored-files.ts";
import { RowSource } from "../store/sqlite/row-source.ts";
import { StoreUnusable } from "../store/store.ts";
import { DATABASE_FILE } from "./backup-manifest.ts";
import { markMigrated } from "./migrated-mark.ts";

/** Rows that one transaction copies. */
const COPIED_AT_ONCE = 1_000;
/** The same for files, which may be large. */
const FILES_AT_ONCE = 8;
/** Values that PostgreSQL cannot hold which a result names. */
const NAMED_MAX = 20;

export interface MigrationOptions {
  progress: RowProgress;
  /** Real epoch milliseconds. */
  now: number;
  /** Rows that one transaction copies, if not the usual number. */
  rowsAtOnce?: number;
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
    const total = await copyAll(source, target, options);
    const completed = await compareAll(source, target, total, options);
    const shiftMs = Number(source.setting(CLOCK_SHIFT) ?? 0) || 0;
    await target.finish({
      lastPosition: source.lastPosition,
      now: options.now + shiftMs,
      result: JSON.stringify(completed),
      setting: restored?.setting ?? null,
    });
    return { completed, wasComplete: false };
  } catch (error) {
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

/** Copies the rows that are not copied yet. Returns the number of all rows. */
async function copyAll(source: RowSource, target: CopyTarget, options: MigrationOptions): Promise<number> {
  const total = COPIED.reduce((sum, table) => sum + source.count(table), 0);
  const copied = new Map<CopiedTable, TableProgress>();
  let done = 0;
  for (const table of COPIED) {
    const progress = await target.progressOf(table);
    copied.set(table, progress);
    done += progress.rows;
  }
  options.progress("copying", done, total);
  for (const [table, progress] of copied) {
    const step = (rows: number) => {
      done += rows;
      options.progress("copying", done, total);
    };
    await copyTable(source, target, table, { ...options, progress, step });
  }
  return total;
}

async function compareAll(
  source: RowSource,
  target: CopyTarget,
  total: number,
  { now, progress }: MigrationOptions,
): Promise<Completed> {
  const tables: MigratedTable[] = [];
  const replaced: string[] = [];
  let done = 0;
  for (const table of COPIED) {
    const step = (rows: number) => {
      done += rows;
      progress("checking", done, total);
    };
    tables.push(await compareTable(source, target, table, { step, replaced }));
  }
  return { completedAt: new Date(now).toISOString(), tables, replaced };
}

interface Copying {
  progress: TableProgress;
  step(rows: number): void;
  rowsAtOnce?: number;
}

async function copyTable(source: RowSource, target: CopyTarget, table: CopiedTable, options: Copying): Promise<void> {
  const limit = limitOf(table, options.rowsAtOnce);
  let { progress } = options;
  for (;;) {
    const rows = source.read(table, progress.after, limit);
    const last = rows.at(-1);
    if (last === undefined) return;
    const values = rows.map((row) => fitRow(table, row).values);
    progress = { ...progress, rows: progress.rows + rows.length, after: keyOf(table, last) };
    await target.write(table, values, progress);
    options.step(rows.length);
  }
}

const limitOf = ({ name }: CopiedTable, rowsAtOnce = COPIED_AT_ONCE) =>
  name === "contents" ? FILES_AT_ONCE : rowsAtOnce;

interface Comparing {
  step(rows: number): void;
  /** Gets the values that PostgreSQL cannot hold. */
  replaced: string[];
}

/** Compares the rows of a table with those of its copy. */
async function compareTable(
  source: RowSource,
  target: CopyTarget,
  table: CopiedTable,
  { step, replaced }: Comparing,
): Promise<MigratedTable> {
  const [here, there] = [new RowSum(), new RowSum()];
  for (let after: SqlValue[] | null = null; ; ) {
    const rows = source.read(table, after, limitOf(table));
    const last = rows.at(-1);
    if (last === undefined) break;
    for (const row of rows) {
      const fitted = fitRow(table, row);
      here.add(fitted.values);
      for (const column of fitted.replaced)
        if (replaced.length < NAMED_MAX) replaced.push(`${table.name} ${keyOf(table, row).join(" ")} ${column}`);
    }
    after = keyOf(table, last);
    step(rows.length);
  }
  const result = { table: table.name, rows: here.rows, checksum: here.checksum };
  await target.readAll(table, (rows) => {
    for (const row of rows) there.add(row);
  });
  if (there.rows === here.rows && there.checksum === here.checksum) return result;
  throw new ConfigError(
    `The copy of ${table.name} has ${there.rows} rows with the checksum ${there.checksum.slice(0, 12)}, and the table has ${here.rows} with ${here.checksum.slice(0, 12)}: empty the database, and begin again.`,
  );
}
