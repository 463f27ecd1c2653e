/** Receives contacts' messages from the hook and from the backfill, so that each one is reported once. */

import type { Clock } from "../../clock.ts";
import { setBounded } from "../../core/bounded-map.ts";
import { type ChosenWords, keywordOf } from "../../core/opt-out.ts";
import { maskAddress } from "../../core/phone.ts";
import { RecentCount } from "../kit/recent-count.ts";
import type { InboundSignal, OptOutSignal, ProviderContext } from "../provider.ts";
import type { TwilioReporter } from "./reporter.ts";

/** Reported messages to remember, so that the backfill skips them. The engine recognises duplicates by itself. */
const RECEIVED_MAX = 100_000;
/** Contacts whose STOP is remembered, so that an older START does not cancel it. */
const STOPS_MAX = 10_000;

export class InboundReceiver {
  readonly #reporter: TwilioReporter;
  readonly #clock: Clock;
  readonly #wordsAt: ProviderContext["optOutWordsAt"];
  readonly #received = new Map<string, true>();
  /** The last STOP that the hook received from a contact for a number, and when, by the real clock. */
  readonly #stops = new Map<string, { at: number; stop: OptOutSignal }>();

  readonly #isNumber: ProviderContext["isNumber"];
  readonly #unaddressed: RecentCount;
  #unaddressedTo = "";

  constructor(
    reporter: TwilioReporter,
    { clock, isNumber, optOutWordsAt }: Pick<ProviderContext, "clock" | "isNumber" | "optOutWordsAt">,
  ) {
    this.#isNumber = isNumber;
    this.#unaddressed = new RecentCount(clock);
    this.#reporter = reporter;
    this.#clock = clock;
    this.#wordsAt = optOutWordsAt;
  }

  /**
   * Reports a new message, with Twilio's opt-out for it. Resolves once both are on disk; rejects if they could not be
   * reported.
   */
  async receive(inbound: InboundSignal, optOut: OptOutSignal | null): Promise<void> {
    const at = this.#clock.real();
    const word = optOut ?? wordOf(inbound, await this.#wordsAt(inbound.to));
    const pair = pairOf(inbound);
    // Before the report, so that a START that is reported during it finds the STOP.
    if (word?.request === "stop") setBounded(this.#stops, pair, { at, stop: word }, STOPS_MAX);
    await this.#report(inbound, () => optOut);
    if (word?.request === "start") this.#stops.delete(pair);
  }

  /**
   * Like `receive`, for a message that the contact wrote earlier, at `writtenAt` by our clock. With a START it also
   * reports `stop`, or a STOP received since, so that the START does not cancel the STOP.
   */
  async receiveLate(
    inbound: InboundSignal,
    { writtenAt, stop }: { writtenAt: number; stop: OptOutSignal | null },
  ): Promise<void> {
    const isStart = wordOf(inbound, await this.#wordsAt(inbound.to))?.request === "start";
    await this.#report(inbound, () => stop ?? (isStart ? this.#stopSince(inbound, writtenAt) : null));
  }

  /** Recent messages to an address that is no number of the service, and the end of the last address; nobody gets them. */
  get unaddressed(): { count: number; to: string } {
    return { count: this.#unaddressed.value, to: this.#unaddressedTo };
  }

  /** Counts a message that nobody gets. */
  noteUnaddressed(to: string): void {
    this.#unaddressed.note();
    this.#unaddressedTo = to;
  }

  /** Whether this process has reported the message. Only the engine knows the messages of earlier processes. */
  has(reference: string): boolean {
    return this.#received.has(reference);
  }

  /** Reports a message and then its opt-out. Only both together count as received. */
  async #report(inbound: InboundSignal, optOutOf: () => OptOutSignal | null): Promise<void> {
    const isOurs = await this.#isNumber(inbound.to);
    await this.#reporter.signal(inbound);
    if (!isOurs && !this.#received.has(inbound.reference)) this.noteUnaddressed(maskAddress(inbound.to));
    const optOut = optOutOf();
    if (optOut !== null) await this.#reporter.signal(optOut);
    setBounded(this.#received, inbound.reference, true, RECEIVED_MAX);
  }

  #stopSince(inbound: InboundSignal, writtenAt: number): OptOutSignal | null {
    const last = this.#stops.get(pairOf(inbound));
    return last !== undefined && last.at >= writtenAt ? last.stop : null;
  }
}

/** The opt-out keyword in a message's text. */
function wordOf({ from, to, text }: InboundSignal, words: ChosenWords): OptOutSignal | null {
  const keyword = keywordOf(text, words);
  return keyword && { kind: "optOut", from, to, channel: "sms", request: keyword.intent, keyword: keyword.word };
}

/** Identifies a conversation by both numbers. */
function pairOf({ from, to }: InboundSignal): string {
  return `${from} ${to}`;
}
