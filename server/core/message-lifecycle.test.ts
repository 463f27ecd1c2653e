/** Tests that the lifecycle equals the documented one, and that receipts in any order only move a message forward. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  EVENT_TYPES,
  type EventType,
  FALLBACK_REASONS,
  MESSAGE_ERROR_CODES,
  MESSAGE_STATUSES,
  type MessageStatus,
} from "../../sdk/wire.ts";
import { at, message, NOW, TTL_MS } from "../../test/support/lifecycle.ts";
import { runsOf } from "../../test/support/runs.ts";
import type { Message } from "./message.ts";
import {
  becomeDue,
  becomeUnknown,
  begin,
  beginAttempt,
  type Change,
  cancel,
  canFallBack,
  climb,
  defer,
  erase,
  fail,
  fallBack,
  type MessageSignal,
  retry,
  sendFailedCode,
  sendInPart,
  TRANSITIONS,
  unsend,
} from "./message-lifecycle.ts";
import { STEP_BACK_MAX_MS } from "./step-back.ts";
import { note } from "./timeline.ts";

const typesOf = (change: Change | null) => (change?.events ?? []).map(({ type }) => type);
const dataOf = (change: Change | null) => (change?.events ?? []).map(({ bytes }) => JSON.parse(bytes).data);

const SMS = { channel: "sms", instanceId: "inst_2", way: "inst_2, as a test says" } as const;

const TEXT = { reference: "p-text", what: "the text" } as const;

/** How each signal is given to a message, and what comes of it. */
const SIGNALS: Record<MessageSignal, (message: Message, now?: number) => Change | null> = {
  due: (before, now) => becomeDue(before, null, TTL_MS, at(now)),
  cancel: (before, now) => cancel(before, at(now)),
  beginAttempt: (before, now) => beginAttempt(before, null, at(now)),
  defer: (before, now) => {
    const deferred = defer(before, "busy", NOW + 1_000, now ?? NOW);
    return deferred === null ? null : { message: deferred, events: [] };
  },
  fallback: (before, now) => fallBack(before, SMS, "REJECTED", TTL_MS, at(now)),
  fail: (before, now) => fail(before, { code: "REJECTED", message: "No." }, at(now)),
  retry: (before, now) => retry(before, null, TTL_MS, at(now)),
  sent: (before, now) => climb(before, "sent", at(now)),
  delivered: (before, now) => climb(before, "delivered", at(now)),
  read: (before, now) => climb(before, "read", at(now)),
  partly: (before, now) => sendInPart(before, TEXT, { message: "No.", providerErrorCode: "25" }, at(now)),
  sendRest: (before, now) =>
    before.status === "failed" ? null : retry({ ...before, errorCode: "ATTACHMENT_FAILED" }, null, TTL_MS, at(now)),
  unsend: (before, now) => unsend(before, at(now)),
};

/** The transitions by status: signal → status, and the events of each. */
const LIFECYCLE: Record<MessageStatus, Partial<Record<MessageSignal, [MessageStatus, ...EventType[]]>>> = {
  scheduled: { due: ["queued", "message.queued"], cancel: ["cancelled", "message.schedule_cancelled"] },
  queued: { beginAttempt: ["pending"], fail: ["failed", "message.failed"] },
  pending: {
    defer: ["queued"],
    fallback: ["queued", "message.fallback"],
    fail: ["failed", "message.failed"],
    sent: ["sent", "message.sent"],
    partly: ["sent", "message.sent"],
    delivered: ["delivered", "message.sent", "message.delivered"],
    read: ["read", "message.sent", "message.delivered", "message.read"],
  },
  sent: {
    sendRest: ["queued", "message.queued"],
    fallback: ["queued", "message.fallback"],
    fail: ["failed", "message.failed"],
    delivered: ["delivered", "message.delivered"],
    read: ["read", "message.delivered", "message.read"],
    unsend: ["unsent", "message.unsent"],
  },
  delivered: { read: ["read", "message.read"], unsend: ["unsent", "message.unsent"] },
  failed: {
    retry: ["queued", "message.queued"],
    sent: ["sent", "message.sent"],
    delivered: ["delivered", "message.sent", "message.delivered"],
    read: ["read", "message.sent", "message.delivered", "message.read"],
  },
  read: { unsend: ["unsent", "message.unsent"] },
  cancelled: {},
  unsent: {},
  received: { unsend: ["unsent", "message.unsent"] },
};

