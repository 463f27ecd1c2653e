/** Transactions of Apple Cash that were counted: a balloon that is sent on, or once more, pays nothing twice. */

import { createHash } from "node:crypto";
import type { Clock } from "../../clock.ts";
import type { Memory } from "../provider.ts";

const PREFIX = "cash/";
/** As long as a payment request can be open, and as many: what is older or more is forgotten. */
const KEPT_MS = 30 * 86_400_000;
const TRANSACTIONS_MAX = 10_000;

/** Who counted a transaction first, on disk. */
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
    // The oldest first: they are forgotten in that order.
    for (const { key, guid, at } of counted.sort((one, other) => one.at - other.at))
      this.#counted.set(key, { guid, at });
  }

  /**
   * Whether the transaction is this message's, or was nobody's so far; resolves when that is on disk. One without a
   * name is always its message's own.
   */
  async claim(transactionId: string | null, guid: string): Promise<boolean> {
    if (transactionId === null) return true;
    // What a stranger's phone calls it may be of any length.
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
