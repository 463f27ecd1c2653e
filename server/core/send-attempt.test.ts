import assert from "node:assert/strict";
import { test } from "node:test";
import type { MessageStatus } from "../../sdk/wire.ts";
import { type Message, NEW_MESSAGE } from "./message.ts";
import {
  ATTEMPT_STATES,
  ATTEMPT_TRANSITIONS,
  type AttemptSignal,
  attemptAfter,
  attemptedAt,
  attemptNumber,
  recordAttempt,
} from "./send-attempt.ts";

const PART = { reference: "text", what: "the text" };

function message(status: MessageStatus, more: Partial<Message> = {}): Message {
  const timeline = [
    { status: "queued", at: 1, channel: "sms" },
    { status: "pending", at: 2, channel: "sms" },
    { status: "queued", at: 3, channel: "sms", reason: "busy" },
    { status: "pending", at: 4, channel: "sms" },
    { status: "pending", at: 5, channel: "sms", reason: "nobody knows" },
  ] as const;
  const base = { ...NEW_MESSAGE, id: "msg_1", channel: "sms", instanceId: "inst_1", updatedAt: 9 } as const;
  return { ...base, status, timeline: [...timeline], ...more } as Message;
}

test("the attempts of a message are numbered over all channels, and later entries of an attempt begin no new one", () => {
  assert.deepEqual([attemptNumber(message("pending")), attemptedAt(message("pending"))], [2, 4]);
  assert.equal(attemptedAt(message("queued", { timeline: [] })), 9);
});

test("an attempt that ended takes no note, and only a receipt or a late response changes it", () => {
  const open = message("pending");
  const states = (signal: AttemptSignal) =>
    [open, { ...open, unknownSince: 5 }, { ...open, sentPart: PART }, message("sent"), message("failed")].map((one) =>
      attemptAfter(one, signal),
    );
  assert.deepEqual(states("note"), ["open", "unknown", "partly", null, null]);
  assert.deepEqual(states("accept"), ["accepted", "accepted", "accepted", "accepted", "accepted"]);
  assert.deepEqual(states("sendPart"), ["partly", "partly", "partly", null, null]);
  assert.deepEqual(states("reject"), ["rejected", "rejected", "partly", null, null]);
  assert.deepEqual(states("lose"), ["unknown", "unknown", "partly", null, null]);
});

test("an attempt that sent a part is never rejected", () => {
  for (const [signal, row] of Object.entries(ATTEMPT_TRANSITIONS)) {
    for (const state of ATTEMPT_STATES) assert.ok(row[state] === undefined || ATTEMPT_STATES.includes(row[state]));
    if (row.partly !== undefined) assert.ok(["partly", "accepted"].includes(row.partly), signal);
  }
});

test("the record of an attempt has its beginning, and its end unless the outcome is open or unknown", () => {
  const given = { reference: "r", note: "{}" };
  const ended = recordAttempt(message("pending"), { state: "accepted", ...given }, 8);
  const common = { messageId: "msg_1", number: 2, channel: "sms", instanceId: "inst_1", startedAt: 4 };
  assert.deepEqual(ended, { ...common, state: "accepted", reference: "r", endedAt: 8, note: "{}" });
  const lost = recordAttempt(message("pending"), { state: "unknown" }, 8);
  assert.deepEqual(lost, {
    ...common,
    state: "unknown",
    reference: "attempt:msg_1/2",
    endedAt: null,
    note: null,
  });
});
