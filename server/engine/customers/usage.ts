/** Counts usage in memory by subject and hour, and writes it to the store each second with the last use of keys. */

import type { UsageCounts } from "../../../sdk/wire.ts";
import type { Clock } from "../../clock.ts";
import { setBounded } from "../../core/bounded-map.ts";
import type { CustomerId, KeyId } from "../../core/id.ts";
import { noUsage, type UsageBatch, type UsageHour } from "../../core/usage.ts";
import { findKey } from "../../store/keys.ts";
import type { Store } from "../../store/store.ts";
import type { Observer } from "../observer.ts";

/** Interval between two writes of the counts. */
const FLUSH_EVERY_MS = 1_000;
/** Shortest interval between two writes of one key's last use. */
const USE_EVERY_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Most pairs of subject and hour in memory while the store is unavailable; further pairs are not counted. */
const HOURS_MAX = 100_000;
/** Hours in one batch. */
const HOURS_PER_WRITE = 1_000;
/** Most keys whose last use is in memory; the oldest is dropped. */
const KEYS_MAX = 10_000;
/** Most keys whose last use is written in one flush. */
const KEYS_PER_WRITE = 200;

/** The last use of a key, in shifted and real time, and the last use that was written. */
interface KeyUse {
  usedAt: number;
  writtenAt: number;
  isWritten: boolean;
}

export interface UsageCountersOptions {
  store: Store;
  clock: Clock;
  fault: Observer["fault"];
  /** Names this start of the process in its batches. */
  owner: string;
}

/** The counters of one process. A crash loses at most the last second of them. */
export class UsageCounters {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #fault: Observer["fault"];
  readonly #owner: string;
  readonly #hours = new Map<string, UsageHour>();
  /** The batch that is being written, or whose write failed: it may be on disk, so it is written again as it is. */
  #batch: UsageBatch | null = null;
  #batches = 0;
  readonly #uses = new Map<KeyId, KeyUse>();
  #cancel: (() => void) | null = null;
  #stopped = false;
  #flushing: Promise<void> = Promise.resolve();
  #isFailing = false;

  constructor({ store, clock, fault, owner }: UsageCountersOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#fault = fault;
    this.#owner = owner;
  }

  /**
   * Adds `n` to a counter of each subject, in the present hour. `requests`, `rateLimited`, `messagesSent` and `segments`
   * are counted for the key, the others for the customer. Reads add up the keys of a customer.
   */
  count(subjects: Iterable<KeyId | CustomerId>, field: keyof UsageCounts, n = 1): void {
    const now = this.#clock.now();
    const at = now - (now % HOUR_MS);
    for (const subject of subjects) {
      const name = `${subject} ${at}`;
      const hour = this.#hours.get(name);
      if (hour !== undefined) hour[field] += n;
      else if (this.#hours.size < HOURS_MAX) this.#hours.set(name, { ...noUsage(), subject, at, [field]: n });
    }
  }

  /** Records that a key was used now. Written at most once a minute, so `lastUsedAt` is exact to a minute. */
  used(keyId: KeyId): void {
    const usedAt = this.#clock.now();
    const use = this.#uses.get(keyId);
    if (use !== undefined) {
      use.usedAt = usedAt;
      use.isWritten = false;
      return;
    }
    setBounded(this.#uses, keyId, { usedAt, writtenAt: Number.NEGATIVE_INFINITY, isWritten: false }, KEYS_MAX);
  }

  /** Starts writing each second. */
  start(): void {
    this.#cancel = this.#clock.after(FLUSH_EVERY_MS, () => {
      void this.flush().then(() => {
        if (!this.#stopped) this.start();
      });
    });
  }

  /** Writes the counts so far. Never throws: counts that cannot be written are kept for the next flush, and counted once. */
  flush(): Promise<void> {
    this.#flushing = this.#flushing.then(async () => {
      await this.#writeHours();
      await this.#writeUses(USE_EVERY_MS);
    });
    return this.#flushing;
  }

  /** Stops writing each second, and writes the remaining counts. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.flush();
    await this.#writeUses(0);
  }

  async #writeHours(): Promise<void> {
    const failed = this.#batch === null ? 0 : 1;
    try {
      for (let left = failed + Math.ceil(this.#hours.size / HOURS_PER_WRITE); left > 0; left -= 1) {
        this.#batch ??= this.#takeBatch();
        await this.#store.addUsage(this.#batch, this.#clock.real());
        this.#batch = null;
        this.#isFailing = false;
      }
    } catch (error) {
      this.#report(error);
    }
  }

  #takeBatch(): UsageBatch {
    const taken = [...this.#hours].slice(0, HOURS_PER_WRITE);
    for (const [name] of taken) this.#hours.delete(name);
    this.#batches += 1;
    return { owner: this.#owner, number: this.#batches, hours: taken.map(([, hour]) => hour) };
  }

  async #writeUses(everyMs: number): Promise<void> {
    const now = this.#clock.real();
    const due = [...this.#uses].filter(([, use]) => !use.isWritten && now - use.writtenAt >= everyMs);
    try {
      const batch = everyMs === 0 ? due : due.slice(0, KEYS_PER_WRITE);
      await Promise.all(batch.map(([keyId, use]) => this.#writeUse(keyId, use, now)));
    } catch (error) {
      this.#report(error);
    }
  }

  /**
   * Updates the version that was just read: if the key changes in between, this conflicts and is
   * retried a second later. A decision on the key that conflicts with this is made again on the fresh record.
   */
  async #writeUse(keyId: KeyId, use: KeyUse, now: number): Promise<void> {
    const { usedAt } = use;
    const apiKey = await findKey(this.#store.db, keyId);
    if (apiKey === null) {
      this.#uses.delete(keyId);
      return;
    }
    if (apiKey.lastUsedAt === null || apiKey.lastUsedAt < usedAt) {
      const set = { lastUsedAt: usedAt };
      const { result } = await this.#store.commit([
        { op: "update", table: "keys", id: keyId, version: apiKey.version, set },
      ]);
      if (result === "conflict") return;
    }
    use.writtenAt = now;
    use.isWritten = use.usedAt === usedAt;
  }

  /** Reported once for consecutive failures, not each second. */
  #report(error: unknown): void {
    if (!this.#isFailing) this.#fault("usage", error);
    this.#isFailing = true;
  }
}
