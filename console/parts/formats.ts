/** Numbers, times and durations as people read them. Pure: the present is an argument. */

import { formatMs } from "../../sdk/duration.ts";

export { formatMs };

/** How long ago: `now`, `12 s`, `4 min`, `3 h`, `2 d`; a time that is still to come begins with `in`. */
export function formatAgo(at: number, now: number): string {
  const past = now - at;
  if (Math.abs(past) < 1_500) return "now";
  const whole = formatMs(Math.floor(Math.abs(past) / 1_000) * 1_000).replace(/\.\d /, " ");
  return past > 0 ? whole : `in ${whole}`;
}

/** A wait that is shown as it runs out: `0:07`, `4:59`, `2:03:10`, `3 d 4 h`. */
export function formatCountdown(remainingMs: number): string {
  const seconds = Math.max(0, Math.ceil(remainingMs / 1_000));
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3_600) % 24,
    Math.floor(seconds / 60) % 60,
  ];
  if (days > 0) return `${days} d ${hours} h`;
  const two = (value: number) => String(value).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

/** A count with a thin space between thousands. */
export function formatCount(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

const BYTE_UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

/** A size in the largest unit of which there is one: `4.2 MB`. */
export function formatBytes(bytes: number): string {
  let [size, power] = [bytes, 0];
  while (size >= 999.95 && power < BYTE_UNITS.length - 1) [size, power] = [size / 1_000, power + 1];
  return `${power === 0 ? size : size.toFixed(1)} ${BYTE_UNITS[power]}`;
}

/** A count with its noun: `1 step`, `2 steps`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** The time of day with milliseconds, by the clock of the reader. */
export function formatClock(at: number): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, "0");
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
  return `${clock}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

/** Date and time to the second, by the clock of the reader, with the time in UTC: for a tooltip. */
export function formatExact(at: number): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
  return `${day} ${formatClock(at)} (${date.toISOString()})`;
}

/** The share of a whole, as a percentage with one digit if it is neither none nor all. */
export function formatShare(part: number, whole: number): string {
  if (whole === 0) return "–";
  const percent = (100 * part) / whole;
  return percent === 0 || percent === 100 ? `${percent} %` : `${Math.min(99.9, Math.max(0.1, percent)).toFixed(1)} %`;
}

/** The value below which a share of the values lies, by the nearest rank; null of none. */
export function quantile(values: readonly number[], share: number): number | null {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}

/** A word with a capital letter. */
export function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
