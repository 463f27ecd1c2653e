/** The inbound half of one Mac: hook, socket, catching up and asking, composed. All that tells of a row ends in one upsert. */

import type { Channel } from "../../../sdk/wire.ts";
import { maskAddress } from "../../core/phone.ts";
import type { Applied, Health, HookReply, HookRequest, Signal } from "../provider.ts";
import { Calls, type Ringing } from "./calls.ts";
import { CashLedger } from "./cash-ledger.ts";
import { CatchUp } from "./catch-up.ts";
import { Hook } from "./hook.ts";
import type { Source } from "./lanes.ts";
import type { Mac } from "./mac.ts";
import { ownAddress } from "./own-address.ts";
import { listOf, parseMessage, recordOf, textOf } from "./records.ts";
import { Sightings } from "./sightings.ts";
import { MacSocket } from "./socket.ts";
import { type Typing, typingOf } from "./typing.ts";
import { Upsert } from "./upsert.ts";
import { Watch } from "./watch.ts";

/** Events that carry a row. What else they say is in the row as well. */
const ROW_EVENTS: ReadonlySet<string> = new Set([
  "new-message",
  "updated-message",
  "message-send-error",
  "group-name-change",
  "group-icon-changed",
  "group-icon-removed",
  "participant-added",
  "participant-removed",
  "participant-left",
]);

/** What happens besides rows, and waits to be told, at once; beyond it the newest is lost. */
const HAPPENINGS_MAX = 1_000;

/** A thousand rows take a Mac a second or two. */
const ASK_WITHIN_MS = 30_000;

/** Hears one Mac from `start` to `stop`. */
export class Ingest {
  readonly #mac: Mac;
  readonly #upsert: Upsert;
  readonly #catchUp: CatchUp;
  readonly #watch: Watch;
  readonly #hook: Hook;
  readonly #socket: MacSocket | null;
  readonly #calls: Calls;
  readonly #cash: CashLedger;
  readonly #sightings: Sightings;
  /** Typing and calls: told one after the other, as they came. */
  #happening: Promise<void> = Promise.resolve();
  #waiting = 0;
  /** Ends whatever is being asked of the Mac. */
  readonly #ends = new AbortController();
  #signals: (signal: Signal) => Promise<Applied> = () => Promise.reject(new Error("the Mac is not listened to yet"));
  /** Addresses of ours that Apple took from the Mac since the start. */
  readonly #lostAddresses = new Set<string>();

