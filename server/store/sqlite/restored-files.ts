/**
 * Replaces the files of a data directory by the files of a restore. Every step can be repeated. So an interrupted restore
 * has changed nothing, or the process that locks the directory next finishes it.
 *
 * | directory         | means                                                                  | after a crash               |
 * |-------------------|------------------------------------------------------------------------|-----------------------------|
 * | `restore.tmp`     | files are copied into it                                               | the next restore deletes it |
 * | `restore.ready`   | the files are complete; the previous files are being moved aside       | finished                    |
 * | `restore.placing` | the previous files are aside; the new ones are moved to their places   | finished                    |
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { syncFile } from "./snapshot.ts";

const TEMPORARY = "restore.tmp";
const READY = "restore.ready";
const PLACING = "restore.placing";
/** Holds the name of the directory for the previous files. */
const ASIDE = "aside.txt";
const DATABASE = "tightbeam.db";

/** A data directory has this file if its database was copied into PostgreSQL. */
export const MIGRATED_FILE = "migrated-to-postgres";

/**
 * Matches the files that a service keeps in its data directory, except its lock. A restore leaves others alone, such as
 * `lost+found`.
 */
const OWN_FILE =
  /^(tightbeam\.db(-wal|-shm|-journal)?|secret\.key(\.next|\.new)?|credentials\.json(\.new)?|migrated-to-postgres)$/;

/** The files of the service in a data directory. */
export function listOwnFiles(dataDir: string): string[] {
  return readdirSync(dataDir).filter((name) => OWN_FILE.test(name));
}

/** Makes the empty directory that a restore copies its files into. */
export function makeStaging(dataDir: string): string {
  const path = join(dataDir, TEMPORARY);
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { mode: 0o700 });
  return path;
}

/** Deletes the files that a restore copied so far. */
export function dropStaging(dataDir: string): void {
  rmSync(join(dataDir, TEMPORARY), { recursive: true, force: true });
}

/**
 * Flushes the staged files to disk and makes them the data from now on. `aside`: the directory for the previous files.
 */
export function commitStaging(dataDir: string, aside: string): void {
  const staging = join(dataDir, TEMPORARY);
  for (const name of readdirSync(staging)) syncFile(join(staging, name));
  writeFileSync(join(staging, ASIDE), aside, { flush: true });
  syncFile(staging);
  renameSync(staging, join(dataDir, READY));
  syncFile(dataDir);
}

/** Finishes a restore that was committed. The caller has locked the directory. */
export function finishRestore(dataDir: string): void {
  const [ready, placing] = [join(dataDir, READY), join(dataDir, PLACING)];
  if (existsSync(ready)) {
    moveAside(dataDir, join(dataDir, readFileSync(join(ready, ASIDE), "utf8")));
    renameSync(ready, placing);
    syncFile(dataDir);
  }
  if (!existsSync(placing)) return;
  // Moves the database last: without the database nobody takes the directory for complete.
  const names = readdirSync(placing).filter((name) => name !== ASIDE && name !== DATABASE);
  for (const name of [...names, DATABASE]) {
    if (existsSync(join(placing, name))) renameSync(join(placing, name), join(dataDir, name));
  }
  syncFile(dataDir);
  rmSync(placing, { recursive: true });
  syncFile(dataDir);
}

function moveAside(dataDir: string, aside: string): void {
  const names = listOwnFiles(dataDir);
  if (names.length === 0) return;
  mkdirSync(aside, { recursive: true, mode: 0o700 });
  for (const name of names) renameSync(join(dataDir, name), join(aside, name));
  syncFile(aside);
  syncFile(dataDir);
}
