import assert from "node:assert/strict";
import { test } from "node:test";
import { hashOf, simulate } from "./world.ts";
import { brokenWorlds, seedsOf } from "./worlds.ts";

/** A few worlds for every run of the tests; `simulation.long.test.ts` goes through many. */
const SEEDS = seedsOf(3);
const TIMEOUT_MS = Math.max(600_000, SEEDS.length * 5_000);

test(`every promise holds in ${SEEDS.length} simulated worlds of crashes, faults and bad habits`, {
  timeout: TIMEOUT_MS,
}, async () => {
  assert.deepEqual(await brokenWorlds(SEEDS), []);
});

test("the same seed gives the same run, to the last byte observed", { timeout: TIMEOUT_MS }, async () => {
  const [seed = "1"] = SEEDS;
  assert.equal(hashOf(await simulate(seed)), hashOf(await simulate(seed)));
});
