// starts-first: it takes longest.

import assert from "node:assert/strict";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { FAULTS } from "../mutations/faults.ts";
import { spawnCommand } from "../support/process.ts";

const RUN = fileURLToPath(new URL("run.ts", import.meta.url));
const TIMEOUT_MS = 600_000;
/** Runs without a fence, of which one must fail. */
const RUNS_MAX = 5;

/** Arrangements by their options. */
const ARRANGEMENTS: Readonly<Record<string, string[]>> = {
  "one process on SQLite": ["--sqlite", "--kills", "3"],
  "one process on PostgreSQL": ["--processes", "1", "--kills", "3"],
  "two api and two worker on PostgreSQL": [],
  "two api and two worker whose hosts' clocks are 100 s apart": ["--skew", "100", "--kills", "4"],
};

for (const [arrangement, options] of Object.entries(ARRANGEMENTS)) {
  test(`npm run cluster: ${arrangement} loses nothing and doubles nothing when processes are killed under a load`, {
    timeout: TIMEOUT_MS,
  }, async (t) => {
    const { exited, output } = spawnCommand(t, [process.execPath, RUN, ...options], environment());
    assert.deepEqual(await exited, { code: 0, signal: null }, output.stdout + output.stderr);
    assert.match(output.stdout, /^ok: nothing is lost and nothing is doubled$/m);
  });
}

for (const { name } of FAULTS.filter(({ isFence }) => isFence === true)) {
  test(`npm run cluster fails if this fence is missing: ${name}`, { timeout: TIMEOUT_MS }, async (t) => {
    // The load itself repeats requests.
    const kills = name === "idempotency" ? "1" : "3";
    const command = [process.execPath, RUN, "--sqlite", "--kills", kills, "--sabotage", name];
    // Three kills may meet no moment at which the fence matters.
    for (let run = 1; ; run += 1) {
      const { exited, output } = spawnCommand(t, command, environment());
      const { code } = await exited;
      if (code === 0 && run < RUNS_MAX) continue;
      assert.equal(code, 1, output.stdout + output.stderr);
      assert.match(output.stderr, /^failed: /);
      return;
    }
  });
}

function environment(): Record<string, string> {
  return { PATH: process.env.PATH ?? "" };
}
