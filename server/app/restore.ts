/**
 * Puts a backup in the place of a data directory, or into an empty PostgreSQL database, while no service runs on it, and marks it so
 * that the next start holds what may have been sent since.
 */

import { closeSync, createReadStream, existsSync, openSync, writeSync } from "node:fs";
import { join, resolve } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { type Config, ConfigError } from "../config.ts";
import { CLOCK_SHIFT, shiftMsOf } from "../engine/sandbox/clock.ts";
import { createPrivateFile, makePrivateDirectory } from "../private-file.ts";
import { fingerprint, secretKeysIn } from "../secrets.ts";
import { lockDirectory, openWriter } from "../store/sqlite/connection.ts";
import {
  commitStaging,
  dropStaging,
  finishRestore,
  listOwnFiles,
  makeStaging,
} from "../store/sqlite/restored-files.ts";
import { inspectCopy, isOwnSchema, NoSpace, requireSpace } from "../store/sqlite/snapshot.ts";
import { StoreUnusable } from "../store/store.ts";
import type { BackupProgress } from "./backup.ts";
import {
  type BackupManifest,
  checkFile,
  DATABASE_FILE,
  forEachFile,
  KEY_FILE,
  readManifest,
} from "./backup-manifest.ts";
import { requireOwnSchema } from "./check-schema.ts";
import { restoreIntoPostgres } from "./restore-into-postgres.ts";
import { countRestoredWork, type RestoredWork, restoredMark } from "./restored-work.ts";

/**
 * How far positions of events go on after a restore: further than they can have gone since the backup, so that the cursor of a
 * reader who has read later events skips none.
 */
const POSITIONS_SKIPPED = 1e12;
const COPIED_AT_ONCE_BYTES = 4 * 1024 * 1024;

export interface RestoreOptions {
  /** Epoch milliseconds. */
  now: number;
  /** Whether data that is there already is moved aside; if not, the restore is refused. */
  moveAside: boolean;
  progress: BackupProgress;
}

export interface RestoreResult {
  /** The data directory; null if the backup is in PostgreSQL now. */
  dataDir: string | null;
  takenAt: string;
  /** The directory with the previous files; null if there were none. */
  movedTo: string | null;
  work: RestoredWork;
  warnings: string[];
}

/**
 * Restores the backup in the directory `from`. If it throws or the process dies, the data directory has the old data, or the new
 * data once it is locked again; never a mixture. It deletes nothing. Throws `ConfigError` with one line if it cannot.
 */
export async function restoreBackup(config: Config, from: string, options: RestoreOptions): Promise<RestoreResult> {
  const { dataDir, databaseUrl } = config;
  const backup = resolve(from);
  const manifest = readManifest(backup);
  if (!isOwnSchema(manifest.schema)) {
    throw new ConfigError(
      `The backup ${backup} was made by another version of Tightbeam (${manifest.version}), which has other tables: install that version.`,
    );
  }
  const lock = lockData(dataDir);
  try {
    finishRestore(dataDir);
    if (databaseUrl !== null) {
      const copy = await stage(config, backup, manifest, options);
      const work = await restoreIntoPostgres(databaseUrl, copy, manifest, options);
      dropStaging(dataDir);
      return { dataDir: null, takenAt: manifest.takenAt, movedTo: null, work, warnings: warningsOf(config, manifest) };
    }
    const before = listOwnFiles(dataDir);
    if (before.length > 0 && !options.moveAside) {
      throw new ConfigError(
        `There is data in ${dataDir} (${before.join(", ")}): name an empty directory with --tb-data-dir, or have it moved aside with --move-aside.`,
      );
    }
    const copy = await stage(config, backup, manifest, options);
    const work = await mark(copy, manifest, options);
    const time = new Date(options.now).toISOString().replaceAll(/[-:]|\.\d+/g, "");
    const aside = newNameIn(dataDir, `before-restore-${time}`);
    commitStaging(dataDir, aside);
    finishRestore(dataDir);
    const movedTo = before.length === 0 ? null : join(dataDir, aside);
    return { dataDir, takenAt: manifest.takenAt, movedTo, work, warnings: warningsOf(config, manifest) };
  } catch (error) {
    dropStaging(dataDir);
    throw explain(error, dataDir);
  } finally {
    lock.close();
  }
}

/** The name, or with a number after it if a file has it: nothing that an earlier restore moved aside is replaced. */
function newNameIn(directory: string, wanted: string): string {
  let name = wanted;
  for (let number = 2; existsSync(join(directory, name)); number += 1) name = `${wanted}-${number}`;
  return name;
}

function lockData(dataDir: string): DatabaseSync {
  try {
    makePrivateDirectory(dataDir);
    return lockDirectory(join(dataDir, "lock.db"));
  } catch (error) {
    if (error instanceof StoreUnusable) throw new ConfigError(error.message);
    throw new ConfigError(`The data directory ${dataDir} cannot be made: ${(error as Error).message}.`);
  }
}