/** A message that reached `status` in the ordinary way. */
function messageIn(status: MessageStatus): Message {
  const reached = { pending: 0, sent: 1, delivered: 2, read: 3 }[status as "pending"] ?? 0;
  return message({
    status,
    sentAt: reached >= 1 ? NOW - 3 : null,
    deliveredAt: reached >= 2 ? NOW - 2 : null,
    readAt: reached >= 3 ? NOW - 1 : null,
    errorCode: status === "failed" ? "OUTCOME_UNKNOWN" : null,
    errorMessage: status === "failed" ? "Nobody knows." : null,
    claimedUntil: NOW + 45_000,
  });
}

for (const status of MESSAGE_STATUSES) {
  for (const signal of Object.keys(SIGNALS) as MessageSignal[]) {
    const cell = LIFECYCLE[status][signal];
    const title = cell === undefined ? "changes nothing" : `leads to ${cell.join(", ")}`;
    test(`${signal} on ${status} ${title}`, () => {
      const before = messageIn(status);
      const frozen = structuredClone(before);
      const change = SIGNALS[signal](before);
      assert.deepEqual(before, frozen, "a message is never changed in place");
      assert.equal(TRANSITIONS[signal][status] ?? null, cell?.[0] ?? null);
      if (cell === undefined) return assert.equal(change, null);
      const [after, ...events] = cell;
      assert.equal(change?.message.status, after);
      assert.deepEqual(typesOf(change), events);
      assert.equal(change?.message.sequence, before.sequence + events.length);
      assert.equal(change?.message.updatedAt, NOW);
      assert.ok((change?.message.timeline.length ?? 0) > 0);
      if (signal !== "beginAttempt") assert.equal(change?.message.claimedUntil, null);
    });
  }
}

test("a new message begins as queued or scheduled, with its event as the first", () => {
  const fresh = message({ sequence: 0 });
  const queued = begin(fresh, "as a test says", at());
  assert.deepEqual([queued.message.status, typesOf(queued)], ["queued", ["message.queued"]]);
  assert.deepEqual(queued.message.timeline, [
    { status: "queued", at: NOW, channel: "imessage", reason: "as a test says", instanceId: fresh.instanceId },
  ]);
  const scheduled = begin(message({ sequence: 0, scheduledAt: NOW + 60_000 }), "as a test says", at());
  assert.deepEqual([scheduled.message.status, typesOf(scheduled)], ["scheduled", ["message.scheduled"]]);
  assert.partialDeepStrictEqual(dataOf(scheduled)[0], { sequence: 1, scheduledAt: "2026-01-02T03:05:05.678Z" });
});

const receipt = fc.constantFrom("sent" as const, "delivered" as const, "read" as const);
const RANK: Partial<Record<MessageStatus, number>> = { pending: 0, failed: 0, sent: 1, delivered: 2, read: 3 };
const LADDER: EventType[] = ["message.sent", "message.delivered", "message.read"];

/** Gives a message receipts one after the other; checks that each step is a step on. */
function climbAll(start: Message, receipts: readonly ("sent" | "delivered" | "read")[]): Change {
  let all: Change = { message: start, events: [] };
  for (const [index, rung] of receipts.entries()) {
    const change = climb(all.message, rung, at(NOW + index + 1));
    if (change === null) continue;
    assert.ok((RANK[change.message.status] ?? -1) > (RANK[all.message.status] ?? 99));
    all = { message: change.message, events: [...all.events, ...change.events] };
  }
  return all;
}

