/** A cache never goes on with a value that changed, never grows beyond its bounds, and reads no more often than it must. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { memoized } from "./bounded-map.ts";
import { Cached } from "./cached.ts";

/** Reads that a test ends by hand. */
function reads() {
  const begun: PromiseWithResolvers<string>[] = [];
  const read = (): Promise<string> => {
    const one = Promise.withResolvers<string>();
    begun.push(one);
    return one.promise;
  };
  return { begun, read, end: (at: number, value: string) => begun[at]?.resolve(value) };
}

/** The ways in which a key becomes stale. */
const CHANGES: readonly [string, (cached: Cached<string, string>) => void][] = [
  ["forget", (cached) => cached.forget("a")],
  ["forgetWhere", (cached) => cached.forgetWhere(() => true)],
  ["clear", (cached) => cached.clear()],
];

for (const [name, change] of CHANGES) {
  test(`a value whose key changes during its read is not kept, and who asks after that reads again: ${name}`, async () => {
    const cached = new Cached<string, string>({ max: 10 });
    const { begun, read, end } = reads();
    const before = cached.get("a", read);
    change(cached);
    const after = cached.get("a", read);
    assert.equal(begun.length, 2);
    end(1, "new");
    assert.equal(await after, "new");
    end(0, "old");
    assert.equal(await before, "old");
    assert.equal(cached.peek("a"), "new");
    cached.forget("a");
    const alone = cached.getAll(["a", "b"], async () => {
      change(cached);
      return new Map([["a", "old"]]);
    });
    assert.deepEqual([...(await alone)], [["a", "old"]]);
    assert.equal(cached.peek("a"), undefined);
  });
}

test("a value that is kept during a read stays when the read ends", async () => {
  const cached = new Cached<string, string>({ max: 10 });
  const { read, end } = reads();
  const reading = cached.get("a", read);
  cached.keep("a", "committed");
  end(0, "old");
  assert.equal(await reading, "old");
  assert.equal(await cached.get("a", read), "committed");
});

test("a read that begins during another one does not keep its value away: the first that ends is kept", async () => {
  const cached = new Cached<string, string>({ max: 10 });
  const { begun, read, end } = reads();
  const all = async () => new Map([["a", await read()]]);
  const [first, second] = [cached.getAll(["a"], all), cached.getAll(["a"], all)];
  assert.equal(begun.length, 2);
  end(0, "value");
  await first;
  assert.equal(cached.peek("a"), "value");
  const third = cached.getAll(["a"], all);
  assert.deepEqual([...(await third)], [["a", "value"]]);
  cached.forget("a");
  end(1, "old");
  await second;
  assert.equal(cached.peek("a"), undefined);
});

test("a change of one key leaves the read of another one", async () => {
  const cached = new Cached<string, string>({ max: 10 });
  const found = await cached.getAll(["a", "b"], async () => {
    cached.forget("a");
    return new Map([
      ["a", "1"],
      ["b", "2"],
    ]);
  });
  assert.equal(found.get("a"), "1");
  assert.deepEqual([cached.peek("a"), cached.peek("b")], [undefined, "2"]);
});

test("callers share a read, a failed read keeps nothing, and only missing keys are read", async () => {
  const cached = new Cached<string, string>({ max: 10, keeps: (value) => value !== "none" });
  const { begun, read, end } = reads();
  const both = Promise.allSettled([cached.get("a", read), cached.get("a", read)]);
  begun[0]?.reject(new Error("down"));
  assert.deepEqual(
    (await both).map(({ status }) => status),
    ["rejected", "rejected"],
  );
  const again = cached.get("a", read);
  end(1, "1");
  assert.equal(await again, "1");
  assert.equal(begun.length, 2);
  const none = cached.get("b", read);
  end(2, "none");
  assert.equal(await none, "none");
  assert.equal(cached.peek("b"), undefined);
  const asked: string[][] = [];
  const found = await cached.getAll(["a", "b", "b", "c"], async (missing) => {
    asked.push([...missing]);
    return new Map([["c", "3"]]);
  });
  assert.deepEqual(asked, [["b", "c"]]);
  assert.deepEqual(Object.fromEntries(found), { a: "1", c: "3" });
});

test("a value counts for its time, not at all if that is 0, and not if it was kept in the future", async () => {
  let now = 1_000;
  const expiry = { now: () => now, keptMs: (value: string) => Number(value) };
  const cached = new Cached<string, string>({ max: 10, expiry });
  cached.keep("a", "100");
  cached.keep("b", "0");
  assert.deepEqual([cached.peek("a"), cached.peek("b")], ["100", undefined]);
  now = 1_099;
  assert.equal(cached.peek("a"), "100");
  now = 999;
  assert.equal(cached.peek("a"), undefined);
  now = 1_100;
  assert.deepEqual([cached.peek("a"), cached.last("a")], [undefined, "100"]);
  await assert.rejects(cached.get("a", () => Promise.reject(new Error("down"))));
  assert.equal(cached.last("a"), "100", "a failed read takes nothing away");
  assert.equal(await cached.get("a", async () => "200"), "200");
  assert.equal(cached.peek("a"), "200");
});

test("at most so many values are kept, of at most so much weight, and the oldest go first", () => {
  const steps = fc.array(fc.tuple(fc.nat(12), fc.nat(9), fc.integer({ min: 0, max: 9 })), { maxLength: 100 });
  fc.assert(
    fc.property(steps, (list) => {
      const cached = new Cached<number, number>({ max: 5, weight: { of: (value) => value, max: 20 } });
      let model: [number, number][] = [];
      for (const [key, value, what] of list) {
        model = model.filter(([known]) => known !== key);
        if (what === 0) cached.forget(key);
        else {
          cached.keep(key, value);
          model.push([key, value]);
          while (model.length > 5 || model.reduce((sum, [, one]) => sum + one, 0) > 20) model.shift();
        }
        for (let at = 0; at <= 12; at += 1) assert.equal(cached.peek(at), new Map(model).get(at));
      }
    }),
  );
});

test("a pure function that remembers its results makes each of the last ones once", () => {
  const made: string[] = [];
  const twice = memoized(2, (text: string) => {
    made.push(text);
    return text + text;
  });
  for (const text of ["a", "a", "b", "c", "b", "a"]) assert.equal(twice(text), text + text);
  assert.deepEqual(made, ["a", "b", "c", "a"]);
});
