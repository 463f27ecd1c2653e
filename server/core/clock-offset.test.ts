/** A clock that is set by another machine's. */

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { ClockOffset } from "./clock-offset.ts";

/** A clock that is `behindMs` behind the other one, and asks it. */
class Asking {
  readonly #offset = new ClockOffset();
  #sleptMs = 0;
  behindMs: number;
  monotonic = 0;

  constructor(behindMs: number) {
    this.behindMs = behindMs;
  }

  /** Asks and sets the clock. `there` and `back` are the ways in milliseconds. The machine sleeps while the answer waits to be read. */
  ask(there: number, back: number, sleptMs = 0): void {
    const sleptBefore = this.#sleptMs;
    const asked = { real: this.monotonic + sleptBefore - this.behindMs, monotonic: this.monotonic };
    this.monotonic += there + back;
    this.#sleptMs += sleptMs;
    const answered = { real: this.monotonic + this.#sleptMs - this.behindMs, monotonic: this.monotonic };
    this.behindMs -= this.#offset.correction({ now: this.monotonic - back + sleptBefore, asked, answered });
  }
}

test("a clock is set by the first answer, and by a later one only if that tells the time better", () => {
  const clock = new Asking(50_000);
  clock.ask(30, 10);
  assert.equal(clock.behindMs, -10);
  clock.monotonic += 5_000;
  clock.ask(100, 10);
  assert.equal(clock.behindMs, -10);
  clock.ask(1, 1);
  assert.equal(clock.behindMs, 0);
});

test("a clock that was set forward or back is set again by the next answer, however long that takes", () => {
  for (const stepMs of [-3_000, 700]) {
    const clock = new Asking(0);
    clock.ask(2, 2);
    clock.behindMs += stepMs;
    clock.ask(20, 200);
    assert.ok(Math.abs(clock.behindMs) <= 110, `${clock.behindMs}`);
  }
});

test("an answer that waited while the machine slept does not set the clock, the next one does", () => {
  const clock = new Asking(0);
  clock.ask(2, 2);
  clock.ask(2, 2, 7_200_000);
  assert.equal(clock.behindMs, 0);
  clock.behindMs = 300;
  clock.ask(2, 2);
  assert.equal(clock.behindMs, 0);
});

test("a clock is as exact as the fastest of its answers, besides the drift since", () => {
  const way = fc.integer({ min: 0, max: 300 });
  const ways = fc.array(fc.tuple(way, way), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(ways, fc.integer({ min: -100_000, max: 100_000 }), (answers, behindMs) => {
      const clock = new Asking(behindMs);
      for (const [there, back] of answers) clock.ask(there, back);
      const best = Math.min(...answers.map(([there, back]) => (there + back) / 2));
      // Each correction is rounded to a millisecond.
      assert.ok(Math.abs(clock.behindMs) <= best + clock.monotonic * 500e-6 + answers.length);
    }),
  );
});
