/**
 * Plants each fault of `faults.ts` and runs the quick test that has to catch it: `npm run test:mutations`. `TB_MUTATIONS=<part of a name>`
 * plants only the faults whose names contain that.
 */

// starts-first: it takes minutes, and waits for most of them.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { SHARED_URL } from "../support/postgres.ts";
import { FAULTS, type Fault } from "./faults.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PLANT = new URL("plant.ts", import.meta.url).href;
const FIRST_RED = new URL("first-red.ts", import.meta.url).href;
/** Faults at once: some tests wait for the limit of a hang before they fail. */
const CONCURRENCY = 2;
const PART = process.env.TB_MUTATIONS ?? "";

/** Runs the test file of a fault with the fault planted, up to the first test that fails. Returns how the run ended, and its output. */
function runWith({ name, caughtBy }: Fault): Promise<{ code: unknown; output: string }> {
  // A test file that believes it is run by this one would report to it; a fault stays on a server of its own.
  const { NODE_TEST_CONTEXT: _, [SHARED_URL]: __, ...inherited } = process.env;
  const env = { ...inherited, TB_FAULT: name, NODE_OPTIONS: `--import=${PLANT}` };
  const args = [`--import=${FIRST_RED}`, "--test-reporter=tap", caughtBy];
  const options = { cwd: ROOT, env, maxBuffer: Number.POSITIVE_INFINITY };
  return new Promise((resolve) => {
    execFile(process.execPath, args, options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, output: `${stdout}\n${stderr}` }),
    );
  });
}

describe("the quick tests", { concurrency: CONCURRENCY }, () => {
  for (const fault of FAULTS.filter(({ name }) => name.includes(PART))) {
    test(`${fault.caughtBy} fails if this fault is planted: ${fault.name}`, async (t) => {
      const { code, output } = await runWith(fault);
      const [, failed] = /^ *not ok \d+ - (.*)$/m.exec(output) ?? [];
      assert.ok(code !== 0 && failed !== undefined, `no test of it failed: ${output}`);
      t.diagnostic(failed);
    });
  }
});
