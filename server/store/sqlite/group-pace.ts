/** Decides when the next group of jobs goes to the writer, and how many jobs it may hold: larger groups cost less a job, and smaller ones answer sooner. */

import type { Job } from "./jobs.ts";

/** Fewer jobs than this go at once: their callers wait for them, and no others do. */
const PACED_FROM = 8;
/** Groups of more jobs begin at least this long after one another, in milliseconds, so that more jobs share one fsync. */
const PERIOD_MS = 4;
/** A group takes about this long at most, in milliseconds: the next jobs wait for it. */
const GROUP_MS_MAX = 20;
const GROUP_JOBS_MIN = 64;
const GROUP_JOBS_MAX = 512;
/** Texts and bytes of one group, in characters and bytes. */
const GROUP_BYTES_MAX = 4 * 1024 * 1024;
/** Weight of the last group in the average cost of a job. */
const AVERAGE_WEIGHT = 0.2;

/** Monotonic milliseconds, and a timer on them. */
export interface PaceTimer {
  now(): number;
  after(ms: number, action: () => void): unknown;
}

/** When groups begin and how large they are. Without a timer groups neither wait nor are measured. */
export class GroupPace {
  readonly #timer: PaceTimer | null;
  #beganAt = Number.NEGATIVE_INFINITY;
  #msPerJob = 0;

  constructor(timer: PaceTimer | null) {
    this.#timer = timer;
  }

  /** Calls `begin` when the next group may begin, if this many jobs are waiting now: at once if they are few, or enough for a full group. */
  await(waiting: number, begin: () => void): void {
    const timer = this.#timer;
    const isPaced = timer !== null && waiting >= PACED_FROM && waiting < this.#jobsMax;
    const delayMs = isPaced ? this.#beganAt + PERIOD_MS - timer.now() : 0;
    if (timer === null || delayMs <= 0) begin();
    else timer.after(Math.min(delayMs, PERIOD_MS), begin);
  }

  /** The number of jobs at the front of `jobs` that the next group takes: at least one. */
  take(jobs: readonly { job: Job }[]): number {
    let bytes = 0;
    let count = 0;
    for (const { job } of jobs) {
      bytes += sizeOf(job);
      if (count > 0 && (count === this.#jobsMax || bytes > GROUP_BYTES_MAX)) break;
      count += 1;
    }
    return count;
  }

  began(): void {
    if (this.#timer !== null) this.#beganAt = this.#timer.now();
  }

  /** The group that began last is on disk. */
  ended(jobs: number): void {
    if (this.#timer === null) return;
    const msPerJob = (this.#timer.now() - this.#beganAt) / jobs;
    this.#msPerJob += (msPerJob - this.#msPerJob) * AVERAGE_WEIGHT;
  }

  get #jobsMax(): number {
    if (this.#msPerJob === 0) return GROUP_JOBS_MAX;
    return Math.min(Math.max(Math.floor(GROUP_MS_MAX / this.#msPerJob), GROUP_JOBS_MIN), GROUP_JOBS_MAX);
  }
}

/** The size of a job's texts and bytes. */
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
