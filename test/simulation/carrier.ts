/** A scripted carrier behind the service, with every bad habit: it delays, refuses, loses and repeats. */

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
import type { CarrierLog, Deed, Question, Receipt, SendAttempt } from "./carrier-log.ts";
import type { Chance } from "./chance.ts";
import type { Life } from "./life.ts";
import { People, type PeopleSignal } from "./people.ts";

/** The service's end of one line: an instance in the life that runs it. */
interface End {
  life: Life;
  channels: readonly Channel[];
  signals: ((signal: Signal) => Promise<unknown>) | null;
  changed: () => void;
}

/** Parts of the simulated world that a carrier uses. */
export interface CarrierParts {
  clock: Clock;
  chance: Chance;
  order(): number;
}

/** Habits of a scripted carrier, the same for a whole run. */
export interface CarrierHabits {
  /** Whether the carrier offers a lookup of send attempts. */
  canBeAsked: boolean;
  /** Whether the carrier repeats a receipt until the service accepts it, or reports it once. */
  repeatsReceipts: boolean;
  /** Whether receipts carry our message id, or only the carrier's reference. */
  namesMessages: boolean;
  concurrency: number;
  /** Time limit of a send attempt; the slowest answers take a little less. */
  sendTimeoutMs: number;
}

/** A send attempt reaches the carrier or is lost within this time: a later lookup is reliable. */
const RECONCILE_AFTER_MS = 2_000;
/** The slowest answer comes this long before the time limit of its send attempt. */
const SLOWEST_BEFORE_MS = 25_000;
const REPORT_AGAIN_MS = 3_000;
/** The last line comes up this late, so that messages can move to another line first. */
const LAST_LINE_UP_MS = 20_000;

const LINE_DOWN: Outcome = { outcome: "deferred", retryAfterMs: null, reason: "the line is down", isDown: true };

type Rung = ReceiptSignal["receipt"];
type Script = readonly Rung[];

const SCRIPTS = {
  none: [],
  delivered: ["delivered"],
  full: ["sent", "delivered", "read"],
  readOnly: ["read"],
  reversed: ["read", "delivered", "sent"],
  doubled: ["delivered", "delivered", "read", "read"],
  sentOnly: ["sent"],
  failed: ["failed"],
  failedAfterSent: ["sent", "failed"],
  tooLate: ["delivered", "failed"],
  failedFirst: ["failed", "sent"],
  corrected: ["failed", "delivered"],
} as const satisfies Record<string, Script>;

/** A carrier that outlives the processes which send messages to it. */
export class ScriptedCarrier {
  readonly log: CarrierLog = { sendAttempts: [], questions: [], receipts: [], deeds: [] };
  readonly people: People;
  readonly #parts: CarrierParts;
  readonly #habits: CarrierHabits;
  /** By instance: the first has both channels, the others carry SMS. */
  readonly #ends = new Map<string, End>();
  /** Instances whose line is down, in every life. */
  readonly #down = new Set<string>();
  /** Life of each send attempt that has not arrived yet, by a key of its own. */
  readonly #onTheWay = new Map<symbol, Life>();
  readonly #given = new WeakMap<Outbound, number>();
  #references = 0;
  #unreported = 0;
  #calm = false;

