/** The order in which owners are served by the readers of lists. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ListReaders } from "./list-readers.ts";

/** Readers that answer when they are told to, and what they were asked, in order. */
function heldReaders(count: number) {
  const asked: { sql: string; answer: () => void }[] = [];
  const reader = () => (query: { sql: string }) =>
    new Promise<unknown[]>((resolve) => {
      asked.push({ sql: query.sql, answer: () => resolve([query.sql]) });
    });
  return { readers: new ListReaders(Array.from({ length: count }, reader)), asked };
}

const query = (sql: string) => ({ sql, parameters: [] });
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("a customer with many lists gets one of two readers, and another customer gets the other at once", async () => {
  const { readers, asked } = heldReaders(2);
  for (let index = 0; index < 10; index += 1) void readers.read("cust_busy", query(`busy ${index}`));
  await turn();
  assert.deepEqual(
    asked.map(({ sql }) => sql),
    ["busy 0"],
  );
  void readers.read("cust_other", query("other"));
  await turn();
  assert.deepEqual(
    asked.map(({ sql }) => sql),
    ["busy 0", "other"],
  );
});

test("customers are served in turn, statement by statement, whatever the order and number of their lists", async () => {
  const { readers, asked } = heldReaders(1);
  for (let index = 0; index < 4; index += 1) void readers.read("cust_busy", query(`busy ${index}`));
  for (let index = 0; index < 2; index += 1) void readers.read("cust_other", query(`other ${index}`));
  for (let index = 0; index < 6; index += 1) {
    await turn();
    asked[index]?.answer();
  }
  await turn();
  assert.deepEqual(
    asked.map(({ sql }) => sql),
    ["busy 0", "other 0", "busy 1", "other 1", "busy 2", "busy 3"],
  );
});

test("a waiting statement is cancelled when its client leaves, and never runs", async () => {
  const { readers, asked } = heldReaders(1);
  const gone = new AbortController();
  const first = readers.read("cust_1", query("first"), gone.signal);
  const second = readers.read("cust_1", query("second"), gone.signal);
  const reason = new Error("gone");
  gone.abort(reason);
  await assert.rejects(second, reason);
  asked[0]?.answer();
  assert.deepEqual(await first, ["first"], "what has begun ends");
  await assert.rejects(readers.read("cust_1", query("third"), gone.signal), reason);
  assert.deepEqual(
    asked.map(({ sql }) => sql),
    ["first"],
  );
});

test("a reader whose statement failed is free for the next statement", async () => {
  let calls = 0;
  const readers = new ListReaders([
    async () => {
      calls += 1;
      if (calls === 1) throw new Error("no such table");
      return [1];
    },
  ]);
  await assert.rejects(readers.read("cust_1", query("bad")), /no such table/);
  assert.deepEqual(await readers.read("cust_1", query("good")), [1]);
});
