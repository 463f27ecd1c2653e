/** Finds out whether the build of the console and of the documentation is of the present sources. Needs nothing but Node. */

import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The file of the build that holds the hash of the sources it was made from. */
export const BUILT_FROM = ".built-from";

/** Everything that goes into the build, by patterns from the root of the repository. */
const INPUTS = [
  "console/**/*.{ts,tsx,css,html,svg,json}",
  "sdk/**/*.{ts,md}",
  "{contract,site,server/api/openapi}/**/*.ts",
  "server/pages/service-url.ts",
  "docs/**/*.md",
  "package-lock.json",
];
const IGNORED = /(^|\/)(node_modules|dist)\/|\.test\.ts$/;

/** SHA-256 in hex of every source of the build in the repository at `root`; null if the sources are not there. */
export function hashSources(root: string): string | null {
  const paths = INPUTS.flatMap((pattern) => globSync(pattern, { cwd: root }))
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => !IGNORED.test(path))
    .sort();
  if (!paths.includes("console/index.html")) return null;
  const hash = createHash("sha256");
  for (const path of paths)
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(root, path)))
      .update("\0");
  return hash.digest("hex");
}

/** Whether `dist/console` of the repository at `root` was built from its present sources. */
export function isBuilt(root: string): boolean {
  try {
    return readFileSync(join(root, "dist/console", BUILT_FROM), "utf8").trim() === hashSources(root);
  } catch {
    return false;
  }
}
