/** Jobs that commit transactions, and the jobs that ride in their SQL transaction. Names the transactions of a job, and makes its result from their results. */

import type { EncodedOperation, EncodedOutcome, JobResult, WritingJob } from "../jobs/jobs.ts";

/**
 * Frequent jobs, which ride in the SQL transaction of the transactions. They lock rows after
 * these, in an order that all processes share, and send all of their statements at once.
 */
const RIDING: ReadonlySet<WritingJob[0]> = new Set(["finishDeliveries", "addUsage", "probe"]);

/** The ends of attempts of jobs, in order. */
export function outcomesOf(jobs: readonly WritingJob[]): EncodedOutcome[] {
  return jobs.flatMap((job) => (job[0] === "finishDeliveries" ? job[1] : []));
}

/** The result of a job for which the writer has none: a fault of the writer. */
export const NO_RESULT: JobResult = { error: "failed", message: "the writer has no result" };

/** The transactions of a job; none if it commits none. */
export function transactionsOf(job: WritingJob): readonly EncodedOperation[][] {
  if (job[0] === "commit") return [job[1]];
  return job[0] === "commitAll" ? job[1] : [];
}

/** Whether a job commits transactions. */
export function isCommit([kind]: WritingJob): boolean {
  return kind === "commit" || kind === "commitAll";
}

/**
 * The result of a job by the results of its transactions. If all were
 * refused for one reason other than a fault, the job is refused for it too.
 */
export function resultOf(job: WritingJob, results: readonly JobResult[]): JobResult {
  const [first = NO_RESULT] = results;
  if (job[0] === "commit") return first;
  const isRefused =
    "error" in first && first.error !== "failed" && results.every((one) => "error" in one && one.error === first.error);
  return isRefused ? first : { value: results };
}

/** Whether a job rides along. */
export function isRiding([kind]: WritingJob): boolean {
  return RIDING.has(kind);
}

/**
 * Whether an operation changes existing deliveries. Ends of attempts then have
 * another SQL transaction, since they would lock deliveries in a second order.
 */
export function changesDeliveries([kind, table]: EncodedOperation): boolean {
  return kind === "rewrite" || (table === "deliveries" && kind !== "insertUnique" && kind !== "insert");
}