for (const status of ["pending", "sent", "failed"] as const) {
  test(`receipts for a ${status} message, late, twice and in any order, emit the event of each step once and in order`, () => {
    const start = messageIn(status);
    fc.assert(
      fc.property(fc.array(receipt, { maxLength: 12 }), (receipts) => {
        const { message: end, events } = climbAll(start, receipts);
        const highest = Math.max(RANK[start.status] ?? 0, ...receipts.map((rung) => RANK[rung] ?? 0));
        assert.equal(RANK[end.status], highest);
        assert.deepEqual(
          events.map(({ type }) => type),
          LADDER.slice(RANK[start.status] ?? 0, highest),
        );
        assert.deepEqual(
          events.map(({ sequence }) => sequence),
          events.map((_, index) => start.sequence + index + 1),
        );
        assert.equal(end.sequence, start.sequence + events.length);
        const reached = [end.sentAt, end.deliveredAt, end.readAt].filter((time) => time !== null);
        assert.equal(reached.length, highest);
        assert.deepEqual(reached, reached.toSorted());
        if (receipts.length > 0 && status === "failed") assert.equal(end.errorCode, null);
      }),
    );
  });
}

test("the events and the timeline of a message have the order of their times, also if the clock steps back a little between them", () => {
  const signal = fc.tuple(fc.constantFrom(...(Object.keys(SIGNALS) as MessageSignal[])), fc.nat(STEP_BACK_MAX_MS - 1));
  fc.assert(
    fc.property(fc.array(signal, { maxLength: 40 }), fc.boolean(), (signals, isScheduled) => {
      let all = begin(message({ sequence: 0, scheduledAt: isScheduled ? NOW + 1 : null }), "so", at(NOW + 2_000));
      for (const [one, ms] of signals) {
        const { message, events } = SIGNALS[one](all.message, NOW + ms) ?? { ...all, events: [] };
        all = { message, events: [...all.events, ...events] };
      }
      const { sentAt, deliveredAt, readAt, timeline } = all.message;
      const reached = [sentAt, deliveredAt, readAt].filter((time) => time !== null);
      for (const times of [all.events.map(({ createdAt }) => createdAt), timeline.map((entry) => entry.at), reached])
        assert.deepEqual(times, times.toSorted());
      assert.ok(all.message.updatedAt >= (all.events.at(-1)?.createdAt ?? 0));
    }),
    { numRuns: runsOf(8_000) },
  );
});

test("any signals to a message leave event sequences 1, 2, 3 without gaps and only allowed status changes", () => {
  const signal = fc.constantFrom(...(Object.keys(SIGNALS) as MessageSignal[]));
  fc.assert(
    fc.property(fc.array(signal, { maxLength: 40 }), fc.boolean(), (signals, isScheduled) => {
      let all = begin(message({ sequence: 0, scheduledAt: isScheduled ? NOW + 1 : null }), "so", at());
      const emitted: EventType[] = typesOf(all);
      for (const one of signals) {
        const before = all.message;
        const change = SIGNALS[one](before);
        if (change === null) continue;
        // A retry of a message that was sent in part is a step of its own.
        const step = one === "retry" && before.status === "sent" ? "sendRest" : one;
        assert.equal(change.message.status, LIFECYCLE[before.status][step]?.[0]);
        all = { message: change.message, events: [...all.events, ...change.events] };
        // A channel begins anew with each fallback and each retry.
        if (one === "fallback" || one === "retry" || one === "sendRest") emitted.length = 0;
        emitted.push(...typesOf(change));
        for (const type of LADDER)
          assert.ok(emitted.filter((name) => name === type).length <= 1, `${type} twice: ${emitted}`);
        assert.deepEqual(
          emitted.filter((type) => LADDER.includes(type)),
          LADDER.filter((type) => emitted.includes(type)),
        );
      }
      assert.deepEqual(
        all.events.map(({ sequence }) => sequence),
        all.events.map((_, index) => index + 1),
      );
      assert.equal(all.message.sequence, all.events.length);
      for (const { bytes, type, sequence } of all.events) {
        const envelope = JSON.parse(bytes);
        assert.equal(envelope.type, type);
        assert.ok(EVENT_TYPES.includes(type));
        assert.equal(envelope.data.sequence, sequence);
      }
    }),
    { numRuns: runsOf(300) },
  );
});