/** Copies the backup beside the data, and checks the copies. Returns the path of the database. */
async function stage(
  config: Config,
  backup: string,
  manifest: BackupManifest,
  options: RestoreOptions,
): Promise<string> {
  const { dataDir } = config;
  requireSpace(
    dataDir,
    manifest.files.reduce((sum, { bytes }) => sum + bytes, 0),
  );
  const staging = makeStaging(dataDir);
  await forEachFile(
    manifest.files,
    (...done) => options.progress("copying", ...done),
    ({ name, bytes }, report) => copyFile(join(backup, name), join(staging, name), (done) => report(done, bytes)),
  );
  await forEachFile(
    manifest.files,
    (...done) => options.progress("checking", ...done),
    (file, report) => checkFile(staging, file, report, backup),
  );
  const copy = join(staging, DATABASE_FILE);
  if (!existsSync(copy)) throw new ConfigError(`The backup ${backup} has no ${DATABASE_FILE}.`);
  requireSound(copy, backup, manifest);
  takeKey(config, manifest, staging);
  return copy;
}

async function copyFile(from: string, to: string, progress: (doneBytes: number) => void): Promise<void> {
  const target = openSync(to, "wx", 0o600);
  try {
    let done = 0;
    for await (const chunk of createReadStream(from, { highWaterMark: COPIED_AT_ONCE_BYTES })) {
      writeSync(target, chunk);
      done += chunk.length;
      progress(done);
    }
  } catch (error) {
    const { code, syscall, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") throw new ConfigError(`The backup is damaged: ${from} is missing.`);
    if (syscall === "open" || syscall === "read") throw new ConfigError(`${from} cannot be read: ${message}.`);
    throw error;
  } finally {
    closeSync(target);
  }
}

function requireSound(copy: string, backup: string, { schema }: BackupManifest): void {
  try {
    requireOwnSchema(copy, backup, schema);
    inspectCopy(copy, true);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`The database in the backup ${backup} is damaged: ${(error as Error).message}.`);
  }
}

/** If the backup has no key, a key in the data directory that fits is taken over. Throws `ConfigError` if `TB_SECRET_KEY` does not fit. */
function takeKey({ dataDir, secretKey }: Config, manifest: BackupManifest, staging: string): void {
  const { secretKeyFingerprint: wanted } = manifest;
  if (wanted === null) return;
  if (secretKey !== null && fingerprint(secretKey) !== wanted) {
    const fitting = manifest.secretKey === "included" ? "leave it out, since the backup has its key" : "set that one";
    throw new ConfigError(`TB_SECRET_KEY is not the key that the backup was made with: ${fitting}.`);
  }
  if (manifest.secretKey === "included" || secretKey !== null) return;
  const here = secretKeysIn(dataDir).find((key) => fingerprint(key) === wanted);
  if (here !== undefined) createPrivateFile(join(staging, KEY_FILE), `${here.toString("base64")}\n`);
}

/** Notes in the copy that it was restored. Returns what the next start will do. */
async function mark(copy: string, { takenAt }: BackupManifest, { now }: RestoreOptions): Promise<RestoredWork> {
  const database = openWriter(copy);
  try {
    database
      .prepare("update deleted_position set last = ? + max(last, coalesce((select max(position) from events), 0))")
      .run(POSITIONS_SKIPPED);
    const { name, value } = restoredMark(Date.parse(takenAt), now);
    database.prepare("insert or replace into settings (name, value) values (?, ?)").run(name, value);
    const shift = database.prepare("select value from settings where name = ?").get(CLOCK_SHIFT)?.value;
    return await countRestoredWork(now + shiftMsOf(String(shift)), (sql) => Number(database.prepare(sql).get()?.count));
  } finally {
    database.close();
  }
}

function warningsOf({ dataDir, secretKey, databaseUrl }: Config, manifest: BackupManifest): string[] {
  const { secretKeyFingerprint } = manifest;
  const isThere = secretKeyFingerprint === null || secretKey !== null;
  if (isThere || secretKeysIn(dataDir).some((key) => fingerprint(key) === secretKeyFingerprint)) return [];
  if (databaseUrl !== null && manifest.secretKey === "included")
    return [
      "Set TB_SECRET_KEY of each process to the content of secret.key in the backup, without which stored secrets cannot be decrypted.",
    ];
  return [
    `The backup has no secret key: put its secret.key into ${dataDir}, or set TB_SECRET_KEY, before you start (fingerprint ${secretKeyFingerprint}).`,
  ];
}

function explain(error: unknown, dataDir: string): unknown {
  if (error instanceof NoSpace || (error as NodeJS.ErrnoException).code === "ENOSPC")
    return new ConfigError(
      `There is no space for the restore in ${dataDir}: ${(error as Error).message}. Nothing was changed.`,
    );
  return error instanceof StoreUnusable ? new ConfigError(error.message) : error;
}
