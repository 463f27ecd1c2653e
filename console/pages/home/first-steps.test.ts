import assert from "node:assert/strict";
import test from "node:test";
import type { Delivery, Event, Inbox } from "../../../sdk/wire.ts";
import { doneSteps, stepsOf } from "./first-steps.ts";

const at = (second: number) => `2026-03-01T12:00:0${second}.000Z`;
const attempt = (status: number | null, second = 0) => ({
  at: at(second),
  status,
  durationMs: 1,
  response: null,
  error: null,
  retryAfterSeconds: null,
  requestHeaders: null,
});
const delivery = (...attempts: Delivery["attempts"]) =>
  ({ url: "http://127.0.0.1:3000/hook", eventId: "evt_1", attempts }) as unknown as Delivery;

test("nothing is done before anything has happened", () => {
  assert.deepEqual([...doneSteps({ events: [], deliveries: [delivery()], inbox: undefined })], []);
});

const request = (id: string, status: number, second: number, verified = true) =>
  ({ verified, status, receivedAt: at(second), headers: { "webhook-id": id } }) as unknown as Inbox["requests"][number];

test("each step ticks by what the service has recorded, and names the receiver and the first time", () => {
  const events = [
    { type: "message.queued", timestamp: at(5) },
    { type: "message.inbound", timestamp: at(4) },
    { type: "message.queued", timestamp: at(0) },
  ] as Event[];
  const inbox = {
    requests: [request("evt_2", 200, 3), request("evt_2", 503, 2), request("evt_1", 401, 1, false)],
  } as Inbox;
  const byInbox = (second: number) => ({ by: "the built-in inbox", at: at(second) });
  assert.deepEqual(
    [...doneSteps({ events, deliveries: [], inbox })],
    [
      ["send", { by: null, at: at(0) }],
      ["reply", { by: null, at: at(4) }],
      ["webhook", byInbox(3)],
      ["signature", byInbox(2)],
      ["retry", byInbox(3)],
    ],
  );
});

test("an own endpoint goes before the inbox, which is the only one that tells of signatures", () => {
  const inbox = { requests: [request("evt_1", 200, 1)] } as Inbox;
  const deliveries = [delivery(attempt(503, 2), attempt(200, 3))];
  const own = { by: "your endpoint at 127.0.0.1:3000", at: at(3) };
  assert.deepEqual(
    [...doneSteps({ events: [], deliveries, inbox })],
    [
      ["webhook", own],
      ["signature", { by: "the built-in inbox", at: at(1) }],
      ["retry", own],
    ],
  );
});

test("the same event at an endpoint and at the inbox is no retry", () => {
  const inbox = { requests: [request("evt_1", 200, 1)] } as Inbox;
  assert.ok(!doneSteps({ events: [], deliveries: [delivery(attempt(200))], inbox }).has("retry"));
});

test("an attempt without an answer, or with an error, ticks no webhook", () => {
  const deliveries = [delivery(attempt(null)), delivery(attempt(500))];
  assert.ok(!doneSteps({ events: [], deliveries, inbox: undefined }).has("webhook"));
});

test("where the inbox is off, the checklist has no step that only the inbox can tick", () => {
  assert.deepEqual(stepsOf({ isInboxOn: true }), ["send", "reply", "webhook", "signature", "retry"]);
  assert.deepEqual(stepsOf({ isInboxOn: false }), ["send", "reply"]);
});
