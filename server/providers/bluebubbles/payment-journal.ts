/** Journal of the Apple Cash transactions already reported, so that a forwarded or repeated message pays nothing twice. */

import { createHash } from "node:crypto";
import type { Clock } from "../../clock.ts";
import type { Memory } from "../provider.ts";

const PREFIX = "cash/";
/** Retention: as long as a payment request can stay open. Beyond the limit the oldest entries go first. */
const KEPT_MS = 30 * 86_400_000;
const TRANSACTIONS_MAX = 10_000;

/** Remembers, on disk, the first message that reported each transaction. */
export class PaymentJournal {
  readonly #memory: Memory;
  readonly #clock: Clock;
  readonly #counted = new Map<string, { guid: string; at: number }>();

  constructor(memory: Memory, clock: Clock) {
    this.#memory = memory;
    this.#clock = clock;
  }

  async load(): Promise<void> {
    const counted = (await this.#memory.list(PREFIX)).map(({ key, value }) => {
      const [at = "", guid = ""] = value.split(" ");
      return { key, guid, at: Number(at) };
    });
    // Oldest first: entries are deleted in this order.
    for (const { key, guid, at } of counted.sort((one, other) => one.at - other.at))
      this.#counted.set(key, { guid, at });
  }

  /**
   * Returns whether this message reports the transaction first, and records that on disk. A payment without a transaction id
   * always counts.
   */
  async claim(transactionId: string | null, guid: string): Promise<boolean> {
    if (transactionId === null) return true;
    // The id comes from a stranger's phone and may have any length.
    const key = `${PREFIX}${createHash("sha256").update(transactionId).digest("hex")}`;
    const known = this.#counted.get(key);
    if (known !== undefined) return known.guid === guid;
    const at = this.#clock.real();
    this.#counted.set(key, { guid, at });
    try {
      await this.#memory.put(key, `${at} ${guid}`);
    } catch (error) {
      this.#counted.delete(key);
      throw error;
    }
    await this.#forgetOld();
    return true;
  }

  async #forgetOld(): Promise<void> {
    for (const [key, { at }] of this.#counted) {
      if (this.#counted.size <= TRANSACTIONS_MAX && this.#clock.real() - at < KEPT_MS) return;
      this.#counted.delete(key);
      await this.#memory.delete(key);
    }
  }
}
