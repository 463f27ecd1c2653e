/** Deliveries: which an event makes, and what attempts, by schedule and by hand, make of them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeliveryStatus } from "../../sdk/wire.ts";
import {
  type Attempt,
  afterAttempt,
  type Delivery,
  deliveriesOf,
  deliveryRecord,
  deliveryTo,
  hasAttempt,
  isSuccess,
  retryByHand,
} from "./delivery.ts";
import { type Event, makeEvent } from "./event.ts";
import type { Endpoint } from "./webhook.ts";

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const CALLBACK = "https://callback.example:8443/hook?x=1";

function event(changes: Partial<Event> = {}): Event {
  const facts = { id: "evt_1", customerId: "cust_1", messageId: "msg_1", correlationId: "cor_1" } as const;
  return makeEvent({ ...facts, type: "message.sent", sequence: 2, createdAt: NOW, ...changes }, {});
}

function endpoint(id: Endpoint["id"], changes: Partial<Endpoint> = {}): Endpoint {
  return {
    id,
    version: 1,
    customerId: "cust_1",
    kind: "extra",
    name: null,
    url: `https://${id.replace("_", "-")}.example/`,
    events: ["*"],
    active: true,
    maxInFlight: null,
    secret: null,
    previousSecret: null,
    previousSecretUntil: null,
    goneSince: null,
    createdAt: NOW,
    updatedAt: NOW,
    ...changes,
  };
}

function delivery(changes: Partial<Delivery> = {}): Delivery {
  return { ...deliveryTo(event(), endpoint("wh_1"), NOW), ...changes };
}

test("an attempt succeeds by a response of 200 to 299, and by no other", () => {
  for (const status of [200, 201, 202, 204, 299]) assert.ok(isSuccess({ status }), String(status));
  for (const status of [null, 100, 101, 199, 300, 301, 302, 304, 307, 308, 400, 404, 410, 429, 500, 503, 599])
    assert.ok(!isSuccess({ status }), String(status));
});

test("an event is delivered to active endpoints that subscribe to its type, and to its callbackUrl", () => {
  const endpoints = [
    endpoint("wh_1"),
    endpoint("wh_2", { events: ["message.queued", "message.sent"] }),
    endpoint("wh_3", { events: ["message.queued"] }),
    endpoint("wh_4", { active: false }),
    endpoint("wh_5", { events: [] }),
  ];
  const made = deliveriesOf(event(), endpoints, CALLBACK);
  assert.deepEqual(
    made.map(({ endpointId, url, lane }) => ({ endpointId, url, lane })),
    [
      { endpointId: "wh_1", url: "https://wh-1.example/", lane: "wh_1" },
      { endpointId: "wh_2", url: "https://wh-2.example/", lane: "wh_2" },
      { endpointId: null, url: CALLBACK, lane: "cust_1 https://callback.example:8443" },
    ],
  );
  for (const one of made) assert.partialDeepStrictEqual(one, { status: "pending", dueAt: NOW, sequence: 2 });
  assert.deepEqual(deliveriesOf(event(), [], null), []);
});

test("a callbackUrl equal to the URL of a subscribed endpoint creates one delivery, not two", () => {
  const same = { url: CALLBACK };
  const endpointsOf = (changes: Partial<Endpoint>) => [endpoint("wh_1", { ...same, ...changes })];
  const idsOf = (changes: Partial<Endpoint>) =>
    deliveriesOf(event(), endpointsOf(changes), CALLBACK).map(({ endpointId }) => endpointId);
  assert.deepEqual(idsOf({}), ["wh_1"]);
  assert.deepEqual(idsOf({ events: ["message.sent"] }), ["wh_1"]);
  assert.deepEqual(idsOf({ events: ["message.read"] }), [null], "an endpoint that does not get it covers nothing");
  assert.deepEqual(idsOf({ active: false }), [null]);
  assert.deepEqual(idsOf({ url: `${CALLBACK}2` }), ["wh_1", null]);
});

test("the same event creates deliveries with the same ids, and each target has an id of its own", () => {
  const endpoints = [endpoint("wh_1"), endpoint("wh_2", { url: endpoint("wh_1").url })];
  const made = deliveriesOf(event(), endpoints, CALLBACK);
  assert.deepEqual(deliveriesOf(event(), endpoints, CALLBACK), made);
  const others = [...deliveriesOf(event({ id: "evt_2" }), endpoints, CALLBACK)];
  const repeat = deliveryTo(event(), endpoint("wh_1"), NOW, "rpl_1");
  const ids = [...made, ...others, repeat].map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
});

const SCHEDULE_MS = [30_000, 300_000, 1_800_000, 7_200_000, 28_800_000, 86_400_000, 86_400_000];
const FAILED: Attempt = { at: NOW, status: 503, durationMs: 12, response: "busy", error: null };
const SUCCEEDED: Attempt = { ...FAILED, status: 204, response: "" };

test("a delivery that always fails is tried eight times, each after its delay, and is exhausted", () => {
  let now = NOW;
  let failing = delivery();
  const waits: number[] = [];
  for (;;) {
    const endedAt = now + 30_000;
    const ended = { attempt: FAILED, begun: failing, endedAt, chance: 0 };
    failing = { ...failing, ...afterAttempt(failing, ended, SCHEDULE_MS) };
    if (failing.dueAt === null) break;
    assert.equal(failing.status, "pending");
    waits.push(failing.dueAt - endedAt);
    now = failing.dueAt;
  }
  assert.deepEqual(waits, SCHEDULE_MS);
  assert.equal(failing.status, "exhausted");
  assert.equal(failing.attemptCount, 8);
});

interface Row {
  is: string;
  before: Partial<Delivery>;
  /** Whether a manual retry is asked for during the attempt. */
  isRetryAsked?: true;
  succeeded: boolean;
  after: Partial<Delivery>;
}

