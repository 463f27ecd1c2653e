/** Reads the client that the service hands out: the tarball of the installed package, or one packed from the sources. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** A packing takes two seconds; one that takes longer than this is given up. */
const PACK_MS_MAX = 120_000;

/** The tarball of the client that belongs to the package at `root`. */
export async function readClient(root: string): Promise<Buffer> {
  const program = join(root, "cli/client-package.ts");
  return existsSync(program) ? packClient(program) : readFile(join(root, "dist/sdk.tgz"));
}

/** Packs the client in a process of its own, whose memory ends with it. */
async function packClient(program: string): Promise<Buffer> {
  const directory = await mkdtemp(join(tmpdir(), "tightbeam-client-"));
  try {
    await promisify(execFile)(process.execPath, [program, "--pack", directory], { timeout: PACK_MS_MAX });
    const [name = ""] = await readdir(directory);
    return await readFile(join(directory, name));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
