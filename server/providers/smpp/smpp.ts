/**
 * SMS over SMPP 3.4, through one account at a carrier's SMSC. Connects the link, the sender, and the handlers of
 * receipts and inbound messages.
 */

import type { Clock } from "../../clock.ts";
import { RepeatingTask } from "../../core/repeating-task.ts";
import { RecentCount } from "../kit/recent-count.ts";
import { SignalOutbox } from "../kit/signal-outbox.ts";
import {
  type Applied,
  type Capabilities,
  type Health,
  type Outbound,
  type Outcome,
  PeerFault,
  type Provider,
  type ProviderContext,
  type Signal,
} from "../provider.ts";
import { type AccountMember, joinAccount, leaveAccount, othersOn } from "./accounts.ts";
import { healthOf } from "./health.ts";
import { InboundHandler } from "./inbound-handler.ts";
import type { SessionState } from "./inbound-journal.ts";
import { SmscLink } from "./link.ts";
import { PartSubmitter } from "./part-submitter.ts";
import { PartTracker } from "./part-tracker.ts";
import type { DataSm, DeliverSm } from "./pdu.ts";
import { ReceiptHandler } from "./receipt-handler.ts";
import { readReceipt, readUnmarked, type SmppReceipt } from "./receipts.ts";
import { RecentSubmits } from "./recent-submits.ts";
import { SmppSender } from "./sender.ts";
import { readSettings, type SmppSettings } from "./settings.ts";
import { ESME_ROK } from "./status.ts";
import { countSegments, type Submission } from "./submit-pdus.ts";

/**
 * Capabilities before the settings are known: the concurrency follows from the window. SMPP cannot look up a message without
 * the SMSC's id, so there is no `reconcile`.
 */
export const SMPP_CAPABILITIES: Capabilities = {
  channels: ["sms"],
  smsFiles: "none",
  concurrency: 10,
  sendTimeoutMs: 40_000,
  reconcileAfterMs: 15_000,
  seesPayments: false,
};

const SWEEP_MS = 3_600_000;
/** How long a stop waits for the rest of partly sent messages, and then for open responses. */
const STOP_MS = 5_000;
/** The same if no caller waits for a message any more: a service that was told to end has only seconds left. */
const STOP_UNAWAITED_MS = 750;

/** Creates an SMPP instance without starting it. */
export function createSmpp(context: ProviderContext): Provider {
  return new Smpp(context);
}

