/** Shows on the terminal how far a long command is: a bar, the rate and the time left. Nothing is shown if standard error is no terminal. */

import { Failure } from "./failure.ts";
import { columnsOf, type Terminal } from "./output.ts";

/** The least time between two changes of the line: a terminal over a slow connection keeps up. */
const EVERY_MS = 250;
/** A rate over less time than this says nothing. */
const RATE_MS_MIN = 500;
const BAR_CELLS = 16;
const CLEAR_LINE = "\r\u001b[K";

/** The thing that is counted. `bytes` are shown as MB. */
export type ProgressUnit = "bytes" | "rows" | "contacts" | "deliveries" | "secrets";

interface ProgressOptions {
  /** The message of the `Failure` after an interrupt. */
  interrupted: string;
  /** The work that the same command, run again, goes on with after an interruption. */
  goesOn?: string;
  /** Monotonic milliseconds. */
  now?: () => number;
}

export class Progress {
  readonly #terminal: Terminal;
  readonly #interrupted: string;
  readonly #goesOn: string | null;
  readonly #now: () => number;
  /** The work that is shown, when it began, and how much was done by then; null before the first. */
  #work: { doing: string; unit: ProgressUnit; begunAt: number; done: number } | null = null;
  #shownAt = Number.NEGATIVE_INFINITY;
  #isShown = false;
  #isInterrupted = false;

  constructor(terminal: Terminal, { interrupted, goesOn, now = () => performance.now() }: ProgressOptions) {
    this.#terminal = terminal;
    this.#interrupted = interrupted;
    this.#goesOn = goesOn ?? null;
    this.#now = now;
  }

  /**
   * Shows how far `doing` is, its end always. If the first call for work that goes on has something done already, a line says so.
   * Throws `Failure` after an interrupt.
   */
  readonly show = (doing: string, done: number, total: number, unit: ProgressUnit = "bytes"): void => {
    if (this.#isInterrupted) throw new Failure(null, this.#interrupted);
    const { stderr } = this.#terminal;
    if (stderr.isTTY !== true) return;
    const now = this.#now();
    if (this.#work?.doing !== doing || this.#work.unit !== unit) this.#begin(doing, done, total, unit);
    else if (now - this.#shownAt < EVERY_MS && done < total) return;
    this.#shownAt = now;
    this.#isShown = true;
    const columns = columnsOf(this.#terminal, stderr);
    const line = lineOf({ doing, done, total, unit, rate: this.#ratePerMs(done) });
    // A line that wraps could not be cleared.
    stderr.write(`${CLEAR_LINE}${line.slice(0, columns - 1)}`);
  };

  /** Runs work that shows its progress here, and removes the line afterwards. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    const release = this.#terminal.onInterrupt(() => {
      this.#isInterrupted = true;
    });
    try {
      return await work();
    } finally {
      release();
      if (this.#isShown) this.#terminal.stderr.write(CLEAR_LINE);
    }
  }

  #begin(doing: string, done: number, total: number, unit: ProgressUnit): void {
    this.#work = { doing, unit, begunAt: this.#now(), done };
    if (doing === this.#goesOn && done > 0 && done < total) {
      this.#terminal.stderr.write(`${CLEAR_LINE}${doing} goes on after ${amountOf(done, total, unit)}\n`);
    }
  }

  #ratePerMs(done: number): number | null {
    if (this.#work === null) return null;
    const { begunAt, done: before } = this.#work;
    const elapsedMs = this.#now() - begunAt;
    return elapsedMs < RATE_MS_MIN || done <= before ? null : (done - before) / elapsedMs;
  }
}

interface Shown {
  doing: string;
  done: number;
  total: number;
  unit: ProgressUnit;
  /** Units a millisecond; null if it is not known yet. */
  rate: number | null;
}

/** Such as `copying  ████░░░░░░░░░░░░   30 %  36.0 of 120 MB  8.2 MB/s  11 s left`. */
function lineOf({ doing, done, total, unit, rate }: Shown): string {
  const part = total === 0 ? 1 : Math.min(1, done / total);
  const full = Math.floor(part * BAR_CELLS);
  const parts = [
    `${doing}  ${"█".repeat(full)}${"░".repeat(BAR_CELLS - full)}`,
    `${Math.floor(part * 100)} %`.padStart(5),
    amountOf(done, total, unit),
  ];
  if (rate !== null) parts.push(rateOf(rate * 1_000, unit), `${timeOf((total - done) / rate)} left`);
  return parts.join("  ");
}

function amountOf(done: number, total: number, unit: ProgressUnit): string {
  if (unit === "bytes") return `${megabytes(done)} of ${megabytes(total)} MB`;
  return `${count(done)} of ${count(total)} ${unit}`;
}

function rateOf(aSecond: number, unit: ProgressUnit): string {
  return unit === "bytes" ? `${megabytes(aSecond)} MB/s` : `${aSecond < 10 ? aSecond.toFixed(1) : count(aSecond)}/s`;
}

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(bytes < 99.95e6 ? 1 : 0);
const count = (amount: number) => Math.round(amount).toLocaleString("en-US");

/** A time for people: `45 s`, `12 min`, `3 h 20 min`. */
function timeOf(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
