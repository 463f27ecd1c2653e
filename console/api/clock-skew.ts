/** How far the service's real clock is ahead of this computer's, by the `Date` of its answers. */

/** `Date` has whole seconds, and an answer is on its way for a while: less than this is no skew. */
const SKEW_MS_MIN = 3_000;

let skewMs = 0;

/** The skew after an answer with this `Date` came at the time `now`. Pure. */
export function skewAfter(knownMs: number, date: string | null, now: number): number {
  const at = Date.parse(date ?? "");
  if (Number.isNaN(at)) return knownMs;
  const measuredMs = at - now;
  if (Math.abs(measuredMs) < SKEW_MS_MIN) return 0;
  return Math.abs(measuredMs - knownMs) < SKEW_MS_MIN ? knownMs : measuredMs;
}

/** Notes an answer of the service. */
export function noteAnswer(response: Response): void {
  skewMs = skewAfter(skewMs, response.headers.get("Date"), Date.now());
}

/** The skew in milliseconds; 0 if both clocks agree. */
export function clockSkewMs(): number {
  return skewMs;
}
