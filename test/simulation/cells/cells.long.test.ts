import assert from "node:assert/strict";
import { test } from "node:test";
import { FENCES } from "./cells-world.ts";
import { GOOD_WEATHER, runCells } from "./eight-cells.ts";
import { brokenRules } from "./rules.ts";

/** `TB_CELLS_SEED` runs one seed, `TB_CELLS_SEEDS` that many. */
const SEEDS = seedsOf(Number(process.env.TB_CELLS_SEEDS ?? 16), process.env.TB_CELLS_SEED);
/** A missing fence shows within so many seeds. */
const SABOTAGED_SEEDS = seedsOf(60);

function seedsOf(count: number, only?: string): string[] {
  return only === undefined ? Array.from({ length: count }, (_, index) => String(index + 1)) : [only];
}

test("eight cells lose no message and double none while cells die, customers are moved and replies get lost", async (t) => {
  const counts = { moves: 0, deaths: 0, repeatedRequests: 0, sent: 0 };
  for (const seed of SEEDS) {
    const run = await runCells(seed);
    assert.deepEqual(brokenRules(run), [], `TB_CELLS_SEED=${seed}`);
    counts.moves += run.moves;
    counts.deaths += run.deaths;
    counts.sent += run.carrier.taken.length;
    counts.repeatedRequests += run.sent.filter(
      ({ acknowledged, failures }) => acknowledged.length + failures > 1,
    ).length;
  }
  t.diagnostic(JSON.stringify(counts));
  for (const [what, count] of Object.entries(counts)) assert.ok(count >= SEEDS.length, `too few ${what}: ${count}`);
});

test("a dead cell and a move delay no request of any other customer", async () => {
  let undisturbed = 0;
  for (const seed of SEEDS.slice(0, 6)) {
    const run = await runCells(seed, { weather: GOOD_WEATHER });
    assert.deepEqual(brokenRules(run), [], `TB_CELLS_SEED=${seed}`);
    const others = run.sent.filter(({ customer }) => !run.disturbed.has(customer));
    assert.deepEqual(
      others.filter(({ failures }) => failures > 0),
      [],
      `TB_CELLS_SEED=${seed}`,
    );
    undisturbed += others.length;
  }
  assert.ok(undisturbed > 100, `only ${undisturbed} requests of other customers`);
});

test("the same seed of cells gives the same run", async () => {
  const [first, second] = [await runCells("1"), await runCells("1")];
  assert.deepEqual(second.customersServer.posted, first.customersServer.posted);
  assert.deepEqual(second.sent, first.sent);
});

for (const missing of FENCES) {
  test(`a message is lost or doubled if this fence is missing: ${missing}`, async () => {
    for (const seed of SABOTAGED_SEEDS) if (brokenRules(await runCells(seed, { missing })).length > 0) return;
    assert.fail(`${SABOTAGED_SEEDS.length} runs kept every promise without the fence`);
  });
}
