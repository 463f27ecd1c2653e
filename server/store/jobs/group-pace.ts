/**
 * Decides when the next group of jobs goes to the writer, and how much work the group may hold. Larger groups cost
 * less, and smaller groups reply sooner.
 */

import { countWork, isLoneJob, type Job } from "./jobs.ts";

/**
 * A group with fewer pieces of work than this begins at once: only its own callers wait for it. A job may hold many
 * pieces of work (`countWork`).
 */
const PACED_FROM = 8;
/**
 * Groups with more work begin at least this long after one another, in milliseconds, so that more work shares one
 * fsync.
 */
const PERIOD_MS = 4;
/** A group is made so small that it takes about this long at most, in milliseconds: the next jobs wait for it. */
const GROUP_MS_MAX = 20;
/**
 * Smaller groups would not help a busy machine: it would commit more often, and one commit costs as much as 30 rows.
 */
const GROUP_WORK_MIN = 256;
const GROUP_WORK_MAX = 512;
/** The most characters of text and bytes of files, together, in one group. */
const GROUP_BYTES_MAX = 4 * 1024 * 1024;
/** Weight of the last group in the average cost of a piece of work. */
const AVERAGE_WEIGHT = 0.2;

/** Monotonic milliseconds, and a timer on them. */
export interface PaceTimer {
  now(): number;
  after(ms: number, action: () => void): unknown;
}

/** The timer of a thread that paces groups. */
export const REAL_TIMER: PaceTimer = {
  now: () => performance.now(),
  after: (ms, action) => setTimeout(action, ms),
};

/** The jobs that wait for a group, oldest first. */
type Waiting = readonly { job: Job }[];

/** Without a timer, groups never wait, and their durations are not measured. */
export class GroupPace {
  readonly #timer: PaceTimer | null;
  #beganAt = Number.NEGATIVE_INFINITY;
  #msPerPiece = 0;

  constructor(timer: PaceTimer | null) {
    this.#timer = timer;
  }

  /**
   * Calls `begin` when the next group may begin. `jobs` are the jobs that wait now. The call comes at once if they hold
   * little work, or enough for a full group.
   */
  await(jobs: Waiting, begin: () => void): void {
    const timer = this.#timer;
    const work = timer === null ? 0 : workOf(jobs);
    const isPaced = work >= PACED_FROM && work < this.#workMax;
    const delayMs = timer !== null && isPaced ? this.#beganAt + PERIOD_MS - timer.now() : 0;
    if (timer === null || delayMs <= 0) begin();
    else timer.after(Math.min(delayMs, PERIOD_MS), begin);
  }

  /** Returns how many jobs, from the front of `jobs`, the next group takes: at least one. */
  take(jobs: Waiting): number {
    let [count, work, bytes] = [0, 0, 0];
    for (const { job } of jobs) {
      work += countWork(job);
      bytes += sizeOf(job);
      if (count > 0 && (work > this.#workMax || bytes > GROUP_BYTES_MAX || isLoneJob(job))) break;
      count += 1;
      if (isLoneJob(job)) break;
    }
    return count;
  }

  began(): void {
    if (this.#timer !== null) this.#beganAt = this.#timer.now();
  }

  /** The group that began last is on disk. */
  ended(jobs: Waiting): void {
    if (this.#timer === null) return;
    const msPerPiece = (this.#timer.now() - this.#beganAt) / workOf(jobs);
    this.#msPerPiece += (msPerPiece - this.#msPerPiece) * AVERAGE_WEIGHT;
  }

  get #workMax(): number {
    if (this.#msPerPiece === 0) return GROUP_WORK_MAX;
    return Math.min(Math.max(Math.floor(GROUP_MS_MAX / this.#msPerPiece), GROUP_WORK_MIN), GROUP_WORK_MAX);
  }
}

function workOf(jobs: Waiting): number {
  let work = 0;
  for (const { job } of jobs) work += countWork(job);
  return work;
}

/** Characters of text and bytes of files in the transactions of a job; 0 for other jobs. */
function sizeOf(job: Job): number {
  if (job[0] === "commitAll") return job[1].reduce((bytes, operations) => bytes + sizeOf(["commit", operations]), 0);
  if (job[0] !== "commit") return 0;
  let bytes = 0;
  for (const operation of job[1]) {
    for (const part of operation) bytes += typeof part === "string" ? part.length : Array.isArray(part) ? sum(part) : 0;
  }
  return bytes;
}

function sum(values: readonly unknown[]): number {
  let bytes = 0;
  for (const value of values) {
    if (typeof value === "string") bytes += value.length;
    else if (value instanceof Uint8Array) bytes += value.byteLength;
  }
  return bytes;
}