test("a message that failed after it was sent ignores a late `sent` receipt, and a `delivered` receipt corrects it", () => {
  const before = message({ status: "failed", channel: "sms" });
  for (const refused of [
    { ...before, sentAt: NOW - 1, errorCode: sendFailedCode("sms") },
    { ...before, sentAt: NOW - 1, errorCode: "REJECTED" as const },
    { ...before, sentAt: null, errorCode: sendFailedCode("sms") },
  ]) {
    assert.equal(climb(refused, "sent", at()), null);
    const corrected = climb(refused, "delivered", at());
    const news = refused.sentAt === null ? ["message.sent", "message.delivered"] : ["message.delivered"];
    assert.deepEqual([corrected?.message.status, typesOf(corrected)], ["delivered", news]);
    assert.equal(corrected?.message.errorCode, null);
  }
});

test("a sent message is due when its fallback time ends, and is not due without a fallback", () => {
  const waiting = { status: "pending", fallbackAfterMs: 30_000, dueAt: null } as const;
  assert.equal(climb(message(waiting), "sent", at())?.message.dueAt, NOW + 30_000);
  for (const never of [{ fallback: false }, { channelsLeft: [] }, { fallbackAfterMs: null }])
    assert.equal(climb(message({ ...waiting, ...never }), "sent", at())?.message.dueAt, null);
  assert.equal(climb(message({ ...waiting, dueAt: NOW + 30_000 }), "delivered", at())?.message.dueAt, null);
});

test("a fallback event names the previous channel and the reason, and the message begins anew on the next channel", () => {
  for (const reason of FALLBACK_REASONS) {
    const tried = { instancesTried: ["inst_0"] } satisfies Partial<Message>;
    const before = { ...messageIn("sent"), ...tried, providerMessageId: "p-1", sendAttempts: 3, unknownSince: NOW };
    const change = fallBack(before, SMS, reason, TTL_MS, at());
    assert.partialDeepStrictEqual(change?.message, {
      status: "queued",
      channel: "sms",
      channelsLeft: [],
      instanceId: "inst_2",
      instancesTried: [],
      fallbackTriggered: true,
      dueAt: NOW,
      expiresAt: NOW + TTL_MS,
      sendAttempts: 0,
      unknownSince: null,
      providerMessageId: null,
      sentAt: null,
    });
    assert.partialDeepStrictEqual(dataOf(change)[0], {
      channel: "sms",
      fallbackFrom: "imessage",
      reason,
      status: "queued",
    });
    const why = `fallback: ${reason}; SMS via inst_2, as a test says`;
    assert.partialDeepStrictEqual(change?.message.timeline.at(-1), { reason: why, instanceId: "inst_2" });
    assert.equal(canFallBack(change?.message ?? before), false);
  }
  assert.equal(canFallBack(message({ fallback: false })), false);
});

test("message.failed carries code and message, and mayHaveBeenSent for OUTCOME_UNKNOWN", () => {
  for (const code of MESSAGE_ERROR_CODES) {
    const change = fail(messageIn("pending"), { code, message: "Why.", providerErrorCode: "30006" }, at());
    const { errorCode, errorMessage, providerErrorCode, dueAt } = change?.message ?? message();
    assert.deepEqual([errorCode, errorMessage, providerErrorCode, dueAt], [code, "Why.", "30006", null]);
    const [data] = dataOf(change);
    assert.deepEqual([data.errorCode, data.error], [code, { code, message: "Why." }]);
    assert.equal(data.mayHaveBeenSent, code === "OUTCOME_UNKNOWN" ? true : undefined);
    assert.equal(change?.message.timeline.at(-1)?.reason, code);
  }
});

