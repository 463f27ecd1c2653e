import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

test("a world whose promises never let a timer fire ends the process, which names the seed and the place", () => {
  const script = `
    const { watched } = await import(${JSON.stringify(new URL("./watchdog.ts", import.meta.url).href)});
    async function tryAgain() {
      await null;
    }
    async function spin() {
      for (;;) await tryAgain();
    }
    await watched("done", async () => {}, 300);
    await watched("60", spin, 300);
  `;
  const { signal, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
    encoding: "utf8",
    timeout: 60_000,
  });
  assert.equal(signal, "SIGKILL", stderr);
  assert.match(stderr, /The world of seed 60 runs without end; again by TB_SIMULATION_SEED=60 /);
  assert.match(stderr, /at (spin|tryAgain) \(/);
});
