/** Sets the clock of a process ahead of the machine's by `TEST_CLOCK_SKEW_MS`: its host's clock is wrong. Loaded before the program. */

const SKEW_MS = Number(process.env.TEST_CLOCK_SKEW_MS);
const realNow = Date.now;

class SkewedDate extends Date {
  constructor(...given: readonly unknown[]) {
    super(...((given.length === 0 ? [realNow() + SKEW_MS] : given) as [number]));
  }
}

Date.now = () => realNow() + SKEW_MS;
globalThis.Date = Object.assign(SkewedDate, { now: Date.now }) as unknown as DateConstructor;

export {};
