/** `npm run pack`: packs the service and its client into two tarballs that npm installs: `tightbeam-*.tgz` and `tightbeam-sdk-*.tgz`. */

import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pack, packClient } from "./client-package.ts";
import { writeServerFiles } from "./server-package.ts";

/** Every user may read what is written here. */
const UMASK = 0o022;

/** Packs the service of the sources in `root` into a tarball in `directory`. Returns its path. */
async function packServer(root: string, directory: string): Promise<string> {
  const files = await mkdtemp(join(tmpdir(), "tightbeam-package-"));
  try {
    await writeServerFiles(root, files);
    await cp(join(root, "README.md"), join(files, "README.md"));
    return await pack(files, directory);
  } finally {
    await rm(files, { recursive: true, force: true });
  }
}

process.umask(UMASK);
const [directory = "."] = process.argv.slice(2);
console.log(await packServer(fileURLToPath(new URL("../", import.meta.url)), directory));
console.log(await packClient(directory));
