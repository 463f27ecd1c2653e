/** `npm run test:peers`: fetches the peers that are too large for `npm ci`, and runs the tests against them. */

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const HERE = import.meta.dirname;

interface Manifest {
  version?: string;
  dependencies?: Record<string, string>;
}

function manifest(...path: string[]): Manifest {
  const file = join(HERE, ...path, "package.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Manifest) : {};
}

/** Whether exactly the versions that are wanted are here. */
function isInstalled(): boolean {
  const wanted = Object.entries(manifest().dependencies ?? {});
  return wanted.every(([name, version]) => manifest("node_modules", name).version === version);
}

function install(): void {
  process.stdout.write("Fetching the peers: about 230 MB into test/peers/node_modules, once.\n");
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"];
  const { status } = spawnSync("npm", ["install", ...quiet], { cwd: HERE, stdio: "inherit" });
  if (status !== 0) process.exit(1);
}

if (!isInstalled()) install();
await import("./twilio-prism.ts");
