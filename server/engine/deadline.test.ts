import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../test/support/clock.ts";
import { withDeadline } from "./deadline.ts";

const LATE = "late";

/** What is answered to one who says, when called off, how far it came. */
function telling(clock: SimulatedClock, abort: AbortController): Promise<string> {
  return withDeadline(
    clock,
    abort,
    (signal) => new Promise((resolve) => signal.addEventListener("abort", async () => resolve(await "not sent"))),
    LATE,
  );
}

test("a provider that is called off has the last word, where it has one: what it did not send is not in doubt", async () => {
  const clock = new SimulatedClock();
  const abort = new AbortController();
  const answer = telling(clock, abort);
  abort.abort();
  assert.equal(await answer, "not sent");
});

test("a provider has 40 seconds, and may say how far it came then too", async () => {
  const clock = new SimulatedClock();
  const answer = telling(clock, new AbortController());
  await clock.advance(40_000);
  assert.equal(await answer, "not sent");
});

test("one that says nothing is late: after 40 seconds, and at once where it was called off before", async () => {
  const clock = new SimulatedClock();
  const silent = withDeadline(clock, new AbortController(), () => new Promise<string>(() => {}), LATE);
  await clock.advance(40_000);
  assert.equal(await silent, LATE);
  const abort = new AbortController();
  abort.abort();
  assert.equal(await withDeadline(clock, abort, () => new Promise<string>(() => {}), LATE), LATE);
  assert.equal(clock.pending, 0);
});
