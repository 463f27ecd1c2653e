/** Times of records by the service's clock, which a sandbox moves, beside the real ones. Pure. */

/** A time by the service's clock, with how far that was ahead of real time. */
export interface ClockTime {
  /** Epoch milliseconds. */
  at: number;
  /** 0 while the clock shows real time. */
  shiftMs: number;
}

/** The real time, epoch milliseconds. */
export function realTime({ at, shiftMs }: ClockTime): number {
  return at - shiftMs;
}

/** The time of a record that tells its real time if the clock was ahead. */
export function timeOf(at: string, realAt: string | undefined): ClockTime {
  const ms = Date.parse(at);
  return { at: ms, shiftMs: realAt ? ms - Date.parse(realAt) : 0 };
}

/** RFC 9562, 5.7: 48 bits of time, then the version. */
const UUID_V7 = /^[a-z]+_([0-9a-f]{8})-([0-9a-f]{4})-7/;
/** A clock that is less than this ahead shows real time, in milliseconds: an id is made a little after its record's time. */
const AHEAD_MS_MIN = 1_000;

/** The time of a record that the service made at `at`: its id has the real time. */
export function timeById(id: string, at: string): ClockTime {
  const [, high = "", low = ""] = UUID_V7.exec(id) ?? [];
  const ms = Date.parse(at);
  const aheadMs = high === "" ? 0 : ms - Number.parseInt(high + low, 16);
  return { at: ms, shiftMs: aheadMs < AHEAD_MS_MIN ? 0 : aheadMs };
}

/** Rows of one state of the clock have shifts that differ by less, in milliseconds. */
const SAME_CLOCK_MS = 10_000;

/** How the sandbox's clock was set between two rows of the Wire, by how far it was ahead in each; null if it was not. */
export function clockSetBetween(beforeMs: number, shiftMs: number): string | null {
  if (Math.abs(shiftMs - beforeMs) < SAME_CLOCK_MS) return null;
  return shiftMs === 0 ? "The clock shows real time" : `The clock is ${formatShift(shiftMs)} ahead`;
}

const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
] as const;
/** A shift of this many seconds or more is told to the minute: the shift of an event is a little too small. */
const TO_THE_MINUTE_SECONDS = 600;

/** How far the clock is ahead, in its two largest units: `1 h 30 min`, `45 s`. */
export function formatShift(shiftMs: number): string {
  const seconds = Math.round(shiftMs / 1_000);
  let left = seconds < TO_THE_MINUTE_SECONDS ? seconds : Math.round(seconds / 60) * 60;
  const parts = UNITS.flatMap(([unit, length]) => {
    const count = Math.floor(left / length);
    left -= count * length;
    return count === 0 ? [] : [`${count} ${unit}`];
  });
  return parts.slice(0, 2).join(" ");
}
