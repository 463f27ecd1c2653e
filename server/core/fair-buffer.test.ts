import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FairBuffer } from "./fair-buffer.ts";

test("items are taken in the order in which they were added, of all owners", () => {
  const buffer = new FairBuffer<number>(10);
  for (const item of [1, 2, 3, 4, 5]) assert.equal(buffer.add(item % 2 === 0 ? "even" : "odd", item), false);
  assert.equal(buffer.size, 5);
  assert.deepEqual(buffer.take(), [1, 2, 3, 4, 5]);
  assert.deepEqual([buffer.size, buffer.take()], [0, []]);
});

test("a flood of one owner drops its own oldest items, and none of the others'", () => {
  const buffer = new FairBuffer<string>(100);
  for (let index = 0; index < 10; index += 1) buffer.add("quiet", `quiet ${index}`);
  let dropped = 0;
  for (let index = 0; index < 10_000; index += 1) if (buffer.add("flood", `flood ${index}`)) dropped += 1;
  for (let index = 10; index < 40; index += 1) buffer.add("quiet", `quiet ${index}`);
  const taken = buffer.take();
  assert.equal(taken.length, 100);
  assert.equal(dropped, 10_000 - 90);
  assert.equal(taken.filter((item) => item.startsWith("quiet")).length, 40);
  assert.equal(taken.filter((item) => item.startsWith("flood")).at(-1), "flood 9999");
});

test("whatever is added, the buffer stays within its bound, in order, and every owner below its share keeps all", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 4 }), { maxLength: 200 }), fc.integer({ min: 5, max: 20 }), (owners, max) => {
      const buffer = new FairBuffer<{ owner: number; index: number }>(max);
      for (const [index, owner] of owners.entries()) buffer.add(String(owner), { owner, index });
      const taken = buffer.take();
      assert.equal(taken.length, Math.min(max, owners.length));
      const numbers = taken.map(({ index }) => index);
      assert.deepEqual(
        numbers,
        numbers.toSorted((a, b) => a - b),
      );
      const share = max / 5;
      for (const owner of new Set(owners)) {
        const added = owners.filter((one) => one === owner).length;
        if (added <= share) assert.equal(taken.filter((one) => one.owner === owner).length, added);
      }
    }),
  );
});
