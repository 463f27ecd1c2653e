import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../test/support/clock.ts";
import { withDeadline } from "./deadline.ts";

const LATE = "late";

/** The result of a call that reports its progress when it is aborted. */
function reporting(clock: SimulatedClock, abort: AbortController): Promise<string> {
  return withDeadline(
    clock,
    abort,
    (signal) => new Promise((resolve) => signal.addEventListener("abort", async () => resolve(await "not sent"))),
    LATE,
  );
}

test("a provider that is aborted may still report that it did not send", async () => {
  const clock = new SimulatedClock();
  const abort = new AbortController();
  const answer = reporting(clock, abort);
  abort.abort();
  assert.equal(await answer, "not sent");
});

test("a provider has 40 seconds, and may then report how far it came", async () => {
  const clock = new SimulatedClock();
  const answer = reporting(clock, new AbortController());
  await clock.advance(40_000);
  assert.equal(await answer, "not sent");
});

test("a provider that reports nothing is late after 40 seconds, and at once if it was aborted before", async () => {
  const clock = new SimulatedClock();
  const silent = withDeadline(clock, new AbortController(), () => new Promise<string>(() => {}), LATE);
  await clock.advance(40_000);
  assert.equal(await silent, LATE);
  const abort = new AbortController();
  abort.abort();
  assert.equal(await withDeadline(clock, abort, () => new Promise<string>(() => {}), LATE), LATE);
  assert.equal(clock.pending, 0);
});
