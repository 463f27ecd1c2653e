/** Real times of what the service tells by its clock, which a sandbox moves: ids have the real time of their creation. Pure. */

import { formatMs } from "./duration.ts";

/** A record's creation: its real time, and how far the service's clock was ahead then, in milliseconds. */
export interface ClockSample {
  realAt: number;
  shiftMs: number;
}

/** A time by the service's clock, with how far that was ahead of real time. */
export interface ClockTime {
  at: number;
  /** 0 while the clock shows real time. */
  shiftMs: number;
}

/** The real time of something is between these, in epoch milliseconds: its cause came before, and it was told after. */
export interface ClockBounds {
  from: number;
  until: number;
}

/** A clock that is less than this ahead shows real time; records of one moment differ by less. */
const MOVED_MS_MIN = 1_000;

/** Rows of one state of the clock have shifts that differ by less, in milliseconds. */
const SAME_CLOCK_MS = 10_000;

/** How the sandbox's clock was set between two rows of the Wire, by how far it was ahead in each; null if it was not. */
export function clockSetBetween(beforeMs: number, shiftMs: number): string | null {
  if (Math.abs(shiftMs - beforeMs) < SAME_CLOCK_MS) return null;
  return shiftMs === 0 ? "The clock shows real time" : `The clock is ${formatMs(shiftMs)} ahead`;
}

/** RFC 9562, 5.7: 48 bits of time, then the version. */
const UUID_V7 = /^[a-z]+_([0-9a-f]{8})-([0-9a-f]{4})-7/;

/** The real time at which an id was made, epoch milliseconds; null if it is no id of the service. */
export function realTimeOf(id: string): number | null {
  const [, high = "", low = ""] = UUID_V7.exec(id) ?? [];
  return high === "" ? null : Number.parseInt(high + low, 16);
}

/** The sample of a record that was made at `at` by the service's clock; none if its id tells no time. */
export function sampleOf(id: string, at: number): ClockSample[] {
  const realAt = realTimeOf(id);
  return realAt === null ? [] : [{ realAt, shiftMs: at - realAt }];
}

/** A time without a move of the clock, from its first sample to its last one. */
interface Era {
  start: number;
  end: number;
  shiftMs: number;
}

/** The moves of the clock, as far as samples tell them. */
export class ClockMoves {
  readonly #eras: readonly Era[];

  constructor(samples: readonly ClockSample[]) {
    this.#eras = erasOf(samples.toSorted((one, other) => one.realAt - other.realAt));
  }

  /** How far the clock is ahead since its last move, in milliseconds. */
  get shiftMs(): number {
    return this.#eras.at(-1)?.shiftMs ?? 0;
  }

  /** The time `at` of a record that is one of the samples; `realAt` is null if its id tells no time, and it is none. */
  atReal(at: number, realAt: number | null): ClockTime {
    if (realAt === null) return { at, shiftMs: 0 };
    return { at, shiftMs: this.#eras.find(({ start, end }) => start <= realAt && realAt <= end)?.shiftMs ?? 0 };
  }

  /** The time `at` of a record that was made at `realAt` or so; null if the clock is not known to have been that far ahead ever. */
  known(at: number, realAt: number): ClockTime | null {
    const shifts = [0, ...this.#eras.map(({ shiftMs }) => shiftMs)];
    const shiftMs = shifts.find((shift) => Math.abs(at - realAt - shift) < MOVED_MS_MIN);
    return shiftMs === undefined ? null : { at, shiftMs };
  }

  /** The time `at`: of the real times that it can be, the earliest, since effects follow soon. */
  within(at: number, { from, until }: ClockBounds): ClockTime {
    const eras = this.#eras.length === 0 ? [{ start: 0, end: 0, shiftMs: 0 }] : this.#eras;
    const shifts = eras.flatMap(({ end, shiftMs }, index) => {
      const realAt = at - shiftMs;
      const first = Math.max(from - MOVED_MS_MIN, eras[index - 1]?.end ?? Number.NEGATIVE_INFINITY);
      const last = eras[index + 1]?.start ?? Math.max(end, until);
      return first <= realAt && realAt <= last ? [shiftMs] : [];
    });
    if (shifts.length > 0) return { at, shiftMs: Math.max(...shifts) };
    // The clock was moved, and no record was made since.
    return { at, shiftMs: shiftOf(at - until) };
  }
}

function shiftOf(ms: number): number {
  return ms < MOVED_MS_MIN ? 0 : ms;
}

function erasOf(samples: readonly ClockSample[]): Era[] {
  const eras: Era[] = [];
  for (const { realAt, shiftMs: measuredMs } of samples) {
    const shiftMs = shiftOf(measuredMs);
    const last = eras.at(-1);
    if (last === undefined || Math.abs(last.shiftMs - shiftMs) >= MOVED_MS_MIN)
      eras.push({ start: realAt, end: realAt, shiftMs });
    else {
      last.end = realAt;
      // An id is made a little after the clock was read: the largest difference is nearest to the shift.
      last.shiftMs = Math.max(last.shiftMs, shiftMs);
    }
  }
  return eras;
}
