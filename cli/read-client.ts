/** Reads the client that the service hands out: `dist/sdk.tgz` of the package, which a service from the sources packs first. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

/** A packing takes two seconds; one that takes longer than this is given up. */
const PACK_MS_MAX = 120_000;

/** The tarball of the client that belongs to the package at `root`. It is packed in a process of its own, whose memory ends with it. */
export async function readClient(root: string): Promise<Buffer> {
  const program = join(root, "cli/client-package.ts");
  if (existsSync(program))
    await promisify(execFile)(process.execPath, [program, "--if-stale"], { timeout: PACK_MS_MAX });
  return await readFile(join(root, "dist/sdk.tgz"));
}
