/** The tests of chance that the quick tests cut short, with all of their runs. */

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { FULL_RUNS, runsOf } from "./support/runs.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const OF_CHANCE = globSync("{server,test,sdk,cli}/**/*.test.ts", { cwd: ROOT }).filter(
  (path) => !path.endsWith(".long.test.ts") && readFileSync(`${ROOT}${path}`, "utf8").includes("support/runs.ts"),
);

process.env[FULL_RUNS] = "on";
for (const path of OF_CHANCE) await import(`../${path}`);

test("the tests of chance make all their runs here", () => {
  assert.ok(OF_CHANCE.length > 5);
  assert.equal(runsOf(1_000), 1_000);
});
