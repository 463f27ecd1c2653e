/**
 * Reports receipts to the engine: those of one message one after the other, with retries until the engine accepts them.
 */

import type { Clock } from "../../clock.ts";
import { SerialQueue } from "../../core/serial-queue.ts";
import type { Applied, ReceiptSignal, Signal } from "../provider.ts";
import { codeMeaning } from "./codes.ts";
import type { SendJournal, SendRecord } from "./send-journal.ts";
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
const RETRY_MS = 100;
const RETRY_MS_MAX = 2_000;
const REASON_LENGTH_MAX = 300;

/** `stop` waits for reports in flight, and refuses further ones. */
export class TwilioReporter {
  readonly #clock: Clock;
  readonly #journal: SendJournal;
  readonly #signals: (signal: Signal) => Promise<Applied>;
  readonly #onCode: (code: number) => void;
  /** Receipts by message. */
  readonly #serial = new SerialQueue();
  readonly #inFlight = new Set<Promise<unknown>>();
  readonly #pauses = new Set<() => void>();
  #stopped = false;

  /** `onCode` gets each error code that a message failed with. */
  constructor(given: {
    clock: Clock;
    journal: SendJournal;
    signals: (signal: Signal) => Promise<Applied>;
    onCode: (code: number) => void;
  }) {
    this.#clock = given.clock;
    this.#journal = given.journal;
    this.#signals = given.signals;
    this.#onCode = given.onCode;
  }

  /** Reports a status if it is news, and resolves once that is on disk. Rejects if it could not be reported in time. */
  receipt(record: SendRecord, news: StatusUpdate): Promise<void> {
    const { receipt, isFinal } = meaningOf(news.status);
    const work = async () => {
      if (receipt !== null && rankOf(receipt) > record.reportedRank) {
        if (receipt === "failed") await this.#reportCode(news);
        const applied = await this.signal(receiptOf(record, receipt, news));
        record.reportedRank = rankOf(receipt);
        // The message is deleted: no receipt changes anything any more.
        if (applied === "unknown") return this.#journal.end(record);
      }
      if (isFinal) await this.#journal.end(record);
    };
    return this.#track(this.#serial.run(record.sid, work));
  }

  /** Reports a signal, with retries for as long as a callback waits. */
  signal(signal: Signal): Promise<Applied> {
    return this.#track(this.#persist(signal));
  }

  /** Reports that the contact opted out of messages from our number, since Twilio refuses them. */
  optOut(ours: string, contact: string): Promise<Applied> {
    return this.signal({ kind: "optOut", to: ours, from: contact, channel: "sms", request: "stop", keyword: null });
  }

  async #reportCode({ errorCode, from, to }: StatusUpdate): Promise<void> {
    if (errorCode !== null) this.#onCode(errorCode);
    if (codeMeaning(errorCode)?.isOptOut === true && from !== null && to !== null) await this.optOut(from, to);
  }

  async #persist(signal: Signal): Promise<Applied> {
    const endsAt = this.#clock.real() + TRIED_MS;
    for (let waitMs = RETRY_MS; ; waitMs = Math.min(waitMs * 2, RETRY_MS_MAX)) {
      if (this.#stopped) throw new Error("the provider stopped before the signal could be reported");
      try {
        return await this.#signals(signal);
      } catch (error) {
        if (this.#clock.real() + waitMs > endsAt) throw error;
        await this.#pause(waitMs);
      }
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const end of [...this.#pauses]) end();
    await Promise.allSettled(this.#inFlight);
  }

  #track<Value>(work: Promise<Value>): Promise<Value> {
    const done = () => void this.#inFlight.delete(work);
    this.#inFlight.add(work);
    work.then(done, done);
    return work;
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        stopTimer();
        this.#pauses.delete(end);
        resolve();
      };
      const stopTimer = this.#clock.after(ms, end);
      this.#pauses.add(end);
    });
  }
}

function receiptOf(
  { messageId, sid }: SendRecord,
  receipt: ReceiptSignal["receipt"],
  { status, errorCode, errorMessage }: StatusUpdate,
): ReceiptSignal {
  const signal: ReceiptSignal = { kind: "receipt", reference: sid, messageId, channel: "sms", receipt };
  if (receipt !== "failed") return signal;
  const code = errorCode === null ? status : String(errorCode);
  const words = codeMeaning(errorCode)?.words ?? errorMessage?.slice(0, REASON_LENGTH_MAX);
  return { ...signal, code, reason: words ?? `Twilio reports the status ${status}.` };
}
