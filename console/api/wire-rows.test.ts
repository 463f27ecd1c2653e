import assert from "node:assert/strict";
import test from "node:test";
import type { WireItem } from "../../sdk/requests.ts";
import type { Delivery, InboxRequest } from "../../sdk/wire.ts";
import { inboxItems } from "./inbox-items.ts";
import { WireRows } from "./wire-rows.ts";

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

/** A request to the inbox, newest first in a list of them. */
function request(eventId: string, second: number, status: number, verified = true): InboxRequest {
  const body = JSON.stringify({ id: eventId, type: "message.inbound", timestamp: at(0), data: { messageId: "msg_1" } });
  return { receivedAt: at(second), verified, status, headers: {}, body };
}

function recalled(...requests: InboxRequest[]): { readPast: () => Promise<WireItem[]> } {
  return { readPast: async () => inboxItems({ url: "http://127.0.0.1:8080/sandbox/inbox/abc", requests }) };
}

/** The delivery as the stream tells it: with its id, and a little earlier than the inbox says. */
function told(eventId: string, statuses: readonly number[]): WireItem {
  const attempts = statuses.map((status, index) => ({
    at: new Date(Date.parse(at(1 + index * 30)) - 3).toISOString(),
    status,
    durationMs: 4,
    response: null,
    error: null,
    retryAfterSeconds: null,
    requestHeaders: null,
  }));
  const isOver = statuses.at(-1) === 200;
  const delivery: Delivery = {
    ...{ id: "dlv_1", eventId, eventType: "message.inbound", messageId: "msg_1", webhookId: "whk_1" },
    ...{ url: "/sandbox/inbox/abc", status: isOver ? "succeeded" : "pending", attempts, createdAt: at(0) },
    nextAttemptAt: isOver ? null : at(31),
  };
  return { kind: "delivery", delivery };
}

const titlesOf = (rows: WireRows) => rows.rows().map(({ title, status, detail }) => `${title} ${status} ${detail}`);

test("the past has the requests of the inbox: each attempt a row, without a duration and without an end", async () => {
  const rows = new WireRows();
  await rows.recall(recalled(request("evt_2", 3, 503), request("evt_1", 2, 200), request("evt_1", 1, 503)));
  assert.deepEqual(titlesOf(rows), [
    "POST the inbox 503 message.inbound",
    "POST the inbox 200 message.inbound",
    "POST the inbox 503 message.inbound",
  ]);
  assert.equal(rows.delivery("inbox evt_1")?.messageId, "msg_1");
});

test("a request that no event made, or whose signature is wrong, is no row", async () => {
  const rows = new WireRows();
  const bodies = ["no JSON", "null", "[]", '{"id":1}', '{"id":"evt_1","type":"message.sent","data":null}'];
  const strange = bodies.map((body) => ({ ...request("evt_1", 1, 200), body }));
  await rows.recall(recalled(...strange, request("evt_1", 1, 401, false)));
  assert.deepEqual(titlesOf(rows), []);
});

test("a delivery that the stream has told stands once when the inbox is read", async () => {
  const rows = new WireRows();
  rows.add([told("evt_1", [200])]);
  await rows.recall(recalled(request("evt_1", 1, 200)));
  assert.deepEqual(titlesOf(rows), ["POST the inbox 200 message.inbound, 4 ms"]);
});

test("a delivery that the inbox has told stands once when the stream tells its retry", async () => {
  const rows = new WireRows();
  await rows.recall(recalled(request("evt_1", 1, 503)));
  rows.add([told("evt_1", [503, 200])]);
  assert.deepEqual(titlesOf(rows), [
    "POST the inbox 503 message.inbound, 4 ms",
    "POST the inbox 200 message.inbound, 4 ms",
  ]);
  assert.equal(rows.delivery("inbox evt_1"), null);
});
