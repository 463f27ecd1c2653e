/** Polls for the receipts of sent messages, because BlueBubbles may never push them. */

import type { Channel } from "../../../sdk/wire.ts";
import { Journal } from "../kit/journal.ts";
import { PollSchedule } from "../kit/poll-schedule.ts";
import type { ReceiptSignal } from "../provider.ts";
import type { Limits } from "./client.ts";
import type { Mac } from "./mac.ts";
import type { MacMessage } from "./records.ts";
import { RowLookups } from "./row-lookups.ts";

const PREFIX = "watch/";

/** Times of the first polls after a message was sent; later ones follow every ten minutes for a day. */
const FIRST_POLLS_MS: readonly number[] = [3_000, 15_000, 60_000, 300_000];
const POLL_EVERY_MS = 600_000;
const POLLED_MS = 86_400_000;
/** Polls due within this time share a query. */
const TOGETHER_MS = 1_000;
/** Limit of messages polled; the oldest goes first. */
const MESSAGES_MAX = 10_000;

interface PolledMessage {
  channel: Channel;
  sentAt: number;
}

export class ReceiptPoller {
  readonly #mac: Mac;
  readonly #lookups: RowLookups;
  /** By guid. */
  readonly #polled: Journal<PolledMessage>;
  readonly #schedule: PollSchedule<string>;

  /** `ingest` receives each row found. */
  constructor(mac: Mac, limits: Limits, ingest: (row: MacMessage) => Promise<boolean>) {
    const { clock, memory } = mac.context;
    this.#mac = mac;
    this.#lookups = new RowLookups({ mac, limits, onRow: ingest, onDone: (guids) => this.#rowsReceived(guids) });
    this.#schedule = new PollSchedule(clock, () => this.#poll());
    this.#polled = new Journal({
      memory,
      prefix: PREFIX,
      format: ({ channel, sentAt }) => `${channel} ${sentAt}`,
      parse,
      max: MESSAGES_MAX,
      removed: (_message, guid) => this.#schedule.delete(guid),
    });
  }

  /** Resumes the polls that the previous process left. */
  async start(): Promise<void> {
    await this.#polled.load();
    // Each message is polled at least once more, however old it is.
    const now = this.#mac.context.clock.real();
    for (const [guid] of this.#polled) this.#schedule.set(guid, now);
    this.#schedule.start();
  }

  /** Begins to poll for the receipts of a message that was just sent. */
  add(guid: string, channel: Channel): void {
    const { clock, fault } = this.#mac.context;
    const sentAt = clock.real();
    this.#polled.set(guid, { channel, sentAt });
    this.#schedule.set(guid, sentAt + (FIRST_POLLS_MS[0] ?? 0));
    // If this write fails, only a restart forgets to poll. Pushed receipts are reported anyway.
    this.#polled.save(guid).catch(fault);
  }

  /** Channel that a polled message was sent on. */
  channelOf(guid: string): Channel | null {
    return this.#polled.get(guid)?.channel ?? null;
  }

  /** A receipt was reported. Delivered messages are polled no more: backfill finds a read receipt, even a week later. */
  receiptReported({ reference, receipt }: ReceiptSignal): void {
    if (receipt !== "sent") this.#end(reference);
  }

  async stop(): Promise<void> {
    this.#schedule.stop();
    await this.#lookups.stop();
  }

  #end(guid: string): void {
    if (this.#polled.get(guid) !== null) this.#polled.delete(guid).catch(this.#mac.context.fault);
  }

  #poll(): void {
    const until = this.#mac.context.clock.real() + TOGETHER_MS;
    const due: string[] = [];
    for (let guid = this.#schedule.takeDue(until); guid !== null; guid = this.#schedule.takeDue(until)) due.push(guid);
    this.#lookups.add(due);
    this.#schedule.wait();
  }

  /** Schedules the next polls, also for messages at which BlueBubbles failed: it may recover. */
  #rowsReceived(guids: readonly string[]): void {
    const now = this.#mac.context.clock.real();
    for (const guid of guids) {
      const polled = this.#polled.get(guid);
      if (polled === null) continue;
      const age = now - polled.sentAt;
      const first = FIRST_POLLS_MS.find((afterMs) => afterMs > age + TOGETHER_MS);
      if (age >= POLLED_MS) this.#end(guid);
      else this.#schedule.set(guid, first === undefined ? now + POLL_EVERY_MS : polled.sentAt + first);
    }
  }
}

function parse(text: string): PolledMessage | null {
  const [channel, sent] = text.split(" ");
  const sentAt = Number(sent);
  return (channel === "imessage" || channel === "sms") && Number.isFinite(sentAt) ? { channel, sentAt } : null;
}
