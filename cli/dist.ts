/** `npm run dist`: writes a directory that runs the service on a server without npm and `node_modules`. */

import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "./bundle.ts";

const EXECUTABLE = 0o755;

/**
 * `bin/tightbeam`: the command under the Node beside it. A server keeps its data where the documents say. SQLite sorts large
 * indexes in files there too: any other directory may be read-only, or small.
 */
const COMMAND = `#!/bin/sh
export TB_DATA_DIR="\${TB_DATA_DIR:-/var/lib/tightbeam}"
export SQLITE_TMPDIR="\${SQLITE_TMPDIR:-$TB_DATA_DIR}"
here=$(dirname "$(readlink -f "$0")")
exec "$here/node" "$here/../cli/bin.js" "$@"
`;

/** Writes the command, the bundle of the sources of `root`, and the Node that runs this program. */
async function writeDist(root: string, directory: string): Promise<void> {
  for (const name of ["bin", "cli", "dist/cli"]) mkdirSync(join(directory, name), { recursive: true });
  await bundle(root, join(directory, "dist/cli"));
  for (const name of ["cli/bin.js", "LICENSE"]) copyFileSync(join(root, name), join(directory, name));
  const { name, version, license, type, engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  writeFileSync(join(directory, "package.json"), `${JSON.stringify({ name, version, license, type, engines })}\n`);
  copyFileSync(process.execPath, join(directory, "bin/node"));
  writeFileSync(join(directory, "bin/tightbeam"), COMMAND);
  for (const name of ["node", "tightbeam"]) chmodSync(join(directory, "bin", name), EXECUTABLE);
}

const [target] = process.argv.slice(2);
if (target === undefined || existsSync(target)) {
  console.error("error: name a directory that does not exist yet: npm run dist -- /opt/tightbeam");
  process.exitCode = 1;
} else {
  await writeDist(fileURLToPath(new URL("../", import.meta.url)), resolve(target));
}