test("a manual retry begins a new send attempt, and increments retryCount", () => {
  const failed = { ...messageIn("failed"), sentAt: NOW - 1, sendAttempts: 2, retryCount: 1, providerMessageId: "p-1" };
  const change = retry(failed, { instanceId: "inst_2", way: "inst_2, as a test says" }, TTL_MS, at());
  const fresh = {
    sendAttempts: 0,
    instanceId: "inst_2",
    instancesTried: [],
    retryCount: 2,
    providerMessageId: null,
    errorCode: null,
    errorMessage: null,
    sentAt: null,
  };
  assert.partialDeepStrictEqual(change?.message, { ...fresh, dueAt: NOW, expiresAt: NOW + TTL_MS });
  assert.equal("errorCode" in dataOf(change)[0], false);
  const { reason, instanceId } = change?.message.timeline.at(-1) ?? {};
  assert.deepEqual([reason, instanceId], ["retry; via inst_2, as a test says", "inst_2"]);
});

test("a message with an unknown outcome stays pending, notes the reason once, and becomes due again", () => {
  const pending = { ...messageIn("pending"), dueAt: null };
  const unknown = becomeUnknown(pending, NOW + 1_000, "no answer", NOW);
  assert.partialDeepStrictEqual(unknown, {
    status: "pending",
    unknownSince: NOW,
    dueAt: NOW + 1_000,
    claimedUntil: null,
  });
  assert.deepEqual(unknown.timeline, [{ status: "pending", at: NOW, channel: "imessage", reason: "no answer" }]);
  const still = becomeUnknown(unknown, NOW + 9_000, "no answer", NOW + 5_000);
  assert.deepEqual(still, { ...unknown, dueAt: NOW + 9_000 });
  assert.equal(beginAttempt(unknown, null, at()), null, "it is never sent again as it is");
});

test("a note changes only the timeline of a message", () => {
  const before = messageIn("queued");
  const noted = note(before, "imessage", "queued", "late receipt", NOW + 1);
  assert.deepEqual(noted.timeline, [{ status: "queued", at: NOW + 1, channel: "imessage", reason: "late receipt" }]);
  assert.deepEqual(noted, { ...before, timeline: noted.timeline, updatedAt: NOW + 1 });
});

test("a deleted message and its event have no text, and the message is never due again", () => {
  const change = erase(messageIn("failed"), at());
  assert.partialDeepStrictEqual(change.message, { text: null, dueAt: null, channelsLeft: [], deletedAt: NOW });
  assert.deepEqual(typesOf(change), ["message.deleted"]);
  assert.equal(dataOf(change)[0].text, null);
});

test("a message event has every field that applies, and no other", () => {
  const rich = message({ externalMessageId: "order-1", metadata: { a: 1 }, status: "pending" });
  const [sent, delivered, read] = dataOf(climb(rich, "read", at()));
  const always = {
    messageId: "msg_1",
    externalMessageId: "order-1",
    from: "+15550000001",
    to: "+15005550100",
    text: "Hello",
    channel: "imessage",
    metadata: { a: 1 },
    correlationId: "cor_1",
  };
  const time = "2026-01-02T03:04:05.678Z";
  assert.deepEqual(sent, { ...always, status: "sent", sequence: 2 });
  assert.deepEqual(delivered, { ...always, status: "delivered", sequence: 3, deliveredAt: time });
  assert.deepEqual(read, { ...always, status: "read", sequence: 4, deliveredAt: time, readAt: time });
  const [bare] = dataOf(climb(message({ status: "pending" }), "sent", at()));
  for (const absent of ["externalMessageId", "metadata", "errorCode", "error"]) assert.ok(!(absent in bare));
});
