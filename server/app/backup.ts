/** Takes a backup of the service's database, also while the service runs, and verifies backups. Changes nothing in the data directory. */

import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { type Config, ConfigError } from "../config.ts";
import { fingerprint, secretKeysIn } from "../secrets.ts";
import { ERASED_SINCE_VACUUM } from "../store/settings.ts";
import { openWriter } from "../store/sqlite/connection.ts";
import {
  copyDatabase,
  DatabaseDamaged,
  inspectCopy,
  NoSpace,
  settingOfCopy,
  syncFile,
} from "../store/sqlite/snapshot.ts";
import { vacuumAfterErasure } from "../store/sqlite/vacuum.ts";
import { StoreUnusable } from "../store/store.ts";
import {
  BACKUP_FILES,
  type BackupFile,
  type BackupManifest,
  CREDENTIALS_FILE,
  checkFile,
  DATABASE_FILE,
  describeFile,
  forEachFile,
  formatManifest,
  KEY_FILE,
  MANIFEST,
  readManifest,
} from "./backup-manifest.ts";
import { requireOwnSchema } from "./check-schema.ts";
import { copyFromPostgres } from "./copy-from-postgres.ts";
import { SECRET_KEY } from "./stored-settings.ts";

/** Gets the work in progress, in words for people, and how far it is: in bytes, unless `unit` says otherwise. */
export type BackupProgress = (doing: string, done: number, total: number, unit?: "rows") => void;

export interface BackupOptions {
  version: string;
  /** Epoch milliseconds. */
  now: number;
  /** Whether the secret key goes into the backup. */
  withKey: boolean;
  /** It may throw to stop the work: nothing is left of the backup then. */
  progress: BackupProgress;
}

/** A backup, and what its owner should know about it. */
export interface TakenBackup {
  path: string;
  manifest: BackupManifest;
  warnings: string[];
}

/**
 * Takes a backup of the database, and of the key in the data directory, into the new directory `to`. A copy of PostgreSQL is a file of
 * the embedded database too. `to` exists only once the backup is complete and on disk.
 * Throws `ConfigError` with one line if it cannot.
 */
export async function takeBackup(config: Config, to: string, options: BackupOptions): Promise<TakenBackup> {
  const { dataDir, secretKey, databaseUrl } = config;
  const path = resolve(to);
  const database = join(dataDir, DATABASE_FILE);
  if (databaseUrl === null && !existsSync(database))
    throw new ConfigError(`There is no database in ${dataDir}: name the data directory of the service.`);
  if (existsSync(path)) throw new ConfigError(`${path} exists: a backup replaces nothing, so name a new directory.`);
  const partial = makePartial(path);
  try {
    const copy = join(partial, DATABASE_FILE);
    if (databaseUrl === null) await copyDatabase(database, copy, (...done) => options.progress("copying", ...done));
    else await copyFromPostgres(databaseUrl, copy, (...done) => options.progress(...done, "rows"));
    const unvacuumed = vacuumCopy(copy, options.progress);
    const content = inspectCopy(copy, false);
    const sealedWith = settingOfCopy(copy, SECRET_KEY);
    const key = keepKey(dataDir, partial, { sealedWith, given: secretKey, isWanted: options.withKey });
    keepCredentials(dataDir, partial);
    const files = await describeFiles(partial, options.progress);
    const takenAt = new Date(options.now).toISOString();
    const { version } = options;
    const manifest = { version, takenAt, ...content, secretKey: key, secretKeyFingerprint: sealedWith, files };
    writePrivate(join(partial, MANIFEST), formatManifest(manifest));
    syncFile(partial);
    renameSync(partial, path);
    syncFile(dirname(path));
    return { path, manifest, warnings: [...warningsOf(manifest), ...unvacuumed] };
  } catch (error) {
    rmSync(partial, { recursive: true, force: true });
    throw explain(error, databaseUrl === null ? database : path, path);
  }
}

/** Checks a backup against its manifest, and the database in it. Throws `ConfigError` with one line if it is damaged. */
export async function verifyBackup(from: string, progress: BackupProgress): Promise<TakenBackup> {
  const path = resolve(from);
  const manifest = readManifest(path);
  await forEachFile(
    manifest.files,
    (...done) => progress("verifying", ...done),
    (file, report) => checkFile(path, file, report),
  );
  try {
    requireOwnSchema(join(path, DATABASE_FILE), path, manifest.schema);
    inspectCopy(join(path, DATABASE_FILE), true);
  } catch (error) {
    throw explain(error, join(path, DATABASE_FILE), path);
  }
  return { path, manifest, warnings: warningsOf(manifest) };
}