const ENDED_AT = NOW + 5_000;
const RESUME_AT = NOW + 60_000;
const DONE = { dueAt: null, byHand: false, resumeAt: null };
const RETRIED = { ...DONE, status: "pending", retryCount: 2, dueAt: ENDED_AT + 300_000 } as const;
const BY_HAND = { byHand: true, retriesAsked: 1, dueAt: ENDED_AT } as const;

const ROWS: readonly Row[] = [
  { is: "a successful attempt", before: {}, succeeded: true, after: { ...DONE, status: "succeeded", retryCount: 1 } },
  { is: "a failed attempt", before: {}, succeeded: false, after: RETRIED },
  {
    is: "a failed last attempt of the schedule",
    before: { retryCount: 7 },
    succeeded: false,
    after: { ...DONE, status: "exhausted", retryCount: 7 },
  },
  {
    is: "a failed manual retry leaves the schedule as it is",
    before: { byHand: true, resumeAt: RESUME_AT },
    succeeded: false,
    after: { ...DONE, status: "pending", retryCount: 1, dueAt: RESUME_AT },
  },
  {
    is: "a successful manual retry ends the schedule",
    before: { byHand: true, resumeAt: RESUME_AT },
    succeeded: true,
    after: { ...DONE, status: "succeeded", retryCount: 1 },
  },
  ...(["exhausted", "cancelled", "succeeded"] as const).flatMap((status): Row[] => [
    {
      is: `a failed manual retry of a delivery that is ${status} changes nothing`,
      before: { status, byHand: true },
      succeeded: false,
      after: { ...DONE, status, retryCount: 1 },
    },
    {
      is: `a successful manual retry of a delivery that is ${status}`,
      before: { status, byHand: true },
      succeeded: true,
      after: { ...DONE, status: "succeeded", retryCount: 1 },
    },
  ]),
  {
    is: "an attempt in flight when its delivery was cancelled",
    before: { status: "cancelled" },
    succeeded: false,
    after: { ...DONE, status: "cancelled", retryCount: 1 },
  },
  {
    is: "an attempt that fails after a manual retry was asked for: the retry follows at once, then the schedule",
    before: {},
    isRetryAsked: true,
    succeeded: false,
    after: { ...RETRIED, ...BY_HAND, resumeAt: RETRIED.dueAt },
  },
  {
    is: "an attempt that succeeds after a manual retry was asked for",
    before: {},
    isRetryAsked: true,
    succeeded: true,
    after: { ...BY_HAND, status: "succeeded", retryCount: 1, resumeAt: null },
  },
  {
    is: "a manual retry that fails after another was asked for",
    before: { byHand: true, resumeAt: RESUME_AT },
    isRetryAsked: true,
    succeeded: false,
    after: { ...BY_HAND, status: "pending", retryCount: 1, resumeAt: RESUME_AT },
  },
];

/** The changes by an attempt that began from `begun`. */
function afterOne(now: Delivery, attempt: Attempt, begun = now, chance = 0): Partial<Delivery> {
  return afterAttempt(now, { attempt, begun, endedAt: ENDED_AT, chance }, SCHEDULE_MS);
}

for (const { is, before, isRetryAsked, succeeded, after } of ROWS) {
  test(`an attempt that ended: ${is}`, () => {
    const inFlight = delivery({ attemptCount: 3, retryCount: 1, dueAt: NOW, ...before });
    const attempt = succeeded ? SUCCEEDED : FAILED;
    const now = isRetryAsked ? { ...inFlight, ...retryByHand(inFlight, NOW + 1) } : inFlight;
    const ended = { ...now, ...afterOne(now, attempt, inFlight) };
    assert.deepEqual(ended, { ...inFlight, attemptCount: 4, attempts: [attempt], ...after });
  });
}

