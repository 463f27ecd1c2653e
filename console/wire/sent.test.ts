import assert from "node:assert/strict";
import { test } from "node:test";
import type { Attempt, InboxRequest } from "../../sdk/wire.ts";
import { attemptOf, byteLength, isAccepted, receivedOf } from "./sent.ts";

const attempt = (at: number, status: number | null): Attempt => ({
  ...{
    at: new Date(at).toISOString(),
    status,
    durationMs: 1,
    response: null,
    error: null,
    retryAfterSeconds: null,
    requestHeaders: null,
  },
});
const first = attempt(1_000, 503);
const second = attempt(31_000, 200);
const delivery = { attempts: [first, second] };
const request = (body: string, status: number): InboxRequest => ({
  ...{ receivedAt: "", verified: true, status, headers: {}, body },
});

test("a row of an attempt finds that attempt, and any other row of the delivery the newest one", () => {
  assert.equal(attemptOf(delivery, 1_000), first);
  assert.equal(attemptOf(delivery, 99_000), second);
  assert.equal(attemptOf({ attempts: [] }, 1_000), null);
});

test("the n-th attempt is the n-th request with its bytes, and none if the inbox has dropped one of them", () => {
  const requests = [request("a", 200), request("b", 200), request("a", 503)];
  assert.equal(receivedOf(delivery, first, "a", requests)?.status, 503);
  assert.equal(receivedOf(delivery, second, "a", requests)?.status, 200);
  assert.equal(receivedOf(delivery, second, "b", requests), null);
  assert.equal(receivedOf(delivery, null, "a", requests), null);
});

test("only a 2xx is accepted, and bytes are those of UTF-8", () => {
  assert.deepEqual([first, second, attempt(0, null)].map(isAccepted), [false, true, false]);
  assert.equal(byteLength("Zoë"), 4);
});
