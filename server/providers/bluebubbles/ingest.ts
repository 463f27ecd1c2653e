/** Inbound half of the provider: receives events by webhook or socket, backfills, and polls for receipts. */

import type { NotedAttempt } from "../../core/send-attempt.ts";
import type { Applied, Health, HookRequest, HookResponse, Signal } from "../provider.ts";
import { MacBackfill } from "./backfill.ts";
import { ChatCache } from "./chat-cache.ts";
import { Hook } from "./hook.ts";
import { LateRows } from "./late-rows.ts";
import { LiveEvents } from "./live-events.ts";
import type { Mac } from "./mac.ts";
import { PaymentJournal } from "./payment-journal.ts";
import { PushMonitor } from "./push-monitor.ts";
import { ReceiptPoller, type SentAttempt } from "./receipt-poller.ts";
import { ROW_EVENTS, RowNotifications } from "./row-notifications.ts";
import { RowReporter } from "./row-reporter.ts";
import { MacSocket } from "./socket.ts";

/** Limit of one query: a Mac needs a second or two for a thousand rows. */
const QUERY_LIMIT_MS = 30_000;

/** Warning for a BlueBubbles that responds to requests and no longer pushes events. */
const PUSHES_STOPPED = "it has new messages and sends no events for them: restart BlueBubbles";

/** Ingests everything that happens on one Mac. */
export class Ingest {
  readonly #mac: Mac;
  readonly #reporter: RowReporter;
  readonly #notifications: RowNotifications;
  readonly #liveEvents: LiveEvents;
  readonly #backfill: MacBackfill;
  readonly #poller: ReceiptPoller;
  readonly #late: LateRows;
  readonly #hook: Hook;
  readonly #socket: MacSocket | null;
  readonly #payments: PaymentJournal;
  readonly #pushMonitor: PushMonitor;
  /** Aborts all requests in flight. */
  readonly #ends = new AbortController();

  constructor(mac: Mac, report: (signal: Signal) => Promise<Applied>) {
    const { context, settings } = mac;
    const limits = { limitMs: QUERY_LIMIT_MS, abort: this.#ends.signal };
    const onEvent = (type: string, data: unknown) => this.#receiveEvent(type, data);
    const chatCache = new ChatCache(mac.client, context.clock, limits);
    this.#mac = mac;
    this.#pushMonitor = new PushMonitor(context.clock);
    this.#payments = new PaymentJournal(context.memory, context.clock);
    this.#hook = new Hook(mac, limits, onEvent);
    this.#late = new LateRows(mac, limits, (row) => this.#reporter.ingest(row));
    this.#reporter = new RowReporter({
      mac,
      limits,
      chatCache,
      payments: this.#payments,
      late: this.#late,
      report,
      freshFrom: () => this.#backfill.freshFrom(),
      bornAt: () => this.#backfill.bornAt,
      channelOf: (guid) => this.#poller.channelOf(guid),
      noteWith: (receipt) => this.#poller.noteWith(receipt),
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
        ? new MacSocket({ ...settings, clock: context.clock, onEvent, onConnected: () => this.#socketConnected() })
        : null;
  }

  /** Adds to the Mac's health why no events arrive. Says nothing while the Mac is down: that explains it already. */
  withWarnings(health: Health): Health {
    if (!this.#mac.health.isUp) return health;
    const problem =
      this.#socket?.problem ?? this.#hook.problem ?? (this.#pushMonitor.hasStopped ? PUSHES_STOPPED : null);
    if (problem === null) return health;
    const warning = `The Mac sends no events: ${problem}. Meanwhile the service polls the Mac once a minute.`;
    const status = health.status === "healthy" ? "degraded" : health.status;
    return { ...health, status, warnings: [...(health.warnings ?? []), warning] };
  }

  /** Reads the journals and begins to ingest. `noted`: the send attempts with notes. Does not wait for the Mac. */
  async start(noted: readonly NotedAttempt[]): Promise<void> {
    await Promise.all([this.#payments.load(), this.#late.start(), this.#liveEvents.start()]);
    this.#poller.start(noted);
    await this.#backfill.start();
    this.#pushMonitor.pushReceived();
    this.#socket?.start();
  }

  /** Stops ingesting, and resolves when the signals in flight are reported. */
  async stop(): Promise<void> {
    this.#ends.abort();
    this.#socket?.stop();
    const parts = [this.#notifications, this.#poller, this.#late, this.#backfill, this.#reporter, this.#liveEvents];
    await Promise.all(parts.map((part) => part.stop()));
  }

  /** Removes our webhook from BlueBubbles. Throws if it may still be registered. */
  async remove(): Promise<void> {
    await this.#backfill.stop();
    await this.#hook.remove();
  }

  /** Receives a request to our hook. */
  receive(request: HookRequest): Promise<HookResponse> {
    return this.#hook.receive(request);
  }

  /** The Mac sent a message of ours: polls for its receipts. */
  pollReceipts(guid: string, sent: SentAttempt): void {
    this.#poller.add(guid, sent);
    this.#reporter.messageSent(guid);
  }

  /** The note of a message whose receipts are polled; undefined for any other. */
  noteOf(guid: string): string | undefined {
    return this.#poller.noteOf(guid);
  }

  /** Starts a backfill now: the Mac is reachable again. */
  backfillNow(): void {
    // Rows from before this moment were pushed to nobody.
    this.#pushMonitor.pushReceived();
    this.#backfill.trigger();
  }

  #socketConnected(): void {
    this.#mac.health.eventReceived();
    this.backfillNow();
  }

  #receiveEvent(type: string, data: unknown): void {
    this.#mac.context.eventReceived();
    this.#mac.health.eventReceived();
    if (ROW_EVENTS.includes(type)) {
      this.#pushMonitor.pushReceived();
      this.#notifications.receive(data);
    } else if (type === "hello-world") {
      this.#mac.client.noteRestart();
      this.backfillNow();
    } else this.#liveEvents.receive(type, data);
  }
}
