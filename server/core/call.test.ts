/** FaceTime calls: the lifecycle of the table, and the events of a call. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CALL_STATUSES, type CallStatus } from "../../sdk/wire.ts";
import { beginCall, type CallContext, type CallSnapshot, callRecord, changeCall } from "./call.ts";

const SEEN_AT = Date.UTC(2026, 0, 1);
const CONTEXT: CallContext = { now: SEEN_AT, eventId: () => "evt_1", correlationId: `cor_${"0".repeat(32)}` };

function snapshot(status: CallStatus, isOutgoing = false): CallSnapshot {
  return {
    id: "call_1",
    customerId: "cust_1",
    instanceId: "inst_1",
    callUuid: "CALL-1",
    caller: "+15005550114",
    to: "+15550000001",
    isVideo: true,
    isOutgoing,
    status,
  };
}

function emitted({ events }: ReturnType<typeof beginCall>): [type: string, status: CallStatus][] {
  return events.map(({ type, bytes }) => [type, JSON.parse(bytes).data.status]);
}

describe("a call changes its status only as its lifecycle allows, and never after its end", () => {
  const LEADS: Record<CallStatus, CallStatus[]> = {
    incoming: ["answered", "disconnected", "missed", "rejected", "failed"],
    answered: ["disconnected", "failed"],
    disconnected: [],
    missed: [],
    rejected: [],
    failed: [],
  };
  for (const from of CALL_STATUSES) {
    for (const to of CALL_STATUSES) {
      const leads = LEADS[from].includes(to);
      test(`${from} → ${to}: ${leads ? "one facetime.status_changed" : "nothing"}`, () => {
        const { call } = beginCall(snapshot(from), CONTEXT);
        const change = changeCall(call, to, { ...CONTEXT, now: SEEN_AT + 1 });
        assert.equal(change !== null, leads);
        if (change === null) return;
        assert.deepEqual(emitted(change), [["facetime.status_changed", to]]);
        assert.deepEqual(change.call.history, [...call.history, { status: to, at: SEEN_AT + 1 }]);
      });
    }
  }
});

test("the first signal of a ringing call is facetime.incoming, with all its fields", () => {
  const { call, events } = beginCall(snapshot("incoming"), CONTEXT);
  const [event, ...more] = events;
  assert.ok(event !== undefined && more.length === 0);
  assert.deepEqual(JSON.parse(event.bytes), {
    id: "evt_1",
    type: "facetime.incoming",
    timestamp: "2026-01-01T00:00:00.000Z",
    data: {
      callId: "call_1",
      callUuid: "CALL-1",
      from: "+15005550114",
      caller: "+15005550114",
      address: "+15005550114",
      to: "+15550000001",
      isAudio: false,
      isVideo: true,
      isOutgoing: false,
      status: "incoming",
    },
  });
  assert.deepEqual(callRecord(call), {
    id: "call_1",
    callUuid: "CALL-1",
    from: "+15005550114",
    caller: "+15005550114",
    address: "+15005550114",
    to: "+15550000001",
    isAudio: false,
    isVideo: true,
    isOutgoing: false,
    status: "incoming",
    history: [{ status: "incoming", at: "2026-01-01T00:00:00.000Z" }],
    createdAt: "2026-01-01T00:00:00.000Z",
    updatedAt: "2026-01-01T00:00:00.000Z",
  });
});

test("a call first reported after it stopped ringing gets incoming first, then its status", () => {
  for (const status of CALL_STATUSES.filter((one) => one !== "incoming")) {
    const begun = beginCall(snapshot(status), CONTEXT);
    assert.deepEqual(emitted(begun), [
      ["facetime.incoming", "incoming"],
      ["facetime.status_changed", status],
    ]);
    assert.equal(begun.call.status, status);
    assert.deepEqual(
      begun.call.history.map((entry) => entry.status),
      ["incoming", status],
    );
  }
});

test("an outgoing call has the customer's number as `from`, and never emits facetime.incoming", () => {
  for (const status of CALL_STATUSES) {
    const begun = beginCall(snapshot(status, true), CONTEXT);
    assert.deepEqual(emitted(begun), [["facetime.status_changed", status]]);
    const { from, caller, to, history } = begun.call;
    assert.deepEqual([from, caller, to, history.length], ["+15550000001", "+15005550114", "+15550000001", 1]);
  }
});

test("isAudio and isVideo of a call exclude each other; a stored call with both is a video call", () => {
  for (const isVideo of [true, false]) {
    const { call, events } = beginCall({ ...snapshot("incoming"), isVideo }, CONTEXT);
    const stored = { ...call, isAudio: true };
    const { isAudio, isVideo: isSeen } = callRecord(stored);
    assert.deepEqual([isAudio, isSeen], [!isVideo, isVideo]);
    const [event] = events;
    const { data } = JSON.parse(event?.bytes ?? "{}");
    assert.deepEqual([data.isAudio, data.isVideo, call.isAudio], [!isVideo, isVideo, !isVideo]);
  }
});
