/** Polls for the receipts of sent messages, because BlueBubbles may never push them. */

import type { Channel } from "../../../sdk/wire.ts";
import { setBounded } from "../../core/bounded-map.ts";
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
const WAIT_MS_MAX = 3_600_000;

interface PolledMessage {
  channel: Channel;
  sentAt: number;
  /** Time of the next poll; null while a poll is in flight. */
  dueAt: number | null;
}

export class ReceiptPoller {
  readonly #mac: Mac;
  readonly #lookups: RowLookups;
  readonly #polled = new Map<string, PolledMessage>();
  #stopTimer = () => {};
  #stopped = false;

  /** `ingest` receives each row found. */
  constructor(mac: Mac, limits: Limits, ingest: (row: MacMessage) => Promise<boolean>) {
    this.#mac = mac;
    this.#lookups = new RowLookups({ mac, limits, onRow: ingest, onDone: (guids) => this.#rowsReceived(guids) });
  }

  /** Resumes the polls that the previous process left. */
  async start(): Promise<void> {
    const now = this.#mac.context.clock.real();
    for (const { key, value } of await this.#mac.context.memory.list(PREFIX)) {
      const [channel, sent] = value.split(" ");
      const sentAt = Number(sent);
      if ((channel !== "imessage" && channel !== "sms") || !Number.isFinite(sentAt)) continue;
      // Each message is polled at least once more, however old it is.
      this.#polled.set(key.slice(PREFIX.length), { channel, sentAt, dueAt: now });
    }
    this.#arm();
  }

  /** Begins to poll for the receipts of a message that was just sent. */
  add(guid: string, channel: Channel): void {
    const { clock, fault, memory } = this.#mac.context;
    const sentAt = clock.real();
    for (const oldest of this.#polled.keys()) {
      if (this.#polled.size < MESSAGES_MAX) break;
      this.#end(oldest);
    }
    setBounded(this.#polled, guid, { channel, sentAt, dueAt: sentAt + (FIRST_POLLS_MS[0] ?? 0) }, MESSAGES_MAX);
    // If this write fails, only a restart forgets to poll. Pushed receipts are reported anyway.
    memory.put(`${PREFIX}${guid}`, `${channel} ${sentAt}`).catch(fault);
    this.#arm();
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
    this.#stopped = true;
    this.#stopTimer();
    await this.#lookups.stop();
  }

  #end(guid: string): void {
    if (!this.#polled.delete(guid)) return;
    this.#mac.context.memory.delete(`${PREFIX}${guid}`).catch(this.#mac.context.fault);
  }

  #arm(): void {
    if (this.#stopped) return;
    this.#stopTimer();
    let dueAt = Number.POSITIVE_INFINITY;
    for (const polled of this.#polled.values()) dueAt = Math.min(dueAt, polled.dueAt ?? dueAt);
    if (!Number.isFinite(dueAt)) return;
    const { clock } = this.#mac.context;
    const waitMs = Math.max(dueAt - clock.real(), 1);
    this.#stopTimer = clock.after(Math.min(waitMs, WAIT_MS_MAX), () => this.#poll());
  }

  #poll(): void {
    const until = this.#mac.context.clock.real() + TOGETHER_MS;
    const due = [...this.#polled].filter(([, { dueAt }]) => dueAt !== null && dueAt <= until);
    for (const [, polled] of due) polled.dueAt = null;
    this.#lookups.add(due.map(([guid]) => guid));
    this.#arm();
  }

  /** Schedules the next polls, also for messages at which BlueBubbles failed: it may recover. */
  #rowsReceived(guids: readonly string[]): void {
    for (const guid of guids) this.#scheduleNext(guid);
    this.#arm();
  }

  #scheduleNext(guid: string): void {
    const polled = this.#polled.get(guid);
    if (polled === undefined) return;
    const now = this.#mac.context.clock.real();
    const age = now - polled.sentAt;
    if (age >= POLLED_MS) this.#end(guid);
    const first = FIRST_POLLS_MS.find((afterMs) => afterMs > age + TOGETHER_MS);
    polled.dueAt = first === undefined ? now + POLL_EVERY_MS : polled.sentAt + first;
  }
}
