/** Journal of the Apple Cash transactions already reported, so that a forwarded or repeated message pays nothing twice. */

import { createHash } from "node:crypto";
import type { Clock } from "../../clock.ts";
import { Journal } from "../kit/journal.ts";
import type { Memory } from "../provider.ts";

const PREFIX = "cash/";
/** Retention: as long as a payment request can stay open. Beyond the limit the oldest entries go first. */
const KEPT_MS = 30 * 86_400_000;
const TRANSACTIONS_MAX = 10_000;

interface PaymentReport {
  guid: string;
  at: number;
}

/** Remembers, on disk, the first message that reported each transaction. */
export class PaymentJournal {
  readonly #clock: Clock;
  readonly #reports: Journal<PaymentReport>;

  constructor(memory: Memory, clock: Clock) {
    this.#clock = clock;
    this.#reports = new Journal({
      memory,
      prefix: PREFIX,
      format: ({ guid, at }) => `${at} ${guid}`,
      parse: (text) => {
        const [at = "", guid = ""] = text.split(" ");
        return { guid, at: Number(at) };
      },
      ageOf: ({ at }) => at,
      max: TRANSACTIONS_MAX,
    });
  }

  load(): Promise<void> {
    return this.#reports.load();
  }

  /**
   * Returns whether this message reports the transaction first, and records that on disk. A payment without a transaction id
   * always counts.
   */
  async claim(transactionId: string | null, guid: string): Promise<boolean> {
    if (transactionId === null) return true;
    // The id comes from a stranger's phone and may have any length.
    const name = createHash("sha256").update(transactionId).digest("hex");
    const known = this.#reports.get(name);
    if (known !== null) return known.guid === guid;
    const at = this.#clock.real();
    this.#reports.set(name, { guid, at });
    try {
      await this.#reports.save(name);
    } catch (error) {
      this.#reports.drop(name);
      throw error;
    }
    await this.#reports.sweep((report) => this.#clock.real() - report.at >= KEPT_MS);
    return true;
  }
}
