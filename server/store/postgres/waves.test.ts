/** Tests of how transactions are cut into waves, and of rows as JSON. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { EncodedOperation } from "../jobs/jobs.ts";
import { inputColumn, jsonRows } from "./json-rows.ts";
import { cutWave, KnownRefusals } from "./waves.ts";

const update = (id: string, version: number): EncodedOperation => ["update", "messages", "text", ["x"], id, version];
const put = (key: string): EncodedOperation => ["put", "memory", ["inst_1", key, "v"]];
const remove = (...where: [string, string][]): EncodedOperation => {
  const properties = where.map(([property]) => property).join(",");
  return ["delete", "memory", properties, where.map(([, value]) => value)];
};
const taking = (key: string): EncodedOperation => ["insertUnique", "idempotency", ["cust_1", key, "f", "r", 1]];

/** The transactions of each wave, and its stages if it is one of several. */
function wavesOf(...transactions: EncodedOperation[][]): (number[] | EncodedOperation[][])[] {
  let pending = transactions.map((operations, index) => ({ index, operations }));
  const waves: (number[] | EncodedOperation[][])[] = [];
  while (pending.length > 0) {
    const wave = cutWave(pending);
    waves.push(wave.stages === null ? wave.transactions.map(({ index }) => index) : wave.stages.map((one) => [...one]));
    pending = pending.slice(wave.transactions.length);
  }
  return waves;
}

test("a transaction begins the next wave if it touches a record or key of an earlier one", () => {
  const first = [update("msg_1", 1), taking("a")];
  assert.deepEqual(wavesOf(first, [update("msg_2", 1), taking("b")]), [[0, 1]]);
  assert.deepEqual(wavesOf(first, [update("msg_1", 1)], [update("msg_3", 1)]), [[0], [1, 2]]);
  assert.deepEqual(wavesOf(first, [taking("a")]), [[0], [1]]);
});

test("a delete by a part of the key touches every record of its table, and one by the whole key only its own", () => {
  assert.deepEqual(wavesOf([put("a")], [remove(["instanceId", "inst_1"])]), [[0], [1]]);
  assert.deepEqual(wavesOf([remove(["instanceId", "inst_1"])], [put("a")]), [[0], [1]]);
  assert.deepEqual(wavesOf([put("a")], [remove(["key", "b"], ["instanceId", "inst_1"])]), [[0, 1]]);
  assert.deepEqual(wavesOf([put("a")], [remove(["key", "a"], ["instanceId", "inst_1"])]), [[0], [1]]);
});

test("an erasure of an event's text is in no statement with a change of a delivery, which may be one of the event", () => {
  const rewrite = (id: string): EncodedOperation => ["rewrite", id, "{}"];
  const change: EncodedOperation = ["update", "deliveries", "dueAt", [1], "dlv_1", 1];
  assert.deepEqual(wavesOf([rewrite("evt_1"), rewrite("evt_2")], [rewrite("evt_3")]), [[0, 1]]);
  assert.deepEqual(wavesOf([rewrite("evt_1")], [change]), [[0], [1]]);
  assert.deepEqual(wavesOf([change], [rewrite("evt_1")]), [[0], [1]]);
  assert.deepEqual(wavesOf([rewrite("evt_1"), change]), [[[rewrite("evt_1")], [change]]]);
  const known = new KnownRefusals();
  known.note([change]);
  assert.deepEqual(known.of([change]), { result: "conflict" });
  known.note([rewrite("evt_1")]);
  assert.equal(known.of([["update", "deliveries", "dueAt", [1], "dlv_1", 3]]), null);
});

test("a transaction that touches a record twice is written alone, in stages that keep the order of its operations", () => {
  const operations = [put("a"), put("b"), remove(["instanceId", "inst_1"]), put("a")];
  assert.deepEqual(wavesOf([put("c")], operations, [put("d")]), [
    [0],
    [operations.slice(0, 2), operations.slice(2, 3), operations.slice(3)],
    [2],
  ]);
});

test("a transaction is refused without SQL if an earlier wave changed its record or took its key", () => {
  const known = new KnownRefusals();
  known.note([taking("a"), update("msg_1", 1)]);
  assert.deepEqual(known.of([taking("a")]), { result: "duplicate" });
  assert.deepEqual(known.of([update("msg_1", 1)]), { result: "conflict" });
  assert.equal(known.of([update("msg_1", 2)]), null);
  assert.equal(known.of([taking("b"), update("msg_1", 1)]), null, "the key may be taken: then it is a duplicate");
  known.note([remove(["instanceId", "inst_1"])]);
  assert.equal(known.of([taking("a")]), null);
});

test("rows as JSON keep every text but NUL and halves of surrogate pairs, and leave nulls out", () => {
  const columns = [inputColumn("memory", "key", "k"), inputColumn("memory", "value", "v")];
  const texts = ["\\u0000", "\\\\u0000 \u0001 \u{1F600}", 'quote " \n', "a\u0000b", "\ud800", "\\\u0000", "x\udc00\\"];
  const kept = ["\\u0000", "\\\\u0000 \u0001 \u{1F600}", 'quote " \n', "a\ufffdb", "\ufffd", "\\\ufffd", "x\ufffd\\"];
  const read = JSON.parse(
    jsonRows(
      columns,
      texts.map((text) => [text, null]),
    ),
  );
  assert.deepEqual(
    read,
    kept.map((text) => ({ k: text })),
  );
});
