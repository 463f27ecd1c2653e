/** `npm run dist`: writes a directory that runs the service on a server without npm and `node_modules`. */

import { chmodSync, copyFileSync, existsSync, globSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { makeReadable } from "./readable.ts";
import { writeServerFiles } from "./server-package.ts";

const EXECUTABLE = 0o755;
/** Every user may read what is written here: the service has an account of its own. */
const UMASK = 0o022;

/** `bin/tightbeam`: the command under the Node beside it. A server keeps its data where the documents say. */
const COMMAND = `#!/bin/sh
export TB_DATA_DIR="\${TB_DATA_DIR:-/var/lib/tightbeam}"
here=$(dirname "$(readlink -f "$0")")
exec "$here/node" "$here/../cli/bin.js" "$@"
`;

/** Writes the command, the files of the service, and the Node that runs this program, for every user to read. */
async function writeDist(root: string, directory: string): Promise<void> {
  await writeServerFiles(root, directory);
  mkdirSync(join(directory, "bin"));
  copyFileSync(process.execPath, join(directory, "bin/node"));
  writeFileSync(join(directory, "bin/tightbeam"), COMMAND);
  const license = nodeLicense(root);
  if (license !== null) copyFileSync(license, join(directory, "bin/LICENSE.node"));
  for (const name of ["node", "tightbeam"]) chmodSync(join(directory, "bin", name), EXECUTABLE);
  makeReadable(directory);
}

/** The license of the Node that runs this program: beside it, or in the package that npm installed it from. Null if there is none. */
function nodeLicense(root: string): string | null {
  const own = resolve(process.execPath, "../../LICENSE");
  const packaged = globSync("node_modules/node/node_modules/node-*/LICENSE", { cwd: root });
  return [own, ...packaged.map((path) => join(root, path))].find((path) => existsSync(path)) ?? null;
}

process.umask(UMASK);
const [target] = process.argv.slice(2);
if (target === undefined || existsSync(target)) {
  console.error("error: name a directory that does not exist yet: npm run dist -- /opt/tightbeam");
  process.exitCode = 1;
} else {
  await writeDist(fileURLToPath(new URL("../", import.meta.url)), resolve(target));
}