/** The directory in which a backup is made. Its name is never that of a backup. */
function makePartial(path: string): string {
  try {
    return mkdtempSync(`${path}.partial-`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const directory = dirname(path);
    if (code === "ENOENT") throw new ConfigError(`The directory ${directory} does not exist: create it first.`);
    if (code === "EACCES" || code === "EPERM" || code === "EROFS")
      throw new ConfigError(`${basename(path)} cannot be written into ${directory}: ${message}.`);
    throw explain(error, path, path);
  }
}

/** A copy has the unused parts of pages too: vacuums it if an erasure asks for it. Returns warnings. */
function vacuumCopy(copy: string, progress: BackupProgress): string[] {
  if (settingOfCopy(copy, ERASED_SINCE_VACUUM) === null) return [];
  const { size } = statSync(copy);
  const database = openWriter(copy);
  try {
    const reason = vacuumAfterErasure(database, copy, () => progress("vacuuming", 0, size));
    if (reason === null) progress("vacuuming", size, size);
    const remedy = "Vacuum the database of the service (tightbeam vacuum --help), and take another one.";
    return reason === null
      ? []
      : [`The backup may have copies of texts of erased contacts, since ${reason}. ${remedy}`];
  } finally {
    database.close();
    syncFile(copy);
  }
}

interface WantedKey {
  /** Fingerprint of the key that the database was encrypted with; null: nothing is encrypted yet. */
  sealedWith: string | null;
  /** The key of `TB_SECRET_KEY`. */
  given: Buffer | null;
  isWanted: boolean;
}

/** Copies the key that fits the database, if it is in a file. */
function keepKey(dataDir: string, to: string, { sealedWith, given, isWanted }: WantedKey): BackupManifest["secretKey"] {
  if (sealedWith === null) return null;
  if (!isWanted) return "elsewhere";
  const fitting = secretKeysIn(dataDir).find((key) => fingerprint(key) === sealedWith);
  if (fitting !== undefined) {
    writePrivate(join(to, KEY_FILE), `${fitting.toString("base64")}\n`);
    return "included";
  }
  if (given !== null && fingerprint(given) === sealedWith) return "elsewhere";
  throw new ConfigError(
    `The secret key in ${dataDir} does not fit the database: set TB_SECRET_KEY to the one it was made with, or back up --without-key.`,
  );
}

/** Copies the keys of the command line, if the first start stored any. */
function keepCredentials(dataDir: string, to: string): void {
  const path = join(dataDir, CREDENTIALS_FILE);
  if (existsSync(path)) writePrivate(join(to, CREDENTIALS_FILE), readFileSync(path, "utf8"));
}

async function describeFiles(directory: string, progress: BackupProgress): Promise<BackupFile[]> {
  const files: BackupFile[] = [];
  const present = BACKUP_FILES.filter((name) => existsSync(join(directory, name))).map((name) => ({
    name,
    bytes: statSync(join(directory, name)).size,
  }));
  await forEachFile(
    present,
    (...done) => progress("checking", ...done),
    async ({ name }, report) => {
      files.push(await describeFile(directory, name, report));
    },
  );
  return files;
}

function writePrivate(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600, flag: "wx", flush: true });
}

function warningsOf({ secretKey, secretKeyFingerprint }: BackupManifest): string[] {
  if (secretKey === "included")
    return ["The backup holds the secret key and message texts in clear: keep it where nobody else can read it."];
  if (secretKey === null) return [];
  return [
    `The secret key is not in the backup (fingerprint ${secretKeyFingerprint}): without it, stored secrets cannot be decrypted. Keep TB_SECRET_KEY or secret.key elsewhere.`,
  ];
}

function explain(error: unknown, database: string, path: string): unknown {
  if (error instanceof DatabaseDamaged)
    return new ConfigError(`The database ${database} is damaged (${error.message}): a copy of it is no backup.`);
  if (error instanceof NoSpace || (error as NodeJS.ErrnoException).code === "ENOSPC")
    return new ConfigError(
      `There is no space for the backup: ${(error as Error).message}. Nothing was left at ${path}.`,
    );
  if (error instanceof StoreUnusable) return new ConfigError(error.message);
  return error;
}
