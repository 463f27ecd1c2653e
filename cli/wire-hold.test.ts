import assert from "node:assert/strict";
import { test } from "node:test";
import type { WireItem } from "../sdk/requests.ts";
import type { Delivery, Event, LoggedRequest } from "../sdk/wire.ts";
import { WireHold } from "./wire-hold.ts";

const at = (ms: number) => new Date(Date.UTC(2031, 0, 1) + ms).toISOString();
const event = (id: string, ms: number): WireItem => ({
  kind: "event",
  event: { id, type: "message.queued", timestamp: at(ms), data: { messageId: "msg_1" } } as Event,
});
const asked: LoggedRequest = {
  ...{ id: "req_1", method: "POST", path: "/v1/messages", route: "/v1/messages", status: 202, durationMs: 3.21 },
  ...{ keyId: "key_1", customerId: "cust_1", correlationId: "cor_1", errorCode: null, createdAt: at(0) },
};

test("a request stands before its events, although it is told after them and they are due before it", () => {
  let now = 0;
  const hold = new WireHold(() => now);
  assert.equal(hold.waitMs, null);
  hold.add(event("evt_1", 2));
  now = 400;
  hold.add({ kind: "request", request: asked });
  hold.add(event("evt_2", 300));
  assert.equal(hold.waitMs, 200);
  assert.deepEqual(hold.takeDue(), []);
  now = 600;
  const keys = () => hold.takeDue().map(({ ids }) => ids.event ?? ids.request);
  assert.deepEqual(keys(), ["req_1", "evt_1"]);
  now = 1_000;
  assert.equal(keys().at(-1), "evt_2");
  assert.equal(hold.waitMs, null);
});

test("an attempt has the sandbox's clock of its event, also after the event's row was given", () => {
  let now = 0;
  const hold = new WireHold(() => now);
  const hour = 3_600_000;
  const realAt = Date.now();
  const digits = realAt.toString(16).padStart(12, "0");
  const id = `evt_${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-000000000000`;
  const timestamp = new Date(realAt + hour).toISOString();
  hold.add({ kind: "event", event: { id, type: "message.queued", timestamp, data: { messageId: "msg_1" } } as Event });
  now = 600;
  assert.deepEqual(
    hold.takeDue().map(({ shiftMs }) => shiftMs),
    [hour],
  );
  const attempts = [{ at: new Date(realAt + hour + 20).toISOString(), status: 200, durationMs: 3 }];
  const delivery = { id: "dlv_1", eventId: id, eventType: "message.queued", messageId: "msg_1", status: "succeeded" };
  const more = { url: "http://a.example/", webhookId: "wh_1", nextAttemptAt: null, createdAt: timestamp, attempts };
  hold.add({ kind: "delivery", delivery: { ...delivery, ...more } as Delivery });
  now = 1_200;
  const attempt = hold.takeDue().find(({ kind }) => kind === "attempt");
  assert.equal(attempt?.shiftMs, hour);
});
