/** The stage on which a provider is put through its conformance suite: its disk, its lives and deaths, its scenarios. */

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Channel } from "../../sdk/wire.ts";
import type { Clock } from "../../server/clock.ts";
import type { MessageId } from "../../server/core/id.ts";
import type {
  Applied,
  Memory,
  Outbound,
  Outcome,
  Provider,
  ProviderContext,
  ReceiptSignal,
  Signal,
} from "../../server/providers/provider.ts";
import { outboundMessage } from "../support/outbound.ts";
import { providerContext } from "../support/provider.ts";
import type { Peer, Skip } from "./provider-peer.ts";

/** A recipient that shows one behaviour on a channel, or why this provider's peer has none that does. */
export type Scenario<More = unknown> = ({ to: string; channel: Channel } & More) | Skip;

/** `receipts`: what the provider must have told in the end, in the order told, repeats included. */
export interface Receipts {
  receipts: readonly ReceiptSignal["receipt"][];
}

export type Answering = Exclude<Signal["kind"], "receipt">;

export interface Scenarios {
  /** Taken at once and delivered. */
  delivers: Scenario<Receipts>;
  /** Receipts come twice and reversed. */
  jumbles: Scenario<Receipts>;
  /** Takes its time before it takes a message, so that a hand-over can be cut short. */
  slow: Scenario<Receipts>;
  /** Refuses for good. */
  rejects: Scenario;
  /** Is not on the channel. */
  notReachable: Scenario;
  /** Puts the first `times` hand-overs off, then takes one. */
  defers: Scenario<Receipts & { times: number }>;
  /**
   * The contact does something once the message was delivered: `answers` are the kinds of signal, in order. `fleeting`
   * are those that a death may lose, since the peer tells them once.
   */
  answers: Scenario<Receipts & { answers: readonly Answering[]; fleeting?: readonly Answering[] }>;
  /** Takes the message, and its answer gets lost. */
  losesAnswer: Scenario<Receipts>;
  /** Is sent the text of a message with a file, and not the file until `mends`. */
  partly: Scenario<{ mends: () => void }>;
  /** Gives its receipts before the answer of the hand-over is there. */
  early: Scenario<Receipts>;
}

/**
 * What the suite knows of a provider: how to make one, what its peer does and saw, and how time passes.
 *
 * In simulated time `clock` is a `SimulatedClock`, and `advanceUntil` its own. A peer on a socket takes real time for
 * every answer: then either `clock` is the system's, and `advanceUntil` waits, a few milliseconds at a time, until the
 * condition holds or `limitMs` have really passed (so `quietMs` is some hundred milliseconds, and scenarios are quick);
 * or `clock` is simulated, and `advanceUntil` goes from timer to timer and lets what is on its way over the sockets
 * arrive before each (`server/providers/bluebubbles/conformance.test.ts` does that).
 *
 * The suite gives each message a text of its own, so that `taken` can count by it where the peer knows no id of ours.
 * Receipts are matched by `messageId`, or by the reference that the hand-over was accepted under; one that has neither
 * is answered `unknown`, as the service would: a provider whose receipts can come early holds them and tells them again.
 */
export interface ProviderHarness {
  clock: Clock;
  /** Lets time pass until `condition` holds: whether it came to hold within `limitMs`. */
  advanceUntil(condition: () => boolean, limitMs: number): Promise<boolean>;
  /**
   * A provider with the same peer as every other of this harness, not started. It is given `context` with what the peer
   * needs put into it: its `config`, and a `hookUrl` that leads to `receive` of the provider made last.
   */
  create(context: ProviderContext): Provider;
  /** How often the peer took the message on its channel. */
  taken(message: Outbound): number;
  scenarios: Scenarios;
  /** Whether the peer knows a message it has, so that a repeated hand-over changes nothing; if not, why. */
  knowsRepeats: true | Skip;
  /** Makes a receipt of a message that nobody sent come in, if there is a peer that could. */
  strayReceipt: (() => Promise<void>) | Skip;
  /** What the other side does of its own accord, and how it can be broken. */
  peer: Peer;
  /**
   * Whether it may tell a receipt twice, or one that a later one implies after that one, as whoever asks for the state of
   * a message does: the service takes no notice of such. Then the scenarios' receipts are what must be among those told.
   */
  repeatsReceipts?: boolean;
  /** How long without a signal shows that none comes, in the harness's time. */
  quietMs: number;
  /** How long after a message its late receipts come; ten times `quietMs` unless given. */
  lateMs?: number;
  stop(): Promise<void>;
}

