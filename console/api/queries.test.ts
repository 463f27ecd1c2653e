import assert from "node:assert/strict";
import test from "node:test";
import type { WireItem } from "../../sdk/requests.ts";
import type { Delivery, Event, LoggedRequest } from "../../sdk/wire.ts";
import { keepFresh, staleNouns } from "./queries.ts";

const SENT: WireItem = {
  kind: "event",
  event: { id: "evt_1", type: "message.sent", data: { messageId: "msg_1" } } as unknown as Event,
};

const request = (method: string, path: string, status: number): WireItem => ({
  kind: "request",
  request: { method, path, status } as LoggedRequest,
});

test("an event of a message makes messages, events, deliveries, conversations and usage stale, and nothing of payments", () => {
  const nouns = staleNouns(SENT);
  for (const noun of ["messages", "events", "deliveries", "chats", "usage"] as const)
    assert.ok(nouns.includes(noun), noun);
  assert.ok(!nouns.includes("payments"));
});

test("an attempt, which makes no event, makes deliveries stale, and a request the log", () => {
  const answered = (...statuses: number[]): WireItem => {
    const attempts = statuses.map((status) => ({ status }));
    return { kind: "delivery", delivery: { url: "https://a.example/hook", attempts } as Delivery };
  };
  assert.deepEqual(staleNouns(answered()), ["deliveries"]);
  assert.deepEqual(staleNouns(answered(410, 200)), ["deliveries"]);
  assert.deepEqual(staleNouns(answered(200, 410)), ["deliveries", "webhooks"]);
  const toInbox = { url: "/sandbox/inbox/abc" } as Delivery;
  assert.deepEqual(staleNouns({ kind: "delivery", delivery: toInbox }), ["deliveries", "inbox"]);
  assert.deepEqual(staleNouns(request("GET", "/v1/contacts", 200)), ["requests"]);
});

test("a request of another program makes what it changed stale, and a refused one does not", () => {
  assert.deepEqual(staleNouns(request("POST", "/v1/contacts", 201)), ["requests", "contacts"]);
  assert.deepEqual(staleNouns(request("POST", "/v1/sandbox/clock", 200)), ["requests", "clock"]);
  assert.deepEqual(staleNouns(request("DELETE", "/v1/webhooks/wh_1", 404)), ["requests"]);
});

/** Keeps a cache fresh that counts how often it reads messages again. */
function startFresh() {
  let listener: (items: readonly WireItem[]) => void = () => {};
  let reads = 0;
  const cache = {
    invalidateQueries: async ({ queryKey = [] }: { queryKey?: readonly unknown[] } = {}) => {
      if (queryKey[0] === "messages") reads += 1;
    },
  };
  const end = keepFresh(cache, {
    onItems: (given) => {
      listener = given;
      return () => {};
    },
    onGap: () => () => {},
  });
  return { tell: () => listener([SENT]), reads: () => reads, end };
}

test("the first event reads at once, and those soon after it are read together", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { tell, reads } = startFresh();
  tell();
  assert.equal(reads(), 1);
  tell();
  tell();
  assert.equal(reads(), 1);
  context.mock.timers.tick(250);
  assert.equal(reads(), 2);
  context.mock.timers.tick(10_000);
  assert.equal(reads(), 2);
  tell();
  assert.equal(reads(), 3);
});

test("events that do not end are read every two seconds, and not once somebody has left", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { tell, reads, end } = startFresh();
  for (let ms = 0; ms < 60_000; ms += 50) {
    tell();
    context.mock.timers.tick(50);
  }
  assert.ok(reads() <= 35, `${reads()} reads in a minute`);
  const before = reads();
  tell();
  end();
  context.mock.timers.tick(10_000);
  assert.equal(reads(), before);
});
