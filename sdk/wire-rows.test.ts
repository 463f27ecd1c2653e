import assert from "node:assert/strict";
import { test } from "node:test";
import type { WireItem } from "./requests.ts";
import type { Attempt, Delivery, Event, LoggedRequest } from "./wire.ts";
import { WireLog } from "./wire-rows.ts";

const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();

const request: LoggedRequest = {
  ...{ id: "req_1", method: "POST", path: "/v1/messages", route: "/v1/messages", status: 202, durationMs: 3.21 },
  ...{ keyId: "key_1", customerId: "cust_1", correlationId: "cor_1", errorCode: null, createdAt: at(0) },
};
const event = { id: "evt_1", type: "message.queued", timestamp: at(2), data: { messageId: "msg_1" } } as Event;
const message: WireItem = {
  kind: "message",
  message: {
    ...{ id: "msg_1", status: "sent", correlationId: "cor_1" },
    timeline: [
      { status: "queued", at: at(2), channel: "imessage", reason: "iMessage (preferred), via Sandbox" },
      { status: "pending", at: at(5), channel: "sms", reason: "fallback: iMessage timed out" },
    ],
  },
};
/** An attempt of this time, which succeeds. */
function attempt(ms: number, more: Partial<Attempt> = {}): Attempt {
  return {
    ...{ at: at(ms), status: 200, durationMs: 1, response: null, error: null, retryAfterSeconds: null },
    ...{ requestHeaders: null, ...more },
  };
}

const delivery: Delivery = {
  ...{ id: "dlv_1", eventId: "evt_1", eventType: "message.queued", messageId: "msg_1", webhookId: "wh_1" },
  ...{ url: "https://a.example/hook", status: "pending", createdAt: at(2), nextAttemptAt: at(30_000) },
  attempts: [attempt(4, { status: 500, durationMs: 12 })],
};

const lines = (log: WireLog) =>
  log
    .rows()
    .map(({ sinceMs, direction, kind, title, status, tone, detail }) =>
      [sinceMs ?? "-", direction, kind, title, status ?? "-", tone, detail].join(" | "),
    );

test("rows are in order of time, the cause before the effect, whatever order the items came in", () => {
  const log = new WireLog();
  for (const item of [{ kind: "delivery", delivery }, message, { kind: "event", event }, { kind: "request", request }])
    log.add(item as WireItem);
  assert.deepEqual(lines(log), [
    "- | in | request | POST /v1/messages | 202 | ok | 3.2 ms",
    "2 | inside | hop | imessage queued | queued | ok | iMessage (preferred), via Sandbox",
    "0 | inside | event | message.queued | - | ok | ",
    "2 | out | attempt | POST a.example | 500 | warn | message.queued, 12 ms",
    "1 | inside | hop | sms pending | pending | warn | fallback: iMessage timed out",
    "29995 | out | retry | retry 1 to a.example | due | warn | message.queued",
  ]);
  const keys = log.rows().map(({ key }) => key);
  assert.equal(new Set(keys).size, keys.length);
});

test("a delivery that changes replaces its rows: the retry goes when it ends, and the end says after how many attempts", () => {
  const log = new WireLog();
  log.add({ kind: "delivery", delivery });
  const again = attempt(30_000, { status: null, durationMs: 5_000, error: "timed out" });
  const ended: Delivery = {
    ...delivery,
    status: "exhausted",
    nextAttemptAt: null,
    attempts: [...delivery.attempts, again],
  };
  log.add({ kind: "delivery", delivery: ended });
  assert.deepEqual(lines(log), [
    "- | out | attempt | POST a.example | 500 | warn | message.queued, 12 ms",
    "29996 | out | attempt | POST a.example | no response | bad | message.queued, 5000 ms, timed out",
    "5000 | out | end | delivery to a.example | exhausted | bad | message.queued, after 2 attempts",
  ]);
  const ok = { ...again, status: 200, error: null };
  log.add({ kind: "delivery", delivery: { ...ended, status: "succeeded", attempts: [ok] } });
  assert.deepEqual(lines(log), ["- | out | attempt | POST a.example | 200 | ok | message.queued, 5000 ms"]);
});

test("a refusal is a warning with its code, and a failure of the service is bad", () => {
  const log = new WireLog();
  log.add({ kind: "request", request: { ...request, status: 404, errorCode: "NOT_FOUND" } });
  log.add({ kind: "request", request: { ...request, id: "req_2", status: 500, errorCode: "INTERNAL_ERROR" } });
  assert.deepEqual(
    log.rows().map(({ tone, detail }) => [tone, detail]),
    [
      ["warn", "NOT_FOUND, 3.2 ms"],
      ["bad", "INTERNAL_ERROR, 3.2 ms"],
    ],
  );
});

