/** Durations as people write them in settings and requests (`30s`, `5m`, `72h`): text to milliseconds. Pure. */

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/**
 * Milliseconds of a duration: a whole number and one of the units ms, s, m, h and d, without a space. Null for
 * anything else, a number without a unit included.
 */
export function parseDuration(text: string): number | null {
  const match = /^(\d{1,12})(ms|s|m|h|d)$/.exec(text);
  const unitMs = UNIT_MS[match?.[2] as keyof typeof UNIT_MS];
  if (match === null || unitMs === undefined) return null;
  return Number(match[1]) * unitMs;
}
