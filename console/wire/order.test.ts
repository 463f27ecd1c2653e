import assert from "node:assert/strict";
import { test } from "node:test";
import type { WireRow } from "../../sdk/wire-rows.ts";
import { clockSetAt, countNew, relatedKeys } from "./order.ts";

const row = (key: string, ids: WireRow["ids"]): WireRow => ({
  ...{
    key,
    ids,
    at: 0,
    shiftMs: 0,
    sinceMs: null,
    direction: "in",
    kind: "request",
    title: "",
    status: null,
    tone: "ok",
    detail: "",
  },
});
const asked = row("request", { request: "req_1", correlation: "cor_1" });
const hop = row("hop", { message: "msg_1", correlation: "cor_1" });
const sent = row("attempt", { message: "msg_1", event: "evt_1", delivery: "dlv_1" });
const other = row("other", { message: "msg_2", correlation: "cor_2" });
const alone = row("alone", { event: "evt_9", delivery: "dlv_9" });
const again = row("again", { event: "evt_9", delivery: "dlv_9" });
const rows = [asked, hop, sent, other, alone, again];

test("a request is related to the hops and attempts of its message, and each of them to the request", () => {
  for (const each of [asked, hop, sent]) assert.deepEqual([...relatedKeys(rows, each)], ["request", "hop", "attempt"]);
  assert.deepEqual([...relatedKeys(rows, other)], ["other"]);
});

test("rows without a message are related by their event", () => {
  assert.deepEqual([...relatedKeys(rows, alone)], ["alone", "again"]);
});

test("a reader is told how many rows there are that the list before did not have", () => {
  assert.equal(countNew(rows, [asked, hop]), 4);
  assert.equal(countNew(rows, rows), 0);
});

test("a divider stands before the first row after the clock was set, and none beside a planned retry", () => {
  const HOUR_MS = 3_600_000;
  const moved = { ...sent, shiftMs: HOUR_MS };
  const retry: WireRow = { ...sent, kind: "retry", shiftMs: 0 };
  const list = [asked, moved, retry, { ...moved, shiftMs: HOUR_MS - 3 }, hop];
  assert.deepEqual(
    list.map((_, index) => clockSetAt(list, index)),
    [null, "The clock is 1 h ahead", null, null, "The clock shows real time"],
  );
  assert.equal(clockSetAt([moved], 0), "The clock is 1 h ahead");
});