test("the log drops the oldest records of a kind beyond its bound", () => {
  const log = new WireLog(2);
  for (const id of ["req_1", "req_2", "req_3"]) log.add({ kind: "request", request: { ...request, id } });
  assert.deepEqual(
    log.rows().map(({ ids }) => ids.request),
    ["req_2", "req_3"],
  );
});

test("a list that is older than the stream takes nothing back", () => {
  const log = new WireLog();
  const ended: Delivery = { ...delivery, status: "cancelled", nextAttemptAt: null };
  const before: Delivery = { ...delivery, attempts: [] };
  log.add({ kind: "delivery", delivery: ended });
  log.add({ kind: "delivery", delivery: before });
  log.add(message);
  log.add({ kind: "message", message: { id: "msg_1", status: "queued", correlationId: "cor_2", timeline: [] } });
  assert.equal(log.delivery("dlv_1"), ended);
  assert.equal(log.rows().filter(({ kind, ids }) => kind === "hop" && ids.correlation === "cor_1").length, 2);
});

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const REAL = Date.UTC(2026, 0, 1);
const uuid = (realMs: number) => {
  const time = (REAL + realMs).toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
};
/** The time and real time of a record while the clock is an hour ahead. */
const hourAhead = (realMs: number) => ({ at: at(realMs + HOUR_MS), realAt: at(realMs) });
/** An event of this real time, while the clock was ahead. */
const eventAt = (realMs: number, shiftMs: number): WireItem => ({
  kind: "event",
  event: { ...event, id: `evt_${uuid(realMs)}`, type: "message.sent", timestamp: at(realMs + shiftMs) } as Event,
});
const times = (items: readonly WireItem[]) => {
  const log = new WireLog();
  for (const item of items) log.add(item);
  return log.rows().map((row) => [row.kind, (row.at - row.shiftMs - REAL) / 1_000, row.shiftMs / MINUTE_MS]);
};

test("after the sandbox's clock was moved and reset, rows stay in order of real time, with the shift of each", () => {
  const moved: Delivery = {
    ...delivery,
    ...{ status: "succeeded", nextAttemptAt: null, createdAt: at(10_000) },
    attempts: [attempt(11_000, { status: 500 }), attempt(0, hourAhead(25_000))],
  };
  const { at: createdAt, realAt } = hourAhead(20_000);
  const asked: WireItem = { kind: "request", request: { ...request, createdAt, realAt } };
  // A caller chose the id of a former request.
  const repeated: WireItem = { kind: "request", request: { ...request, createdAt: at(50_000) } };
  const timeline = [{ status: "sent" as const, channel: "sms" as const, ...hourAhead(21_500) }];
  const items: WireItem[] = [
    ...[eventAt(10_000, 0), eventAt(22_000, HOUR_MS), eventAt(40_000, 0), asked, repeated],
    { kind: "message", message: { id: "msg_1", status: "sent", correlationId: "cor_1", timeline } },
    { kind: "delivery", delivery: moved },
  ];
  for (const order of [items, items.toReversed()])
    assert.deepEqual(times(order), [
      ["event", 10, 0],
      ["attempt", 11, 0],
      ["request", 20, 60],
      ["hop", 21.5, 60],
      ["event", 22, 60],
      ["attempt", 25, 60],
      ["event", 40, 0],
      ["request", 50, 0],
    ]);
});

test("the end of a delivery has the clock of its last attempt, without one that of its creation, and a retry the newest clock", () => {
  const cancelled: Delivery = { ...delivery, status: "cancelled", nextAttemptAt: null, attempts: [] };
  const untried = { ...cancelled, id: `dlv_${uuid(10_000)}`, createdAt: at(10_000 + HOUR_MS) };
  const tried = { ...cancelled, id: "dlv_2", attempts: [attempt(0, { ...hourAhead(20_000), durationMs: 1_000 })] };
  const waiting = { ...delivery, nextAttemptAt: at(50_000 + HOUR_MS) };
  assert.deepEqual(times([untried, tried, waiting].map((one) => ({ kind: "delivery", delivery: one }))), [
    ["attempt", 0.004, 0],
    ["end", 10, 60],
    ["attempt", 20, 60],
    ["end", 21, 60],
    ["retry", 50, 60],
  ]);
});
