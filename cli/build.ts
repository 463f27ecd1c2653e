/** Keeps a bundle of the sources beside them, so that a start loads a few files instead of 1,500 modules. */

import { mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { bundle } from "./bundle.ts";

/** After this time every program has loaded its code, and an old build may be deleted. */
const KEPT_MS = 3_600_000;
const PREFIX = "build-";

/**
 * Builds the sources of `root` in a new directory of `cache`, and names it in `build.json`, with size and time of every
 * file that went into it.
 */
async function build(root: string, cache: string): Promise<void> {
  const startedAt = Date.now();
  const directory = mkdtempSync(join(cache, PREFIX));
  const modules = await bundle(root, directory);
  const installed = join(root, "node_modules/.package-lock.json");
  const own = modules.filter((path) => path.startsWith(root) && !path.includes("/node_modules/"));
  const inputs = [...own, join(root, "cli/bundle.ts"), installed].map((path) => {
    const { size, mtimeMs } = statSync(path);
    return [relative(root, path), size, mtimeMs] as const;
  });
  // The bundle may contain an older version of a file that changed during the build.
  if (inputs.every(([, , mtimeMs]) => mtimeMs < startedAt)) {
    const manifest = join(directory, "build.json");
    writeFileSync(manifest, JSON.stringify({ directory: basename(directory), inputs }));
    renameSync(manifest, join(cache, "build.json"));
  }
  removeFormer(cache, directory, startedAt);
}

/** Deletes old builds that no program loads any more. */
function removeFormer(cache: string, current: string, now: number): void {
  for (const name of readdirSync(cache)) {
    const path = join(cache, name);
    if (!name.startsWith(PREFIX) || path === current) continue;
    if (statSync(path).mtimeMs < now - KEPT_MS) rmSync(path, { recursive: true, force: true });
  }
}

const [root = "", cache = ""] = process.argv.slice(2);
await build(root, cache);