test("a manual retry that was asked for during an attempt does not follow it once the delivery is cancelled", () => {
  const inFlight = delivery({ attemptCount: 3, retryCount: 1, dueAt: NOW });
  const cancelled = { ...inFlight, retriesAsked: 1, status: "cancelled", dueAt: null } as const;
  assert.deepEqual(afterOne(cancelled, FAILED, inFlight).dueAt, null);
});

test("an attempt is known in the record by when it began, once the record has more attempts than it began with", () => {
  const begun = delivery({ attemptCount: 1, attempts: [FAILED] });
  const ended = { attempt: FAILED, begun, endedAt: ENDED_AT, chance: 0 };
  assert.equal(hasAttempt(begun, ended), false, "the attempt before began in the same millisecond");
  assert.equal(hasAttempt({ ...begun, attemptCount: 2, attempts: [FAILED, FAILED] }, ended), true);
  const other = { ...FAILED, at: FAILED.at + 1 };
  assert.equal(hasAttempt({ ...begun, attemptCount: 2, attempts: [FAILED, other] }, ended), false);
});

test("jitter only lengthens the delay of a retry, which begins at the end of the attempt", () => {
  const { dueAt } = afterOne(delivery(), FAILED, delivery(), 0.5);
  assert.equal(dueAt, ENDED_AT + 30_000 + 1_500);
});

test("a delivery keeps its newest 50 attempts", () => {
  let retried = delivery();
  for (let count = 0; count < 60; count += 1) {
    const attempt = { ...FAILED, at: NOW + count };
    retried = { ...retried, ...afterOne({ ...retried, byHand: true }, attempt) };
  }
  assert.equal(retried.attemptCount, 60);
  assert.deepEqual(
    retried.attempts.map(({ at }) => at - NOW),
    Array.from({ length: 50 }, (_, index) => index + 10),
  );
});

test("a manual retry is due at once, and leaves the retry schedule as it was", () => {
  const waiting = delivery({ dueAt: RESUME_AT, attemptCount: 1, retryCount: 1 });
  const asked = { retriesAsked: 1, byHand: true };
  assert.deepEqual(retryByHand(waiting, NOW), { ...asked, resumeAt: RESUME_AT, dueAt: NOW });
  const overdue = delivery({ dueAt: NOW - 5 });
  assert.deepEqual(retryByHand(overdue, NOW), { ...asked, resumeAt: NOW - 5, dueAt: NOW - 5 }, "it keeps its place");
  const statuses: DeliveryStatus[] = ["succeeded", "exhausted", "cancelled"];
  for (const status of statuses) {
    const after = { ...asked, resumeAt: null, dueAt: NOW };
    assert.deepEqual(retryByHand(delivery({ status, dueAt: null }), NOW), after);
  }
});

test("two manual retries before the attempt begins are one attempt, and the schedule goes on where it was", () => {
  const asked = { ...delivery({ dueAt: RESUME_AT }), byHand: true, resumeAt: RESUME_AT, dueAt: NOW, retriesAsked: 1 };
  const again = { ...asked, ...retryByHand(asked, NOW + 1) };
  assert.deepEqual(again, { ...asked, retriesAsked: 2 });
  assert.equal(afterOne(again, FAILED).dueAt, RESUME_AT);
});

test("the record of a delivery has every field, its attempts in order, and null for a missing value", () => {
  const timedOut: Attempt = { ...FAILED, at: NOW + 1, aheadMs: 1, status: null, response: null, error: "TIMEOUT" };
  const attempts = [FAILED, timedOut];
  const record = deliveryRecord(delivery({ id: "dlv_1", dueAt: RESUME_AT, endpointId: null, attempts }), null);
  assert.deepEqual(record, {
    id: "dlv_1",
    eventId: "evt_1",
    eventType: "message.sent",
    messageId: "msg_1",
    webhookId: null,
    url: "https://wh-1.example/",
    status: "pending",
    attempts: [
      {
        at: "2026-01-02T03:04:05.678Z",
        status: 503,
        durationMs: 12,
        response: "busy",
        error: null,
        retryAfterSeconds: null,
        requestHeaders: null,
      },
      {
        at: "2026-01-02T03:04:05.679Z",
        realAt: "2026-01-02T03:04:05.678Z",
        status: null,
        durationMs: 12,
        response: null,
        error: "TIMEOUT",
        retryAfterSeconds: null,
        requestHeaders: null,
      },
    ],
    nextAttemptAt: "2026-01-02T03:05:05.678Z",
    createdAt: "2026-01-02T03:04:05.678Z",
  });
  assert.equal(deliveryRecord(delivery({ dueAt: null }), null).nextAttemptAt, null);
});
