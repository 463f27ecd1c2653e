/** Simulated time beside a small Twilio on loopback: goes from timer to timer, and lets what is under way arrive before each. */

import type { SimulatedClock } from "../clock.ts";
import type { FakeTwilio } from "./fake-twilio.ts";

/** Simulated time goes on in steps that are not longer, so that what the network brings is not late by more. */
const STEP_MS = 5_000;

/** Lets time pass until `condition` holds: whether it came to hold within `limitMs`. */
export async function advanceUntil(
  fake: FakeTwilio,
  clock: SimulatedClock,
  condition: () => boolean,
  limitMs: number,
): Promise<boolean> {
  const end = clock.real() + limitMs;
  await fake.settled();
  while (!condition() && clock.real() < end) {
    const next = Math.min(end, clock.real() + STEP_MS, clock.nextAt ?? end);
    await clock.advance(Math.max(1, next - clock.real()));
    await fake.settled();
  }
  return condition();
}

/** Lets so much time pass. */
export async function pass(fake: FakeTwilio, clock: SimulatedClock, ms: number): Promise<void> {
  await advanceUntil(fake, clock, () => false, ms);
}
