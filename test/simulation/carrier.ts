/** The carriers behind the service: a scripted one with every bad habit, and the sandbox under observation. */

import type { Channel } from "../../sdk/wire.ts";
import type { Clock } from "../../server/clock.ts";
import type {
  ActionResult,
  Actions,
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
  /** By which of the carrier's lines it came. */
  instanceId: string;
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
  instanceId: string;
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

/** The service's end of one line: an instance of the life that has it. */
interface End {
  life: Life;
  channels: readonly Channel[];
  signals: ((signal: Signal) => Promise<unknown>) | null;
  changed: () => void;
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
  /** How long its hand-overs may take; its slowest answers take a little less. */
  sendTimeoutMs: number;
}

/** A hand-over has reached the carrier or got lost within this: what it says when asked later is sure. */
const SETTLE_AFTER_MS = 2_000;
/** The slowest answer comes so long before its hand-over is called off. */
const SLOWEST_BEFORE_MS = 25_000;
const TELL_AGAIN_MS = 3_000;
/** What waits for one line has the time to go to another meanwhile. */
const LAST_LINE_UP_MS = 20_000;

const LINE_DOWN: Outcome = { outcome: "deferred", retryAfterMs: null, reason: "the line is down", isDown: true };

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
  /** By instance: the first one has both channels, further ones carry SMS. */
  readonly #ends = new Map<string, End>();
  /** Lines that are down, whatever life they lead to. */
  readonly #down = new Set<string>();
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

  /** From here on it takes what it is given and answers, and its lines come up: at last the one that is down for longest. */
  calm(): void {
    this.#calm = true;
    const [last, ...others] = [...this.#down];
    for (const instanceId of others) this.#flip(instanceId);
    if (last !== undefined) this.#parts.clock.after(LAST_LINE_UP_MS, () => this.#flip(last));
  }

  /** A line goes down, now and then all that carry SMS alone, or one comes up again. Answers whether any went down. */
  flip(): boolean {
    const { chance } = this.#parts;
    const [first = "", ...others] = this.#ends.keys();
    const areUp = others.every((instanceId) => !this.#down.has(instanceId));
    const chosen =
      others.length > 0 && areUp && chance.flip(0.6) ? others : [chance.pick([first, ...others, ...others])];
    for (const instanceId of chosen) this.#flip(instanceId);
    return chosen.some((instanceId) => this.#down.has(instanceId));
  }

  #flip(instanceId: string): void {
    if (!this.#down.delete(instanceId)) this.#down.add(instanceId);
    const end = this.#ends.get(instanceId);
    if (end?.life.alive === true) end.changed();
  }

  /** Receipts that it has yet to tell. */
  get owed(): number {
    return this.#untold;
  }

  /** Whether something that a dead process handed over is still on its way. */
  isLate(alive: Life | null): boolean {
    return [...this.#onTheWay.values()].some((life) => life !== alive);
  }

  /** The service's end of a line, for one life. `hasBoth`: it has iMessage beside SMS. */
  provider(life: Life, instanceId: string, hasBoth: boolean, changed: () => void): Provider {
    const { canBeAsked, concurrency, sendTimeoutMs } = this.#habits;
    const ask = { reconcile: (message: Outbound) => life.told(this.#settle(instanceId, message)) };
    const channels = hasBoth ? (["imessage", "sms"] as const) : (["sms"] as const);
    const down = this.#down;
    const end: End = { life, channels, signals: null, changed };
    return {
      name: "scripted",
      capabilities: { channels, concurrency, sendTimeoutMs, reconcileAfterMs: SETTLE_AFTER_MS, seesPayments: true },
      get isUp() {
        return !down.has(instanceId);
      },
      start: async (signals) => {
        this.#ends.set(instanceId, { ...end, signals });
      },
      send: (message) => life.told(this.#send(life, instanceId, message)),
      actions: this.#commands(life),
      ...(canBeAsked ? ask : {}),
      health: async () => ({ status: "healthy" }),
      stop: async () => {
        if (this.#ends.get(instanceId)?.life === life) this.#ends.set(instanceId, end);
      },
    };
  }

  #commands(life: Life): Partial<Actions> {
    const order = () => life.told(this.#order());
    return { edit: order, unsend: order, react: order, setTyping: order, markRead: order };
  }

  /** Does what it is told to do with a message that it has, or refuses, or breaks, or says nothing any more. */
  async #order(): Promise<ActionResult> {
    const { chance } = this.#parts;
    const end = this.#calm ? "done" : chance.weighted({ done: 45, refused: 25, throws: 10, hangs: 20 });
    if (end === "hangs") return await new Promise<never>(() => {});
    await this.#wait(chance.flip(0.5) ? 0 : chance.between(1, 2_000));
    if (end === "throws") throw new Error("the line to the carrier broke");
    return end === "done" ? { done: true } : { done: false, reason: "the phone does not want to" };
  }

  async #send(life: Life, instanceId: string, message: Outbound): Promise<Outcome> {
    const { chance, order, clock } = this.#parts;
    const { messageId, channel, attempt, from, to, text } = message;
    const at = clock.now();
    const made = { life: life.number, instanceId, messageId, channel, attempt, from, to, text, at };
    const handOver: HandOver = { order: order(), ...made, outcome: null, answeredOrder: null, taken: null };
    this.log.handOvers.push(handOver);
    if (this.#down.has(instanceId)) return this.#answer(life, handOver, LINE_DOWN);
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
    const slowestMs = this.#habits.sendTimeoutMs - SLOWEST_BEFORE_MS;
    await this.#wait(chance.flip(0.5) ? 0 : chance.between(1, chance.flip(0.1) ? slowestMs : 500));
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
    const { messageId, channel, instanceId } = handOver;
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
    while (!(await this.#tell(instanceId, told)) && this.#habits.repeatsReceipts) await this.#wait(TELL_AGAIN_MS);
    this.#untold -= 1;
  }

  /** Tells what somebody did until it was taken in; now and then twice, one after the other or at once. */
  async #do(signal: PeopleSignal): Promise<void> {
    const { chance } = this.#parts;
    const deed: Deed = { signal, at: this.#parts.clock.now(), takenInOrder: null };
    this.log.deeds.push(deed);
    this.#untold += 1;
    const by = this.#lineOf(signal);
    const again = chance.weighted({ no: 6, after: 2, atOnce: 2 });
    if (again === "atOnce") void this.#tell(by, { ...deed });
    while (!(await this.#tell(by, deed))) await this.#wait(TELL_AGAIN_MS);
    if (again === "after") await this.#tell(by, { ...deed });
    this.#untold -= 1;
  }

  /** What people do comes by the first line, but for an SMS that they write: by any. */
  #lineOf({ kind, channel }: PeopleSignal): string {
    const [first = "", ...others] = this.#ends.keys();
    return kind === "inbound" && channel === "sms" ? this.#parts.chance.pick([first, ...others]) : first;
  }

  async #tell(instanceId: string, told: Receipt | Deed): Promise<boolean> {
    const end = this.#ends.get(instanceId);
    if (end === undefined || end.signals === null || !end.life.alive || this.#down.has(instanceId)) return false;
    const taken = end.signals(told.signal).then(
      () => true,
      () => false,
    );
    if (!(await Promise.race([taken, end.life.death.then(() => false)]))) return false;
    told.takenInOrder = this.#parts.order();
    return true;
  }

  async #settle(instanceId: string, { messageId, channel }: Outbound): Promise<Outcome | "absent"> {
    const { chance, order } = this.#parts;
    const question: Question = { order: order(), instanceId, messageId, channel, answer: null };
    this.log.questions.push(question);
    await this.#wait(chance.flip(0.5) ? 0 : chance.between(1, 3_000));
    if (!this.#calm && chance.flip(0.05)) throw new Error("the carrier could not be asked");
    const isIt = (one: HandOver) => one.messageId === messageId && one.channel === channel;
    const last = this.log.handOvers.findLast((one) => isIt(one) && one.instanceId === instanceId);
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
