/** Commits decisions: decides from fresh records, commits, and decides again if a record changed in between. */

import { ApiError } from "../core/error.ts";
import { type Store, StoreFull, StoreUnavailable, type Transaction } from "../store/store.ts";
import type { Deps } from "./deps.ts";

/** Attempts at a decision on records that keep changing; then 503. */
const DECISIONS_MAX = 5;
const BUSY_RETRY_AFTER_SECONDS = 1;
const FULL_RETRY_AFTER_SECONDS = 10;

/** A requirement of a decision's transaction does not hold: nothing was changed. */
export class RequirementUnmet extends Error {}

/** The dependencies of a commit. */
type Committing = Pick<Deps, "store" | "wake" | "generation" | "refused">;

/** A transaction to commit and the value to return; null if nothing changes. */
export interface Decision<Value> {
  transaction: Transaction | null;
  value: Value;
  /** The generation that the decision was made in; the one at its start if absent. */
  generation?: number;
  /** Whether the transaction may share a job of the store with others: see `Store.commitGathered`. */
  gathered?: boolean;
}

/** A committed decision with its value, or `taken` if its unique record already existed. */
export type Decided<Value> = { taken: false; value: Value } | { taken: true };

/**
 * Makes a decision and commits it. `decide` reads fresh records each time. Throws a 503 if the records keep changing or
 * the disk is full, and `RequirementUnmet`. A decision on records from before a sandbox reset is made again.
 */
export async function decide<Value>(
  deps: Committing,
  decision: () => Decision<Value> | Promise<Decision<Value>>,
): Promise<Decided<Value>> {
  for (let round = 0; round < DECISIONS_MAX; round += 1) {
    const before = deps.generation();
    const { transaction, value, generation = before, gathered = false } = await decision();
    if (transaction === null) return { taken: false, value };
    // A reset has deleted, or is about to delete, records that the decision used. From here on the store keeps the order.
    if (generation !== deps.generation()) continue;
    const answer = await commitTransaction(deps.store, transaction, gathered);
    if (answer.result === "duplicate") return { taken: true };
    if (answer.result === "conflict") {
      deps.refused(transaction);
      continue;
    }
    if (answer.result === "unmet") throw new RequirementUnmet("a requirement of the transaction does not hold");
    deps.wake.deliveries(answer.lanes);
    deps.wake.events(transaction);
    return { taken: false, value };
  }
  throw new ApiError("SERVICE_UNAVAILABLE", "Many requests are changing this record at once; try again.", {
    retryAfterSeconds: BUSY_RETRY_AFTER_SECONDS,
  });
}

/** `decide` for a decision without a unique record. Returns its value. */
export async function change<Value>(
  deps: Committing,
  decision: () => Decision<Value> | Promise<Decision<Value>>,
): Promise<Value> {
  const decided = await decide(deps, decision);
  if (decided.taken) throw new Error("a transaction without a unique record was a duplicate");
  return decided.value;
}

/** Whether the store cannot do something now: the disk is full, the database is out of reach, or records keep changing. */
export function isRefusedForNow(error: unknown): boolean {
  const isBusy = error instanceof ApiError && error.code === "SERVICE_UNAVAILABLE";
  return isBusy || error instanceof StoreFull || error instanceof StoreUnavailable;
}

/** Interval between retries of a write that the store refused, in real milliseconds. */
const TRY_AGAIN_MS = 1_000;

/**
 * Commits something that already happened outside and cannot be requested again, or reads what that needs. While the store refuses it (a full
 * disk, a database out of reach, records that keep changing), `work` is repeated each second until the lease ends (`leasedUntil`, monotonic
 * time). Throws the last error of `work`, and any other error at once.
 */
export async function commitInTime<Value>(
  { clock }: Pick<Deps, "clock">,
  leasedUntil: number,
  work: () => Promise<Value>,
): Promise<Value> {
  return repeatWhileRefused({ clock }, () => clock.monotonic() + TRY_AGAIN_MS < leasedUntil, work);
}

/**
 * Does something that the store may refuse for now. If it did, `work` is repeated after a second as long as it `mayBeRepeated`.
 * Throws the last error, and any other error at once.
 */
export async function repeatWhileRefused<Value>(
  { clock }: Pick<Deps, "clock">,
  mayBeRepeated: () => boolean,
  work: () => Promise<Value>,
): Promise<Value> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isRefusedForNow(error) || !mayBeRepeated()) throw error;
      await new Promise<void>((resolve) => clock.after(TRY_AGAIN_MS, resolve));
    }
  }
}

async function commitTransaction(store: Store, transaction: Transaction, gathered: boolean) {
  try {
    return await (gathered ? store.commitGathered(transaction) : store.commit(transaction));
  } catch (error) {
    if (!(error instanceof StoreFull)) throw error;
    throw new ApiError("SERVICE_UNAVAILABLE", "The disk is full; nothing was changed. Try again when there is room.", {
      retryAfterSeconds: FULL_RETRY_AFTER_SECONDS,
    });
  }
}

/** The properties in which `after` differs from `before`, for an update. */
export function difference<Record_ extends object>(before: Record_, after: Record_): Partial<Record_> {
  const set: Partial<Record_> = {};
  // Six times as fast as a loop over Object.keys.
  for (const property in after) {
    const value = after[property];
    if (!Object.is(value, before[property])) set[property] = value;
  }
  return set;
}
