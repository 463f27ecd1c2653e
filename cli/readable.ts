/** Opens what a build wrote to every user's reading, whatever the umask and the rights of the files that it copied. */

import { chmodSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** Lets every user read the file or directory at `path`, enter its directories, and run its programs. Nobody gets a right to write. */
export function makeReadable(path: string): void {
  const found = statSync(path);
  const isEntered = found.isDirectory() || (found.mode & 0o111) !== 0;
  chmodSync(path, found.mode | (isEntered ? 0o555 : 0o444));
  if (found.isDirectory()) for (const name of readdirSync(path)) makeReadable(join(path, name));
}
