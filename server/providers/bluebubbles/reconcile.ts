/** What became of hand-overs that got no answer: asks the Mac for their rows, also when nobody asks any more. */

import type { Channel } from "../../../sdk/wire.ts";
import type { Applied, Outbound, Outcome, Signal } from "../provider.ts";
import type { AttemptJournal, MacAttempt } from "./attempt-journal.ts";
import { describeFailure, type Failure, SEND_LIMIT_MS } from "./client.ts";
import { findRow } from "./find-row.ts";
import type { Mac } from "./mac.ts";
import { outcomeOfRow, unknown } from "./outcomes.ts";
import type { MacMessage } from "./records.ts";

/** Clocks of the Mac and here may differ so much unnoticed. */
const CLOCKS_APART_MS = 15_000;
/** Before a message is called never taken, rows this much older are looked at too: one like it leaves it unknown. */
const DOUBT_MS = 600_000;
/** A command that Messages had when BlueBubbles ended is done, and has its row, within this after the next start. */
const AFTER_RESTART_MS = 15_000;
/** Nobody else asks about a hand-over that is so old: its answer took up to 190 s, and the asking five minutes. */
const FORSAKEN_MS = 600_000;
const RECOVER_EVERY_MS = 60_000;
/** So many are asked about in one go. */
const RECOVERED_AT_ONCE = 100;

/** Whom it concerns that a message was taken. */
export interface SendListener {
  /** Follows a message that was taken. */
  pollReceipts: (guid: string, channel: Channel) => void;
  /** A message went to a group that had no guid before. */
  groupCreated: (message: Outbound, guid: string) => void;
  report: (signal: Signal) => Promise<Applied>;
}

/** Asks about the attempts of one Mac; by itself from `start` to `stop`. */
export class MacReconciler {
  readonly #mac: Mac;
  readonly #journal: AttemptJournal;
  readonly #listener: SendListener;
  #stopTimer = () => {};
  #isStopped = false;

  constructor(mac: Mac, attempts: AttemptJournal, hearers: SendListener) {
    this.#mac = mac;
    this.#journal = attempts;
    this.#listener = hearers;
  }

  start(): void {
    if (this.#isStopped) return;
    this.#stopTimer = this.#mac.context.clock.after(RECOVER_EVERY_MS, () => {
      this.#recover()
        .catch((error: unknown) => this.#mac.context.fault(error))
        .finally(() => this.start());
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopTimer();
  }

  /**
   * What became of a hand-over that is open. `absent` when the Mac has been awake for as long as it may take to send,
   * and has nothing that could be it.
   */
  async reconcile(message: Outbound, attempt: MacAttempt): Promise<Outcome | "absent"> {
    const row = await this.#find(attempt, message.text, CLOCKS_APART_MS);
    if (row !== null && "kind" in row) return unknown(describeFailure(row));
    if (row !== null) return this.#resolve(message, attempt, row);
    if (!this.#hadTimeToSend(attempt)) return unknown("the Mac has no such message yet, and may still be at it");
    const doubt = await this.#find(attempt, message.text, DOUBT_MS);
    if (doubt !== null) return unknown("the Mac has one like it, of another time by its clock");
    await this.#journal.recordNotSent(attempt);
    return "absent";
  }

  /** The outcome of one that Messages has as a row that failed, where the answer did not say which. */
  async failedRow(message: Outbound, attempt: MacAttempt, failure: Failure): Promise<Outcome> {
    const row = await this.#find(attempt, message.text, CLOCKS_APART_MS, true);
    if (row === null || "kind" in row) return unknown(describeFailure(failure));
    await this.#journal.recordRow(attempt, row).catch((error: unknown) => this.#mac.context.fault(error));
    return outcomeOfRow(row, message.channel);
  }

  async #resolve(message: Outbound, attempt: MacAttempt, row: MacMessage): Promise<Outcome> {
    await this.#journal.recordRow(attempt, row);
    const outcome = outcomeOfRow(row, message.channel);
    if (outcome.outcome !== "accepted") return outcome;
    const chat = row.chats[0];
    if (chat !== undefined) this.#listener.groupCreated(message, chat.guid);
    if (attempt.step === "text") {
      this.#listener.pollReceipts(outcome.reference, message.channel);
      return { outcome: "deferred", retryAfterMs: 0, reason: "the files were not posted" };
    }
    this.#mac.health.messageSent();
    this.#listener.pollReceipts(outcome.reference, message.channel);
    return outcome;
  }

  /** What is found after everybody gave up is told by a receipt: it was sent after all. */
  async #recover(): Promise<void> {
    const { context, health } = this.#mac;
    if (!health.isUp) return;
    const now = context.clock.real();
    const forsaken = this.#journal.unresolved.filter(({ startedAt }) => now - startedAt > FORSAKEN_MS);
    for (const attempt of forsaken.slice(0, RECOVERED_AT_ONCE)) {
      if (this.#isStopped) return;
      const row = await this.#find(attempt, null, CLOCKS_APART_MS);
      if (row === null) {
        if (this.#hadTimeToSend(attempt)) await this.#journal.recordNotSent(attempt);
      } else if (!("kind" in row)) await this.#reportLate(attempt, row);
      else if (row.kind !== "answered") return;
    }
  }

  async #reportLate(attempt: MacAttempt, row: MacMessage): Promise<void> {
    const { messageId, channel, step } = attempt;
    const { guid: reference, error } = row;
    if (error === 0 && step !== "text") {
      await this.#listener.report({ kind: "receipt", receipt: "sent", reference, messageId, channel });
      this.#listener.pollReceipts(reference, channel);
    }
    await this.#journal.recordRow(attempt, row);
  }

  /** Whether the Mac could have sent it by now: a Mac that slept begins when it wakes, one that restarted knows nothing of it. */
  #hadTimeToSend({ startedAt }: MacAttempt): boolean {
    const { context, client } = this.#mac;
    const { awakeSince, restartedAt } = client;
    const now = context.clock.real();
    // A server that started anew knows of no request of before; its helper in Messages may have had the command.
    const isForgotten = restartedAt !== null && startedAt < restartedAt && now - restartedAt >= AFTER_RESTART_MS;
    if (awakeSince !== null && isForgotten) return true;
    return awakeSince !== null && context.clock.real() - Math.max(startedAt, awakeSince) >= SEND_LIMIT_MS;
  }

  #find(
    attempt: MacAttempt,
    text: string | null,
    apartMs: number,
    failedOnly = false,
  ): Promise<MacMessage | null | Failure> {
    const { health, client } = this.#mac;
    const marginMs = apartMs + Math.abs(health.info?.clockOffSeconds ?? 0) * 1_000;
    const isKnownRow = (guid: string) => this.#journal.isKnownRow(guid);
    return findRow(client, attempt, { text, afterAt: attempt.startedAt - marginMs, failedOnly, isKnownRow });
  }
}
