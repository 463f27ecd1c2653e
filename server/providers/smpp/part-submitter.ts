/** Submits parts over the link, and minds what the answers say of the bind: that we are too fast, or that none come. */

import type { Clock } from "../../clock.ts";
import { doublingMs } from "../../core/retry.ts";
import type { SmscLink } from "./link.ts";
import { PduError } from "./octets.ts";
import { isRetryable, type PartResult } from "./part-result.ts";
import type { SmppReporter } from "./reporter.ts";
import { statusOf } from "./status.ts";
import type { SubmitPdu } from "./submit-pdus.ts";

/** Between tries of a part. */
const AGAIN_MS = 1_000;
const AGAIN_MS_MAX = 15_000;
/** The pause after a word that we are too fast; it doubles with each until a message is taken. */
const THROTTLED_MS = 1_000;
const THROTTLED_MS_MAX = 8_000;

export class PartSubmitter {
  readonly #link: Pick<SmscLink, "submit" | "pause">;
  readonly #reporter: Pick<SmppReporter, "pause" | "isEnding">;
  readonly #clock: Clock;
  #throttledMs = 0;
  #throttledAt: number | null = null;
  #unanswered = 0;

  constructor(
    link: Pick<SmscLink, "submit" | "pause">,
    reporter: Pick<SmppReporter, "pause" | "isEnding">,
    clock: Clock,
  ) {
    this.#link = link;
    this.#reporter = reporter;
    this.#clock = clock;
  }

  /** For how long the last word that we are too fast keeps everything back; 0 once a message was taken since. */
  get throttledMs(): number {
    return this.#throttledMs;
  }

  /** When the SMSC last said that we are too fast, real; null when it never did. */
  get throttledAt(): number | null {
    return this.#throttledAt;
  }

  /** Submits since the last answer that got none. */
  get unanswered(): number {
    return this.#unanswered;
  }

  /** Once. Never throws. */
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
        // Nothing was asked.
        break;
    }
    return answer;
  }

  /**
   * From the answer to a part's first try on: again, until it is taken, refused for good or perhaps taken, or `until` (real) is over. Never
   * twice what may have been taken.
   */
  async insist(part: SubmitPdu, first: Promise<PartResult>, until: number): Promise<PartResult> {
    let answer = await first;
    for (let tries = 1; isRetryable(answer) && !this.#reporter.isEnding && this.#clock.real() < until; tries += 1) {
      await this.#reporter.pause(doublingMs(tries, AGAIN_MS, AGAIN_MS_MAX));
      answer = await this.submit(part);
    }
    return answer;
  }

  #slowDown(): void {
    const now = this.#clock.real();
    // Those refused together are one refusal.
    const isNew = this.#throttledAt === null || now - this.#throttledAt >= this.#throttledMs;
    if (isNew) this.#throttledMs = Math.min(Math.max(THROTTLED_MS, this.#throttledMs * 2), THROTTLED_MS_MAX);
    this.#throttledAt = now;
    this.#link.pause(this.#throttledMs);
  }
}

/** The link throws where a PDU cannot be written. Its message names a field and not its value. */
function notWritable(error: unknown): PartResult {
  return { answer: "notWritable", reason: error instanceof PduError ? error.message : "it cannot be written" };
}