  constructor(parts: CarrierParts, habits: CarrierHabits) {
    this.#parts = parts;
    this.#habits = habits;
    const line = { report: (signal: PeopleSignal) => this.#do(signal), sendAttempts: this.log.sendAttempts };
    this.people = new People(parts, line);
  }

  /** From now on the carrier accepts and answers everything, and its lines come up, the one that is down longest last. */
  calm(): void {
    this.#calm = true;
    const [last, ...others] = [...this.#down];
    for (const instanceId of others) this.#flip(instanceId);
    if (last !== undefined) this.#parts.clock.after(LAST_LINE_UP_MS, () => this.#flip(last));
  }

  /** Takes a line down (sometimes all lines that carry only SMS) or brings one up. Returns whether any went down. */
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

  /** Signals that the carrier has not reported yet. */
  get unreported(): number {
    return this.#unreported;
  }

  /** Whether a send attempt of a dead process is still on its way. */
  isLate(alive: Life | null): boolean {
    return [...this.#onTheWay.values()].some((life) => life !== alive);
  }

  /** A provider got this message from the service, and sends it after it has noted something. */
  give(message: Outbound): void {
    this.#given.set(message, this.#parts.order());
  }

  /** The provider of a line, for one life. `hasBoth`: it has iMessage besides SMS. */
  provider(life: Life, instanceId: string, hasBoth: boolean, changed: () => void): Provider {
    const { canBeAsked, concurrency, sendTimeoutMs } = this.#habits;
    const ask = { reconcile: (message: Outbound) => life.whileAlive(this.#reconcile(instanceId, message)) };
    const channels = hasBoth ? (["imessage", "sms"] as const) : (["sms"] as const);
    const down = this.#down;
    const end: End = { life, channels, signals: null, changed };
    return {
      name: "scripted",
      capabilities: {
        channels,
        smsFiles: "none",
        concurrency,
        sendTimeoutMs,
        reconcileAfterMs: RECONCILE_AFTER_MS,
        seesPayments: true,
      },
      get isUp() {
        return !down.has(instanceId);
      },
      start: async (signals) => {
        this.#ends.set(instanceId, { ...end, signals });
      },
      send: (message) => life.whileAlive(this.#send(life, instanceId, message)),
      actions: this.#actions(life),
      ...(canBeAsked ? ask : {}),
      health: async () => ({ status: "healthy" }),
      stop: async () => {
        if (this.#ends.get(instanceId)?.life === life) this.#ends.set(instanceId, end);
      },
    };
  }

  #actions(life: Life): Partial<Actions> {
    const act = () => life.whileAlive(this.#act());
    return { edit: act, unsend: act, react: act, setTyping: act, markRead: act };
  }

  /** Performs an action on a message, refuses it, throws, or never answers. */
  async #act(): Promise<ActionResult> {
    const { chance } = this.#parts;
    const end = this.#calm ? "done" : chance.weighted({ done: 35, refused: 20, throws: 10, hangs: 35 });
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
    const orders = { order: order(), givenOrder: this.#given.get(message) ?? order() };
    const sending: SendAttempt = { ...orders, ...made, outcome: null, answeredOrder: null, taken: null };
    this.log.sendAttempts.push(sending);
    if (this.#down.has(instanceId)) return this.#answer(life, sending, LINE_DOWN);
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
    if (kind === "throwMissed" && chance.flip(0.5)) return this.#answer(life, sending, { outcome: "threw" });
    await this.#travel(life, chance.flip(0.4) ? 0 : chance.between(1, RECONCILE_AFTER_MS - 200));
    if (kind === "accept" || kind === "lose" || kind === "throwTaken" || (kind === "hang" && chance.flip(0.5))) {
      this.#accept(sending);
    }
    if (kind === "hang") return await new Promise<never>(() => {});
    const slowestMs = this.#habits.sendTimeoutMs - SLOWEST_BEFORE_MS;
    await this.#wait(chance.flip(0.5) ? 0 : chance.between(1, chance.flip(0.1) ? slowestMs : 500));
    return this.#answer(life, sending, outcomeFor(kind, sending, chance));
  }

  /** Records the outcome, unless the life is over, and returns or throws it. */
  #answer(life: Life, sending: SendAttempt, outcome: SendAttempt["outcome"]): Outcome {
    if (life.alive) sending.outcome = outcome;
    sending.answeredOrder = this.#parts.order();
    if (outcome === null || outcome.outcome === "threw") throw new Error("the line to the carrier broke");
    return outcome;
  }

  #accept(sending: SendAttempt): void {
    const { chance, order, clock } = this.#parts;
    this.#references += 1;
    const reference = `ref-${this.#references}`;
    sending.taken = { order: order(), at: clock.now(), reference };
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
          failedAfterSent: 4,
          tooLate: 3,
          failedFirst: 2,
          corrected: 2,
        });
    let afterMs = 0;
    for (const receipt of SCRIPTS[script]) {
      afterMs += this.#receiptDelayMs();
      void this.#emit(sending, reference, receipt, afterMs);
    }
  }

  #receiptDelayMs(): number {
    const { chance } = this.#parts;
    const pace = chance.weighted({ quick: 14, slow: 5, late: 1 });
    if (pace === "quick") return chance.between(1, 150);
    return pace === "slow" ? chance.between(200, 8_000) : chance.between(20_000, 90_000);
  }

  async #emit(sending: SendAttempt, reference: string, receipt: Rung, afterMs: number): Promise<void> {
    const { messageId, channel, instanceId } = sending;
    this.#unreported += 1;
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
    const logged: Receipt = { signal, messageId, at: this.#parts.clock.now(), acceptedOrder: null };
    this.log.receipts.push(logged);
    while (!(await this.#report(instanceId, logged)) && this.#habits.repeatsReceipts) await this.#wait(REPORT_AGAIN_MS);
    this.#unreported -= 1;
  }

  /** Reports an action of a person until the service accepts it; sometimes twice, in sequence or at once. */
  async #do(signal: PeopleSignal): Promise<void> {
    const { chance } = this.#parts;
    const deed: Deed = { signal, at: this.#parts.clock.now(), acceptedOrder: null };
    this.log.deeds.push(deed);
    this.#unreported += 1;
    const by = this.#lineOf(signal);
    const again = chance.weighted({ no: 6, after: 2, atOnce: 2 });
    if (again === "atOnce") void this.#report(by, { ...deed });
    while (!(await this.#report(by, deed))) await this.#wait(REPORT_AGAIN_MS);
    if (again === "after") await this.#report(by, { ...deed });
    this.#unreported -= 1;
  }

  /** Actions of people are reported by the first line, inbound SMS by any line. */
  #lineOf({ kind, channel }: PeopleSignal): string {
    const [first = "", ...others] = this.#ends.keys();
    return kind === "inbound" && channel === "sms" ? this.#parts.chance.pick([first, ...others]) : first;
  }

  async #report(instanceId: string, reported: Receipt | Deed): Promise<boolean> {
    const end = this.#ends.get(instanceId);
    if (end === undefined || end.signals === null || !end.life.alive || this.#down.has(instanceId)) return false;
    const taken = end.signals(reported.signal).then(
      () => true,
      () => false,
    );
    if (!(await Promise.race([taken, end.life.death.then(() => false)]))) return false;
    reported.acceptedOrder = this.#parts.order();
    return true;
  }

  async #reconcile(instanceId: string, { messageId, channel }: Outbound): Promise<Outcome | "absent"> {
    const { chance, order } = this.#parts;
    const question: Question = { order: order(), instanceId, messageId, channel, answer: null };
    this.log.questions.push(question);
    await this.#wait(chance.flip(0.5) ? 0 : chance.between(1, 3_000));
    if (!this.#calm && chance.flip(0.05)) throw new Error("the carrier could not be asked");
    const isIt = (one: SendAttempt) => one.messageId === messageId && one.channel === channel;
    const last = this.log.sendAttempts.findLast((one) => isIt(one) && one.instanceId === instanceId);
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

function outcomeFor(kind: string, { taken }: SendAttempt, chance: Chance): SendAttempt["outcome"] {
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
