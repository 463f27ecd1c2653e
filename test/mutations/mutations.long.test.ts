/**
 * Plants each fault of `faults.ts` and runs the quick test that has to catch it: `npm run test:mutations`. `TB_MUTATIONS=<part of a name>`
 * plants only the faults whose names contain that.
 */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { SHARED_URL } from "../support/postgres.ts";
import { FAULTS, type Fault } from "./faults.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PLANT = new URL("plant.ts", import.meta.url).href;
const PART = process.env.TB_MUTATIONS ?? "";

/** Runs the test file of a fault with the fault planted. Returns how the run ended, and its output. */
function runWith({ name, caughtBy }: Fault): Promise<{ code: unknown; output: string }> {
  // A test file that believes to be run by this one would report to it; a fault stays on a server of its own.
  const { NODE_TEST_CONTEXT: _, [SHARED_URL]: __, ...inherited } = process.env;
  const env = { ...inherited, TB_FAULT: name, NODE_OPTIONS: `--import=${PLANT}` };
  const args = ["--test", "--test-reporter=tap", caughtBy];
  const options = { cwd: ROOT, env, maxBuffer: Number.POSITIVE_INFINITY };
  return new Promise((resolve) => {
    execFile(process.execPath, args, options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, output: `${stdout}\n${stderr}` }),
    );
  });
}

for (const fault of FAULTS.filter(({ name }) => name.includes(PART))) {
  test(`${fault.caughtBy} fails if this fault is planted: ${fault.name}`, async (t) => {
    const { code, output } = await runWith(fault);
    // The name of the file fails also if it cannot be loaded.
    const failed = [...output.matchAll(/^ *not ok \d+ - (.*)$/gm)].flatMap(([, title = ""]) =>
      title.endsWith(".test.ts") ? [] : title,
    );
    assert.ok(code !== 0 && failed.length > 0, `no test of it failed: ${output}`);
    t.diagnostic(failed.join("; "));
  });
}
