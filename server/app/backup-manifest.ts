/** The manifest of a backup: what is in it, and the digests by which `restore` and `--verify` recognise damage. */

import { createHash } from "node:crypto";
import { createReadStream, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../config.ts";
import { jsonOf, listOf, numberOf, recordOf, textOf } from "../core/loose-json.ts";
import type { ByteProgress } from "../store/sqlite/snapshot.ts";

export const MANIFEST = "manifest.json";
export const DATABASE_FILE = "tightbeam.db";
export const KEY_FILE = "secret.key";
export const CREDENTIALS_FILE = "credentials.json";
/** All files that a backup can have beside its manifest: a restore writes no other. */
export const BACKUP_FILES: readonly string[] = [DATABASE_FILE, KEY_FILE, CREDENTIALS_FILE];
/** Version of the form of a backup. */
const FORMAT = 1;

/** A file of a backup. */
export interface BackupFile {
  name: string;
  bytes: number;
  sha256: string;
}

export interface BackupManifest {
  /** Version of the program that made the backup. */
  version: string;
  /** RFC 3339: the backup has everything that was on disk before. */
  takenAt: string;
  /** The id of the schema of the database: a restore takes no other than its own. */
  schema: string;
  /** Rows of some tables. */
  counts: Readonly<Record<string, number>>;
  /** Where the secret key is: in the backup, or elsewhere; null: nothing is encrypted yet. */
  secretKey: "included" | "elsewhere" | null;
  /** Fingerprint of the secret key. */
  secretKeyFingerprint: string | null;
  files: readonly BackupFile[];
}

/** The text of `manifest.json`. */
export function formatManifest(manifest: BackupManifest): string {
  return `${JSON.stringify({ format: FORMAT, ...manifest }, null, 2)}\n`;
}

/** Reads the manifest of the backup in a directory. Throws `ConfigError` if there is none. */
export function readManifest(directory: string): BackupManifest {
  const record = recordOf(jsonOf(readText(directory)));
  const format = numberOf(record?.format);
  if (format !== null && format > FORMAT) {
    throw new ConfigError(`The backup ${directory} was made by a newer version of Tightbeam; install that version.`);
  }
  const [version, takenAt, schema] = [record?.version, record?.takenAt, record?.schema].map(textOf);
  const files = listOf(record?.files, fileOf);
  const isWhole = format === FORMAT && version && takenAt && !Number.isNaN(Date.parse(takenAt)) && schema;
  // A file that is left out would be a part of the data that nobody checks.
  const areAllRead = Array.isArray(record?.files) && files.length === record.files.length;
  const areOnce = new Set(files.map(({ name }) => name)).size === files.length;
  if (record === null || !isWhole || files.length === 0 || !areAllRead || !areOnce) {
    throw new ConfigError(`The manifest of the backup ${directory} is damaged.`);
  }
  const { secretKey } = record;
  return {
    version,
    takenAt,
    schema,
    files,
    counts: Object.fromEntries(
      Object.entries(recordOf(record.counts) ?? {}).map(([name, count]) => [name, Number(count)]),
    ),
    secretKey: secretKey === "included" || secretKey === "elsewhere" ? secretKey : null,
    secretKeyFingerprint: textOf(record.secretKeyFingerprint),
  };
}

function readText(directory: string): string {
  try {
    return readFileSync(join(directory, MANIFEST), "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR")
      throw new ConfigError(
        `${directory} is no backup: it has no ${MANIFEST}. A backup that was interrupted has none.`,
      );
    throw new ConfigError(`The backup ${directory} cannot be read: ${(error as Error).message}.`);
  }
}

/** A file that the manifest names; null for any name that no backup has. */
function fileOf(value: unknown): BackupFile | null {
  const record = recordOf(value);
  const [name, bytes, sha256] = [textOf(record?.name), numberOf(record?.bytes), textOf(record?.sha256)];
  if (name === null || bytes === null || sha256 === null || !BACKUP_FILES.includes(name)) return null;
  return { name, bytes, sha256 };
}

/** Does something with one file after the other, and reports how many bytes are done of all of them, from 0 on. */
export async function forEachFile<File extends Pick<BackupFile, "bytes">>(
  files: readonly File[],
  progress: ByteProgress,
  act: (file: File, progress: ByteProgress) => Promise<void>,
): Promise<void> {
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let before = 0;
  progress(0, total);
  for (const file of files) {
    await act(file, (done) => progress(before + done, total));
    before += file.bytes;
  }
}

/** Size and digest of a file. */
export async function describeFile(directory: string, name: string, progress: ByteProgress): Promise<BackupFile> {
  const path = join(directory, name);
  const { size } = statSync(path);
  const hash = createHash("sha256");
  let done = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    hash.update(chunk);
    done += chunk.length;
    progress(done, size);
  }
  return { name, bytes: size, sha256: hash.digest("hex") };
}

/**
 * Throws `ConfigError` if a file in the directory is not the one that the manifest describes. `backup` is the directory that the
 * error names, if the file is a copy.
 */
export async function checkFile(
  directory: string,
  expected: BackupFile,
  progress: ByteProgress,
  backup = directory,
): Promise<void> {
  const found = await describeFile(directory, expected.name, progress).catch((error: Error) => {
    throw new ConfigError(`The backup ${backup} is damaged: ${expected.name} cannot be read (${error.message}).`);
  });
  if (found.bytes !== expected.bytes) {
    const sizes = `it has ${found.bytes} bytes and not ${expected.bytes}`;
    throw new ConfigError(`The backup ${backup} is damaged: ${expected.name} is cut off or was changed; ${sizes}.`);
  }
  if (found.sha256 !== expected.sha256) {
    throw new ConfigError(
      `The backup ${backup} is damaged: the SHA-256 of ${expected.name} is not that of the manifest.`,
    );
  }
}