/** What outlives an instance's providers: its memory. `created` counts the entries made under a key. */
export class ProviderDisk {
  readonly entries = new Map<string, string>();
  /** The references that hand-overs were accepted under, as the service has them on record. */
  readonly references = new Map<string, MessageId>();
  readonly #created = new Map<string, number>();

  /** The message that a receipt names, by its id or by a reference that is on record; null where it names none. */
  messageOf({ messageId, reference }: Pick<ReceiptSignal, "messageId" | "reference">): MessageId | null {
    return messageId ?? this.references.get(reference) ?? null;
  }

  created(key: string): number {
    return this.#created.get(key) ?? 0;
  }

  put(key: string, value: string): void {
    if (!this.entries.has(key)) this.#created.set(key, this.created(key) + 1);
    this.entries.set(key, value);
  }
}

type Write = "before" | "after";

/** One provider from its making to its stop or death. After `die` it changes nothing and is told nothing. */
export class Life {
  readonly provider: Provider;
  readonly told: ReceiptSignal[] = [];
  /** Every other signal that was told. */
  readonly heard: Exclude<Signal, ReceiptSignal>[] = [];
  /** What becomes of a signal; may be replaced. A signal counts as told when this resolves. */
  listen: (signal: Signal) => Promise<void> = async () => {};
  /** Decides whether a receipt names a message that is known; may be replaced. One that is `unknown` was not told. */
  knows: (signal: ReceiptSignal) => boolean = (signal) => this.#disk.messageOf(signal) !== null;
  timers = 0;
  /** How often it said that `isUp` changed. */
  changes = 0;
  /** What it put into the log. */
  readonly faults: unknown[] = [];
  readonly #disk: ProviderDisk;
  #dead = false;
  #buried: () => void = () => {};
  /** Resolves when a dead one is cleared away. */
  readonly #burial = new Promise<void>((resolve) => {
    this.#buried = resolve;
  });
  #writes = 0;
  #diesAt: { write: number; side: Write } | null = null;

  constructor(harness: ProviderHarness, disk: ProviderDisk) {
    this.#disk = disk;
    this.provider = harness.create(
      providerContext({
        instanceId: "inst_conformance",
        memory: this.#memory(disk),
        clock: this.#clock(harness.clock),
        numbers: async () => [{ address: OWN.from, customerId: OWN.customerId, isDefault: true }],
        senders: async () => [{ address: OWN.from, customerId: OWN.customerId, isDefault: true }],
        changed: () => {
          this.changes += 1;
        },
        fault: (error) => void this.faults.push(error),
      }),
    );
  }

  async start(): Promise<this> {
    await this.provider.start((signal) => this.#hear(signal));
    return this;
  }

  die(): void {
    this.#dead = true;
  }

  /** Clears a dead one away: what it waits for comes to pass, without any effect, so that it lets go of its sockets. */
  bury(): void {
    this.#buried();
  }

  /** Dies around its write number `write` (0 is the first): `before` it is on disk, or `after`, unanswered. */
  dieAt(write: number, side: Write): void {
    this.#diesAt = { write, side };
  }

  get dead(): boolean {
    return this.#dead;
  }

  receipts(message: Outbound): ReceiptSignal["receipt"][] {
    const isOf = (signal: ReceiptSignal) => this.#disk.messageOf(signal) === message.messageId;
    return this.told.filter(isOf).map((signal) => signal.receipt);
  }

  async #hear(signal: Signal): Promise<Applied> {
    await this.#alive();
    await this.listen(signal);
    await this.#alive();
    if (this.#dead) return "applied";
    if (signal.forget !== undefined) this.#disk.entries.delete(signal.forget);
    if (signal.kind !== "receipt") this.heard.push(signal);
    else if (this.knows(signal)) this.told.push(signal);
    else return "unknown";
    return "applied";
  }

  /** Whoever waits for a dead provider's world waits until it is cleared away. */
  #alive(): Promise<void> {
    return this.#dead ? this.#burial : Promise.resolve();
  }

  #memory(disk: ProviderDisk): Memory {
    return {
      list: async (prefix) => {
        await this.#alive();
        const found = [...disk.entries].filter(([key]) => key.startsWith(prefix)).sort(([a], [b]) => (a < b ? -1 : 1));
        return found.map(([key, value]) => ({ key, value }));
      },
      put: (key, value) => this.#write(() => disk.put(key, value)),
      delete: (key) => this.#write(() => void disk.entries.delete(key)),
    };
  }

  async #write(write: () => void): Promise<void> {
    await this.#alive();
    const side = this.#diesAt?.write === this.#writes ? this.#diesAt.side : null;
    this.#writes += 1;
    if (side === "before") this.die();
    await this.#alive();
    if (!this.#dead) write();
    if (side === "after") this.die();
    await this.#alive();
  }

  #clock(clock: Clock): Clock {
    return {
      now: () => clock.now(),
      real: () => clock.real(),
      after: (ms, action) => {
        let waits = true;
        const end = () => {
          if (waits) this.timers -= 1;
          waits = false;
        };
        this.timers += 1;
        const cancel = clock.after(ms, () => {
          end();
          if (!this.#dead) action();
        });
        return () => {
          end();
          cancel();
        };
      },
    };
  }
}

