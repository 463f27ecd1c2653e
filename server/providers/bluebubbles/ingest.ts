/** The inbound half of one Mac: hook or socket, catching up and asking, composed. All that tells of a row ends in one upsert. */

import type { Channel } from "../../../sdk/wire.ts";
import type { Applied, Health, HookRequest, HookResponse, Signal } from "../provider.ts";
import { CashLedger } from "./cash-ledger.ts";
import { CatchUp } from "./catch-up.ts";
import { FileWatch } from "./file-watch.ts";
import { Happenings } from "./happenings.ts";
import { Hints, ROW_EVENTS } from "./hints.ts";
import { Hook } from "./hook.ts";
import type { Mac } from "./mac.ts";
import { Sightings } from "./sightings.ts";
import { MacSocket } from "./socket.ts";
import { Upsert } from "./upsert.ts";
import { Watch } from "./watch.ts";

/** A thousand rows take a Mac a second or two. */
const ASK_WITHIN_MS = 30_000;

/** Why nothing is pushed although everything answers, and what to do. */
const WATCH_IS_DEAD = "messages come in, and it pushes none of them: restart BlueBubbles";

/** Hears one Mac from `start` to `stop`. */
export class Ingest {
  readonly #mac: Mac;
  readonly #upsert: Upsert;
  readonly #hints: Hints;
  readonly #happenings: Happenings;
  readonly #catchUp: CatchUp;
  readonly #watch: Watch;
  readonly #hook: Hook;
  readonly #socket: MacSocket | null;
  readonly #cash: CashLedger;
  readonly #fileWatch: FileWatch;
  /** Ends whatever is being asked of the Mac. */
  readonly #ends = new AbortController();
  #signals: (signal: Signal) => Promise<Applied> = () => Promise.reject(new Error("the Mac is not listened to yet"));

  constructor(mac: Mac) {
    const { context, settings } = mac;
    const limits = { limitMs: ASK_WITHIN_MS, abort: this.#ends.signal };
    const tell = (signal: Signal) => this.#signals(signal);
    const hear = (type: string, data: unknown) => this.#hear(type, data);
    const sightings = new Sightings(mac.client, context.clock, limits);
    this.#mac = mac;
    this.#fileWatch = new FileWatch(context.clock);
    this.#cash = new CashLedger(context.memory, context.clock);
    this.#hook = new Hook(mac, limits, hear);
    this.#upsert = new Upsert({
      mac,
      limits,
      sightings,
      cash: this.#cash,
      tell,
      freshFrom: () => this.#catchUp.freshFrom(),
      bornAt: () => this.#catchUp.bornAt,
      channelOf: (guid) => this.#watch.channelOf(guid),
      reached: (receipt) => this.#watch.reached(receipt),
    });
    this.#hints = new Hints(mac, limits, (row) => this.#upsert.take(row));
    this.#happenings = new Happenings({ mac, limits, sightings, tell });
    this.#catchUp = new CatchUp({
      mac,
      limits,
      take: (row) => {
        this.#fileWatch.found(row);
        return this.#upsert.take(row);
      },
      alongside: () => this.#hook.ensure(),
    });
    this.#watch = new Watch(mac, limits, (row) => this.#upsert.take(row));
    this.#socket =
      settings.ingest === "socket"
        ? new MacSocket({ ...settings, clock: context.clock, hear, connected: () => this.catchUpNow() })
        : null;
  }

  /** The Mac's health, with why it does not tell what happens. A Mac that is down tells nothing for that reason. */
  withWarnings(health: Health): Health {
    if (!this.#mac.health.isUp) return health;
    const deaf = this.#socket?.problem ?? this.#hook.problem ?? (this.#fileWatch.isDead ? WATCH_IS_DEAD : null);
    if (deaf === null) return health;
    const warning = `The Mac does not tell what happens: ${deaf}. Until then it is asked once a minute.`;
    const status = health.status === "healthy" ? "degraded" : health.status;
    return { ...health, status, warnings: [...(health.warnings ?? []), warning] };
  }

  /** Reads its memory and begins to listen; waits for no Mac. */
  async start(signals: (signal: Signal) => Promise<Applied>): Promise<void> {
    this.#signals = signals;
    await Promise.all([this.#cash.load(), this.#happenings.start(), this.#watch.start()]);
    await this.#catchUp.start();
    this.#fileWatch.hears();
    this.#socket?.start();
  }

  /** Hears no more; resolves when what is being told is told. */
  async stop(): Promise<void> {
    this.#ends.abort();
    this.#socket?.stop();
    const hearers = [this.#hints, this.#watch, this.#catchUp, this.#upsert, this.#happenings];
    await Promise.all(hearers.map((hearer) => hearer.stop()));
  }

  /** Takes our webhook away at the Mac. Throws where it may be there yet. */
  async remove(): Promise<void> {
    await this.#catchUp.stop();
    await this.#hook.remove();
  }

  /** Takes what the Mac posts to our hook. */
  receive(request: HookRequest): Promise<HookResponse> {
    return this.#hook.receive(request);
  }

  /** The Mac took a message of ours just now: what becomes of it is asked for. */
  watch(guid: string, channel: Channel): void {
    this.#watch.add(guid, channel);
    this.#upsert.sent(guid);
  }

  /** The Mac is there again: what happened meanwhile is asked for at once. */
  catchUpNow(): void {
    // What came to be before that was pushed to nobody.
    this.#fileWatch.hears();
    this.#catchUp.run();
  }

  #hear(type: string, data: unknown): void {
    if (ROW_EVENTS.includes(type)) {
      this.#fileWatch.hears();
      this.#hints.take(data);
    } else if (type === "hello-world") {
      this.#mac.client.saysHello();
      this.catchUpNow();
    } else this.#happenings.hear(type, data);
  }
}
