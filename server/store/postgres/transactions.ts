/** Commits the transactions of a group in waves, each completely or not at all. */

import type { EncodedOperation, JobResult } from "../jobs/jobs.ts";
import type { CommitResult } from "../store.ts";
import { failureOf } from "./sql.ts";
import { WaveUndone } from "./wave-runner.ts";
import { cutWave, KnownRefusals, type PendingTransaction, type Wave } from "./waves.ts";

/** How often a wave is repeated if its endpoints have changed meanwhile. */
const REPEATED_MAX = 20;

/** The refusal of a job, as its result. */
export type Refusal = Exclude<JobResult, { value: unknown }>;

/** Makes the refusal of a job from an error. */
export function refusal(error: unknown): Refusal {
  const message = error instanceof Error ? error.message : String(error);
  const failure = failureOf(error);
  if (failure === "full") return { error: "full" };
  return failure === "unavailable" ? { error: "unavailable", message } : { error: "failed", message };
}

/** Commits a wave in an SQL transaction, and returns the results of its transactions. A transaction without a result is repeated. */
export type CommitWave = (wave: Wave) => Promise<Map<number, CommitResult>>;

/**
 * Commits transactions, and returns their results in order. If a wave fails, and neither
 * the disk is full nor the connection lost, each of its transactions runs by itself.
 */
export async function commitInWaves(
  transactions: readonly (readonly EncodedOperation[])[],
  commit: CommitWave,
): Promise<JobResult[]> {
  const group = new WavesOfGroup(transactions, commit);
  return group.run();
}

class WavesOfGroup {
  readonly #commit: CommitWave;
  readonly #results: (JobResult | undefined)[];
  readonly #known = new KnownRefusals();
  #pending: PendingTransaction[];
  #repeated = 0;

  constructor(transactions: readonly (readonly EncodedOperation[])[], commit: CommitWave) {
    this.#commit = commit;
    this.#results = transactions.map(() => undefined);
    this.#pending = transactions.map((operations, index) => ({ index, operations }));
  }

  async run(): Promise<JobResult[]> {
    for (this.#dropKnown(); this.#pending.length > 0; this.#dropKnown()) {
      const wave = cutWave(this.#pending);
      const before = this.#pending.length;
      await this.#runWave(wave);
      this.#pending = this.#pending.filter(({ index }) => this.#results[index] === undefined);
      if (this.#pending.length < before) this.#repeated = 0;
      else if (++this.#repeated > REPEATED_MAX)
        this.#refuseAll({ error: "failed", message: "the endpoints change all the time" });
    }
    return this.#results.map((result) => result ?? { error: "failed", message: "the transaction has no result" });
  }

  /** Completes the first transactions without SQL if earlier waves show that they are refused. */
  #dropKnown(): void {
    let refused = 0;
    for (const { index, operations } of this.#pending) {
      const result = this.#known.of(operations);
      if (result === null) break;
      this.#results[index] = { value: result };
      refused += 1;
    }
    if (refused > 0) this.#pending = this.#pending.slice(refused);
  }

  async #runWave(wave: Wave): Promise<void> {
    try {
      const results = await this.#commit(wave);
      for (const { index, operations } of wave.transactions) {
        const result = results.get(index);
        if (result === undefined) continue;
        this.#results[index] = { value: result };
        if (result.result === "ok") this.#known.note(operations);
      }
    } catch (error) {
      await this.#failed(wave, error);
    }
  }

  async #failed({ transactions }: Wave, error: unknown): Promise<void> {
    const [first] = transactions;
    const refused = refusal(error);
    if (refused.error !== "failed") this.#refuseAll(refused);
    else if (transactions.length > 1)
      for (const one of transactions) await this.#runWave({ transactions: [one], stages: null });
    else if (first !== undefined)
      this.#results[first.index] = error instanceof WaveUndone ? { value: error.result } : refused;
  }

  #refuseAll(refused: Refusal): void {
    for (const { index } of this.#pending) this.#results[index] ??= refused;
  }
}
