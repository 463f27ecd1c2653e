/** The state of a key follows from its instants. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { isWorking, type KeyState, keyStateOf, maskedKey, powerOf } from "./key-state.ts";

const NOW = Date.UTC(2026, 0, 1);
const PAST = new Date(NOW - 1_000).toISOString();
const FUTURE = new Date(NOW + 1_000).toISOString();
const KEY = { revokedAt: null, expiresAt: null, replacedBy: null };

const STATES: readonly [KeyState, Partial<{ revokedAt: string; expiresAt: string; replacedBy: string }>, boolean][] = [
  ["active", {}, true],
  ["active", { expiresAt: FUTURE }, true],
  ["replaced", { expiresAt: FUTURE, replacedBy: "key_2" }, true],
  ["expired", { expiresAt: PAST, replacedBy: "key_2" }, false],
  ["revoked", { revokedAt: PAST, expiresAt: FUTURE }, false],
];

for (const [state, fields, works] of STATES)
  test(`a key with ${JSON.stringify(fields)} is ${state}`, () => {
    const found = keyStateOf({ ...KEY, ...fields }, NOW);
    assert.equal(found, state);
    assert.equal(isWorking(found), works);
  });

test("a key shows its first and last characters, and what it may do", () => {
  assert.equal(maskedKey({ last4: "PLE0" }), "tb_…PLE0");
  assert.equal(powerOf({ scope: "admin", permissions: [] }), "admin");
  assert.equal(powerOf({ scope: "messages", permissions: ["read", "send"] }), "read, send");
});
