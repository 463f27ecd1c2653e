/** Ids are UUIDs of version 7 behind a prefix, sort by creation, and are the same for the same input where they are hashed. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { createIdSource, firstIdAt, hashedId, idBeside } from "./id.ts";

/** RFC 9562, 5.7: 48 bits of time, version 7, 12 bits, variant 10, 62 bits. */
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

const instant = fc.integer({ min: 0, max: 2 ** 48 - 1 });

function timeOf(id: string): number {
  const [, uuid = ""] = id.split("_");
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}

test("an id is its prefix, an underscore and a UUIDv7 of the real time", () => {
  const newId = createIdSource(() => NOW, randomBytes);
  for (const prefix of ["msg", "evt", "req", "pay", "wh", "dlv", "key", "cust", "num", "chat", "con", "call", "inst"]) {
    const id = newId(prefix);
    assert.ok(id.startsWith(`${prefix}_`));
    assert.match(id.slice(prefix.length + 1), UUID_V7);
    assert.equal(timeOf(id), NOW);
  }
});

test("RFC 9562: the time of an id is the first 48 bits of its UUID, whatever the instant", () => {
  fc.assert(
    fc.property(instant, (at) => {
      const id = createIdSource(() => at, randomBytes)("evt");
      assert.match(id.slice(4), UUID_V7);
      assert.equal(timeOf(id), at);
      assert.match(hashedId("dlv", at, "x").slice(4), UUID_V7);
      assert.equal(timeOf(hashedId("dlv", at, "x")), at);
    }),
  );
});

test("a later id sorts later, also among 20,000 in one millisecond and after the clock goes back", () => {
  let now = NOW;
  const newId = createIdSource(() => now, randomBytes);
  const ids: string[] = [];
  for (const shiftMs of [0, 0, 1, -5_000, 3, -1, 4_000, 20_000]) {
    now += shiftMs;
    for (let count = 0; count < 20_000; count += 1) ids.push(newId("msg"));
  }
  for (let index = 1; index < ids.length; index += 1) assert.ok((ids[index - 1] ?? "") < (ids[index] ?? ""));
  const ahead = timeOf(ids[39_999] ?? "") - NOW;
  assert.ok(ahead <= 20, `40,000 in one millisecond run ${ahead} ms ahead`);
  assert.equal(timeOf(ids.at(-20_000) ?? ""), now);
});

test("two sources at the same time make different ids", () => {
  const sources = Array.from({ length: 100 }, () => createIdSource(() => NOW, randomBytes));
  const ids = sources.flatMap((newId) => Array.from({ length: 100 }, () => newId("evt")));
  assert.equal(new Set(ids).size, ids.length);
});

test("a hashed id is the same for the same time and parts, and another for any other", () => {
  const parts = fc.array(
    fc.string({ minLength: 1 }).filter((part) => !part.includes("\n")),
    { minLength: 1, maxLength: 4 },
  );
  fc.assert(
    fc.property(instant, parts, parts, (at, some, others) => {
      const id = hashedId("dlv", at, ...some);
      assert.equal(hashedId("dlv", at, ...some), id);
      assert.notEqual(hashedId("dlv", (at + 1) % 2 ** 48, ...some), id);
      assert.equal(hashedId("dlv", at, ...others) === id, JSON.stringify(some) === JSON.stringify(others));
    }),
  );
});

test("an id beside another one is found by the other's time and count, and differs from target to target", () => {
  fc.assert(
    fc.property(instant, fc.uniqueArray(fc.string(), { minLength: 2, maxLength: 20 }), (at, targets) => {
      const id = createIdSource(() => at, randomBytes)("evt");
      const made = targets.map((target) => idBeside("dlv", id, target));
      for (const one of made) {
        assert.match(one.slice(4), UUID_V7);
        assert.equal(one.slice(4, 22), id.slice(4, 22));
      }
      assert.equal(new Set(made).size, targets.length);
      assert.deepEqual(
        targets.map((target) => idBeside("dlv", id, target)),
        made,
      );
    }),
  );
});

test("firstIdAt sorts after every id of earlier instants, and before every id of its own instant", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 48 - 2 }), (at) => {
      const bound = firstIdAt("evt", at);
      const own = [createIdSource(() => at, randomBytes)("evt"), hashedId("evt", at, "x")];
      assert.ok(own.every((id) => id > bound));
      assert.ok(hashedId("evt", at - 1, "x") < bound);
      assert.ok(hashedId("evt", at + 1, "x") > bound);
    }),
  );
  assert.ok(firstIdAt("evt", -86_400_000) <= firstIdAt("evt", 0));
});
