/**
 * Files that only the owner of the process may read. They are written atomically, and are on disk when the call
 * returns.
 */

import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";

const OWNER_ONLY = 0o600;
const OWNER_ONLY_DIRECTORY = 0o700;

/** Writes `text` to `path` with mode 0600, replacing an existing file. A crash leaves the old or the new file. */
export function replacePrivateFile(path: string, text: string): void {
  const temporary = writeTemporary(path, text);
  renameSync(temporary, path);
  syncDirectory(dirname(path));
}

/** Writes `text` to a new file at `path` with mode 0600. Returns false and changes nothing if the file exists. */
export function createPrivateFile(path: string, text: string): boolean {
  const temporary = writeTemporary(path, text);
  try {
    linkSync(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
  syncDirectory(dirname(path));
  return true;
}

/**
 * Makes a directory with mode 0700, and those above it, unless they are there. Throws the error of the system if one cannot be made. Node's own
 * recursive `mkdirSync` never returns where the system says that nothing can be made, as below /proc.
 */
export function makePrivateDirectory(path: string): void {
  const above = dirname(path);
  if (above !== path && !existsSync(above)) makePrivateDirectory(above);
  try {
    mkdirSync(path, { mode: OWNER_ONLY_DIRECTORY });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST" || !statSync(path).isDirectory()) throw error;
  }
}

/** Writes the text to disk in a file beside `path`. Only one process writes in a directory, so the name is fixed. */
function writeTemporary(path: string, text: string): string {
  makePrivateDirectory(dirname(path));
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true });
  const file = openSync(temporary, "wx", OWNER_ONLY);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return temporary;
}

function syncDirectory(path: string): void {
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
