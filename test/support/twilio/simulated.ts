/**
 * Simulated time beside a small Twilio on loopback: goes from timer to timer, and lets traffic arrive before each one.
 */

import type { SimulatedClock } from "../clock.ts";
import type { FakeTwilio } from "./fake-twilio.ts";

/** The longest step of simulated time, so that network events are not delayed by more. */
const STEP_MS = 5_000;

/** Lets time pass until `condition` holds. Returns whether it held within `limitMs`. */
export async function advanceUntil(
  fake: FakeTwilio,
  clock: SimulatedClock,
  condition: () => boolean,
  limitMs: number,
): Promise<boolean> {
  const end = clock.real() + limitMs;
  await fake.idle();
  while (!condition() && clock.real() < end) {
    const next = Math.min(end, clock.real() + STEP_MS, clock.nextAt ?? end);
    await clock.advance(Math.max(1, next - clock.real()));
    await fake.idle();
  }
  return condition();
}

export async function pass(fake: FakeTwilio, clock: SimulatedClock, ms: number): Promise<void> {
  await advanceUntil(fake, clock, () => false, ms);
}
