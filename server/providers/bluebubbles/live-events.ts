/** What happens on a Mac besides rows: typing, calls, and addresses of ours that it lost. No row proves any of it. */

import { jsonOf, listOf, recordOf, textOf } from "../../core/loose-json.ts";
import type { Applied, Signal } from "../provider.ts";
import type { ChatCache } from "./chat-cache.ts";
import type { Limits } from "./client.ts";
import { type CallUpdate, FaceTimeCalls } from "./facetime-calls.ts";
import type { Mac } from "./mac.ts";
import { ownAddress } from "./own-address.ts";
import { type Typing, typingOf } from "./typing.ts";

const TYPING = "typing-indicator";

/** What waits to be told at once; beyond it the newest is lost. */
const WAITING_MAX = 1_000;
/** Typing that could not be told within this is past. */
const TYPING_COUNTS_MS = 5_000;
/** What is heard within a minute, ten times a second: no Mac has more to tell, and whoever else calls here is held to it. */
const IN_A_MINUTE_MAX = 600;
const MINUTE_MS = 60_000;

export interface LiveEventsOptions {
  mac: Mac;
  /** Of what is asked of the Mac. */
  limits: Limits;
  chatCache: ChatCache;
  report: (signal: Signal) => Promise<Applied>;
}

/** Told as they came, typing by itself and the rest by itself, from `start` to `stop`. */
export class LiveEvents {
  readonly #options: LiveEventsOptions;
  readonly #calls: FaceTimeCalls;
  /** What is being told. A call is not kept waiting by a question about somebody who types. */
  #typing = Promise.resolve();
  #others = Promise.resolve();
  #waiting = 0;
  #stopped = false;
  #minute = { endsAt: Number.NEGATIVE_INFINITY, heard: 0 };

  constructor(options: LiveEventsOptions) {
    const { context } = options.mac;
    this.#options = options;
    this.#calls = new FaceTimeCalls({ context, report: (call) => this.#reportCall(call) });
  }

  /** Goes on with the calls that rang when the process ended. */
  start(): Promise<void> {
    return this.#calls.start();
  }

  /** Hears no more; resolves when what is being told is told. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#calls.stop();
    await Promise.all([this.#typing, this.#others]);
  }

  /** Takes an event; one that is not used is nothing. */
  receive(type: string, data: unknown): void {
    if (this.#stopped) return;
    const tell = this.#handlerOf(type, data);
    if (tell === null || this.#waiting >= WAITING_MAX || !this.#isWithinRate()) return;
    if (type === TYPING) this.#typing = this.#inTurn(this.#typing, tell);
    else this.#others = this.#inTurn(this.#others, tell);
  }

  async #inTurn(before: Promise<void>, tell: () => Promise<void>): Promise<void> {
    this.#waiting += 1;
    await before;
    try {
      await tell();
    } catch (error) {
      this.#options.mac.context.fault(error);
    }
    this.#waiting -= 1;
  }

  #isWithinRate(): boolean {
    const now = this.#options.mac.context.clock.real();
    const { endsAt, heard } = this.#minute;
    const isOver = now >= endsAt || now < endsAt - MINUTE_MS;
    this.#minute = isOver ? { endsAt: now + MINUTE_MS, heard: 1 } : { endsAt, heard: heard + 1 };
    return this.#minute.heard <= IN_A_MINUTE_MAX;
  }

  #handlerOf(type: string, data: unknown): (() => Promise<void>) | null {
    switch (type) {
      case TYPING: {
        const typing = typingOf(data);
        const until = this.#options.mac.context.clock.real() + TYPING_COUNTS_MS;
        return typing === null ? null : () => this.#reportTyping(typing, until);
      }
      case "incoming-facetime":
        return () => this.#calls.incoming(parsed(data));
      case "ft-call-status-changed":
        return () => this.#calls.changed(parsed(data));
      // The one is the name that a webhook is registered for, the other the name that it is told by.
      case "imessage-alias-removed":
      case "imessage-aliases-removed":
        return () => this.#loseAddresses(data);
      default:
        return null;
    }
  }

  /**
   * Typing is told now or not at all: where the conversation cannot be asked for, it is past when it can. In one that the
   * Mac does not have nobody types.
   */
  async #reportTyping({ from, chatGuid, typing }: Typing, until: number): Promise<void> {
    const { mac, chatCache, report } = this.#options;
    const isPast = () => mac.context.clock.real() >= until || !mac.health.isUp;
    const chat = isPast() ? null : await chatCache.chat(chatGuid).catch(() => null);
    const to = chat === null || isPast() ? null : await ownAddress(mac.context, chat.lastAddressedHandle);
    if (to !== null) await report({ kind: "typing", to, channel: "imessage", from, group: null, typing });
  }

  async #reportCall(call: CallUpdate): Promise<void> {
    const { mac, report } = this.#options;
    const to = await this.#addressCalled(call.caller);
    if (to !== null) await report({ kind: "call", to, channel: "imessage", ...call });
    else if (call.forget !== undefined) await mac.context.memory.delete(call.forget);
  }

  /** Which of our addresses somebody calls: that of the conversation with them, asked for only where there is a choice. */
  async #addressCalled(caller: string): Promise<string | null> {
    const { mac, limits, chatCache } = this.#options;
    const { context, chatGuids } = mac;
    if ((await context.numbers()).length <= 1) return ownAddress(context, null);
    const found = await chatGuids.findThread(caller, "imessage", limits);
    const chat = found.kind === "found" ? await chatCache.chat(found.guid).catch(() => null) : null;
    return ownAddress(context, chat?.lastAddressedHandle ?? null);
  }

  async #loseAddresses(data: unknown): Promise<void> {
    const { context, health } = this.#options.mac;
    const removed = listOf(recordOf(data)?.aliases, textOf);
    for (const { address } of await context.numbers()) if (removed.includes(address)) health.suspectLost(address);
  }
}

/** Some of the Mac's events carry JSON in a text. */
function parsed(data: unknown): unknown {
  return typeof data === "string" ? jsonOf(data) : data;
}
