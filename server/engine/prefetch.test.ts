/** Prefetched items keep their order, and no two items with one ordering key run at once. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Prefetch } from "./prefetch.ts";

interface Item {
  id: number;
  key: string | null;
}

test("items with one ordering key follow each other, and other items overtake those that wait", () => {
  const prefetch = new Prefetch<Item>(
    ({ key }) => key,
    () => 0,
  );
  const items = [
    { id: 1, key: "a" },
    { id: 2, key: "a" },
    { id: 3, key: null },
    { id: 4, key: "b" },
  ];
  for (const item of items) prefetch.add(item);
  const first = prefetch.take();
  assert.deepEqual(first, items[0]);
  assert.deepEqual([prefetch.take()?.id, prefetch.take()?.id, prefetch.take()], [3, 4, null]);
  if (first !== null) prefetch.putBack(first);
  assert.equal(prefetch.take()?.id, 1);
  if (first !== null) prefetch.ended(first);
  assert.equal(prefetch.take()?.id, 2);
  assert.equal(prefetch.size, 0);
});

test("after any additions, releases, removals and ends every item is taken once, in order within its key", () => {
  const action = fc.oneof(
    fc.record({ kind: fc.constant("add" as const), key: fc.constantFrom(null, "a", "b", "c") }),
    fc.record({ kind: fc.constantFrom("take" as const, "putBack" as const, "end" as const) }),
    fc.record({ kind: fc.constant("remove" as const), divisor: fc.integer({ min: 2, max: 4 }) }),
  );
  fc.assert(
    fc.property(fc.array(action, { maxLength: 80 }), (actions) => {
      const prefetch = new Prefetch<Item>(
        ({ key }) => key,
        () => 0,
      );
      const running: Item[] = [];
      const out: Item[] = [];
      let waiting: Item[] = [];
      let nextId = 1;
      const take = () => {
        const item = prefetch.take();
        if (item === null) return false;
        assert.ok(item.key === null || running.every(({ key }) => key !== item.key), "the key is busy");
        const earlier = waiting.find(({ key }) => key !== null && key === item.key);
        assert.ok(earlier === undefined || earlier.id === item.id, "an earlier item of the key waits");
        waiting = waiting.filter(({ id }) => id !== item.id);
        running.push(item);
        return true;
      };
      for (const one of actions) {
        if (one.kind === "add") {
          const item = { id: nextId++, key: one.key };
          waiting.push(item);
          prefetch.add(item);
        } else if (one.kind === "take") take();
        else if (one.kind === "remove") {
          const matches = ({ id }: Item) => id % one.divisor === 0;
          const removed = prefetch.remove(matches);
          assert.deepEqual(
            removed.map(({ id }) => id).toSorted(),
            waiting
              .filter(matches)
              .map(({ id }) => id)
              .toSorted(),
          );
          waiting = waiting.filter((item) => !matches(item));
        } else {
          const item = running.shift();
          if (item === undefined) continue;
          if (one.kind === "end") {
            out.push(item);
            prefetch.ended(item);
          } else {
            waiting.unshift(item);
            prefetch.putBack(item);
          }
        }
        assert.equal(prefetch.size, waiting.length);
      }
      for (;;) {
        while (take());
        const item = running.shift();
        if (item === undefined) break;
        prefetch.ended(item);
      }
      assert.deepEqual(waiting, []);
    }),
  );
});
