/** Tests of the rate limiter of the Private API. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { PrivateApiRateLimiter, RateLimited } from "./rate-limiter.ts";

test("calls are admitted every 250 ms in order of arrival, and at once after a pause", async () => {
  const clock = new SimulatedClock(0);
  const limiter = new PrivateApiRateLimiter(clock);
  const admitted: string[] = [];
  const take = (name: string) => void limiter.acquire().then(() => admitted.push(`${name}@${clock.real()}`));
  for (const name of ["a", "b", "c"]) take(name);
  await clock.advance(1_000);
  take("d");
  await clock.advance(400);
  assert.deepEqual(admitted, ["a@0", "b@250", "c@500", "d@1000"]);
  assert.equal(clock.pending, 0);
});

test("an aborted call leaves the queue and delays no other call", async () => {
  const clock = new SimulatedClock(0);
  const limiter = new PrivateApiRateLimiter(clock);
  const abort = new AbortController();
  await limiter.acquire();
  const called = assert.rejects(limiter.acquire(abort.signal), RateLimited);
  let wasAt = 0;
  const other = limiter.acquire().then(() => {
    wasAt = clock.real();
  });
  abort.abort();
  await called;
  assert.equal(limiter.waiting, 1);
  await clock.advance(250);
  await other;
  assert.equal(wasAt, 250);
  await assert.rejects(limiter.acquire(abort.signal), RateLimited);
});

test("a full queue rejects the newest call, and stop rejects all calls", async () => {
  const clock = new SimulatedClock(0);
  const limiter = new PrivateApiRateLimiter(clock);
  await limiter.acquire();
  const waiting = Array.from({ length: 256 }, () => limiter.acquire());
  await assert.rejects(limiter.acquire(), RateLimited);
  limiter.stop();
  const ends = await Promise.allSettled(waiting);
  assert.ok(ends.every(({ status }) => status === "rejected"));
  await assert.rejects(limiter.acquire(), RateLimited);
  assert.equal(clock.pending, 0);
});
