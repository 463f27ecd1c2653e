/** Commits the transactions of a group, each completely or not at all. */

import type { EncodedOperation, JobResult } from "../jobs/jobs.ts";
import type { CommitResult } from "../store.ts";
import type { PendingTransaction } from "./decisions.ts";
import { failureOf } from "./sql.ts";

/** The refusal of a job, as its result. */
export type Refusal = Exclude<JobResult, { value: unknown }>;

/** Makes the refusal of a job from an error. */
export function refusal(error: unknown): Refusal {
  const message = error instanceof Error ? error.message : String(error);
  const failure = failureOf(error);
  if (failure === "full") return { error: "full" };
  return failure === "unavailable" ? { error: "unavailable", message } : { error: "failed", message };
}

/** Commits transactions in one SQL transaction, at least the first. Those that have no result are to be committed after it. */
export type CommitTransactions = (pending: readonly PendingTransaction[]) => Promise<ReadonlyMap<number, CommitResult>>;

/**
 * Commits transactions, and returns their results in order. If an SQL transaction fails, and neither the disk is full nor the connection
 * lost, each half of its transactions is committed by itself, until the one that is to blame is alone.
 */
export async function commitInOrder(
  transactions: readonly (readonly EncodedOperation[])[],
  commit: CommitTransactions,
): Promise<JobResult[]> {
  const results: (JobResult | undefined)[] = transactions.map(() => undefined);
  const refuseRest = (refused: Refusal) => {
    for (const index of transactions.keys()) results[index] ??= refused;
  };
  const waiting = transactions.length === 0 ? [] : [transactions.map((operations, index) => ({ index, operations }))];
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    try {
      const committed = await commit(part);
      for (const [index, value] of committed) results[index] = { value };
      const rest = part.filter(({ index }) => !committed.has(index));
      if (rest.length > 0) waiting.push(rest);
    } catch (error) {
      const refused = refusal(error);
      const [first, ...others] = part;
      if (refused.error !== "failed") {
        refuseRest(refused);
        break;
      }
      if (others.length > 0) waiting.push(...halves(part));
      else if (first !== undefined) results[first.index] = refused;
    }
  }
  return results.map((result) => result ?? { error: "failed", message: "the transaction has no result" });
}

/** The halves of a list, the second one first. */
function halves<Item>(list: readonly Item[]): Item[][] {
  const middle = Math.ceil(list.length / 2);
  return [list.slice(middle), list.slice(0, middle)];
}
