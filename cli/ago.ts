/** Tells how long ago something was. Pure. */

const UNITS = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
] as const;

/**
 * How long before `now` an instant of the API was: `12 s ago`, `3 min ago`, `5 h ago`, `2 d ago`. The instant itself if it is more
 * than a minute ahead, as when the sandbox's clock was moved.
 */
export function ago(at: string, now: number): string {
  const seconds = Math.floor((now - Date.parse(at)) / 1_000);
  if (seconds < -60) return at;
  const [unitSeconds, unit] = UNITS.find(([least]) => seconds >= least) ?? [1, "s"];
  return `${Math.max(0, Math.floor(seconds / unitSeconds))} ${unit} ago`;
}