/** Within this all that is owed must have been told, in the harness's time. */
export const LIMIT_MS = 60_000;

/** How long the end of a test waits for a provider to stop. */
const CLEARING_MS = 5_000;

export const NEVER_ABORTED = new AbortController().signal;

/** Registers one promise of a provider as a test. */
export type Promises = (title: string, run: (stage: Stage, context: TestContext) => Promise<void>) => void;

export interface Stage {
  harness: ProviderHarness;
  disk: ProviderDisk;
  /** Every provider that was started in this test. */
  lives: readonly Life[];
  live(): Promise<Life>;
  /** A new message to a scenario's recipient. */
  message(to: { to: string; channel: Channel }, attempt?: number): Outbound;
  /** Waits until `life` told exactly `receipts` of `message`, and shows that nothing follows. */
  toldInTheEnd(life: Life, message: Outbound, receipts: readonly ReceiptSignal["receipt"][]): Promise<void>;
}

export function stageOf(harness: ProviderHarness, disk: ProviderDisk, lives: Life[]): Stage {
  return {
    harness,
    disk,
    lives,
    live: async () => {
      const life = new Life(harness, disk);
      lives.push(life);
      return await life.start();
    },
    message: ({ to, channel }, attempt = 1) => {
      const messageId = nextMessageId();
      const attemptedAt = harness.clock.now();
      return outboundMessage({ messageId, to, channel, attempt, text: `Hello ${made}`, attemptedAt });
    },
    toldInTheEnd: async (life, message, wanted) => {
      const isTold = () => wanted.every((receipt) => life.receipts(message).includes(receipt));
      const repeats = harness.repeatsReceipts === true;
      const isEnough = () => isTold() && (repeats || life.receipts(message).length >= wanted.length);
      await harness.advanceUntil(isEnough, LIMIT_MS);
      await quiet(harness);
      const told = life.receipts(message);
      if (!repeats || !isTold()) return assert.deepEqual(told, wanted);
      const unwanted = told.filter((receipt) => !wanted.some((one) => implies(one, receipt)));
      assert.deepEqual(unwanted, [], "these were told besides");
    },
  };
}

