import assert from "node:assert/strict";
import { test } from "node:test";
import type { WireItem } from "../sdk/requests.ts";
import type { Event, LoggedRequest } from "../sdk/wire.ts";
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