class Smpp implements Provider {
  readonly name = "smpp";
  readonly capabilities: Capabilities;
  readonly #settings: SmppSettings;
  readonly #clock: Clock;
  readonly #fault: (error: unknown) => void;
  readonly #eventReceived: () => void;
  readonly #link: SmscLink;
  readonly #outbox: SignalOutbox;
  readonly #recentSubmits: RecentSubmits;
  readonly #tracker: PartTracker;
  readonly #receipts: ReceiptHandler;
  readonly #inbound: InboundHandler;
  readonly #submitter: PartSubmitter;
  readonly #sender: SmppSender;
  readonly #member: AccountMember = {
    applyReceipt: (receipt) => this.#applyFromOther(receipt),
    ownsReceipt: (receipt) => this.#receipts.owns(receipt),
  };
  /** Messages of the SMSC that were refused since they could not be read, those that ended in octets of no meaning, and those that counted a NUL which they did not have. */
  readonly #refused: RecentCount;
  readonly #unreadRests: RecentCount;
  readonly #unsentEnds: RecentCount;
  #sinceReceipt = 0;
  readonly #sweeps: RepeatingTask;

  constructor(context: ProviderContext) {
    const { attempts, clock, config, memory, numbers, mayWrite, changed, fault } = context;
    this.#clock = clock;
    this.#fault = fault;
    this.#eventReceived = context.eventReceived;
    this.#settings = readSettings(config);
    this.#refused = new RecentCount(clock);
    this.#unreadRests = new RecentCount(clock);
    this.#unsentEnds = new RecentCount(clock);
    const events = {
      deliver: (pdu: DeliverSm | DataSm, session: SessionState) => this.#deliver(pdu, session),
      refused: () => this.#refused.note(),
      mayWrite,
      changed,
      fault,
    };
    this.#link = new SmscLink(this.#settings.link, events, clock);
    this.#outbox = new SignalOutbox(clock);
    this.#recentSubmits = new RecentSubmits(clock.real());
    this.#tracker = new PartTracker(attempts, (signal) => this.#outbox.report(signal));
    const sweep = async () => {
      await this.#tracker.sweep(clock.now());
      return SWEEP_MS;
    };
    this.#sweeps = new RepeatingTask({ clock, run: sweep, fault, retryMs: SWEEP_MS });
    this.#submitter = new PartSubmitter(this.#link, this.#outbox, clock);
    const parts = {
      clock,
      memory,
      numbers,
      fault,
      link: this.#link,
      submitter: this.#submitter,
      settings: this.#settings,
      outbox: this.#outbox,
      recentSubmits: this.#recentSubmits,
      tracker: this.#tracker,
      findSent: context.findSent,
      isNumber: context.isNumber,
      others: () => othersOn(this.#settings.link, this.#member),
    };
    this.#receipts = new ReceiptHandler(parts);
    this.#inbound = new InboundHandler(parts);
    const sender = new SmppSender(parts);
    this.#sender = sender;
    // The engine reads them a dozen times for each message.
    this.capabilities = {
      ...SMPP_CAPABILITIES,
      get concurrency() {
        return sender.concurrency;
      },
    };
  }

  get isUp(): boolean {
    return this.#link.isUp && !this.#outbox.isEnding;
  }

  get isAtLimit(): boolean {
    return this.#link.isAtLimit;
  }

  async start(signals: (signal: Signal) => Promise<Applied>): Promise<void> {
    this.#outbox.begin(signals);
    await this.#tracker.load(this.#clock.now());
    await Promise.all([this.#inbound.load(), this.#receipts.load()]);
    this.#sweeps.schedule(SWEEP_MS);
    joinAccount(this.#settings.link, this.#member);
    this.#link.start();
  }

  async send(message: Outbound, abort: AbortSignal): Promise<Outcome> {
    const outcome = await this.#sender.send(message, abort);
    if (outcome.outcome === "accepted") this.#sinceReceipt += 1;
    return outcome;
  }

  measureSms(text: string): Pick<Submission, "encoding" | "segments"> {
    return countSegments(text, this.#settings);
  }

  async health(): Promise<Health> {
    if (this.#outbox.isEnding) return { status: "unhealthy", message: "The instance is stopped." };
    const { host, port } = this.#settings.link;
    return healthOf(
      this.#link.state(),
      { host, port, now: this.#clock.real() },
      {
        throttledAt: this.#submitter.throttledAt,
        unanswered: this.#submitter.unanswered,
        unmatched: this.#receipts.unmatched,
        refused: this.#refused.value,
        unreadRests: this.#unreadRests.value,
        unsentEnds: this.#unsentEnds.value,
        unaddressed: this.#inbound.unaddressed,
        foreign: this.#inbound.foreign,
        defaultAlphabet: this.#settings.defaultAlphabet,
        sharedIds: this.#recentSubmits.sharedIds,
        sinceReceipt: this.#sinceReceipt,
      },
    );
  }

  async stop(): Promise<void> {
    const swept = this.#sweeps.stop();
    leaveAccount(this.#settings.link, this.#member);
    const limitMs = this.#sender.hasCallers ? STOP_MS : STOP_UNAWAITED_MS;
    await this.#sender.finish(limitMs);
    // Keep handling PDUs until the link is closed: many SMSCs never repeat a PDU that was refused.
    await this.#link.stop(limitMs);
    this.#outbox.end();
    // Report the late outcomes of aborted sends that have ended by now.
    await this.#sender.ended();
    await this.#outbox.stop();
    await Promise.all([swept, this.#inbound.stop()]);
  }

  /** Handles a PDU from the SMSC: a receipt, or a message from a contact. */
  async #deliver(pdu: DeliverSm | DataSm, session: SessionState): Promise<number | null> {
    this.#eventReceived();
    if (pdu.hasUnreadRest === true) this.#unreadRests.note();
    if (pdu.command === "deliver_sm" && pdu.hasUnsentEnd === true) this.#unsentEnds.note();
    const receipt = readReceipt(pdu, this.#settings);
    if (receipt === null) return await this.#deliverUnmarked(pdu, session);
    this.#sinceReceipt = 0;
    if (receipt !== "unreadable") return await this.#receipts.handle(receipt);
    this.#fault(new PeerFault("the SMSC sent a receipt that names neither a message nor a state"));
    return ESME_ROK;
  }

  /** A text, unless it is a receipt of a message that an instance of this account sent between the same numbers. */
  async #deliverUnmarked(pdu: DeliverSm | DataSm, session: SessionState): Promise<number | null> {
    const receipt = readUnmarked(pdu, this.#settings);
    if (receipt === null) return await this.#inbound.handle(pdu, session);
    for (const member of [this.#member, ...othersOn(this.#settings.link, this.#member)]) {
      // Unanswered, the SMSC repeats it on its next session.
      const isOwn = await member.ownsReceipt(receipt).catch(() => null);
      if (isOwn === null) return null;
      if (!isOwn) continue;
      this.#sinceReceipt = 0;
      return await this.#receipts.handle(receipt);
    }
    return await this.#inbound.handle(pdu, session);
  }

  /** Applies a receipt that arrived on the session of another instance. */
  async #applyFromOther(receipt: SmppReceipt): Promise<Applied> {
    const applied = await this.#receipts.reportById(receipt);
    if (applied === "applied") this.#sinceReceipt = 0;
    return applied;
  }
}