/** Our own address, and whose it is. */
const OWN: Pick<Outbound, "from" | "customerId"> = outboundMessage({ messageId: "msg_own", to: "" });

let made = 0;

/** Ids differ, and are the same in each run. */
function nextMessageId(): MessageId {
  made += 1;
  return `msg_00000000-0000-7000-8000-${String(made).padStart(12, "0")}`;
}

const RANKS: readonly ReceiptSignal["receipt"][] = ["sent", "delivered", "read"];

/** Whether a message that had one receipt must have had the other, or it is the same. */
function implies(one: ReceiptSignal["receipt"], other: ReceiptSignal["receipt"]): boolean {
  return one === other || (RANKS.includes(other) && RANKS.indexOf(other) < RANKS.indexOf(one));
}

export async function quiet(harness: ProviderHarness): Promise<void> {
  await harness.advanceUntil(() => false, harness.quietMs);
}

/** The scenario, or null after having said why the test is skipped. */
export function have<More>(
  scenario: Scenario<More>,
  context: TestContext,
): Exclude<Scenario<More>, { skip: string }> | null {
  if (!("skip" in scenario)) return scenario as Exclude<Scenario<More>, { skip: string }>;
  context.skip(scenario.skip);
  return null;
}

/** What `work` resolves to, letting the time pass that it takes. */
export async function run<Value>(stage: Stage, work: Promise<Value>): Promise<Value> {
  let ended = false;
  const end = () => {
    ended = true;
  };
  work.then(end, end);
  assert.ok(await stage.harness.advanceUntil(() => ended, LIMIT_MS), `no end within ${LIMIT_MS} ms`);
  return await work;
}

/** Stops a provider at the end of a test, also one that died or that waits for what the test never ended. */
export async function clearAway(stage: Stage, life: Life): Promise<void> {
  life.bury();
  let ended = false;
  const end = () => {
    ended = true;
  };
  life.provider.stop().then(end, end);
  await stage.harness.advanceUntil(() => ended, CLEARING_MS);
}

/** Sends, letting the time pass that the answer takes; the reference it is accepted under is on record from then on. */
export async function send(stage: Stage, life: Life, message: Outbound, abort = NEVER_ABORTED): Promise<Outcome> {
  return recorded(stage, message, await run(stage, life.provider.send(message, abort)));
}

/** As `send`; null where the provider dies before its answer. */
export async function sendOrDie(stage: Stage, life: Life, message: Outbound): Promise<Outcome | null> {
  let answer: Outcome | null = null;
  const sending = life.provider.send(message, NEVER_ABORTED).then((outcome) => {
    answer = outcome;
  });
  await stage.harness.advanceUntil(() => answer !== null || life.dead, LIMIT_MS);
  if (!life.dead) await sending;
  return answer === null ? null : recorded(stage, message, answer);
}

/** Asks what became of a message, as `send`; undefined where the provider cannot be asked. */
export async function settle(stage: Stage, life: Life, message: Outbound): Promise<Outcome | "absent" | undefined> {
  const asked = life.provider.reconcile?.(message);
  return asked === undefined ? undefined : recorded(stage, message, await run(stage, asked));
}

function recorded<Answer extends Outcome | "absent">(stage: Stage, message: Outbound, answer: Answer): Answer {
  if (answer !== "absent" && answer.outcome === "accepted") {
    stage.disk.references.set(answer.reference, message.messageId);
  }
  return answer;
}

export function acceptedReference(outcome: Outcome | "absent" | undefined): string {
  assert.ok(outcome !== undefined && outcome !== "absent");
  assert.equal(outcome.outcome, "accepted");
  assert.ok(outcome.outcome === "accepted" && outcome.reference !== "");
  return outcome.reference;
}
