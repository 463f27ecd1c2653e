/** Jobs that commit transactions: names the transactions of a job, and makes its result from their results. */

import type { EncodedOperation, JobResult, WritingJob } from "../jobs/jobs.ts";

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
