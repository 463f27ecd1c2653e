/**
 * Twilio, or a service with the same API: sends SMS over HTTP, and gets receipts and inbound messages at the instance's
 * hook.
 */

import { setBounded } from "../../core/bounded-map.ts";
import type { MessageId } from "../../core/id.ts";
import { SerialQueue } from "../../core/serial-queue.ts";
import { InFlight } from "../kit/in-flight.ts";
import { ownAddress } from "../kit/own-address.ts";
import { SignalOutbox } from "../kit/signal-outbox.ts";
import type {
  Actions,
  Applied,
  Capabilities,
  Health,
  HookRequest,
  HookResponse,
  Outbound,
  Outcome,
  Provider,
  ProviderContext,
  Signal,
} from "../provider.ts";
import { AccountMonitor } from "./account-monitor.ts";
import { Api } from "./api.ts";
import { codeMeaning } from "./codes.ts";
import { healthOf, RecentErrorCodes, unaddressedWarnings } from "./health.ts";
import { receiveAt, statusPath } from "./hook.ts";
import { InboundBackfill } from "./inbound-backfill.ts";
import { InboundReceiver } from "./inbound-receiver.ts";
import { fetchMedia } from "./media.ts";
import { readList } from "./message-list.ts";
import { findMatch } from "./reconcile.ts";
import type { MessageRecord } from "./records.ts";
import { TwilioReporter } from "./reporter.ts";
import { classifyResponse, formOf, QUEUE_FULL_MS, type SendVerdict } from "./send.ts";
import { type SentMessage, SentMessages } from "./sent-messages.ts";
import { canBeReached, readSettings, type TwilioSettings } from "./settings.ts";
import { meaningOf } from "./status-meaning.ts";
import { StatusPoller } from "./status-poller.ts";

/**
 * SMS only. Twilio queues messages itself; `concurrency` is the number of requests that an account may make at once.
 */
export const TWILIO_CAPABILITIES: Capabilities = {
  channels: ["sms"],
  smsFiles: "media",
  concurrency: 32,
  sendTimeoutMs: 40_000,
  reconcileAfterMs: 10_000,
  seesPayments: false,
  answersKeywords: true,
};

const API_PATH = "/2010-04-01/Accounts";
/** The largest page that the API allows, and the most pages to read of one list. */
const PAGE_SIZE = 1_000;
const PAGES_MAX = 10;
/** Messages whose last attempt is remembered. */
const LAST_MAX = 100_000;

/** Why a lookup proves nothing while the recipient is sent another message. */
const BESIDE_ANOTHER = "another message to this recipient is being sent";

/** Creates a Twilio instance without starting it. */
export function createTwilio(context: ProviderContext): Provider & { actions: Pick<Actions, "fetch"> } {
  return new Twilio(context);
}

class Twilio implements Provider {
  readonly name = "twilio";
  readonly capabilities: Capabilities;
  readonly actions: Pick<Actions, "fetch">;
  readonly #context: ProviderContext;
  readonly #settings: TwilioSettings;
  readonly #path: string;
  readonly #api: Api;
  readonly #monitor: AccountMonitor;
  readonly #poller: StatusPoller;
  readonly #sent: SentMessages;
  readonly #receiver: InboundReceiver;
  readonly #backfill: InboundBackfill;
  readonly #outbox: SignalOutbox;
  readonly #reporter: TwilioReporter;
  readonly #errorCodes = new RecentErrorCodes();
  /** When the last send attempt of a message was recorded. */
  readonly #last = new Map<MessageId, number>();
  /** Our numbers whose queue at Twilio is full, and until when to spare them. */
  readonly #full = new Map<string, number>();
  /** Sends in flight by their two numbers: `reconcile` must not take one of them for the message that it looks for. */
  readonly #sending = new Map<string, number>();
  readonly #inFlight = new InFlight();
  /** Messages are reconciled one after the other, so that two of them cannot match the same message at Twilio. */
  readonly #serial = new SerialQueue();
  #stopped = false;

