/** Durations as people read them. Pure. */

/** A duration in three digits: `12 ms`, `1.4 s`, `3 min`, `2 h`, `5 d`. */
export function formatMs(durationMs: number): string {
  const ms = Math.max(0, durationMs);
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 59_500) return `${Math.round(ms / 1_000)} s`;
  if (ms < 3_570_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 172_800_000) return `${Math.round(ms / 3_600_000)} h`;
  return `${Math.round(ms / 86_400_000)} d`;
}
