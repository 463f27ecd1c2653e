/** Limits how often a subject may try something, with a bounded memory. Knows no clock. */

import { setBounded } from "./bounded-map.ts";

/** Length of a window, in milliseconds. */
const WINDOW_MS = 60_000;
/** Subjects in memory; the oldest is forgotten. */
const SUBJECTS_MAX = 10_000;

interface AttemptWindow {
  count: number;
  endsAt: number;
}

export class AttemptLimit {
  readonly #attemptsMax: number;
  readonly #windows = new Map<string, AttemptWindow>();

  /** `attemptsMax`: attempts of one subject in a minute. */
  constructor(attemptsMax: number) {
    this.#attemptsMax = attemptsMax;
  }

  /** Seconds until the subject may try again; null if it may try now. A subject that stands for several has `times` as many attempts. */
  waitSeconds(subject: string, now: number, times = 1): number | null {
    const window = this.#open(subject, now);
    if (window === undefined || window.count < this.#attemptsMax * times) return null;
    return Math.ceil((window.endsAt - now) / 1_000);
  }

  /** Counts an attempt. */
  count(subject: string, now: number): void {
    const window = this.#open(subject, now);
    if (window === undefined) setBounded(this.#windows, subject, { count: 1, endsAt: now + WINDOW_MS }, SUBJECTS_MAX);
    else window.count += 1;
  }

  #open(subject: string, now: number): AttemptWindow | undefined {
    const window = this.#windows.get(subject);
    // A window that ends later than one that begins now: the clock was set back.
    return window === undefined || now >= window.endsAt || window.endsAt > now + WINDOW_MS ? undefined : window;
  }
}
