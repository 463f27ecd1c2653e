import assert from "node:assert/strict";
import test from "node:test";
import type { Delivery, Event, Inbox } from "../../../sdk/wire.ts";
import { doneSteps, stepsOf } from "./first-steps.ts";

const attempt = (status: number | null) => ({ at: "", status, durationMs: 1, response: null, error: null });
const delivery = (...statuses: (number | null)[]) => ({ attempts: statuses.map(attempt) }) as unknown as Delivery;

test("nothing is done before anything has happened", () => {
  assert.deepEqual([...doneSteps({ events: [], deliveries: [delivery()], inbox: undefined })], []);
});

const request = (id: string, status: number, verified = true) =>
  ({ verified, status, headers: { "webhook-id": id } }) as unknown as Inbox["requests"][number];

test("each step ticks by what the service has recorded", () => {
  const events = [{ type: "message.queued" }, { type: "message.inbound" }] as Event[];
  const inbox = { requests: [request("evt_1", 401, false), request("evt_2", 200)] } as Inbox;
  const done = doneSteps({ events, deliveries: [delivery(503, 200)], inbox });
  assert.deepEqual([...done], ["send", "reply", "webhook", "signature", "retry"]);
});

test("a retry to the built-in inbox ticks too: the same event arrived twice", () => {
  const inbox = { requests: [request("evt_1", 200), request("evt_1", 503)] } as Inbox;
  const done = doneSteps({ events: [], deliveries: [], inbox });
  assert.deepEqual([...done], ["webhook", "signature", "retry"]);
});

test("an attempt without an answer, or with an error, ticks no webhook", () => {
  assert.ok(!doneSteps({ events: [], deliveries: [delivery(null), delivery(500)], inbox: undefined }).has("webhook"));
});

test("where the inbox is off, the checklist has no step that only the inbox can tick", () => {
  assert.deepEqual(stepsOf({ isInboxOn: true }), ["send", "reply", "webhook", "signature", "retry"]);
  assert.deepEqual(stepsOf({ isInboxOn: false }), ["send", "reply"]);
});
