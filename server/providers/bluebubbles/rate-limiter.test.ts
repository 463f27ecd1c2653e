/** How fast a Mac is used: the limiter of the Private API, and how many conversations are begun. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { mapMemory } from "../../../test/support/mac-outbound.ts";
import { NewChatLimit, PrivateApiRateLimiter, RateLimited } from "./rate-limiter.ts";

test("turns come one every 250 ms, in the order they were asked for, and at once after a pause", async () => {
  const clock = new SimulatedClock(0);
  const limiter = new PrivateApiRateLimiter(clock);
  const turns: string[] = [];
  const take = (name: string) => void limiter.acquire().then(() => turns.push(`${name}@${clock.real()}`));
  for (const name of ["a", "b", "c"]) take(name);
  await clock.advance(1_000);
  take("d");
  await clock.advance(400);
  assert.deepEqual(turns, ["a@0", "b@250", "c@500", "d@1000"]);
  assert.equal(clock.pending, 0);
});

test("who is called off leaves the queue and takes nobody's turn", async () => {
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

test("a queue that is full turns the newest away, and stop everybody", async () => {
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

test("no more conversations are begun within any hour than allowed, also across a restart", async () => {
  const clock = new SimulatedClock();
  const entries = new Map<string, string>();
  const begin = async () => {
    const newChats = new NewChatLimit(clock, mapMemory(entries), 3);
    await newChats.load();
    return newChats;
  };
  const first = await begin();
  assert.equal(await first.acquire(), null);
  await clock.advance(600_000);
  assert.equal(await first.acquire(), null);
  const second = await begin();
  assert.equal(await second.acquire(), null);
  assert.equal(await second.acquire(), 3_000_000);
  await second.release();
  assert.equal(await second.acquire(), null);
  await clock.advance(3_000_000);
  assert.equal(await second.acquire(), null);
  assert.equal(await second.acquire(), 600_000);
});

test("a count that cannot be read begins anew", async () => {
  for (const value of ["", "{", "null", '{"a":1}', '["x"]']) {
    const newChats = new NewChatLimit(new SimulatedClock(), mapMemory(new Map([["new-chats", value]])), 1);
    await newChats.load();
    assert.equal(await newChats.acquire(), null, value);
    assert.notEqual(await newChats.acquire(), null, value);
  }
});
