import assert from "node:assert/strict";
import { test } from "node:test";
import type { Memory, Outcome, OutcomeMemory } from "../../server/providers/provider.ts";
import { Takings } from "./observed.ts";

const ENTRY = { key: "owed/msg_1/sms", value: "{}" };

/** The memory of an instance whose disk has these entries. */
function memoryWith(...entries: { key: string; value: string }[]): Memory {
  return { list: async () => entries, put: async () => {}, delete: async () => {} };
}

/** An attempt that the sandbox accepted, and how often it was noted as taken. */
function attempt(takings: Takings): { outcome: Outcome; taken: () => number } {
  let count = 0;
  const accepted = { outcome: "accepted" as const, reference: "sbx_1", memory: { entries: [ENTRY], stored: () => {} } };
  const outcome = takings.attempted(accepted, () => {
    count += 1;
  });
  return { outcome, taken: () => count };
}

function memoryOf(outcome: Outcome): OutcomeMemory {
  assert.ok("memory" in outcome && outcome.memory !== undefined);
  return outcome.memory;
}

test("the sandbox took a message once the outcome of its attempt is on disk", () => {
  const { outcome, taken } = attempt(new Takings());
  assert.equal(taken(), 0);
  memoryOf(outcome).stored();
  assert.equal(taken(), 1);
});

test("an attempt whose process died before its outcome was on disk was not taken", async () => {
  const takings = new Takings();
  const { taken } = attempt(takings);
  await takings.watch(memoryWith()).list("owed/");
  assert.equal(taken(), 0);
});

test("an attempt whose process died right after its outcome was on disk was taken", async () => {
  const takings = new Takings();
  const { taken } = attempt(takings);
  await takings.watch(memoryWith(ENTRY)).list("owed/");
  assert.equal(taken(), 1);
});

test("a lookup whose outcome is on disk notes that its attempt was taken", () => {
  const takings = new Takings();
  const { outcome, taken } = attempt(takings);
  memoryOf(takings.concluded(outcome)).stored();
  assert.ok(taken() > 0);
});
