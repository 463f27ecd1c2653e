/**
 * Polls for the receipts of sent messages, because BlueBubbles may never push them. The notes of their send attempts say since
 * when: they come with the outcome, and go with the receipt.
 */

import type { Channel } from "../../../sdk/wire.ts";
import type { NotedAttempt } from "../../core/send-attempt.ts";
import { PollSchedule } from "../kit/poll-schedule.ts";
import type { Outbound, ReceiptSignal } from "../provider.ts";
import { formatSent, sentAtOf } from "./attempt-note.ts";
import type { Limits } from "./client.ts";
import type { Mac } from "./mac.ts";
import type { MacMessage } from "./records.ts";
import { RowLookups } from "./row-lookups.ts";

/** Times of the first polls after a message was sent; later ones follow every ten minutes for a day. */
const FIRST_POLLS_MS: readonly number[] = [3_000, 15_000, 60_000, 300_000];
const POLL_EVERY_MS = 600_000;
const POLLED_MS = 86_400_000;
/** Polls due within this time share a query. */
const TOGETHER_MS = 1_000;
/** Limit of messages polled; the oldest goes first. */
const MESSAGES_MAX = 10_000;

/** The attempt that sent a message. */
export type SentAttempt = Pick<Outbound, "messageId" | "channel" | "attemptedAt">;

interface PolledMessage extends SentAttempt {
  sentAt: number;
  /** The engine has the note, and commits it with the outcome. */
  isNoted: boolean;
}

export class ReceiptPoller {
  readonly #mac: Mac;
  readonly #lookups: RowLookups;
  /** By guid, the oldest first. */
  readonly #polled = new Map<string, PolledMessage>();
  readonly #schedule: PollSchedule<string>;

  /** `ingest` receives each row found. */
  constructor(mac: Mac, limits: Limits, ingest: (row: MacMessage) => Promise<boolean>) {
    const { clock } = mac.context;
    this.#mac = mac;
    this.#lookups = new RowLookups({ mac, limits, onRow: ingest, onDone: (guids) => this.#rowsReceived(guids) });
    this.#schedule = new PollSchedule(clock, () => this.#poll());
  }

  /** Resumes the polls that the previous process noted. */
  start(noted: readonly NotedAttempt[]): void {
    // Each message is polled at least once more, however old it is.
    const now = this.#mac.context.clock.real();
    for (const attempt of noted) {
      const sentAt = sentAtOf(attempt);
      if (sentAt !== null && attempt.reference !== null) {
        const { messageId, channel, attemptedAt, reference } = attempt;
        this.#insert(reference, { messageId, channel, attemptedAt, sentAt, isNoted: true }, now);
      }
    }
    this.#schedule.start();
  }

  /** Begins to poll for the receipts of a message that was just sent, or of its text. */
  add(guid: string, { messageId, channel, attemptedAt }: SentAttempt): void {
    const sentAt = this.#mac.context.clock.real();
    this.#insert(guid, { messageId, channel, attemptedAt, sentAt, isNoted: false }, sentAt + (FIRST_POLLS_MS[0] ?? 0));
  }

  /** The note of a sent message, or of its text, as it is committed; undefined if it is not polled. */
  noteOf(guid: string): string | undefined {
    const polled = this.#polled.get(guid);
    if (polled === undefined) return undefined;
    polled.isNoted = true;
    return formatSent(polled.sentAt);
  }

  /** The change of the note that goes with a receipt: a delivered message is polled no more. */
  noteWith({ reference, receipt }: ReceiptSignal): Pick<ReceiptSignal, "note"> {
    const isNoted = this.#polled.get(reference)?.isNoted === true;
    return receipt !== "sent" && isNoted ? { note: { reference, text: null } } : {};
  }

  /** Channel that a polled message was sent on. */
  channelOf(guid: string): Channel | null {
    return this.#polled.get(guid)?.channel ?? null;
  }

  /** A receipt was reported, with its note. Backfill finds a read receipt, even a week later. */
  receiptReported({ reference, receipt, note }: ReceiptSignal): void {
    if (receipt === "sent") return;
    // The outcome may have come to the disk while the receipt waited for it.
    if (note === undefined && this.#polled.get(reference)?.isNoted === true) this.#giveUp(reference);
    else this.#drop(reference);
  }

  async stop(): Promise<void> {
    this.#schedule.stop();
    await this.#lookups.stop();
  }

  #insert(guid: string, polled: PolledMessage, at: number): void {
    this.#polled.set(guid, polled);
    this.#schedule.set(guid, at);
    const [oldest] = this.#polled.keys();
    if (this.#polled.size > MESSAGES_MAX && oldest !== undefined) this.#giveUp(oldest);
  }

  #drop(guid: string): void {
    this.#polled.delete(guid);
    this.#schedule.delete(guid);
  }

  /** Polls no more. If the note cannot be deleted, the next process polls once more. */
  #giveUp(guid: string): void {
    const polled = this.#polled.get(guid);
    this.#drop(guid);
    const { attempts, fault } = this.#mac.context;
    if (polled !== undefined) attempts.change({ ...polled, reference: guid }, null).catch(fault);
  }

  #poll(): void {
    const until = this.#mac.context.clock.real() + TOGETHER_MS;
    this.#lookups.add(this.#schedule.takeAllDue(until));
    this.#schedule.wait();
  }

  /** Schedules the next polls, also for messages at which BlueBubbles failed: it may recover. */
  #rowsReceived(guids: readonly string[]): void {
    const now = this.#mac.context.clock.real();
    for (const guid of guids) {
      const polled = this.#polled.get(guid);
      if (polled === undefined) continue;
      const age = now - polled.sentAt;
      const first = FIRST_POLLS_MS.find((afterMs) => afterMs > age + TOGETHER_MS);
      if (age >= POLLED_MS) this.#giveUp(guid);
      else this.#schedule.set(guid, first === undefined ? now + POLL_EVERY_MS : polled.sentAt + first);
    }
  }
}
