/** `npm run dev` on a copy of the sources, as those who change them run it. */

import assert from "node:assert/strict";
import { appendFileSync, cpSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { emptyDirectory } from "../support/cli.ts";
import { type Spawned, spawnService } from "../support/process.ts";
import { until } from "../support/wait.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** The parts that the service runs. Without the sources of the console there is none to build. */
const PARTS = ["cli", "contract", "sdk", "server", "package.json"];

/** The port of each start so far. */
function portsIn({ output }: Spawned): string[] {
  return [...output.stdout.matchAll(/"port":(\d+),.*"event":"listening"/g)].map(([, port = ""]) => port);
}

test("npm run dev starts the service, and starts it again when a file changes that a thread or the program has loaded", async (t) => {
  const root = emptyDirectory(t);
  for (const part of PARTS) cpSync(join(ROOT, part), join(root, part), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
  let dev: Spawned | undefined;
  // SIGKILL would reach only npm.
  t.after(() => dev?.end("SIGTERM"));
  dev = spawnService(t, { dataDir: join(root, "data"), program: ["npm", "--prefix", root, "run", "dev"] });
  const answersHealth = async (starts: number) => {
    const port = await until(() => dev !== undefined && portsIn(dev)[starts - 1], { what: `start ${starts}` });
    const answer = await until(() => fetch(`http://127.0.0.1:${port}/healthz`).catch(() => null));
    assert.deepEqual(await answer.json(), { status: "ok" });
  };
  await answersHealth(1);
  appendFileSync(join(root, "server/app/deliver-worker.ts"), "\n");
  await answersHealth(2);
  appendFileSync(join(root, "server/app/serve.ts"), "\n");
  await answersHealth(3);
  assert.doesNotMatch(dev.output.stdout + dev.output.stderr, /error/i);
});
