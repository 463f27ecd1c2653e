/** Tests of the order of the statements into which operations are gathered. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { EncodedOperation } from "../jobs/jobs.ts";
import { shapesOf } from "./shapes.ts";

const update = (id: string): EncodedOperation => ["update", "messages", "text", ["x"], id, 1];
const put = (key: string): EncodedOperation => ["put", "memory", ["inst_1", key, "v"]];
const remove = (...where: [string, string][]): EncodedOperation => {
  const properties = where.map(([property]) => property).join(",");
  return ["delete", "memory", properties, where.map(([, value]) => value)];
};
const rewrite = (id: string): EncodedOperation => ["rewrite", id, "{}"];
const change: EncodedOperation = ["update", "deliveries", "dueAt", [1], "dlv_1", 1];

/** The operations of each statement. */
const gathered = (...operations: EncodedOperation[]) => shapesOf(operations).map((shape) => shape.operations);

test("operations of one shape are one statement, in the order of their keys; tables have one order", () => {
  const expected = [
    [update("msg_1"), update("msg_2")],
    [put("a"), put("b")],
  ];
  assert.deepEqual(gathered(put("b"), update("msg_2"), put("a"), update("msg_1")), expected);
  assert.deepEqual(gathered(update("msg_1"), put("a"), put("b"), update("msg_2")), expected);
});

test("operations that touch one record keep their order", () => {
  const operations = [put("a"), put("b"), remove(["instanceId", "inst_1"]), put("a")];
  assert.deepEqual(gathered(...operations), [operations.slice(0, 2), operations.slice(2, 3), operations.slice(3)]);
  assert.deepEqual(gathered(update("msg_1"), update("msg_1")), [[update("msg_1")], [update("msg_1")]]);
});

test("a delete by a part of the key touches every record of its table, and one by the whole key only its own", () => {
  const own = remove(["key", "b"], ["instanceId", "inst_1"]);
  assert.deepEqual(gathered(put("a"), own, put("c")), [[put("a"), put("c")], [own]]);
  assert.deepEqual(gathered(put("b"), own, put("c")), [[put("b"), put("c")], [own]]);
  assert.deepEqual(gathered(remove(["key", "b"], ["instanceId", "inst_1"]), put("b")), [[own], [put("b")]]);
});

test("an erasure of an event's text and a change of a delivery, which may be one of the event, keep their order", () => {
  assert.deepEqual(gathered(rewrite("evt_2"), rewrite("evt_1")), [[rewrite("evt_1"), rewrite("evt_2")]]);
  assert.deepEqual(gathered(rewrite("evt_1"), change), [[rewrite("evt_1")], [change]]);
  assert.deepEqual(gathered(change, rewrite("evt_1")), [[change], [rewrite("evt_1")]]);
});
