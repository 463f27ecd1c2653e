import assert from "node:assert/strict";
import test from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { TokenBucket } from "./token-bucket.ts";

/** When each of `count` messages may go, in milliseconds from the start, for one who asks again when told to. */
async function goings(clock: SimulatedClock, pace: TokenBucket, count: number): Promise<number[]> {
  const startAt = clock.real();
  const at: number[] = [];
  while (at.length < count) {
    const waitMs = pace.take();
    if (waitMs > 0) await clock.advance(waitMs);
    else at.push(clock.real() - startAt);
  }
  return at;
}

test("no second has more submits than the rate limit and its burst of 50 ms, and the limit is reached", async () => {
  for (const perSecond of [1, 7, 10, 50, 1_000]) {
    const clock = new SimulatedClock();
    const at = await goings(clock, new TokenBucket(clock, perSecond, (perSecond ?? 0) * 0.05), perSecond * 3);
    const most = Math.max(...at.map((from) => at.filter((each) => each >= from && each < from + 1_000).length));
    assert.ok(most <= perSecond + Math.max(1, perSecond * 0.05), `${most} within a second at ${perSecond}`);
    const lastAt = at.at(-1) ?? 0;
    assert.ok(lastAt <= 3_100, `${perSecond * 3} messages took ${lastAt} ms`);
  }
});

test("an idle hour saves up no more than the burst", async () => {
  const clock = new SimulatedClock();
  const pace = new TokenBucket(clock, 10, 0.5);
  await clock.advance(3_600_000);
  assert.deepEqual(await goings(clock, pace, 3), [0, 100, 200]);
});

test("a rate limit below one a second holds, and null is no limit", async () => {
  const clock = new SimulatedClock();
  assert.deepEqual(await goings(clock, new TokenBucket(clock, 0.1, 1), 3), [0, 10_000, 20_000]);
  assert.deepEqual(await goings(clock, new TokenBucket(clock, null, 1), 3), [0, 0, 0]);
});

test("during a pause nothing is submitted, with and without a limit, and a shorter pause does not end a longer one", async () => {
  for (const perSecond of [null, 1_000]) {
    const clock = new SimulatedClock();
    const pace = new TokenBucket(clock, perSecond, (perSecond ?? 0) * 0.05);
    pace.pause(5_000);
    pace.pause(1_000);
    assert.equal(pace.take(), 5_000);
    await clock.advance(4_999);
    assert.equal(pace.take(), 1);
    await clock.advance(1);
    assert.equal(pace.take(), 0);
  }
});