  constructor(context: ProviderContext) {
    const { attempts, clock } = context;
    this.#context = context;
    this.#settings = readSettings(context.config);
    this.#path = `${API_PATH}/${this.#settings.accountSid}`;
    this.#outbox = new SignalOutbox(clock);
    this.capabilities = { ...TWILIO_CAPABILITIES, answersKeywords: !this.#settings.ownConfirmation };
    const api = new Api(this.#settings, clock, TWILIO_CAPABILITIES.concurrency, context.mayWrite);
    this.#api = api;
    this.#monitor = new AccountMonitor({ api, clock, path: `${this.#path}.json`, changed: context.changed });
    this.#poller = new StatusPoller({
      api,
      clock,
      pathOf: (sid) => `${this.#path}/Messages/${sid}.json`,
      isUp: () => this.#monitor.isUp,
      parts: () => ({ sent: this.#sent, reporter: this.#reporter }),
    });
    this.#sent = new SentMessages({ attempts, clock, events: this.#poller });
    const onCode = (code: number) => this.#errorCodes.note(code, clock.real());
    this.#reporter = new TwilioReporter(this.#outbox, this.#sent, onCode);
    this.#receiver = new InboundReceiver(this.#reporter, context);
    this.#backfill = new InboundBackfill({
      context,
      api,
      path: this.#path,
      isUp: () => this.#monitor.isUp,
      receiver: this.#receiver,
    });
    this.actions = { fetch: (reference, abort) => fetchMedia(api, this.#settings, reference, abort) };
  }

  get isUp(): boolean {
    return this.#monitor.isUp;
  }

  async start(signals: (signal: Signal) => Promise<Applied>): Promise<void> {
    this.#outbox.begin(signals);
    await this.#sent.load();
    this.#poller.start();
    void this.#monitor.check();
    await this.#backfill.start();
  }

  async send(message: Outbound, abort: AbortSignal): Promise<Outcome> {
    const waitMs = this.#waitMs(message.from);
    if (this.#stopped) return deferred("the instance is being stopped", null, true);
    if (waitMs > 0) return deferred("Twilio limits the rate of requests", waitMs, this.#monitor.pausedMs > 0);
    const made = formOf(message, this.#settings, this.#statusCallback(message));
    if ("refused" in made) return made.refused;
    setBounded(this.#last, message.messageId, message.attemptedAt, LAST_MAX);
    const pair = pairOf(message);
    this.#sending.set(pair, (this.#sending.get(pair) ?? 0) + 1);
    try {
      return await this.#inFlight.track(this.#post(message, made.form, abort));
    } finally {
      const left = (this.#sending.get(pair) ?? 1) - 1;
      if (left > 0) this.#sending.set(pair, left);
      else this.#sending.delete(pair);
    }
  }

  reconcile(message: Outbound): Promise<Outcome | "absent"> {
    return this.#inFlight.track(this.#serial.run("reconcile", () => this.#lookUp(message)));
  }

  receive(request: HookRequest): Promise<HookResponse> {
    const received = receiveAt(
      {
        authToken: this.#settings.authToken,
        sent: this.#sent,
        reporter: this.#reporter,
        receiver: this.#receiver,
        isSuperseded: (messageId, attemptedAt) => attemptedAt < (this.#last.get(messageId) ?? 0),
        numberOfSender: () => ownAddress(this.#context, null),
        eventReceived: () => {
          this.#context.eventReceived();
          this.#monitor.eventReceived();
        },
        callbackReceived: () => this.#poller.callbackReceived(),
        notReported: (sent) => this.#poller.pollSoon(sent),
        fault: this.#context.fault,
      },
      request,
    );
    return this.#inFlight.track(received);
  }

  async health(): Promise<Health> {
    const trouble = await this.#monitor.currentTrouble();
    const now = this.#context.clock.real();
    return healthOf({
      settings: this.#settings,
      hookUrl: this.#context.hookUrl(),
      trouble: this.#stopped ? "The instance is stopped." : trouble,
      pausedMs: this.#monitor.pausedMs,
      troubles: [...this.#errorCodes.warnings(now), ...unaddressedWarnings(this.#receiver.unaddressed)],
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    const parts = [this.#outbox, this.#monitor, this.#poller, this.#backfill];
    await Promise.all([this.#api.close(), ...parts.map((part) => part.stop())]);
    await this.#inFlight.ended();
  }

  async #post(message: Outbound, form: URLSearchParams, abort: AbortSignal): Promise<Outcome> {
    const answer = await this.#api.request({ method: "POST", path: `${this.#path}/Messages.json`, form, abort });
    const verdict = classifyResponse(answer, this.#context.clock.real());
    switch (verdict.verdict) {
      case "taken":
        this.#monitor.succeeded();
        return this.#accepted(message, verdict.message);
      case "refused":
        return this.#refused(message, verdict);
      case "later":
        return deferred(verdict.reason, null, false);
      case "queueFull":
        this.#full.set(message.from, this.#context.clock.real() + QUEUE_FULL_MS);
        return deferred(verdict.reason, QUEUE_FULL_MS, false);
      case "busy":
        return deferred(verdict.reason, this.#monitor.pause(verdict.waitMs), true);
      case "down":
        // An aborted request says nothing about Twilio.
        if (!abort.aborted && !this.#stopped) this.#monitor.failed(verdict.reason);
        return deferred(verdict.reason, null, true);
      case "unknown":
        if (!abort.aborted && !this.#stopped) this.#monitor.suspect();
        return { outcome: "unknown", reason: verdict.reason };
    }
  }

  #refused(message: Outbound, { outcome, code }: Extract<SendVerdict, { verdict: "refused" }>): Outcome {
    if (code !== null) this.#errorCodes.note(code, this.#context.clock.real());
    if (codeMeaning(code)?.isOptOut === true) {
      // If this report fails, the next message to the contact is refused, and reports the opt-out again.
      const reporting = this.#reporter.optOut(message.from, message.to);
      this.#inFlight.track(reporting).catch(this.#context.fault);
    }
    return outcome;
  }

  /** The sid is on disk with the outcome. */
  #accepted(message: Outbound, { sid, status, segments }: MessageRecord): Outcome {
    const sent = this.#sent.add(message.messageId, message.attemptedAt, sid);
    // Twilio sends no callback for the first status of a message.
    if (meaningOf(status).receipt !== null) this.#poller.pollSoon(sent);
    return { ...this.#outcomeOf(sent), ...(segments === null ? {} : { segments }) };
  }

  #outcomeOf(sent: SentMessage): Extract<Outcome, { outcome: "accepted" }> {
    return { outcome: "accepted", reference: sent.sid, note: () => this.#sent.noteOf(sent) };
  }

  async #lookUp(message: Outbound): Promise<Outcome | "absent"> {
    const { messageId, attemptedAt, from, to } = message;
    const sent = this.#sent.find(messageId, attemptedAt);
    if (sent !== null) return this.#outcomeOf(sent);
    const pair = pairOf(message);
    if (this.#sending.has(pair)) return unknown(BESIDE_ANOTHER);
    const query = new URLSearchParams({ To: to, From: from, PageSize: String(PAGE_SIZE) });
    const path = `${this.#path}/Messages.json?${query}`;
    const listed = await readList({ api: this.#api, clock: this.#context.clock }, { path, pagesMax: PAGES_MAX });
    if ("failure" in listed) return unknown(listed.reason);
    if (!listed.isWhole) return unknown("Twilio's list contains a message that cannot be read");
    // The list may have a message that began meanwhile. Of one that has ended too, the sid is known now.
    if (this.#sending.has(pair)) return unknown(BESIDE_ANOTHER);
    const now = this.#context.clock.now();
    const others = await this.#sent.knownAmong(listed.messages.map(({ sid }) => sid));
    const found = findMatch(listed, message, { now, isOther: (sid) => others.has(sid) });
    if (found === "absent") return "absent";
    return "reason" in found ? unknown(found.reason) : this.#accepted(message, found.message);
  }

  /**
   * The address for Twilio's callbacks. Null if Twilio cannot reach it, since Twilio might refuse the message for that.
   */
  #statusCallback({ messageId, attemptedAt }: Outbound): string | null {
    const url = `${this.#context.hookUrl()}${statusPath(messageId, attemptedAt)}`;
    return canBeReached(url, this.#settings) ? url : null;
  }

  /** How long a message from this number has to wait, in milliseconds. */
  #waitMs(from: string): number {
    const fullMs = (this.#full.get(from) ?? 0) - this.#context.clock.real();
    if (fullMs <= 0) this.#full.delete(from);
    return Math.max(this.#monitor.pausedMs, fullMs, 0);
  }
}

/** Identifies a conversation by both numbers. */
function pairOf({ from, to }: Outbound): string {
  return `${from} ${to}`;
}

function deferred(reason: string, retryAfterMs: number | null, isDown: boolean): Outcome {
  return { outcome: "deferred", retryAfterMs, reason, ...(isDown ? { isDown } : {}) };
}

function unknown(reason: string): Outcome {
  return { outcome: "unknown", reason };
}
