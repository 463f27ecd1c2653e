/** Tests rate limits that several processes share, over a database that counts as PostgreSQL does. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { SimulatedClock } from "../../../test/support/clock.ts";
import type { KeyId } from "../../core/id.ts";
import type { RateTake, TakeRate } from "../../store/shared-database.ts";
import { RateSlices, sliceOf } from "./rate-slices.ts";

const KEY = "key_1" as KeyId;

/** The windows of a database, by its clock. */
function database(clock: SimulatedClock) {
  let window = { endsAt: Number.NEGATIVE_INFINITY, taken: 0 };
  const state = { takes: 0, isUp: true };
  const take: TakeRate = async ({ wanted, takenMax, windowMs }: RateTake) => {
    if (!state.isUp) throw new Error("the database is away");
    state.takes += 1;
    if (clock.monotonic() >= window.endsAt) window = { endsAt: clock.monotonic() + windowMs, taken: 0 };
    const given = Math.max(0, Math.min(wanted, takenMax - window.taken));
    window.taken += given;
    return { given, taken: window.taken, endsInMs: window.endsAt - clock.monotonic() };
  };
  return { take, state };
}

test("a slice is 5 % of the limit, shared by eight processes, or one request if that is less than two", () => {
  assert.deepEqual(sliceOf(100), { requests: 1, beyond: 0 });
  assert.deepEqual(sliceOf(319), { requests: 1, beyond: 0 });
  assert.deepEqual(sliceOf(320), { requests: 2, beyond: 16 });
  assert.deepEqual(sliceOf(10_000), { requests: 62, beyond: 496 });
});

test("up to eight processes allow the whole limit and at most 5 % more, however requests are spread", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(1, 7, 100, 400, 1_000, 3_217),
      fc.array(fc.integer({ min: 1, max: 1_000 }), { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 1, max: 40 }),
      async (limit, weights, together) => {
        const clock = new SimulatedClock();
        const { take } = database(clock);
        const processes = weights.map(() => new RateSlices(take, clock));
        const chosen = weights.flatMap((weight, index) => Array<number>(weight).fill(index));
        let allowed = 0;
        let refused = 0;
        for (let asked = 0; asked < limit * 2 + 200; asked += together) {
          const results = Array.from({ length: together }, (_, index) => {
            const process = processes[chosen[((asked + index) * 7_919) % chosen.length] ?? 0];
            return process?.count(KEY, { limit, windowSeconds: 60 });
          });
          for (const result of await Promise.all(results)) {
            if (result?.allowed === true) allowed += 1;
            else refused += 1;
          }
        }
        assert.ok(refused > 0);
        assert.ok(allowed >= limit && allowed <= limit * 1.05, `${allowed} of ${limit}`);
      },
    ),
    { numRuns: 60 },
  );
});

test("one process uses exactly what was given, and a refused key costs the database nothing until its window ends", async () => {
  const clock = new SimulatedClock();
  const { take, state } = database(clock);
  const slices = new RateSlices(take, clock);
  const limit = { limit: 3, windowSeconds: 60 };
  const allowed = [];
  for (let count = 0; count < 10; count += 1) allowed.push((await slices.count(KEY, limit)).allowed);
  assert.deepEqual(allowed, [true, true, true, ...Array(7).fill(false)]);
  assert.equal(state.takes, 4);
  const refused = await slices.count(KEY, limit);
  assert.deepEqual([refused.remaining, refused.limit, refused.resetAt - clock.real()], [0, 3, 60_000]);
  await clock.advance(60_000);
  const first = await slices.count(KEY, limit);
  assert.deepEqual([first.allowed, first.remaining, state.takes], [true, 2, 5]);
});

test("a limit that is raised during its window holds at once in a process that has refused requests", async () => {
  const clock = new SimulatedClock();
  const { take, state } = database(clock);
  const slices = new RateSlices(take, clock);
  const count = async (limit: number) => (await slices.count(KEY, { limit, windowSeconds: 86_400 })).allowed;
  assert.deepEqual([await count(1), await count(1)], [true, false]);
  assert.deepEqual([await count(3), await count(3), await count(3)], [true, true, false]);
  const { takes } = state;
  assert.deepEqual([await count(3), await count(2), state.takes - takes], [false, false, 0]);
});

test("a database that is away rejects those who wait, and the next request asks again", async () => {
  const clock = new SimulatedClock();
  const { take, state } = database(clock);
  const slices = new RateSlices(take, clock);
  state.isUp = false;
  const waiting = [1, 2, 3].map(async () => slices.count(KEY, { limit: 5, windowSeconds: 1 }));
  for (const one of await Promise.allSettled(waiting)) assert.equal(one.status, "rejected");
  state.isUp = true;
  assert.equal((await slices.count(KEY, { limit: 5, windowSeconds: 1 })).allowed, true);
});
