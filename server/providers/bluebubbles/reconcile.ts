/** Reconciles send attempts without a response: queries the Mac for their rows, also after the engine stopped asking. */

import type { Applied, Outbound, Outcome, Signal } from "../provider.ts";
import type { MacAttempt } from "./attempt-note.ts";
import { describeFailure, type Failure, SEND_LIMIT_MS } from "./client.ts";
import { findRow } from "./find-row.ts";
import type { Mac } from "./mac.ts";
import type { OpenAttempts } from "./open-attempts.ts";
import { outcomeOfRow, unknown } from "./outcomes.ts";
import type { SentAttempt } from "./receipt-poller.ts";
import type { MacMessage } from "./records.ts";

/** Clock difference between the Mac and the service that may go unnoticed. */
const CLOCKS_APART_MS = 15_000;
/** Before an attempt counts as never sent, rows this much older are checked. A matching row leaves the outcome unknown. */
const DOUBT_MS = 600_000;
/**
 * After a restart of BlueBubbles, Messages may still complete the commands that it already had. A busy Messages writes their rows up to 60 s
 * later: for so long BlueBubbles itself waits for a row. The rest is a margin.
 */
const AFTER_RESTART_MS = 75_000;
/** The engine no longer asks about an attempt this old: a response takes up to 190 s, reconciliation five minutes. */
const FORSAKEN_MS = 600_000;
const RECOVER_EVERY_MS = 60_000;
/** Attempts reconciled in one run. */
const RECOVERED_AT_ONCE = 100;

const ANOTHERS = "the Mac has only the row of another message";

/** Callbacks of a message that the Mac sent. */
export interface SendListener {
  /** Polls for the receipts of a sent message. */
  pollReceipts: (guid: string, sent: SentAttempt) => void;
  /** The note of a message, or of its text, whose receipts are polled. */
  noteOf: (guid: string) => string | undefined;
  /** A message was sent to a group whose guid was not known before. */
  groupCreated: (message: Outbound, guid: string) => void;
  report: (signal: Signal) => Promise<Applied>;
}

/** Reconciles the attempts of one Mac. Between `start` and `stop` it also reconciles abandoned attempts by itself. */
export class MacReconciler {
  readonly #mac: Mac;
  readonly #attempts: OpenAttempts;
  readonly #listener: SendListener;
  #stopTimer = () => {};
  #isStopped = false;

  constructor(mac: Mac, attempts: OpenAttempts, listener: SendListener) {
    this.#mac = mac;
    this.#attempts = attempts;
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
    this.#attempts.notSent(attempt);
    return "absent";
  }

  /** Returns the outcome of an attempt whose row failed, if the response did not name the row. */
  async failedRow(message: Outbound, attempt: MacAttempt, failure: Failure): Promise<Outcome> {
    const row = await this.#find(attempt, message.text, CLOCKS_APART_MS, true);
    if (row === null || "kind" in row) return unknown(describeFailure(failure));
    if (!(await this.#attempts.claim(attempt, row.guid))) return unknown(ANOTHERS);
    this.#attempts.rowFound(attempt, row);
    return outcomeOfRow(row, message.channel);
  }

  async #resolve(message: Outbound, attempt: MacAttempt, row: MacMessage): Promise<Outcome> {
    if (!(await this.#attempts.claim(attempt, row.guid))) return unknown(ANOTHERS);
    this.#attempts.rowFound(attempt, row);
    const outcome = outcomeOfRow(row, message.channel);
    if (outcome.outcome !== "accepted") return outcome;
    const chat = row.chats[0];
    if (chat !== undefined) this.#listener.groupCreated(message, chat.guid);
    if (attempt.step === "text") {
      this.#listener.pollReceipts(outcome.reference, message);
      return { outcome: "deferred", retryAfterMs: 0, reason: "the files were not posted" };
    }
    this.#mac.health.messageSent();
    this.#listener.pollReceipts(outcome.reference, message);
    return outcome;
  }

  /** Reconciles attempts that the engine no longer asks about. Reports a receipt for each message that was sent after all. */
  async #recover(): Promise<void> {
    const { context, health } = this.#mac;
    if (!health.isUp) return;
    await this.#attempts.sweep();
    const now = context.clock.real();
    const forsaken = this.#attempts.unresolved.filter(({ startedAt }) => now - startedAt > FORSAKEN_MS);
    for (const attempt of forsaken.slice(0, RECOVERED_AT_ONCE)) {
      if (this.#isStopped) return;
      const row = await this.#find(attempt, null, CLOCKS_APART_MS);
      if (row === null) {
        const isAbsent = this.#hadTimeToSend(attempt) && (await this.#find(attempt, null, DOUBT_MS)) === null;
        if (isAbsent) await this.#attempts.settle(attempt);
      } else if (!("kind" in row)) await this.#reportLate(attempt, row);
      else if (row.kind !== "errorResponse") return;
    }
  }

  async #reportLate(attempt: MacAttempt, row: MacMessage): Promise<void> {
    const { messageId, channel, step } = attempt;
    const { guid: reference, error } = row;
    if (!(await this.#attempts.claim(attempt, reference))) return;
    if (error === 0 && step !== "text") {
      this.#listener.pollReceipts(reference, attempt);
      const note = { reference, text: this.#listener.noteOf(reference) ?? null };
      await this.#listener.report({ kind: "receipt", receipt: "sent", reference, messageId, channel, note });
    }
    this.#attempts.rowFound(attempt, row);
    // The note of a text stays: the next process finds its row again, until the message is retried.
    if (error !== 0) await this.#attempts.settle(attempt, reference);
    else if (step !== "text") await this.#attempts.settle(attempt);
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
    const othersOf = (guids: readonly string[]) => this.#attempts.othersOf(attempt, guids);
    return findRow(client, attempt, { text, afterAt: attempt.startedAt - marginMs, failedOnly, othersOf });
  }
}
