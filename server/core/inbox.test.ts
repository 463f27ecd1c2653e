import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyInbox, inboxRequests, openInbox, receiveInInbox, setInboxBehaviour } from "./inbox.ts";

function request(body: string, verified = true) {
  const headers = { "content-type": "application/json" };
  return { receivedAt: "2026-01-01T00:00:00.000Z", verified, headers, body };
}

test("a new inbox responds with 200 at once, and keeps headers and raw body", () => {
  const inbox = openInbox();
  assert.deepEqual(receiveInInbox(inbox, request('{"a": 1}')), { status: 200, delayMs: 0 });
  assert.deepEqual(inboxRequests(inbox), [{ ...request('{"a": 1}'), status: 200 }]);
});

test("an unsigned request gets 401 at once, is kept, and does not count towards failFirst", () => {
  const inbox = openInbox();
  setInboxBehaviour(inbox, { failFirst: 1, delayMs: 500 });
  assert.deepEqual(receiveInInbox(inbox, request("forged", false)), { status: 401, delayMs: 0 });
  assert.deepEqual(receiveInInbox(inbox, request("signed")), { status: 503, delayMs: 500 });
  assert.deepEqual(
    inboxRequests(inbox).map(({ body, verified, status }) => ({ body, verified, status })),
    [
      { body: "signed", verified: true, status: 503 },
      { body: "forged", verified: false, status: 401 },
    ],
  );
});

test("failFirst counts down to zero, and then the inbox responds with the configured status", () => {
  const inbox = openInbox();
  setInboxBehaviour(inbox, { status: 410, delayMs: 20, failFirst: 2 });
  const statuses = ["1", "2", "3", "4"].map((body) => receiveInInbox(inbox, request(body)).status);
  assert.deepEqual(statuses, [503, 503, 410, 410]);
  assert.deepEqual(inbox.behaviour, { status: 410, delayMs: 20, failFirst: 0 });
});

test("a field that a change of behaviour omits returns to its default, and inboxes share no behaviour", () => {
  const inbox = openInbox();
  setInboxBehaviour(inbox, { status: 500, delayMs: 9, failFirst: 3 });
  assert.deepEqual(setInboxBehaviour(inbox, { delayMs: 7 }), { status: 200, delayMs: 7, failFirst: 0 });
  assert.deepEqual(setInboxBehaviour(inbox, {}), { status: 200, delayMs: 0, failFirst: 0 });
  assert.deepEqual(openInbox().behaviour, { status: 200, delayMs: 0, failFirst: 0 });
});

test("the last 500 requests are kept, newest first, however many come", () => {
  const inbox = openInbox();
  for (let index = 1; index <= 2_345; index += 1) {
    receiveInInbox(inbox, request(String(index)));
    assert.ok(inbox.kept.length < 1_000);
    if (index === 3)
      assert.deepEqual(
        inboxRequests(inbox).map(({ body }) => body),
        ["3", "2", "1"],
      );
  }
  const bodies = inboxRequests(inbox).map(({ body }) => body);
  assert.equal(bodies.length, 500);
  assert.equal(bodies[0], "2345");
  assert.equal(bodies[499], "1846");
});

test("emptying an inbox deletes its requests and keeps its behaviour", () => {
  const inbox = openInbox();
  setInboxBehaviour(inbox, { status: 500 });
  receiveInInbox(inbox, request("1"));
  emptyInbox(inbox);
  assert.deepEqual(inboxRequests(inbox), []);
  assert.equal(receiveInInbox(inbox, request("2")).status, 500);
});
