/**
 * Reports receipts to the engine: those of one message one after the other, with retries until the engine accepts them.
 */

import { SerialQueue } from "../../core/serial-queue.ts";
import type { SignalOutbox } from "../kit/signal-outbox.ts";
import type { Applied, ReceiptSignal, Signal } from "../provider.ts";
import { codeMeaning } from "./codes.ts";
import type { SentMessage, SentMessages } from "./sent-messages.ts";
import { meaningOf, rankOf } from "./status-meaning.ts";

/** A message's status at Twilio, from a callback or a lookup. */
export interface StatusUpdate {
  status: string;
  errorCode: number | null;
  errorMessage: string | null;
  /** The two numbers; null if the source does not give them. */
  from: string | null;
  to: string | null;
}

/** How long to retry a report, in real milliseconds: Twilio waits 15 s for the response to a callback. */
const TRIED_MS = 10_000;
const REASON_LENGTH_MAX = 300;

export class TwilioReporter {
  readonly #outbox: SignalOutbox;
  readonly #sent: SentMessages;
  readonly #onCode: (code: number) => void;
  /** Receipts by message. */
  readonly #serial = new SerialQueue();

  /** `onCode` gets each error code that a message failed with. */
  constructor(outbox: SignalOutbox, sent: SentMessages, onCode: (code: number) => void) {
    this.#outbox = outbox;
    this.#sent = sent;
    this.#onCode = onCode;
  }

  /** Reports a status if it is news, and resolves once that is on disk. Rejects if it could not be reported in time. */
  receipt(sent: SentMessage, news: StatusUpdate): Promise<void> {
    const { receipt, isFinal } = meaningOf(news.status);
    return this.#serial.run(sent.sid, async () => {
      if (receipt === null || rankOf(receipt) <= sent.reportedRank) return isFinal ? this.#sent.end(sent) : undefined;
      if (receipt === "failed") await this.#reportCode(news);
      const applied = await this.signal({ ...receiptOf(sent, receipt, news), ...this.#noteWith(sent, isFinal) });
      sent.reportedRank = rankOf(receipt);
      if (isFinal) await this.#sent.end(sent, true);
      // The message is deleted: no receipt changes anything any more.
      else if (applied === "unknown") await this.#sent.end(sent);
    });
  }

  /** The change of the note that goes with a receipt. */
  #noteWith(sent: SentMessage, isFinal: boolean): Pick<ReceiptSignal, "note"> {
    if (!isFinal && sent.hasResponse) return {};
    return { note: { reference: sent.sid, text: isFinal ? null : (this.#sent.noteOf(sent) ?? null) } };
  }

  /** Reports a signal, with retries for as long as a callback waits. */
  signal(signal: Signal): Promise<Applied> {
    return this.#outbox.reportWithRetries(signal, TRIED_MS);
  }

  /** Reports that the contact opted out of messages from our number, since Twilio refuses them. */
  optOut(ours: string, contact: string): Promise<Applied> {
    return this.signal({ kind: "optOut", to: ours, from: contact, channel: "sms", request: "stop", keyword: null });
  }

  async #reportCode({ errorCode, from, to }: StatusUpdate): Promise<void> {
    if (errorCode !== null) this.#onCode(errorCode);
    if (codeMeaning(errorCode)?.isOptOut === true && from !== null && to !== null) await this.optOut(from, to);
  }
}

function receiptOf(
  { messageId, sid }: SentMessage,
  receipt: ReceiptSignal["receipt"],
  { status, errorCode, errorMessage }: StatusUpdate,
): ReceiptSignal {
  const signal: ReceiptSignal = { kind: "receipt", reference: sid, messageId, channel: "sms", receipt };
  if (receipt !== "failed") return signal;
  const code = errorCode === null ? status : String(errorCode);
  const words = codeMeaning(errorCode)?.words ?? errorMessage?.slice(0, REASON_LENGTH_MAX);
  return { ...signal, code, reason: words ?? `Twilio reports the status ${status}.` };
}
