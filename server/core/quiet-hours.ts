/** Quiet hours by the recipients' local time: whether a message has to wait, and until when. Pure. */

import type { QuietHours, SetQuietHours } from "../../sdk/wire.ts";
import { invalidField } from "./error.ts";
import { minuteOfDay } from "./time-zone.ts";

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1_440;
/**
 * Longest quiet period, in milliseconds. Every local time occurs each day unless summer time skips it, so
 * a period that has not ended by then never ends.
 */
export const QUIET_MS_MAX = 3 * DAY_MINUTES * MINUTE_MS;

/** Whether `text` is a time of day, `HH:MM`, from 00:00 to 23:59. */
export function isClockTime(text: string): boolean {
  return /^(?:[01]\d|2[0-3]):[0-5]\d$/.test(text);
}

/** The quiet hours of a body with valid times and zone. Throws a 400 if they would never end or never start. */
export function quietHoursOf({ start, end, timeZone }: SetQuietHours): QuietHours {
  if (start === end) throw invalidField("end", `must differ from start, ${start}; DELETE takes the quiet hours away`);
  return { start, end, timeZone: timeZone ?? null };
}

/**
 * The end of the quiet hours for `zones`: the first instant from `now` on at which they apply in none of
 * the zones; null if that is now. If they apply in some zone all day, only the customer's own zone counts, or
 * UTC. A zone whose clock is set forward or back into the quiet hours is in them.
 */
export function quietUntil(hours: QuietHours, zones: readonly string[], now: number): number | null {
  const quiet = { start: minutesOf(hours.start), end: minutesOf(hours.end) };
  const at = firstLoud(quiet, zones, now) ?? firstLoud(quiet, [hours.timeZone ?? "UTC"], now);
  return at === now ? null : at;
}

interface Quiet {
  start: number;
  end: number;
}

function minutesOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
}

function isQuiet({ start, end }: Quiet, minute: number): boolean {
  return start < end ? start <= minute && minute < end : start <= minute || minute < end;
}

/** The first instant from `now` on at which no zone is quiet; null without such an instant within three days. */
function firstLoud(quiet: Quiet, zones: readonly string[], now: number): number | null {
  let at = now;
  for (;;) {
    const ends = zones.map((zone) => endIn(quiet, zone, at));
    const latest = Math.max(at, ...ends);
    if (latest === at) return at;
    if (latest > now + QUIET_MS_MAX) return null;
    at = latest;
  }
}

/** The end of the quiet period of a zone at an instant; the instant itself if the zone is not quiet. */
function endIn(quiet: Quiet, zone: string, at: number): number {
  const minute = minuteOfDay(zone, at);
  if (!isQuiet(quiet, minute)) return at;
  const aligned = at - (at % MINUTE_MS);
  const leftMinutes = (quiet.end - minute + DAY_MINUTES) % DAY_MINUTES;
  const end = aligned + leftMinutes * MINUTE_MS;
  const shift = shiftOf(zone, aligned);
  if (shiftOf(zone, end) === shift) return end;
  return endIn(quiet, zone, changeOfClocks(zone, aligned, end, shift));
}

/** The first minute between two instants at which the clocks have left `shift`. */
function changeOfClocks(zone: string, from: number, to: number, shift: number): number {
  let [before, after] = [from, to];
  while (after - before > MINUTE_MS) {
    const middle = before + Math.floor((after - before) / MINUTE_MS / 2) * MINUTE_MS;
    if (shiftOf(zone, middle) === shift) before = middle;
    else after = middle;
  }
  return after;
}

/** Offset of a zone from UTC in minutes, without whole days. */
function shiftOf(zone: string, at: number): number {
  const utcMinute = Math.floor(at / MINUTE_MS) % DAY_MINUTES;
  return (minuteOfDay(zone, at) - utcMinute + DAY_MINUTES) % DAY_MINUTES;
}
