/** The inbound half of one Mac: hook or socket, catching up and asking, composed. All that tells of a row ends in one upsert. */

import type { Channel } from "../../../sdk/wire.ts";
import type { Applied, Health, HookRequest, HookResponse, Signal } from "../provider.ts";
import { MacBackfill } from "./backfill.ts";
import { ChatCache } from "./chat-cache.ts";
import { Hook } from "./hook.ts";
import { LiveEvents } from "./live-events.ts";
import type { Mac } from "./mac.ts";
import { PaymentJournal } from "./payment-journal.ts";
import { PushMonitor } from "./push-monitor.ts";
import { ReceiptPoller } from "./receipt-poller.ts";
import { ROW_EVENTS, RowNotifications } from "./row-notifications.ts";
import { RowReporter } from "./row-reporter.ts";
import { MacSocket } from "./socket.ts";

/** A thousand rows take a Mac a second or two. */
const ASK_WITHIN_MS = 30_000;

/** Why nothing is pushed although everything answers, and what to do. */
const WATCH_IS_DEAD = "messages come in, and it pushes none of them: restart BlueBubbles";

/** Hears one Mac from `start` to `stop`. */
export class Ingest {
  readonly #mac: Mac;
  readonly #reporter: RowReporter;
  readonly #notifications: RowNotifications;
  readonly #liveEvents: LiveEvents;
  readonly #backfill: MacBackfill;
  readonly #poller: ReceiptPoller;
  readonly #hook: Hook;
  readonly #socket: MacSocket | null;
  readonly #payments: PaymentJournal;
  readonly #pushMonitor: PushMonitor;
  /** Ends whatever is being asked of the Mac. */
  readonly #ends = new AbortController();
  #signals: (signal: Signal) => Promise<Applied> = () => Promise.reject(new Error("the Mac is not listened to yet"));

  constructor(mac: Mac) {
    const { context, settings } = mac;
    const limits = { limitMs: ASK_WITHIN_MS, abort: this.#ends.signal };
    const report = (signal: Signal) => this.#signals(signal);
    const onEvent = (type: string, data: unknown) => this.#receiveEvent(type, data);
    const chatCache = new ChatCache(mac.client, context.clock, limits);
    this.#mac = mac;
    this.#pushMonitor = new PushMonitor(context.clock);
    this.#payments = new PaymentJournal(context.memory, context.clock);
    this.#hook = new Hook(mac, limits, onEvent);
    this.#reporter = new RowReporter({
      mac,
      limits,
      chatCache,
      payments: this.#payments,
      report,
      freshFrom: () => this.#backfill.freshFrom(),
      bornAt: () => this.#backfill.bornAt,
      channelOf: (guid) => this.#poller.channelOf(guid),
      receiptReported: (receipt) => this.#poller.receiptReported(receipt),
    });
    this.#notifications = new RowNotifications(mac, limits, (row) => this.#reporter.ingest(row));
    this.#liveEvents = new LiveEvents({ mac, limits, chatCache, report });
    this.#backfill = new MacBackfill({
      mac,
      limits,
      ingest: (row) => {
        this.#pushMonitor.rowFound(row);
        return this.#reporter.ingest(row);
      },
      beforePass: () => this.#hook.ensure(),
    });
    this.#poller = new ReceiptPoller(mac, limits, (row) => this.#reporter.ingest(row));
    this.#socket =
      settings.ingest === "socket"
        ? new MacSocket({ ...settings, clock: context.clock, onEvent, onConnected: () => this.backfillNow() })
        : null;
  }

  /** The Mac's health, with why it does not tell what happens. A Mac that is down tells nothing for that reason. */
  withWarnings(health: Health): Health {
    if (!this.#mac.health.isUp) return health;
    const deaf = this.#socket?.problem ?? this.#hook.problem ?? (this.#pushMonitor.hasStopped ? WATCH_IS_DEAD : null);
    if (deaf === null) return health;
    const warning = `The Mac does not tell what happens: ${deaf}. Until then it is asked once a minute.`;
    const status = health.status === "healthy" ? "degraded" : health.status;
    return { ...health, status, warnings: [...(health.warnings ?? []), warning] };
  }

  /** Reads its memory and begins to listen; waits for no Mac. */
  async start(signals: (signal: Signal) => Promise<Applied>): Promise<void> {
    this.#signals = signals;
    await Promise.all([this.#payments.load(), this.#liveEvents.start(), this.#poller.start()]);
    await this.#backfill.start();
    this.#pushMonitor.pushReceived();
    this.#socket?.start();
  }

  /** Hears no more; resolves when what is being told is told. */
  async stop(): Promise<void> {
    this.#ends.abort();
    this.#socket?.stop();
    const hearers = [this.#notifications, this.#poller, this.#backfill, this.#reporter, this.#liveEvents];
    await Promise.all(hearers.map((hearer) => hearer.stop()));
  }

  /** Takes our webhook away at the Mac. Throws where it may be there yet. */
  async remove(): Promise<void> {
    await this.#backfill.stop();
    await this.#hook.remove();
  }

  /** Takes what the Mac posts to our hook. */
  receive(request: HookRequest): Promise<HookResponse> {
    return this.#hook.receive(request);
  }

  /** The Mac took a message of ours just now: what becomes of it is asked for. */
  pollReceipts(guid: string, channel: Channel): void {
    this.#poller.add(guid, channel);
    this.#reporter.messageSent(guid);
  }

  /** The Mac is there again: what happened meanwhile is asked for at once. */
  backfillNow(): void {
    // What came to be before that was pushed to nobody.
    this.#pushMonitor.pushReceived();
    this.#backfill.trigger();
  }

  #receiveEvent(type: string, data: unknown): void {
    if (ROW_EVENTS.includes(type)) {
      this.#pushMonitor.pushReceived();
      this.#notifications.receive(data);
    } else if (type === "hello-world") {
      this.#mac.client.noteRestart();
      this.backfillNow();
    } else this.#liveEvents.receive(type, data);
  }
}
