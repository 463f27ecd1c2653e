/** Tests of the table of `hold`, and that only a receipt, a lookup that finds it, or a person ends a held message. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { MESSAGE_STATUSES, type MessageStatus } from "../../sdk/wire.ts";
import { at, message, NOW, TTL_MS } from "../../test/support/lifecycle.ts";
import type { Message } from "./message.ts";
import { beginAttempt, canFallBack, climb, retry } from "./message-lifecycle.ts";
import { discard, hold, isHeld, release } from "./restored-message.ts";
import { attemptedAt } from "./send-attempt.ts";

const TAKEN_AT = NOW - 60_000;
const held = (before: Message) => hold(before, { takenAt: TAKEN_AT }, TTL_MS, at());
const in_ = (status: MessageStatus, more: Partial<Message> = {}) =>
  message({ status, dueAt: TAKEN_AT, createdAt: TAKEN_AT, timeline: [], ...more });

test("after a restore scheduled messages that are due, queued ones and pending ones are held, and no others", () => {
  for (const status of MESSAGE_STATUSES) {
    const change = held(in_(status));
    const isHolding = ["scheduled", "queued", "pending"].includes(status);
    assert.equal(change !== null && isHeld(change.message), isHolding, status);
    assert.equal(change === null, !isHolding && status !== "sent", status);
  }
});

test("a message that is scheduled for later goes as planned, and one that is due is queued first, with its event", () => {
  assert.equal(held(in_("scheduled", { dueAt: NOW + 1 })), null);
  const change = held(in_("scheduled", { dueAt: NOW - 1_000, updatedAt: NOW - 2_000 }));
  assert.deepEqual(
    [change?.message.status, change?.events.map(({ type }) => type), attemptedAt(change?.message ?? assert.fail())],
    ["pending", ["message.queued"], NOW - 1_000],
  );
});

test("a held message counts as attempted at the backup, so that its provider looks for it from then on", () => {
  const change = held(in_("queued", { sendAttempts: 2 }));
  const { sendAttempts, dueAt, unknownSince, claimedUntil } = change?.message ?? assert.fail();
  assert.deepEqual([sendAttempts, dueAt, unknownSince, claimedUntil], [3, NOW, null, null]);
  assert.equal(attemptedAt(change?.message ?? assert.fail()), TAKEN_AT);
  assert.deepEqual(change?.events, []);
});

test("a pending message keeps its attempt", () => {
  const begun = beginAttempt(in_("queued"), "account", { ...at(), now: TAKEN_AT - 5_000 })?.message ?? assert.fail();
  const change = held(begun)?.message ?? assert.fail();
  assert.deepEqual([change.sendAttempts, change.account, attemptedAt(change)], [1, "account", TAKEN_AT - 5_000]);
});

test("a message is held once: a start that is repeated changes nothing", () => {
  for (const status of ["scheduled", "queued", "pending", "sent"] as const) {
    assert.equal(held(held(in_(status))?.message ?? assert.fail()), null, status);
  }
});

test("a message that was released, or discarded and retried, and is queued at a later backup is held again", () => {
  const first = held(in_("queued")) ?? assert.fail();
  const released = release(first.message, TTL_MS, NOW) ?? assert.fail();
  const discarded = discard(first.message, at()) ?? assert.fail();
  const retried = retry(discarded.message, null, TTL_MS, at()) ?? assert.fail();
  for (const queued of [released, retried.message]) {
    const again = held(queued)?.message ?? assert.fail();
    assert.deepEqual([queued.status, again.status, isHeld(again)], ["queued", "pending", true]);
    assert.equal(held(again), null);
  }
});

test("a message that was sent in part before the restore does not fall back when the part turns out to have failed", () => {
  const left = { channelsLeft: ["sms" as const], fallback: true, dueAt: null };
  const sent = held(in_("sent", { ...left, sentPart: { reference: "part", what: "the text" } }))?.message;
  assert.equal(canFallBack({ ...(sent ?? assert.fail()), sentPart: null }), false);
});

test("neither a held message nor one that was sent before the restore falls back by itself", () => {
  const left = { channelsLeft: ["sms" as const], fallback: true, fallbackAfterMs: 10_000 };
  assert.ok(canFallBack(in_("sent", left)));
  const sent = held(in_("sent", left))?.message ?? assert.fail();
  assert.deepEqual([sent.status, sent.dueAt, canFallBack(sent)], ["sent", null, false]);
  const found = climb(held(in_("queued", left))?.message ?? assert.fail(), "sent", at())?.message ?? assert.fail();
  assert.deepEqual([found.status, found.dueAt, canFallBack(found)], ["sent", null, false]);
  assert.equal(held(in_("sent", { dueAt: null, channelsLeft: [] })), null);
});

test("a released message is queued for as long as a new one, may fall back again, and is not held after its next attempt", () => {
  const left = { channelsLeft: ["sms" as const], fallback: true };
  const again = release(held(in_("queued", left))?.message ?? assert.fail(), TTL_MS, NOW) ?? assert.fail();
  assert.deepEqual([again.status, again.dueAt, again.expiresAt], ["queued", NOW, NOW + TTL_MS]);
  const attempted = beginAttempt(again, null, at())?.message ?? assert.fail();
  assert.deepEqual([isHeld(attempted), canFallBack(attempted)], [false, true]);
  assert.deepEqual([release(attempted, TTL_MS, NOW), discard(attempted, at())], [null, null]);
});

test("a discarded message fails with an unknown outcome, and its event says that it may have been sent", () => {
  const change = discard(held(in_("queued"))?.message ?? assert.fail(), at()) ?? assert.fail();
  const [event, ...others] = change.events;
  assert.deepEqual([change.message.status, change.message.errorCode, others], ["failed", "OUTCOME_UNKNOWN", []]);
  assert.equal(JSON.parse(event?.bytes ?? "").data.mayHaveBeenSent, true);
});
