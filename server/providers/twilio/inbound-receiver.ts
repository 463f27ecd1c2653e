/** Takes in what contacts write: one way in for the hook and for the list, so that a message is one whoever tells it. */

import type { Clock } from "../../clock.ts";
import { setBounded } from "../../core/bounded-map.ts";
import { keywordOf } from "../../core/opt-out.ts";
import type { InboundSignal, OptOutSignal } from "../provider.ts";
import type { TwilioReporter } from "./reporter.ts";

/** Messages of contacts remembered as heard, so that the list does not tell them again; the service knows them by itself. */
const HEARD_MAX = 100_000;
/** Contacts whose stop is remembered, so that no start from before it takes it back. */
const STOPS_MAX = 10_000;

export class InboundReceiver {
  readonly #reporter: () => TwilioReporter;
  readonly #clock: Clock;
  readonly #received = new Map<string, true>();
  /** The stop that the hook heard last of a contact at a number, and when, real. */
  readonly #stops = new Map<string, { at: number; stop: OptOutSignal }>();

  constructor(reporter: () => TwilioReporter, clock: Clock) {
    this.#reporter = reporter;
    this.#clock = clock;
  }

  /** Tells what was just written, and what Twilio made of it; resolves when that is on disk, rejects when it could not be told. */
  async receive(inbound: InboundSignal, optOut: OptOutSignal | null): Promise<void> {
    const word = optOut ?? wordOf(inbound);
    const pair = pairOf(inbound);
    // Before it is told: a start that is told meanwhile has to know of it.
    if (word?.request === "stop") setBounded(this.#stops, pair, { at: this.#clock.real(), stop: word }, STOPS_MAX);
    await this.#report(inbound, () => optOut);
    if (word?.request === "start") this.#stops.delete(pair);
  }

  /**
   * As `hear`, for what was written a while ago, at `writtenAt` by our clock: with a start goes `stop`, or the stop that was
   * heard since, so that it takes neither back.
   */
  receiveLate(
    inbound: InboundSignal,
    { writtenAt, stop }: { writtenAt: number; stop: OptOutSignal | null },
  ): Promise<void> {
    return this.#report(inbound, () => stop ?? this.#stopSince(inbound, writtenAt));
  }

  /** Whether this process has told the message: what another one told is known to the service alone. */
  has(reference: string): boolean {
    return this.#received.has(reference);
  }

  /** Tells a message, and then what there is to say about opt-outs; both are heard, or none. */
  async #report(inbound: InboundSignal, optOutOf: () => OptOutSignal | null): Promise<void> {
    await this.#reporter().signal(inbound);
    const optOut = optOutOf();
    if (optOut !== null) await this.#reporter().signal(optOut);
    setBounded(this.#received, inbound.reference, true, HEARD_MAX);
  }

  #stopSince(inbound: InboundSignal, writtenAt: number): OptOutSignal | null {
    if (wordOf(inbound)?.request !== "start") return null;
    const heard = this.#stops.get(pairOf(inbound));
    return heard !== undefined && heard.at >= writtenAt ? heard.stop : null;
  }
}

/** What a message says about opt-outs by its text alone. */
function wordOf({ from, to, text }: Pick<InboundSignal, "from" | "to" | "text">): OptOutSignal | null {
  const keyword = keywordOf(text);
  return keyword && { kind: "optOut", from, to, channel: "sms", request: keyword.intent, keyword: keyword.word };
}

/** Both numbers of a message. */
function pairOf({ from, to }: InboundSignal): string {
  return `${from} ${to}`;
}
