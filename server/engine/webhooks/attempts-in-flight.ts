/** The attempts that are not recorded yet, by the shards of their lanes: a process that gives a shard up waits for them for a while. */

import { shardOf } from "../../core/shard.ts";

/** A shard that is given up waits so long for its attempts; then its new owner may post the same deliveries again, in milliseconds. */
const AWAITED_MS = 5_000;

/** An attempt. `owners`: how often the lanes of this process had changed when it began. */
interface AttemptInFlight {
  lane: string;
  since: number;
  owners: number;
}

export class AttemptsInFlight {
  readonly #now: () => number;
  readonly #attempts = new Set<AttemptInFlight>();
  #owners = 0;
  #changedAt = Number.NEGATIVE_INFINITY;

  /** `now`: the monotonic clock. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** This process owns other lanes than before. */
  lanesChanged(): void {
    this.#owners += 1;
    this.#changedAt = this.#now();
  }

  /** Makes an attempt of a lane, until it is recorded. `isStillOwner` tells the attempt whether this process owned the lane all the time. */
  async make<Result>(lane: string, attempt: (isStillOwner: () => boolean) => Promise<Result>): Promise<Result> {
    const begun = { lane, since: this.#now(), owners: this.#owners };
    this.#attempts.add(begun);
    try {
      return await attempt(() => begun.owners === this.#owners);
    } finally {
      this.#attempts.delete(begun);
    }
  }

  /** The shards of attempts that a new owner waits for. */
  shards(): ReadonlySet<number> {
    const until = this.#now() - AWAITED_MS;
    const awaited = [...this.#attempts].filter(({ since }) => Math.max(since, this.#changedAt) > until);
    return new Set(awaited.map(({ lane }) => shardOf(lane)));
  }
}
