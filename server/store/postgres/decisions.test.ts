/** Tests of the decisions about the transactions of a group. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { EncodedOperation } from "../jobs/jobs.ts";
import type { Findings } from "./checks.ts";
import { decide } from "./decisions.ts";
import { RoutingOfGroup } from "./routing.ts";

const update = (id: string, version: number): EncodedOperation => ["update", "messages", "text", ["x"], id, version];
const taking = (key: string): EncodedOperation => ["insertUnique", "idempotency", ["cust_1", key, "f", "r", 1]];
const requiring = (kind: "require" | "requireNone", id: string): EncodedOperation => [
  kind,
  "chats",
  "id",
  [id],
  "cust_1",
];
const removeChat = (id: string): EncodedOperation => ["delete", "chats", "id", [id]];
const ofEpoch: EncodedOperation = ["requireEpoch", "lease_1", 2];
const removeKeys: EncodedOperation = ["delete", "idempotency", "customerId", ["cust_1"]];

/** The results of transactions of a group, in order. */
function resultsOf(transactions: EncodedOperation[][], given: Partial<Findings> = {}): (string | undefined)[] {
  const findings = {
    versions: new Map(),
    found: new Set<EncodedOperation>(),
    unmet: new Set<EncodedOperation>(),
    ...given,
  };
  const pending = transactions.map((operations, index) => ({ index, operations }));
  const { results } = decide(pending, findings, new RoutingOfGroup([]));
  return pending.map(({ index }) => results.get(index)?.result);
}

test("the first operation whose requirement does not hold decides the result", () => {
  const versions = new Map([["messages msg_1", 1]]);
  const [a, b] = [taking("a"), taking("b")];
  const found = new Set([a]);
  assert.deepEqual(
    resultsOf(
      [
        [update("msg_1", 2), a],
        [a, update("msg_1", 2)],
        [b, update("msg_2", 1)],
        [b, update("msg_1", 1)],
      ],
      {
        versions,
        found,
      },
    ),
    ["conflict", "duplicate", "conflict", "ok"],
  );
  const [is, isNone] = [requiring("require", "chat_1"), requiring("requireNone", "chat_1")];
  assert.deepEqual(resultsOf([[is], [isNone]]), ["conflict", "ok"]);
  assert.deepEqual(resultsOf([[is], [isNone]], { found: new Set([is, isNone]) }), ["ok", "conflict"]);
  assert.deepEqual(resultsOf([[ofEpoch, is]], { unmet: new Set([ofEpoch]) }), ["unmet"]);
});

test("a transaction sees the versions and keys that accepted transactions before it leave", () => {
  const versions = new Map([["messages msg_1", 1]]);
  const transactions = [
    [update("msg_1", 1), taking("a")],
    [update("msg_1", 1)],
    [taking("a")],
    [update("msg_1", 2)],
    [update("msg_1", 3), taking("b")],
  ];
  assert.deepEqual(resultsOf(transactions, { versions }), ["ok", "conflict", "duplicate", "ok", "ok"]);
});

test("a refused transaction leaves no version and no key", () => {
  assert.deepEqual(resultsOf([[taking("a"), update("msg_1", 1)], [taking("a")]]), ["conflict", "ok"]);
});

test("a transaction that depends on a change whose effect only the database knows waits, with all behind it", () => {
  assert.deepEqual(resultsOf([[removeKeys], [update("msg_1", 1)], [taking("a")], [taking("b")]]), [
    "ok",
    "conflict",
    undefined,
    undefined,
  ]);
  const none = requiring("requireNone", "chat_1");
  assert.deepEqual(resultsOf([[removeChat("chat_1")], [none]], { found: new Set([none]) }), ["ok", undefined]);
  const change: EncodedOperation = ["update", "deliveries", "dueAt", [1], "dlv_1", 1];
  assert.deepEqual(resultsOf([[["rewrite", "evt_1", "{}"]], [change]]), ["ok", undefined]);
});
