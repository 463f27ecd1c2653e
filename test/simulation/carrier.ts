/** The carriers behind the service: a scripted one with every bad habit, and the sandbox under observation. */

import type { Channel } from "../../sdk/wire.ts";
import type { Clock } from "../../server/clock.ts";
import type {
  Commands,
  Ordered,
  Outbound,
  Outcome,
  Provider,
  ReceiptSignal,
  Signal,
} from "../../server/providers/provider.ts";
import type { Chance } from "./chance.ts";
import type { Life } from "./life.ts";
import { People, type PeopleSignal } from "./people.ts";

/** One hand-over, as the carrier saw it. */
export interface HandOver {
  order: number;
  life: number;
  messageId: string;
  channel: Channel;
  attempt: number;
  from: string;
  to: string;
  text: string;
  at: number;
  /** What the service was told; null when it died or gave up waiting. */
  outcome: Outcome | { outcome: "threw" } | null;
  /** Place of that answer. */
  answeredOrder: number | null;
  /** Where it was taken: the place, and the carrier's name for it. Null for ever when it was not. */
  taken: { order: number; at: number; reference: string } | null;
}

/** One question about a hand-over whose outcome was unknown. */
export interface Question {
  order: number;
  messageId: string;
  channel: Channel;
  /** Null when it was not answered. */
  answer: Outcome | "absent" | null;
}

/** One receipt, however often it had to be told until the service had taken it in. */
export interface Receipt {
  signal: ReceiptSignal;
  messageId: string;
  at: number;
  /** Place at which the service had it on disk; null when it never did. */
  takenInOrder: number | null;
}

/** One thing that people did, however often it was told. */
export interface Deed {
  signal: Exclude<Signal, ReceiptSignal>;
  at: number;
  /** Place at which the service had it on disk; null when it never did. */
  takenInOrder: number | null;
}

export interface CarrierLog {
  handOvers: HandOver[];
  questions: Question[];
  receipts: Receipt[];
  deeds: Deed[];
}

/** What a carrier needs of its world. */
export interface CarrierParts {
  clock: Clock;
  chance: Chance;
  order(): number;
}

/** How a scripted carrier is, for a whole run. */
export interface CarrierHabits {
  /** Whether it can be asked about a hand-over. */
  canBeAsked: boolean;
  /** Whether it tells a receipt until it was taken in, or once. */
  repeatsReceipts: boolean;
  /** Whether its receipts name the message by our id, or by its own reference alone. */
  namesMessages: boolean;
  concurrency: number;
}

/** A hand-over has reached the carrier or got lost within this: what it says when asked later is sure. */
const SETTLE_AFTER_MS = 2_000;
const TELL_AGAIN_MS = 3_000;

type Script = readonly ReceiptSignal["receipt"][];

const SCRIPTS = {
  none: [],
  delivered: ["delivered"],
  full: ["sent", "delivered", "read"],
  readOnly: ["read"],
  reversed: ["read", "delivered", "sent"],
  doubled: ["delivered", "delivered", "read", "read"],
  sentOnly: ["sent"],
  failed: ["failed"],
  takenBack: ["sent", "failed"],
  tooLate: ["delivered", "failed"],
  failedFirst: ["failed", "sent"],
  corrected: ["failed", "delivered"],
} as const satisfies Record<string, Script>;

/** A carrier that outlives the processes which hand messages to it. */
export class ScriptedCarrier {
  readonly log: CarrierLog = { handOvers: [], questions: [], receipts: [], deeds: [] };
  readonly people: People;
  readonly #parts: CarrierParts;
  readonly #habits: CarrierHabits;
  #listener: { life: Life; signals: (signal: Signal) => Promise<unknown> } | null = null;
  /** Hand-overs that have not arrived, by a key of their own: the life that sent them. */
  readonly #onTheWay = new Map<symbol, Life>();
  #references = 0;
  #untold = 0;
  #calm = false;

