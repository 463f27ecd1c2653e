/** Finds exposures of the data: files that other accounts may read, and rights that the process does not need. */

import { statSync } from "node:fs";
import { join } from "node:path";

/** Files of a data directory that hold keys, secrets or people's messages. */
const PRIVATE_FILES = ["secret.key", "secret.key.next", "credentials.json", "tightbeam.db", "tightbeam.db-wal"];

/** Permission bits of group and others. */
const OTHERS = 0o077;

/**
 * One line for each exposure, with the command that repairs it. A new data directory has mode 0700 and is not named; an
 * existing directory keeps its mode. `uid` is the account of the process, undefined on systems without accounts.
 */
export function findExposures(dataDir: string, uid: number | undefined): string[] {
  const exposures = uid === 0 ? [AS_ROOT] : [];
  if (uid === undefined) return exposures;
  const directory = modeOf(dataDir);
  if (directory === null || (directory & OTHERS) === 0) return exposures;
  exposures.push(`${dataDir} is open to other accounts (mode ${octal(directory)}): run chmod 700 ${dataDir}`);
  for (const name of PRIVATE_FILES) {
    const path = join(dataDir, name);
    const mode = modeOf(path);
    if (mode === null || (mode & OTHERS) === 0) continue;
    exposures.push(`${path} is open to other accounts (mode ${octal(mode)}): run chmod 600 ${path}`);
  }
  return exposures;
}

const AS_ROOT =
  "the service runs as root and needs no such rights: start it from an account of its own, with a PORT above 1023";

function modeOf(path: string): number | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? null : found.mode & 0o777;
}

function octal(mode: number): string {
  return mode.toString(8).padStart(3, "0");
}
