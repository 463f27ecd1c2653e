/** Follows messages of ours that the Mac took: failures, deliveries and reads are asked for, since it may never tell. */

import type { Channel } from "../../../sdk/wire.ts";
import { setBounded } from "../../core/bounded-map.ts";
import type { ReceiptSignal } from "../provider.ts";
import type { Limits } from "./client.ts";
import type { Mac } from "./mac.ts";
import type { MacMessage } from "./records.ts";
import { RowLookups } from "./row-lookups.ts";

const PREFIX = "watch/";

/** When a message is looked at after it was taken; then every ten minutes for a day. */
const FIRST_LOOKS_MS: readonly number[] = [3_000, 15_000, 60_000, 300_000];
const LOOK_EVERY_MS = 600_000;
const FOLLOWED_MS = 86_400_000;
/** Looks that are due within this are one request. */
const TOGETHER_MS = 1_000;
/** Messages followed at once; the one that was sent first is no longer. */
const MESSAGES_MAX = 10_000;
const WAIT_MS_MAX = 3_600_000;

interface PolledMessage {
  channel: Channel;
  sentAt: number;
  /** Null: it is being asked for. */
  dueAt: number | null;
}

export class ReceiptPoller {
  readonly #mac: Mac;
  readonly #lookups: RowLookups;
  readonly #polled = new Map<string, PolledMessage>();
  #stopTimer = () => {};
  #stopped = false;

  /** `take` is given each row that was looked at. */
  constructor(mac: Mac, limits: Limits, take: (row: MacMessage) => Promise<boolean>) {
    this.#mac = mac;
    this.#lookups = new RowLookups({ mac, limits, onRow: take, onDone: (guids) => this.#rowsReceived(guids) });
  }

  /** Goes on with what was followed before. */
  async start(): Promise<void> {
    const now = this.#mac.context.clock.real();
    for (const { key, value } of await this.#mac.context.memory.list(PREFIX)) {
      const [channel, sent] = value.split(" ");
      const sentAt = Number(sent);
      if ((channel !== "imessage" && channel !== "sms") || !Number.isFinite(sentAt)) continue;
      // It may have been long ago: each is looked at once more at least.
      this.#polled.set(key.slice(PREFIX.length), { channel, sentAt, dueAt: now });
    }
    this.#arm();
  }

  /** Follows a message that the Mac took just now. */
  add(guid: string, channel: Channel): void {
    const { clock, fault, memory } = this.#mac.context;
    const sentAt = clock.real();
    for (const oldest of this.#polled.keys()) {
      if (this.#polled.size < MESSAGES_MAX) break;
      this.#end(oldest);
    }
    setBounded(this.#polled, guid, { channel, sentAt, dueAt: sentAt + (FIRST_LOOKS_MS[0] ?? 0) }, MESSAGES_MAX);
    // Should it not get there, only a restart forgets to look: what the Mac tells is taken all the same.
    memory.put(`${PREFIX}${guid}`, `${channel} ${sentAt}`).catch(fault);
    this.#arm();
  }

  /** The channel that a followed message went out on. */
  channelOf(guid: string): Channel | null {
    return this.#polled.get(guid)?.channel ?? null;
  }

  /** A message is known to be so far. One that was delivered may be read a week later: catching up asks for that. */
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
    for (const followed of this.#polled.values()) dueAt = Math.min(dueAt, followed.dueAt ?? dueAt);
    if (!Number.isFinite(dueAt)) return;
    const { clock } = this.#mac.context;
    const waitMs = Math.max(dueAt - clock.real(), 1);
    this.#stopTimer = clock.after(Math.min(waitMs, WAIT_MS_MAX), () => this.#poll());
  }

  #poll(): void {
    const until = this.#mac.context.clock.real() + TOGETHER_MS;
    const due = [...this.#polled].filter(([, { dueAt }]) => dueAt !== null && dueAt <= until);
    for (const [, followed] of due) followed.dueAt = null;
    this.#lookups.add(due.map(([guid]) => guid));
    this.#arm();
  }

  /** One that the Mac breaks at is looked at again like any other: it may be able to give it by then. */
  #rowsReceived(guids: readonly string[]): void {
    for (const guid of guids) this.#planNext(guid);
    this.#arm();
  }

  #planNext(guid: string): void {
    const followed = this.#polled.get(guid);
    if (followed === undefined) return;
    const now = this.#mac.context.clock.real();
    const age = now - followed.sentAt;
    if (age >= FOLLOWED_MS) this.#end(guid);
    const first = FIRST_LOOKS_MS.find((afterMs) => afterMs > age + TOGETHER_MS);
    followed.dueAt = first === undefined ? now + LOOK_EVERY_MS : followed.sentAt + first;
  }
}
