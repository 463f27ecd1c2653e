/** Events without a row: typing, calls, and own addresses that the account lost. They are reported as received. */

import { jsonOf, listOf, recordOf, textOf } from "../../core/loose-json.ts";
import { SerialQueue } from "../../core/serial-queue.ts";
import { ownAddress } from "../kit/own-address.ts";
import { TokenBucket } from "../kit/token-bucket.ts";
import type { Applied, Signal } from "../provider.ts";
import type { ChatCache } from "./chat-cache.ts";
import type { Limits } from "./client.ts";
import { type CallUpdate, FaceTimeCalls } from "./facetime-calls.ts";
import type { Mac } from "./mac.ts";
import { isGroupChat } from "./records.ts";

const TYPING = "typing-indicator";
/** Name of the queue of all other events. */
const OTHERS = "others";

/** Limit of queued events; beyond it the newest is dropped. */
const WAITING_MAX = 1_000;
/** A typing event older than this is dropped. */
const TYPING_COUNTS_MS = 5_000;
/** Limit of events per minute. No Mac has more, and the hook's requests are not signed. */
const IN_A_MINUTE_MAX = 600;

export interface LiveEventsOptions {
  mac: Mac;
  /** Limits of requests to the Mac. */
  limits: Limits;
  chatCache: ChatCache;
  report: (signal: Signal) => Promise<Applied>;
}

/** A contact began or stopped typing in a thread. */
interface Typing {
  chatGuid: string;
  from: string;
  typing: boolean;
}

/** Reports events in order: typing events in one queue, all others in a second one. */
export class LiveEvents {
  readonly #options: LiveEventsOptions;
  readonly #calls: FaceTimeCalls;
  /** Typing has a queue of its own: a call does not wait for a lookup about typing. */
  readonly #queue = new SerialQueue();
  #waiting = 0;
  #stopped = false;
  readonly #rate: TokenBucket;

  constructor(options: LiveEventsOptions) {
    const { context } = options.mac;
    this.#options = options;
    this.#rate = new TokenBucket(context.clock, IN_A_MINUTE_MAX / 60, IN_A_MINUTE_MAX);
    this.#calls = new FaceTimeCalls({ context, report: (call) => this.#reportCall(call) });
  }

  /** Resumes the calls that rang when the previous process ended. */
  start(): Promise<void> {
    return this.#calls.start();
  }

  /** Stops accepting events, and resolves when the accepted ones are reported. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#calls.stop();
    await Promise.all([TYPING, OTHERS].map((kind) => this.#queue.run(kind, async () => {})));
  }

  /** Receives an event. Ignores types that are not used. */
  receive(type: string, data: unknown): void {
    if (this.#stopped) return;
    const report = this.#handlerOf(type, data);
    if (report === null || this.#waiting >= WAITING_MAX || this.#rate.take() > 0) return;
    void this.#queue.run(type === TYPING ? TYPING : OTHERS, () => this.#run(report));
    this.#waiting += 1;
  }

  async #run(report: () => Promise<void>): Promise<void> {
    try {
      await report();
    } catch (error) {
      this.#options.mac.context.fault(error);
    }
    this.#waiting -= 1;
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
      // Webhooks are registered for the singular name, and the event arrives with the plural one.
      case "imessage-alias-removed":
      case "imessage-aliases-removed":
        return () => this.#loseAddresses(data);
      default:
        return null;
    }
  }

  /**
   * Reports typing, unless the event is too old by then or the Mac is down. Nobody types in a conversation that the Mac does
   * not have.
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

  /** Finds which of our addresses is called: the one of the conversation with the caller. Looks it up only if there are several. */
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

/** Some events carry JSON in a string. */
function parsed(data: unknown): unknown {
  return typeof data === "string" ? jsonOf(data) : data;
}

/** Parses a `typing-indicator`. Returns null for a group, whose events do not name the person, and for anything else. */
function typingOf(data: unknown): Typing | null {
  const record = recordOf(data);
  const chatGuid = textOf(record?.guid);
  if (chatGuid === null || typeof record?.display !== "boolean") return null;
  const [, kind, ...rest] = chatGuid.split(";");
  const from = rest.join(";");
  if (kind === undefined || from === "" || isGroupChat({ guid: chatGuid, style: null })) return null;
  return { chatGuid, from, typing: record.display };
}
