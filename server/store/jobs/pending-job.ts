/** Completes the jobs that wait for the writer, and gathers transactions that may share one job. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { StoreFull, StoreUnavailable } from "../store.ts";
import { type EncodedOperation, isLeaseJob, type Job, type JobResult, type PushedRow } from "./jobs.ts";

/** The caller of a job or of one of its transactions. */
export interface PendingResult {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

/** A job and its caller. */
export interface PendingJob extends PendingResult {
  job: Job;
}

/**
 * Completes the writing jobs of a group, calls `push` with the changes of due deliveries, and completes the lease jobs.
 * The writer ran the lease jobs last, so their reads and claims come after the changes.
 */
export async function completeAll(
  group: readonly PendingJob[],
  { results, pushed }: { results: readonly JobResult[]; pushed: PushedRow[] },
  push: (pushed: PushedRow[]) => void,
): Promise<void> {
  const ended = group.map((pending, index) => ({ pending, result: results[index], onLeases: isLeaseJob(pending.job) }));
  for (const { pending, result, onLeases } of ended) if (!onLeases) complete(pending, result);
  const last = ended.filter(({ onLeases }) => onLeases);
  if (last.length === 0 && pushed.length === 0) return;
  // Lets the callers of the group's commits and of earlier claims go on, before they get the group's new deliveries.
  if (last.length < group.length || pushed.length > 0) await nextTurn();
  if (pushed.length > 0) push(pushed);
  for (const { pending, result } of last) complete(pending, result);
}

/** Resolves or rejects the caller of a job. */
function complete(caller: PendingResult, result: JobResult | undefined): void {
  if (result === undefined) caller.reject(new Error("the writer sent no result"));
  else if ("value" in result) caller.resolve(result.value);
  else if (result.error === "full") caller.reject(new StoreFull("the disk is full"));
  else if (result.error === "unavailable") caller.reject(new StoreUnavailable(result.message));
  else caller.reject(new Error(result.message));
}

/** The most transactions of one job. */
const GATHERED_MAX = 256;

/** Gathers transactions in one job until it is sent. */
export class GatheredJob {
  #open: { transactions: EncodedOperation[][]; callers: PendingResult[] } | null = null;

  /** Adds a transaction to the open job. If there is none, begins one and returns it. */
  add(operations: EncodedOperation[], caller: PendingResult): PendingJob | null {
    const open = this.#open;
    if (open === null || open.transactions.length >= GATHERED_MAX) return this.#begin(operations, caller);
    open.transactions.push(operations);
    open.callers.push(caller);
    return null;
  }

  /** The open job is sent: nothing can be added to it. */
  close(): void {
    this.#open = null;
  }

  #begin(operations: EncodedOperation[], caller: PendingResult): PendingJob {
    const transactions = [operations];
    const callers = [caller];
    this.#open = { transactions, callers };
    return {
      job: ["commitAll", transactions],
      resolve(value) {
        const results = value as JobResult[];
        for (const [index, one] of callers.entries()) complete(one, results[index]);
      },
      reject(error) {
        for (const one of callers) one.reject(error);
      },
    };
  }
}