  constructor(mac: Mac) {
    const { context, settings } = mac;
    const limits = { limitMs: ASK_WITHIN_MS, abort: this.#ends.signal };
    this.#mac = mac;
    this.#cash = new CashLedger(context.memory, context.clock);
    this.#sightings = new Sightings(mac.client, context.clock, limits);
    this.#hook = new Hook(mac, limits, (type, data) => this.#hear(type, data, "hook"));
    this.#upsert = new Upsert({
      mac,
      limits,
      sightings: this.#sightings,
      cash: this.#cash,
      tell: (signal) => this.#signals(signal),
      freshFrom: () => this.#catchUp.freshFrom(),
      bornAt: () => this.#catchUp.bornAt,
      channelOf: (guid) => this.#watch.channelOf(guid),
      reached: (receipt) => this.#watch.reached(receipt),
    });
    this.#catchUp = new CatchUp({
      mac,
      limits,
      take: (row, source) => this.#upsert.take(row, source),
      alongside: () => this.#hook.ensure(),
    });
    this.#watch = new Watch(mac, limits, (row) => this.#upsert.take(row, "query"));
    this.#calls = new Calls({ context, tell: (call) => this.#tellCall(call) });
    this.#socket =
      settings.ingest === "socket"
        ? new MacSocket({
            ...settings,
            clock: context.clock,
            hear: (type, data) => this.#hear(type, data, "socket"),
            connected: () => this.#catchUp.run(),
          })
        : null;
  }

  /**
   * The Mac's health, with why it does not tell what happens, and which of our addresses Apple took from it. A Mac that
   * is down tells nothing for that reason.
   */
  withWarnings(health: Health): Health {
    const deaf = this.#mac.health.isUp ? (this.#socket?.problem ?? this.#hook.problem) : null;
    const until = "Until then it is asked once a minute.";
    const warnings = [
      ...(deaf === null ? [] : [`The Mac does not tell what happens: ${deaf}. ${until}`]),
      ...[...this.#lostAddresses].map((address) => `Apple took ${address} from the account of this Mac.`),
    ];
    if (warnings.length === 0) return health;
    const status = health.status === "healthy" ? "degraded" : health.status;
    return { ...health, status, warnings: [...(health.warnings ?? []), ...warnings] };
  }

  /** Reads its memory and begins to listen; waits for no Mac. */
  async start(signals: (signal: Signal) => Promise<Applied>): Promise<void> {
    this.#signals = signals;
    await Promise.all([this.#cash.load(), this.#calls.start(), this.#watch.start()]);
    await this.#catchUp.start();
    this.#socket?.start();
  }

  /** Hears no more; resolves when what is being told is told. */
  async stop(): Promise<void> {
    this.#ends.abort();
    this.#socket?.stop();
    this.#calls.stop();
    await Promise.all([this.#watch.stop(), this.#catchUp.stop(), this.#upsert.stop(), this.#happening]);
  }

  /** Takes what the Mac posts to our hook. */
  receive(request: HookRequest): Promise<HookReply> {
    return this.#hook.receive(request);
  }

  /** The Mac took a message of ours just now: what becomes of it is asked for. */
  watch(guid: string, channel: Channel): void {
    this.#watch.add(guid, channel);
    this.#upsert.sent(guid);
  }

  /** The Mac is there again: what happened meanwhile is asked for at once. */
  catchUpNow(): void {
    this.#catchUp.run();
  }

  #hear(type: string, data: unknown, source: Source): void {
    if (ROW_EVENTS.has(type)) {
      const row = parseMessage(data);
      if (row !== null) void this.#upsert.take(row, source);
      return;
    }
    const tell = this.#happeningOf(type, data);
    if (type === "hello-world") this.#catchUp.run();
    else if (tell !== null) this.#happens(tell);
  }

  /** What an event tells besides rows; null for one that is not used. */
  #happeningOf(type: string, data: unknown): (() => Promise<void>) | null {
    switch (type) {
      case "typing-indicator": {
        const typing = typingOf(data);
        return typing === null ? null : () => this.#tellTyping(typing);
      }
      case "incoming-facetime":
        return () => this.#calls.incoming(parsed(data));
      case "ft-call-status-changed":
        return () => this.#calls.changed(parsed(data));
      case "imessage-aliases-removed":
      case "imessage-alias-removed":
        return () => this.#loseAddresses(data);
      default:
        return null;
    }
  }

  /** What happens now is told now or not at all: a minute later nobody types any more. */
  #happens(tell: () => Promise<void>): void {
    if (this.#waiting >= HAPPENINGS_MAX) return;
    this.#waiting += 1;
    const before = this.#happening;
    const inTurn = async () => {
      await before;
      try {
        await tell();
      } catch (error) {
        this.#mac.context.fault(error);
      }
      this.#waiting -= 1;
    };
    this.#happening = inTurn();
  }

  async #tellTyping({ from, chatGuid, typing }: Typing): Promise<void> {
    const to = await this.#addressedBy(chatGuid);
    if (to === null) return;
    await this.#signals({ kind: "typing", to, channel: "imessage", from, group: null, typing });
    this.#mac.health.progress();
  }

  async #tellCall(call: Ringing): Promise<void> {
    const found = await this.#guidOf(call.caller);
    const to = await this.#addressedBy(found);
    if (to === null) {
      if (call.forget !== undefined) await this.#mac.context.memory.delete(call.forget);
      return;
    }
    await this.#signals({ kind: "call", to, channel: "imessage", ...call });
    this.#mac.health.progress();
  }

  /** Which of our addresses a thread is with: asked for only where there is a choice. */
  async #addressedBy(chatGuid: string | null): Promise<string | null> {
    const { context } = this.#mac;
    const hasChoice = (await context.numbers()).length > 1 && chatGuid !== null;
    const chat = hasChoice ? await this.#sightings.chat(chatGuid).catch(() => null) : null;
    return ownAddress(context, chat?.lastAddressedHandle ?? null);
  }

  async #guidOf(address: string): Promise<string | null> {
    if ((await this.#mac.context.numbers()).length <= 1) return null;
    const found = await this.#mac.chats.threadWith(address, "imessage", { abort: this.#ends.signal });
    return found.kind === "found" ? found.guid : null;
  }

  async #loseAddresses(data: unknown): Promise<void> {
    const removed = listOf(recordOf(data)?.aliases, textOf);
    for (const { address } of await this.#mac.context.numbers()) {
      if (removed.includes(address)) this.#lostAddresses.add(maskAddress(address));
    }
  }
}

/** Some of the Mac's events carry JSON in a text. */
function parsed(data: unknown): unknown {
  if (typeof data !== "string") return data;
  try {
    return JSON.parse(data) as unknown;
  } catch {
    return null;
  }
}
