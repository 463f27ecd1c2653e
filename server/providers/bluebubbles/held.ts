/** Receipts of messages that nobody knows yet: the answer to a send may come later than what becomes of it. */

import type { Clock } from "../../clock.ts";
import { keep } from "../../core/keep.ts";
import type { Applied, ReceiptSignal } from "../provider.ts";

/** When a receipt that named nobody's message is told again; after the last of them it was typed on the Mac by hand. */
const AGAIN_AFTER_MS: readonly number[] = [1_000, 4_000, 15_000, 60_000];
/** Receipts held back at once; the one that came first goes. What is sent from here is asked about anyway. */
const HELD_MAX = 1_000;

interface Entry {
  receipt: ReceiptSignal;
  tries: number;
  stopTimer: () => void;
}

export interface HeldOptions {
  clock: Clock;
  tell: (receipt: ReceiptSignal) => Promise<Applied>;
  /** A receipt found its message, or was given up. */
  ended: (receipt: ReceiptSignal, applied: Applied) => void;
}

/** The newest receipt of each message, until it names one, or `stop`. */
export class Held {
  readonly #options: HeldOptions;
  readonly #entries = new Map<string, Entry>();
  #stopped = false;

  constructor(options: HeldOptions) {
    this.#options = options;
  }

  /** Holds a receipt that was `unknown`, in place of an earlier one of its message, whose tries it goes on with. */
  hold(receipt: ReceiptSignal): void {
    const { reference } = receipt;
    const known = this.#entries.get(reference);
    known?.stopTimer();
    const entry: Entry = { receipt, tries: known?.tries ?? 0, stopTimer: () => {} };
    const [oldest] = this.#entries.values();
    if (known === undefined && this.#entries.size >= HELD_MAX) oldest?.stopTimer();
    keep(this.#entries, reference, entry, HELD_MAX);
    this.#arm(entry);
  }

  /** A message was sent from here after all: what is held of it is told at once. */
  release(reference: string): void {
    const entry = this.#entries.get(reference);
    if (entry === undefined) return;
    entry.stopTimer();
    entry.tries = 0;
    void this.#again(entry);
  }

  /** What is held is forgotten: it is read from the Mac again. */
  stop(): void {
    this.#stopped = true;
    for (const { stopTimer } of this.#entries.values()) stopTimer();
    this.#entries.clear();
  }

  #arm(entry: Entry): void {
    const afterMs = AGAIN_AFTER_MS[entry.tries] ?? AGAIN_AFTER_MS.at(-1) ?? 0;
    if (!this.#stopped) entry.stopTimer = this.#options.clock.after(afterMs, () => void this.#again(entry));
  }

  async #again(entry: Entry): Promise<void> {
    const { receipt } = entry;
    const isCurrent = () => this.#entries.get(receipt.reference) === entry;
    try {
      const applied = await this.#options.tell(receipt);
      if (!isCurrent()) return;
      entry.tries += 1;
      if (applied === "unknown" && entry.tries < AGAIN_AFTER_MS.length) return this.#arm(entry);
      this.#entries.delete(receipt.reference);
      this.#options.ended(receipt, applied);
    } catch {
      // It could not be kept, mostly for a full disk: that is no try.
      if (isCurrent()) this.#arm(entry);
    }
  }
}
