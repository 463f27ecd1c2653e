/** Submits parts over the link, and slows down when the SMSC throttles. */

import type { Clock } from "../../clock.ts";
import { doublingMs } from "../../core/retry.ts";
import type { SignalOutbox } from "../kit/signal-outbox.ts";
import type { SmscLink } from "./link.ts";
import { PduError } from "./octets.ts";
import { isRetryable, type PartResult } from "./part-result.ts";
import { statusOf } from "./status.ts";
import type { SubmitPdu } from "./submit-pdus.ts";

/** Between two tries of a part. */
const AGAIN_MS = 1_000;
const AGAIN_MS_MAX = 15_000;
/** The pause after a throttling status. It doubles with each one until a message is accepted. */
const THROTTLED_MS = 1_000;
const THROTTLED_MS_MAX = 8_000;

export class PartSubmitter {
  readonly #link: Pick<SmscLink, "submit" | "pause">;
  readonly #outbox: Pick<SignalOutbox, "pause" | "isEnding">;
  readonly #clock: Clock;
  #throttledMs = 0;
  #throttledAt: number | null = null;
  #unanswered = 0;

  constructor(
    link: Pick<SmscLink, "submit" | "pause">,
    outbox: Pick<SignalOutbox, "pause" | "isEnding">,
    clock: Clock,
  ) {
    this.#link = link;
    this.#outbox = outbox;
    this.#clock = clock;
  }

  /** The present pause after throttling; 0 once a message was accepted since. */
  get throttledMs(): number {
    return this.#throttledMs;
  }

  /** When the SMSC last throttled, by the real clock; null if it never did. */
  get throttledAt(): number | null {
    return this.#throttledAt;
  }

  /** Submits without a response since the last response. */
  get unanswered(): number {
    return this.#unanswered;
  }

  /** Submits the part once. Never throws. */
  async submit(part: SubmitPdu): Promise<PartResult> {
    const answer = await this.#link.submit(part).catch(notWritable);
    switch (answer.answer) {
      case "unknown":
        this.#unanswered += 1;
        break;
      case "ok":
        this.#unanswered = 0;
        this.#throttledMs = 0;
        break;
      case "refused":
        this.#unanswered = 0;
        if (statusOf(answer.status).class === "throttled") this.#slowDown();
        break;
      case "notSent":
      case "notWritable":
        // Nothing was submitted.
        break;
    }
    return answer;
  }

  /**
   * Repeats a part after its first result, until the part is accepted, refused for good or possibly accepted, or until
   * `until` (real clock). Never repeats a part that may have been accepted.
   */
  async insist(part: SubmitPdu, first: Promise<PartResult>, until: number): Promise<PartResult> {
    let answer = await first;
    for (let tries = 1; isRetryable(answer) && !this.#outbox.isEnding && this.#clock.real() < until; tries += 1) {
      await this.#outbox.pause(doublingMs(tries, AGAIN_MS, AGAIN_MS_MAX));
      answer = await this.submit(part);
    }
    return answer;
  }

  #slowDown(): void {
    const now = this.#clock.real();
    // Several refusals at once count as one.
    const isNew = this.#throttledAt === null || now - this.#throttledAt >= this.#throttledMs;
    if (isNew) this.#throttledMs = Math.min(Math.max(THROTTLED_MS, this.#throttledMs * 2), THROTTLED_MS_MAX);
    this.#throttledAt = now;
    this.#link.pause(this.#throttledMs);
  }
}

/** The link throws if a PDU cannot be encoded. The error names a field and not its value. */
function notWritable(error: unknown): PartResult {
  return { answer: "notWritable", reason: error instanceof PduError ? error.message : "it cannot be written" };
}