  constructor(parts: CarrierParts, habits: CarrierHabits) {
    this.#parts = parts;
    this.#habits = habits;
    const line = { tell: (signal: PeopleSignal) => this.#do(signal), handOvers: this.log.handOvers };
    this.people = new People(parts, line);
  }

  /** From here on it takes what it is given and answers. */
  calm(): void {
    this.#calm = true;
  }

  /** Receipts that it has yet to tell. */
  get owed(): number {
    return this.#untold;
  }

  /** Whether something that a dead process handed over is still on its way. */
  isLate(alive: Life | null): boolean {
    return [...this.#onTheWay.values()].some((life) => life !== alive);
  }

  /** The service's end of the line, for one life. */
  provider(life: Life): Provider {
    const { canBeAsked, concurrency } = this.#habits;
    const ask = { settle: (message: Outbound) => life.told(this.#settle(message)) };
    return {
      name: "scripted",
      capabilities: { channels: ["imessage", "sms"], concurrency, settleAfterMs: SETTLE_AFTER_MS, seesPayments: true },
      start: async (signals) => {
        this.#listener = { life, signals };
      },
      send: (message) => life.told(this.#send(life, message)),
      commands: this.#commands(life),
      ...(canBeAsked ? ask : {}),
      health: async () => ({ status: "healthy" }),
      stop: async () => {
        if (this.#listener?.life === life) this.#listener = null;
      },
    };
  }

  #commands(life: Life): Partial<Commands> {
    const order = () => life.told(this.#order());
    return { edit: order, unsend: order, react: order, setTyping: order, markRead: order };
  }

  /** Does what it is told to do with a message that it has, or refuses, or breaks, or says nothing any more. */
  async #order(): Promise<Ordered> {
    const { chance } = this.#parts;
    const end = this.#calm ? "done" : chance.weighted({ done: 80, refused: 12, throws: 6, hangs: 2 });
    if (end === "hangs") return await new Promise<never>(() => {});
    await this.#wait(chance.flip(0.5) ? 0 : chance.between(1, 2_000));
    if (end === "throws") throw new Error("the line to the carrier broke");
    return end === "done" ? { done: true } : { done: false, reason: "the phone does not want to" };
  }

  async #send(life: Life, message: Outbound): Promise<Outcome> {
    const { chance, order, clock } = this.#parts;
    const { messageId, channel, attempt, from, to, text } = message;
    const at = clock.now();
    const made = { life: life.number, messageId, channel, attempt, from, to, text, at };
    const handOver: HandOver = { order: order(), ...made, outcome: null, answeredOrder: null, taken: null };
    this.log.handOvers.push(handOver);
    const kind = this.#calm
      ? "accept"
      : chance.weighted({
          accept: 60,
          refuse: 5,
          notThere: 8,
          defer: 12,
          lose: 8,
          miss: 4,
          throwTaken: 2,
          throwMissed: 2,
          hang: 1,
        });
    if (kind === "throwMissed" && chance.flip(0.5)) return this.#answer(life, handOver, { outcome: "threw" });
    await this.#travel(life, chance.flip(0.4) ? 0 : chance.between(1, SETTLE_AFTER_MS - 200));
    if (kind === "accept" || kind === "lose" || kind === "throwTaken" || (kind === "hang" && chance.flip(0.5))) {
      this.#take(handOver);
    }
    if (kind === "hang") return await new Promise<never>(() => {});
    await this.#wait(chance.flip(0.5) ? 0 : chance.between(1, chance.flip(0.1) ? 15_000 : 500));
    return this.#answer(life, handOver, outcomeFor(kind, handOver, chance));
  }

  /** What the service is told; nobody tells the dead anything. */
  #answer(life: Life, handOver: HandOver, outcome: HandOver["outcome"]): Outcome {
    if (life.alive) handOver.outcome = outcome;
    handOver.answeredOrder = this.#parts.order();
    if (outcome === null || outcome.outcome === "threw") throw new Error("the line to the carrier broke");
    return outcome;
  }

  #take(handOver: HandOver): void {
    const { chance, order, clock } = this.#parts;
    this.#references += 1;
    const reference = `ref-${this.#references}`;
    handOver.taken = { order: order(), at: clock.now(), reference };
    const script = this.#calm
      ? "delivered"
      : chance.weighted<keyof typeof SCRIPTS>({
          none: 10,
          delivered: 35,
          full: 12,
          readOnly: 5,
          reversed: 8,
          doubled: 8,
          sentOnly: 5,
          failed: 7,
          takenBack: 4,
          tooLate: 3,
          failedFirst: 2,
          corrected: 2,
        });
    let afterMs = 0;
    for (const receipt of SCRIPTS[script]) {
      afterMs += this.#receiptDelayMs();
      void this.#owe(handOver, reference, receipt, afterMs);
    }
  }

  #receiptDelayMs(): number {
    const { chance } = this.#parts;
    const pace = chance.weighted({ quick: 14, slow: 5, late: 1 });
    if (pace === "quick") return chance.between(1, 150);
    return pace === "slow" ? chance.between(200, 8_000) : chance.between(20_000, 90_000);
  }

  async #owe(handOver: HandOver, reference: string, receipt: ReceiptSignal["receipt"], afterMs: number): Promise<void> {
    const { messageId, channel } = handOver;
    this.#untold += 1;
    await this.#wait(afterMs);
    const failed = { code: "CARRIER_FAILED", reason: "the phone refused it" };
    const signal: ReceiptSignal = {
      kind: "receipt",
      reference,
      ...(this.#habits.namesMessages ? { messageId: messageId as Outbound["messageId"] } : {}),
      channel,
      receipt,
      ...(receipt === "failed" ? failed : {}),
    };
    const told: Receipt = { signal, messageId, at: this.#parts.clock.now(), takenInOrder: null };
    this.log.receipts.push(told);
    while (!(await this.#tell(told)) && this.#habits.repeatsReceipts) await this.#wait(TELL_AGAIN_MS);
    this.#untold -= 1;
  }

  /** Tells what somebody did until it was taken in; now and then twice, one after the other or at once. */
  async #do(signal: PeopleSignal): Promise<void> {
    const { chance } = this.#parts;
    const deed: Deed = { signal, at: this.#parts.clock.now(), takenInOrder: null };
    this.log.deeds.push(deed);
    this.#untold += 1;
    const again = chance.weighted({ no: 6, after: 2, atOnce: 2 });
    if (again === "atOnce") void this.#tell({ ...deed });
    while (!(await this.#tell(deed))) await this.#wait(TELL_AGAIN_MS);
    if (again === "after") await this.#tell({ ...deed });
    this.#untold -= 1;
  }

  async #tell(told: Receipt | Deed): Promise<boolean> {
    const listener = this.#listener;
    if (listener === null || !listener.life.alive) return false;
    const taken = listener.signals(told.signal).then(
      () => true,
      () => false,
    );
    if (!(await Promise.race([taken, listener.life.death.then(() => false)]))) return false;
    told.takenInOrder = this.#parts.order();
    return true;
  }

  async #settle({ messageId, channel }: Outbound): Promise<Outcome | "absent"> {
    const { chance, order } = this.#parts;
    const question: Question = { order: order(), messageId, channel, answer: null };
    this.log.questions.push(question);
    await this.#wait(chance.flip(0.5) ? 0 : chance.between(1, 3_000));
    if (!this.#calm && chance.flip(0.05)) throw new Error("the carrier could not be asked");
    const last = this.log.handOvers.findLast((one) => one.messageId === messageId && one.channel === channel);
    if (!this.#calm && chance.flip(0.1)) question.answer = { outcome: "unknown", reason: "it does not say" };
    else if (last?.taken == null) question.answer = "absent";
    else question.answer = { outcome: "accepted", reference: last.taken.reference };
    return question.answer;
  }

  async #travel(life: Life, ms: number): Promise<void> {
    const key = Symbol("on the way");
    this.#onTheWay.set(key, life);
    await this.#wait(ms);
    this.#onTheWay.delete(key);
  }

  #wait(ms: number): Promise<void> {
    if (ms <= 0) return Promise.resolve();
    return new Promise((resolve) => void this.#parts.clock.after(ms, resolve));
  }
}

function outcomeFor(kind: string, { taken }: HandOver, chance: Chance): HandOver["outcome"] {
  switch (kind) {
    case "accept":
      return { outcome: "accepted", reference: taken?.reference ?? "" };
    case "refuse":
      return { outcome: "rejected", code: "REFUSED", reason: "the carrier does not take it" };
    case "notThere":
      return { outcome: "rejected", code: "NOT_THERE", reason: "nobody is there", notReachable: true };
    case "defer": {
      const retryAfterMs = chance.flip(0.5) ? null : chance.between(0, 20_000);
      return { outcome: "deferred", retryAfterMs, reason: "the carrier is busy" };
    }
    case "lose":
    case "miss":
      return { outcome: "unknown", reason: "the answer got lost" };
    default:
      return { outcome: "threw" };
  }
}
