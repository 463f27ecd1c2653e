/** The machine's monotonic clock, the same in every process of it; and small waits. Decides nothing. */

/** Milliseconds of the machine's monotonic clock: comparable between processes, unlike `performance.now()`. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Resolves after `ms`. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Resolves when `holds` returns true; calls it every `everyMs`. Throws with `what` after `limitMs`. */
export async function waitFor(
  what: string,
  holds: () => boolean | Promise<boolean>,
  { limitMs, everyMs = 20 }: { limitMs: number; everyMs?: number },
): Promise<void> {
  const endsAt = nowMs() + limitMs;
  while (!(await holds())) {
    if (nowMs() > endsAt) throw new Error(`${what}: not within ${limitMs} ms`);
    await pause(everyMs);
  }
}
