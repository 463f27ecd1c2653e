/** Jobs that commit transactions, and the jobs that ride in their SQL transaction. Names the transactions of a job, and makes its result from their results. */

import type { EncodedOperation, EncodedOutcome, JobResult, WritingJob } from "../jobs/jobs.ts";
import type { SqlStatement } from "./sql.ts";
import { usageOf } from "./usage-counters.ts";

/**
 * Frequent jobs, which ride in the SQL transaction of the transactions. They lock rows after
 * these, in an order that all processes share, and send all of their statements at once.
 */
const RIDING: ReadonlySet<WritingJob[0]> = new Set(["finishDeliveries", "addUsage", "probe"]);

/** The ends of attempts of jobs, in order. */
export function outcomesOf(jobs: readonly WritingJob[]): EncodedOutcome[] {
  return jobs.flatMap((job) => (job[0] === "finishDeliveries" ? job[1] : []));
}

/** The name of the setting that `probe` writes. */
const PROBE = "disk-probe";
const WRITE_PROBE =
  "insert into settings (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value";

/** The statements of riding jobs, except ends of attempts. */
export function ridingOf(jobs: readonly WritingJob[]): SqlStatement[] {
  return jobs.flatMap((job) => {
    if (job[0] === "addUsage") return usageOf(job[1], job[2]);
    return job[0] === "probe" ? [{ text: WRITE_PROBE, parameters: [PROBE, job[1]] }] : [];
  });
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
