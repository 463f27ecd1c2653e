/** Hides small steps back of a clock, so that after one of less than 5 s a later change has no earlier time. Pure. */

/** A greater step back is taken as it is, in milliseconds: the clock was wrong before, or a person moved it. */
export const STEP_BACK_MAX_MS = 5_000;

/**
 * `now`, or `last` if `now` is less than `STEP_BACK_MAX_MS` before it: the clock was set back a little, or `last` is by the clock of
 * another process, which is ahead. Epoch milliseconds.
 */
export function withoutStepBack(last: number, now: number): number {
  const stepMs = last - now;
  return stepMs > 0 && stepMs < STEP_BACK_MAX_MS ? last : now;
}
