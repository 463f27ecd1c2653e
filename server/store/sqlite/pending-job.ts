/** Jobs that wait for the writer: how they are completed, and how transactions that may share one job are gathered in it. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { type CommitResult, StoreFull } from "../store.ts";
import { type CommitReply, type EncodedOperation, isLeaseJob, type Job, type JobResult } from "./jobs.ts";

/** A job and its caller. */
export interface PendingJob {
  job: Job;
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

/**
 * Completes the jobs of a group: those that wrote, then, after `push` of their new deliveries, those on leases. The writer ran
 * these last: what they claim follows the new deliveries, and what they release comes before them.
 */
export async function completeAll(
  group: readonly PendingJob[],
  results: readonly JobResult[],
  push: () => void,
): Promise<void> {
  const ended = group.map((pending, index) => ({ pending, result: results[index], onLeases: isLeaseJob(pending.job) }));
  for (const { pending, result, onLeases } of ended) if (!onLeases) complete(pending, result);
  const last = ended.filter(({ onLeases }) => onLeases);
  if (last.length === 0) return;
  // The callers of the group's commits go on, each of which collects its new deliveries.
  if (last.length < group.length) await nextTurn();
  push();
  for (const { pending, result } of last) complete(pending, result);
}

/** Resolves or rejects the caller of a job. */
function complete(pending: Pick<PendingJob, "resolve" | "reject">, result: JobResult | undefined): void {
  if (result === undefined) pending.reject(new Error("the writer sent no result"));
  else if ("value" in result) pending.resolve(result.value);
  else if (result.error === "full") pending.reject(new StoreFull("the disk is full"));
  else pending.reject(new Error(result.message));
}

/** Whether a job has certainly written: a claim that finds nothing succeeds on a full disk too. */
export function hasWritten(job: Job, result: JobResult | undefined): boolean {
  if (result === undefined || "error" in result) return false;
  if (job[0] === "probe") return true;
  if (job[0] === "commitAll") return (result.value as JobResult[]).some((one, index) => isWritten(job[1][index], one));
  return job[0] === "commit" && isWritten(job[1], result);
}

function isWritten(operations: readonly EncodedOperation[] = [], result: JobResult): boolean {
  return "value" in result && operations.length > 0 && (result.value as CommitResult).result === "ok";
}

/** The most transactions of one job. */
const GATHERED_MAX = 256;

/** Gathers transactions in one job until the writer takes it. */
export class GatheredJob {
  readonly #ask: (job: Job) => Promise<JobResult[]>;
  #open: { job: Job & ["commitAll", EncodedOperation[][]]; results: Promise<JobResult[]> } | null = null;

  constructor(ask: (job: Job) => Promise<JobResult[]>) {
    this.#ask = ask;
  }

  /** Adds a transaction to the job that waits, or begins one. */
  async add(operations: EncodedOperation[]): Promise<CommitReply> {
    if (this.#open === null || this.#open.job[1].length >= GATHERED_MAX) {
      const job: Job & ["commitAll", EncodedOperation[][]] = ["commitAll", []];
      this.#open = { job, results: this.#ask(job) };
    }
    const { job, results } = this.#open;
    const index = job[1].push(operations) - 1;
    const result = (await results)[index];
    return await new Promise<CommitReply>((resolve, reject) =>
      complete({ resolve: (value) => resolve(value as CommitReply), reject }, result),
    );
  }

  /** The writer takes these jobs: nothing can be added to them. */
  taken(jobs: readonly Pick<PendingJob, "job">[]): void {
    if (jobs.some(({ job }) => job === this.#open?.job)) this.#open = null;
  }
}
