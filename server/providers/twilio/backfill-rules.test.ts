/** The backfill's decision for each message of a list, and the opt-out keywords that must not be overruled. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { wordMap } from "../../core/opt-out.ts";
import { chosenWords, DEFAULT_OPT_OUT_SETTINGS } from "../../core/opt-out-settings.ts";
import { decide, floorOf, isOlder, type ListContext, OVERLAP_MS, oldestFirst, stopAfter } from "./backfill-rules.ts";
import type { MessageRecord } from "./records.ts";

const NOW = Date.UTC(2026, 0, 2, 12);
const FLOOR = NOW - 3_600_000;
const OWN = "+15005550006";
const CONTACT = "+15550100001";

function listed(more: Partial<MessageRecord> = {}): MessageRecord {
  return {
    sid: "SM1",
    status: "received",
    errorCode: null,
    errorMessage: null,
    segments: 1,
    body: "Hi",
    from: CONTACT,
    to: OWN,
    isOutbound: false,
    createdAt: NOW - 1_000,
    mediaCount: 0,
    mediaPath: null,
    ...more,
  };
}

const DEFAULT = chosenWords(DEFAULT_OPT_OUT_SETTINGS);

const KNOWN: ListContext = { number: OWN, floor: FLOOR, now: NOW, isReported: () => false };

test("every combination of a listed message and its context follows the table", () => {
  const receiving = { status: "receiving" };
  const rows: [string, Partial<MessageRecord>, Partial<ListContext>, ReturnType<typeof decide>][] = [
    ["a contact's", {}, {}, "report"],
    ["without text", { body: "" }, {}, "report"],
    ["of a status that is not known", { status: "new" }, {}, "report"],
    ["of the second of the floor", { createdAt: FLOOR }, {}, "report"],
    ["from before the floor", { createdAt: FLOOR - 1 }, {}, "leave"],
    ["with a date in the future", { createdAt: NOW + 60_000 }, {}, "report"],
    ["without a date", { createdAt: null }, {}, "leave"],
    ["ours", { isOutbound: true }, {}, "leave"],
    ["to another number", { to: "+15005550007" }, {}, "leave"],
    ["to nobody", { to: null }, {}, "leave"],
    ["from nobody", { from: null }, {}, "leave"],
    ["of another channel", { from: `whatsapp:${CONTACT}` }, {}, "leave"],
    ["reported", {}, { isReported: (sid) => sid === "SM1" }, "leave"],
    ["another one reported", {}, { isReported: (sid) => sid === "SM2" }, "report"],
    ["still received", receiving, {}, "wait"],
    ["still received, for long", { ...receiving, createdAt: NOW - OVERLAP_MS }, {}, "report"],
    ["still received, and reported", receiving, { isReported: () => true }, "leave"],
    ["still received, before the floor", { ...receiving, createdAt: FLOOR - 1 }, {}, "leave"],
  ];
  for (const [what, message, known, deed] of rows) {
    assert.equal(decide(listed(message), { ...KNOWN, ...known }), deed, what);
  }
});

test("a read begins when the number was first seen, by Twilio's clock, and later a little before the cursor", () => {
  const born = { customerId: "cust_1", bornAt: NOW + 999, readUntil: null };
  assert.equal(floorOf(born, null), NOW);
  assert.equal(floorOf(born, 5_000), NOW + 5_000);
  assert.equal(floorOf(born, -5_000), NOW - 5_000);
  assert.equal(floorOf({ ...born, readUntil: NOW + 1_000 }, 0), NOW);
  assert.equal(floorOf({ ...born, readUntil: NOW + OVERLAP_MS + 1_000 }, 0), NOW + 1_000);
});

test("a page whose messages are all older ends the read; an empty page does not", () => {
  const [old, fresh] = [listed({ createdAt: FLOOR - 1 }), listed()];
  assert.equal(isOlder([old, old], FLOOR), true);
  assert.equal(isOlder([fresh, old], FLOOR), false);
  assert.equal(isOlder([old, listed({ createdAt: null })], FLOOR), false);
  assert.equal(isOlder([], FLOOR), false);
});

test("messages of one second keep their order", () => {
  const sids = ["e", "d", "c", "b", "a"];
  const list = sids.map((sid, index) => listed({ sid, createdAt: NOW - Math.floor(index / 2) * 1_000 }));
  assert.deepEqual(
    oldestFirst(list).map(({ sid }) => sid),
    ["a", "b", "c", "d", "e"],
  );
});

test("a late START does not cancel a STOP that came after it, and nothing else changes", () => {
  const said = (...bodies: string[]) =>
    bodies.map((body, index) => listed({ sid: body, body, createdAt: NOW + index * 1_000 })).toReversed();
  const after = (list: MessageRecord[], word: string) =>
    stopAfter(list.find(({ body }) => body === word) ?? assert.fail(), list, DEFAULT)?.keyword ?? null;
  assert.equal(after(said("START", "Hi", "stop"), "START"), "STOP");
  assert.equal(after(said("START", "Quit", "Unstop"), "START"), null);
  assert.equal(after(said("STOP", "START"), "START"), null);
  assert.equal(after(said("START", "STOP"), "STOP"), null);
  assert.equal(after(said("Hi", "STOP"), "Hi"), null);
  const other = listed({ sid: "x", body: "STOP", from: "+15550100002", createdAt: NOW + 9_000 });
  assert.equal(after([other, ...said("START")], "START"), null);
  const start = listed({ body: "START", createdAt: NOW - 5_000 });
  assert.deepEqual(stopAfter(start, [listed({ body: " stop " }), start], DEFAULT), {
    kind: "optOut",
    from: CONTACT,
    to: OWN,
    channel: "sms",
    request: "stop",
    keyword: "STOP",
  });
});

test("the order of a START and a STOP goes by the words that the customer chose", () => {
  const words = { stop: wordMap(["basta"]), resume: wordMap(["Zurück"]) };
  const said = (...bodies: string[]) =>
    bodies.map((body, index) => listed({ sid: body, body, createdAt: NOW + index * 1_000 })).toReversed();
  const after = (...bodies: string[]) => stopAfter(said(...bodies).at(-1) ?? assert.fail(), said(...bodies), words);
  assert.equal(after("zurück", "Basta!")?.keyword, "basta");
  assert.equal(after("zurück", "STOP", "START")?.keyword, "STOP", "START begins nothing here");
  assert.equal(after("zurück", "STOP", "Zurück."), null);
  assert.equal(after("START", "STOP"), null, "START begins nothing here");
});
