/** Waiting in tests: for a condition, with a limit. Nothing sleeps. */

/** Resolves with the first value of `probe` that is truthy; throws naming `what` after `limitMs` (default 10 s). */
export async function until<Value>(
  probe: () => Value | Promise<Value>,
  { limitMs = 10_000, what = "the condition" }: { limitMs?: number; what?: string } = {},
): Promise<NonNullable<Value>> {
  const end = performance.now() + limitMs;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (performance.now() > end) throw new Error(`${what} did not come true within ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
