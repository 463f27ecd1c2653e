/** SMS over SMPP 3.4: one account at a carrier's SMSC. Puts together the link, what goes out, and what comes in. */

import type { Clock } from "../../clock.ts";
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
import { joinAccount, leaveAccount, type Member, othersOn } from "./accounts.ts";
import { Book } from "./book.ts";
import { Flights } from "./flights.ts";
import { HandOvers } from "./hand-over.ts";
import { healthOf } from "./health.ts";
import type { Stands } from "./heard.ts";
import { Hearing } from "./hearing.ts";
import { Incoming } from "./incoming.ts";
import { Link } from "./link.ts";
import type { DataSm, DeliverSm } from "./pdu.ts";
import { type Receipt, readReceipt } from "./receipts.ts";
import { readSettings, type SmppSettings } from "./settings.ts";
import { ESME_ROK } from "./status.ts";
import { Submitting } from "./submitting.ts";
import { Telling } from "./telling.ts";

/** What any instance can do; its own bind says how much at once. An SMSC cannot be asked about a message without an id. */
export const SMPP_CAPABILITIES: Capabilities = {
  channels: ["sms"],
  concurrency: 10,
  sendTimeoutMs: 40_000,
  reconcileAfterMs: 15_000,
  seesPayments: false,
};

const SWEEP_MS = 3_600_000;
/** At a stop messages of which a part is gone get so long to go out whole, and then what is open to be answered. */
const STOP_MS = 5_000;
/** So long where nobody waits for them any more: a service that is told to end then has seconds left. */
const STOP_UNAWAITED_MS = 750;

/** A new SMPP instance, not started. */
export function createSmpp(context: ProviderContext): Provider {
  return new Smpp(context);
}

class Smpp implements Provider {
  readonly name = "smpp";
  readonly capabilities: Capabilities;
  readonly #settings: SmppSettings;
  readonly #clock: Clock;
  readonly #fault: (error: unknown) => void;
  readonly #link: Link;
  readonly #telling: Telling;
  readonly #flights: Flights;
  readonly #book: Book;
  readonly #hearing: Hearing;
  readonly #incoming: Incoming;
  readonly #submitting: Submitting;
  readonly #handOvers: HandOvers;
  readonly #member: Member = { hear: (receipt) => this.#hearOther(receipt) };
  #sinceReceipt = 0;
  #stopTimer = () => {};

  constructor({ clock, config, memory, numbers, changed, fault }: ProviderContext) {
    this.#clock = clock;
    this.#fault = fault;
    this.#settings = readSettings(config);
    const events = {
      deliver: (pdu: DeliverSm | DataSm, session: Stands) => this.#deliver(pdu, session),
      changed,
      fault,
    };
    this.#link = new Link(this.#settings.link, events, clock);
    this.#telling = new Telling(clock);
    this.#flights = new Flights(clock.real());
    this.#book = new Book(memory, (signal) => this.#telling.tell(signal));
    this.#submitting = new Submitting(this.#link, this.#telling, clock);
    const parts = {
      clock,
      memory,
      numbers,
      fault,
      link: this.#link,
      submitting: this.#submitting,
      settings: this.#settings,
      telling: this.#telling,
      flights: this.#flights,
      book: this.#book,
      others: () => othersOn(this.#settings.link, this.#member),
    };
    this.#hearing = new Hearing(parts);
    this.#incoming = new Incoming(parts);
    this.#handOvers = new HandOvers(parts);
    this.capabilities = { ...SMPP_CAPABILITIES, concurrency: this.#handOvers.concurrency };
  }

  get isUp(): boolean {
    return this.#link.isUp && !this.#telling.isEnding;
  }

  async start(signals: (signal: Signal) => Promise<Applied>): Promise<void> {
    this.#telling.begin(signals);
    await this.#book.load(this.#clock.now());
    await Promise.all([this.#incoming.load(), this.#hearing.load()]);
    this.#sweepLater();
    joinAccount(this.#settings.link, this.#member);
    this.#link.start();
  }

  async send(message: Outbound, abort: AbortSignal): Promise<Outcome> {
    const outcome = await this.#handOvers.send(message, abort);
    if (outcome.outcome === "accepted") this.#sinceReceipt += 1;
    return outcome;
  }

  async health(): Promise<Health> {
    if (this.#telling.isEnding) return { status: "unhealthy", message: "The instance is stopped." };
    const { host, port } = this.#settings.link;
    return healthOf(
      this.#link.state(),
      { host, port, now: this.#clock.real() },
      {
        throttledAt: this.#submitting.throttledAt,
        unanswered: this.#submitting.unanswered,
        unmatched: this.#hearing.unmatched,
        sharedIds: this.#flights.sharedIds,
        sinceReceipt: this.#sinceReceipt,
      },
    );
  }

  async stop(): Promise<void> {
    this.#stopTimer();
    leaveAccount(this.#settings.link, this.#member);
    const limitMs = this.#handOvers.areAwaited ? STOP_MS : STOP_UNAWAITED_MS;
    await this.#handOvers.finish(limitMs);
    // Until it is left the SMSC is listened to as ever: many a one never tells again what was refused.
    await this.#link.stop(limitMs);
    this.#telling.end();
    // What was called off and has ended by now is still told.
    await this.#handOvers.ended();
    await this.#telling.stop();
    this.#incoming.stop();
  }

  /** What the SMSC tells: a receipt, or a message of a contact. */
  async #deliver(pdu: DeliverSm | DataSm, session: Stands): Promise<number | null> {
    const receipt = readReceipt(pdu, this.#settings);
    if (receipt === null) return await this.#incoming.take(pdu, session);
    this.#sinceReceipt = 0;
    if (receipt !== "unreadable") return await this.#hearing.take(receipt);
    this.#fault(new PeerFault("the SMSC sent a receipt that names neither a message nor a state"));
    return ESME_ROK;
  }

  /** A receipt that came over the session of another instance. */
  async #hearOther(receipt: Receipt): Promise<Applied> {
    const applied = await this.#hearing.tellById(receipt);
    if (applied === "applied") this.#sinceReceipt = 0;
    return applied;
  }

  #sweepLater(): void {
    this.#stopTimer = this.#clock.after(SWEEP_MS, () => {
      this.#sweepLater();
      this.#book.sweep(this.#clock.now()).catch(this.#fault);
    });
  }
}
