/** A key gets what its limit says in each window, and the windows take no more memory than they may. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  DEFAULT_RATE_LIMIT,
  type RateLimitState,
  retryAfterSeconds,
  take,
  WINDOWS_MAX,
  waitSeconds,
} from "./rate-limit.ts";

const LIMIT = { limit: 2, windowSeconds: 10 };

test("a window opens with the first request of its key and ends its seconds later", () => {
  const state: RateLimitState = new Map();
  assert.deepEqual(take(state, "key_1", LIMIT, 5_000), { allowed: true, limit: 2, remaining: 1, resetAt: 15_000 });
  assert.deepEqual(take(state, "key_1", LIMIT, 9_000), { allowed: true, limit: 2, remaining: 0, resetAt: 15_000 });
  assert.deepEqual(take(state, "key_1", LIMIT, 14_999), { allowed: false, limit: 2, remaining: 0, resetAt: 15_000 });
  assert.deepEqual(take(state, "key_2", LIMIT, 14_999), { allowed: true, limit: 2, remaining: 1, resetAt: 24_999 });
  assert.deepEqual(take(state, "key_1", LIMIT, 15_000), { allowed: true, limit: 2, remaining: 1, resetAt: 25_000 });
});

test("the default is 100 requests in 60 s", () => {
  const state: RateLimitState = new Map();
  const allowed = Array.from({ length: 150 }, () => take(state, "key_1", DEFAULT_RATE_LIMIT, 0).allowed);
  assert.equal(allowed.filter(Boolean).length, 100);
  assert.equal(take(state, "key_1", DEFAULT_RATE_LIMIT, 60_000).allowed, true);
});

test("Retry-After is whole seconds, rounded up, at least 1", () => {
  const result = { allowed: false, limit: 1, remaining: 0, resetAt: 10_000 };
  const rows = [
    [0, 10],
    [9_000, 1],
    [8_999, 2],
    [9_999, 1],
    [10_000, 1],
    [11_000, 1],
  ] as const;
  for (const [now, seconds] of rows) assert.equal(retryAfterSeconds(result, now), seconds, String(now));
});

test("a changed limit holds from the next request on", () => {
  const state: RateLimitState = new Map();
  take(state, "key_1", LIMIT, 0);
  take(state, "key_1", LIMIT, 0);
  assert.equal(take(state, "key_1", { limit: 3, windowSeconds: 10 }, 0).allowed, true);
  assert.deepEqual(take(state, "key_1", { limit: 1, windowSeconds: 10 }, 0), {
    allowed: false,
    limit: 1,
    remaining: 0,
    resetAt: 10_000,
  });
});

test("a clock that goes back locks no key out", () => {
  const state: RateLimitState = new Map();
  for (let index = 0; index < 3; index += 1) take(state, "key_1", LIMIT, 1_000_000);
  assert.equal(take(state, "key_1", LIMIT, 1_000).allowed, true);
});

test("a window never allows more requests than its limit, at any times", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(fc.nat(3_000), { maxLength: 60 }), (limit, steps) => {
      const state: RateLimitState = new Map();
      const allowedIn = new Map<number, number>();
      let now = 0;
      for (const step of steps) {
        now += step;
        const { allowed, resetAt, remaining } = take(state, "key_1", { limit, windowSeconds: 10 }, now);
        assert.ok(now < resetAt && resetAt <= now + 10_000 && remaining >= 0);
        if (allowed) allowedIn.set(resetAt, (allowedIn.get(resetAt) ?? 0) + 1);
        else assert.equal(allowedIn.get(resetAt), limit);
      }
      for (const count of allowedIn.values()) assert.ok(count <= limit);
    }),
  );
});

test("the number of windows is bounded: the oldest window is dropped", () => {
  const state: RateLimitState = new Map();
  for (let index = 0; index < WINDOWS_MAX; index += 1) take(state, `key_${index}`, LIMIT, index < 10 ? 0 : 5_000);
  take(state, "key_0", LIMIT, 12_000);
  assert.equal(state.size, WINDOWS_MAX, "a window that opens anew takes no other one's place");
  take(state, "key_x", LIMIT, 12_000);
  assert.equal(state.size, WINDOWS_MAX);
  assert.ok(!state.has("key_1") && state.has("key_0") && state.has("key_2"));
});

test("to ask how long to wait counts nothing", () => {
  const state: RateLimitState<string> = new Map();
  assert.equal(waitSeconds(state, "an address", 2, 0), null);
  assert.equal(state.size, 0);
  for (let index = 0; index < 2; index += 1) take(state, "an address", LIMIT, 1_000);
  assert.equal(waitSeconds(state, "an address", 3, 1_000), null, "a higher limit");
  const rows = [
    [1_000, 10],
    [10_001, 1],
    [11_000, null],
    [999, null],
  ] as const;
  for (const [now, seconds] of rows) assert.equal(waitSeconds(state, "an address", 2, now), seconds, String(now));
});
