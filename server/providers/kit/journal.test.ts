import assert from "node:assert/strict";
import { test } from "node:test";
import type { Memory } from "../provider.ts";
import { Journal } from "./journal.ts";

function stage({ entries = new Map<string, string>(), max = 10 } = {}) {
  const calls: string[] = [];
  const disk = { fails: false };
  const write = (change: () => void) => {
    if (disk.fails) throw new Error("the disk is full");
    change();
  };
  const memory: Memory = {
    list: async (prefix) =>
      [...entries].filter(([key]) => key.startsWith(prefix)).map(([key, value]) => ({ key, value })),
    put: async (key, value) => write(() => entries.set(key, value)),
    delete: async (key) => write(() => entries.delete(key)),
  };
  const journal = new Journal<{ at: number }>({
    memory,
    prefix: "one/",
    format: ({ at }) => String(at),
    parse: (text) => (Number.isNaN(Number(text)) ? null : { at: Number(text) }),
    ageOf: ({ at }) => at,
    max,
    added: ({ at }, name) => void calls.push(`+${name}:${at}`),
    removed: ({ at }, name) => void calls.push(`-${name}:${at}`),
  });
  return { entries, calls, disk, journal };
}

test("the next process goes on with the records, the oldest first, and deletes unreadable ones", async () => {
  const entries = new Map([
    ["one/b", "2"],
    ["one/x", "?"],
    ["one/a", "1"],
    ["two/c", "?"],
  ]);
  const { journal, calls } = stage({ entries });
  await journal.load();
  assert.deepEqual(calls, ["+a:1", "+b:2"]);
  assert.deepEqual([...entries.keys()], ["one/b", "one/a", "two/c"]);
  assert.deepEqual([journal.get("a"), journal.get("c"), journal.keyOf("a")], [{ at: 1 }, null, "one/a"]);
});

test("put adds a record once it is on disk, and set adds it before", async () => {
  const { journal, disk, entries } = stage();
  disk.fails = true;
  await assert.rejects(journal.put("a", { at: 1 }), /full/);
  assert.equal(journal.get("a"), null);
  journal.set("a", { at: 1 });
  await assert.rejects(journal.save("a"), /full/);
  assert.deepEqual([journal.get("a"), entries.size], [{ at: 1 }, 0]);
  disk.fails = false;
  await journal.save("a");
  assert.equal(entries.get("one/a"), "1");
  await journal.save("b");
  assert.equal(entries.size, 1);
});

test("beyond the limit the oldest record is deleted, and a replaced one is removed and added", async () => {
  const { journal, calls, entries } = stage({ max: 2 });
  for (const [at, name] of ["a", "b", "a", "c"].entries()) await journal.put(name, { at });
  assert.deepEqual(calls, ["+a:0", "+b:1", "-a:0", "+a:2", "+c:3", "-a:2"]);
  assert.deepEqual([...entries.keys()], ["one/b", "one/c"]);
  assert.deepEqual(journal.values(), [{ at: 1 }, { at: 3 }]);
});

test("delete removes a record from the disk, drop leaves that to the engine, and sweep deletes what is over", async () => {
  const { journal, entries, calls } = stage();
  for (const [at, name] of ["a", "b", "c", "d"].entries()) await journal.put(name, { at });
  await journal.delete("a");
  journal.drop("b");
  journal.drop("b");
  await journal.sweep(({ at }) => at < 3);
  assert.deepEqual([...entries.keys()], ["one/b", "one/d"]);
  assert.deepEqual([journal.size, calls.filter((call) => call.startsWith("-"))], [1, ["-a:0", "-b:1", "-c:2"]]);
});
