import assert from "node:assert/strict";
import { test } from "node:test";
import { clockAheadMs, findMatch } from "./reconcile.ts";
import type { MessageRecord } from "./records.ts";

const AT = Date.UTC(2026, 0, 1, 12);

function record(sid: string, more: Partial<MessageRecord> = {}): MessageRecord {
  return {
    sid,
    status: "queued",
    errorCode: null,
    errorMessage: null,
    segments: 1,
    body: "Hello",
    from: "+15005550006",
    to: "+15550100001",
    isOutbound: true,
    createdAt: AT + 1_000,
    mediaCount: 0,
    mediaPath: null,
    ...more,
  };
}

function found(
  messages: MessageRecord[],
  {
    aheadMs = 0,
    now = AT + 90_000,
    others = [] as string[],
  }: { aheadMs?: number | null; now?: number; others?: string[] } = {},
) {
  const result = findMatch(
    { messages, aheadMs },
    { text: "Hello", attemptedAt: AT },
    { now, isOther: (sid) => others.includes(sid) },
  );
  if (result === "absent") return result;
  return "message" in result ? result.message.sid : "unknown";
}

test("the only message since the attempt with the same text matches", () => {
  assert.equal(found([record("a")]), "a");
  assert.equal(found([record("a", { body: " Hello\n" })]), "a");
  assert.equal(found([record("b", { isOutbound: false }), record("a")]), "a");
  assert.equal(found([record("b", { createdAt: AT - 60_000 }), record("a")]), "a");
  assert.equal(found([record("a", { createdAt: null })]), "a");
});

test("a message that is known to be another one does not match", () => {
  assert.equal(found([record("a")], { others: ["a"] }), "absent");
  assert.equal(found([record("b"), record("a")], { others: ["b"] }), "a");
});

test("a message is absent only if nothing in the list could be it, and not within the first minute", () => {
  assert.equal(found([]), "absent");
  assert.equal(found([], { now: AT + 59_999 }), "unknown");
  assert.equal(found([], { now: AT + 60_000 }), "absent");
  assert.equal(found([record("a", { createdAt: AT - 31_000 })]), "absent");
  // The account's services may change texts, so this message could match.
  assert.equal(found([record("a", { body: "Hello (STOP to end)" })]), "unknown");
  assert.equal(found([record("a"), record("b")]), "unknown");
});

test("times are compared with the measured difference of the clocks, and generously if it was not measured", () => {
  assert.equal(found([record("a", { createdAt: AT - 290_000 })], { aheadMs: -300_000 }), "a");
  assert.equal(found([record("a", { createdAt: AT + 100_000 })], { aheadMs: 300_000 }), "absent");
  assert.equal(found([record("a", { createdAt: AT - 290_000 })], { aheadMs: null }), "a");
  const answer = { status: 200, body: Buffer.alloc(0) };
  assert.equal(clockAheadMs({ ...answer, headers: { date: new Date(AT + 5_000).toUTCString() } }, AT), 5_000);
  assert.equal(clockAheadMs({ ...answer, headers: {} }, AT), null);
  assert.equal(clockAheadMs({ ...answer, headers: { date: "yesterday" } }, AT), null);
});
