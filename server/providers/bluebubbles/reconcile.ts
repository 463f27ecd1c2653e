/** Reconciles send attempts without a response: queries the Mac for their rows, also after the engine stopped asking. */

import type { Channel } from "../../../sdk/wire.ts";
import type { Applied, Outbound, Outcome, Signal } from "../provider.ts";
import type { AttemptJournal, MacAttempt } from "./attempt-journal.ts";
import { describeFailure, type Failure, SEND_LIMIT_MS } from "./client.ts";
import { findRow } from "./find-row.ts";
import type { Mac } from "./mac.ts";
import { outcomeOfRow, unknown } from "./outcomes.ts";
import type { MacMessage } from "./records.ts";

/** Clock difference between the Mac and the service that may go unnoticed. */
const CLOCKS_APART_MS = 15_000;
/** Before an attempt counts as never sent, rows this much older are checked. A matching row leaves the outcome unknown. */
const DOUBT_MS = 600_000;
/** After a restart of BlueBubbles, Messages completes the commands it already had, and writes their rows, within this time. */
const AFTER_RESTART_MS = 15_000;
/** The engine no longer asks about an attempt this old: a response takes up to 190 s, reconciliation five minutes. */
const FORSAKEN_MS = 600_000;
const RECOVER_EVERY_MS = 60_000;
/** Attempts reconciled in one run. */
const RECOVERED_AT_ONCE = 100;

/** Callbacks of a message that the Mac sent. */
export interface SendListener {
  /** Polls for the receipts of a sent message. */
  pollReceipts: (guid: string, channel: Channel) => void;
  /** A message was sent to a group whose guid was not known before. */
  groupCreated: (message: Outbound, guid: string) => void;
  report: (signal: Signal) => Promise<Applied>;
}

/** Reconciles the attempts of one Mac. Between `start` and `stop` it also reconciles abandoned attempts by itself. */
export class MacReconciler {
  readonly #mac: Mac;
  readonly #journal: AttemptJournal;
  readonly #listener: SendListener;
  #stopTimer = () => {};
  #isStopped = false;

  constructor(mac: Mac, journal: AttemptJournal, listener: SendListener) {
    this.#mac = mac;
    this.#journal = journal;
    this.#listener = listener;
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
   * Returns the outcome of an open attempt. Returns `absent` if the Mac was awake for as long as sending may take, and has
   * no row that could be the message.
   */
  async reconcile(message: Outbound, attempt: MacAttempt): Promise<Outcome | "absent"> {
    const row = await this.#find(attempt, message.text, CLOCKS_APART_MS);
    if (row !== null && "kind" in row) return unknown(describeFailure(row));
    if (row !== null) return this.#resolve(message, attempt, row);
    if (!this.#hadTimeToSend(attempt)) return unknown("the Mac has no such message yet and may still be sending it");
    const doubt = await this.#find(attempt, message.text, DOUBT_MS);
    if (doubt !== null) return unknown("the Mac has a matching message with an earlier date");
    await this.#journal.recordNotSent(attempt);
    return "absent";
  }

  /** Returns the outcome of an attempt whose row failed, if the response did not name the row. */
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

  /** Reconciles attempts that the engine no longer asks about. Reports a receipt for each message that was sent after all. */
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
      else if (row.kind !== "errorResponse") return;
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

  /** Whether the Mac had time to send: a sleeping Mac continues when it wakes, a restarted BlueBubbles has forgotten the request. */
  #hadTimeToSend({ startedAt }: MacAttempt): boolean {
    const { context, client } = this.#mac;
    const { awakeSince, restartedAt } = client;
    const now = context.clock.real();
    // A restarted server forgot all earlier requests. Its helper in Messages may still have received the command.
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
