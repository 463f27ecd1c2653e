/** The stage of the provider suite: disk, lives and crashes of a provider, and its scenarios. */

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
  SendAttempts,
  Signal,
} from "../../server/providers/provider.ts";
import { attemptsIn } from "../support/attempts.ts";
import { outboundMessage } from "../support/outbound.ts";
import { providerContext, remembering } from "../support/provider.ts";
import type { ProviderDisk } from "./provider-disk.ts";
import type { Peer, Skip } from "./provider-peer.ts";

/** A recipient with a certain behaviour on a channel, or why the peer has none. */
export type Scenario<More = unknown> = ({ to: string; channel: Channel } & More) | Skip;

/** `receipts`: the receipts that must be reported in the end, in order, including repetitions. */
export interface Receipts {
  receipts: readonly ReceiptSignal["receipt"][];
}

export type Answering = Exclude<Signal["kind"], "receipt">;

export interface Scenarios {
  /** Accepted at once and delivered. */
  delivers: Scenario<Receipts>;
  /** Receipts come twice and in reverse order. */
  jumbles: Scenario<Receipts>;
  /** Accepts a message slowly, so that a send can be aborted. */
  slow: Scenario<Receipts>;
  /** Rejects for good. */
  rejects: Scenario;
  /** Is not on the channel. */
  notReachable: Scenario;
  /** Defers the first `times` attempts, then accepts one. */
  defers: Scenario<Receipts & { times: number }>;
  /**
   * The contact reacts to the delivered message: `answers` are the kinds of signal, in order. A crash may lose the
   * `fleeting` ones, since the peer sends them once.
   */
  answers: Scenario<Receipts & { answers: readonly Answering[]; fleeting?: readonly Answering[] }>;
  /** Accepts the message, and its response is lost. */
  losesAnswer: Scenario<Receipts>;
  /** Gets the text of a message with a file, and not the file until `mends`. */
  partly: Scenario<{ mends: () => void }>;
  /** Sends its receipts before the response to the send. */
  early: Scenario<Receipts>;
}

/**
 * A harness: how to create a provider, what its peer does and saw, and how time passes. In simulated time `clock` is a
 * `SimulatedClock`, and `advanceUntil` its method. A peer on a socket needs real time for each response. Then either
 * `clock` is the system's, and `advanceUntil` waits in steps of a few milliseconds until the condition holds or
 * `limitMs` have passed (so `quietMs` is some hundred milliseconds, and scenarios are quick). Or `clock` is simulated,
 * and `advanceUntil` goes from timer to timer and lets socket traffic arrive before each one (as in
 * `server/providers/bluebubbles/conformance.long.test.ts`). Each message has a text of its own, so that `taken` can count by
 * the text if the peer does not know our id. Receipts are matched by `messageId`, or by the reference of an accepted
 * message. A receipt with neither is `unknown`, as in the service: a provider with early receipts holds them and
 * reports them again.
 */
export interface ProviderHarness {
  clock: Clock;
  /** Lets time pass until `condition` holds. Returns whether it held within `limitMs`. */
  advanceUntil(condition: () => boolean, limitMs: number): Promise<boolean>;
  /**
   * Creates a provider with the peer of this harness, without starting it. Adds the peer's settings to `context`: its
   * `config`, and a `hookUrl` that leads to `receive` of the newest provider.
   */
  create(context: ProviderContext): Provider;
  /** How often the peer accepted the message on its channel. */
  taken(message: Outbound): number;
  scenarios: Scenarios;
  /** Whether the peer recognises a message, so that a repeated send changes nothing; if not, why. */
  knowsRepeats: true | Skip;
  /** Sends a receipt for a message that nobody sent, if the peer can. */
  strayReceipt: (() => Promise<void>) | Skip;
  /** Actions of contacts, and faults of the peer. */
  peer: Peer;
  /**
   * Whether a receipt may be reported twice, or after a receipt that implies it, as happens with polling. The engine
   * ignores such receipts. The scenarios' receipts are then a subset of the reported ones.
   */
  repeatsReceipts?: boolean;
  /** A time without a signal after which none is expected, in the harness's time. */
  quietMs: number;
  /** How long after a message its late receipts come; ten times `quietMs` by default. */
  lateMs?: number;
  stop(): Promise<void>;
}

type Write = "before" | "after";

/** One provider from its creation to its stop or crash. After `die` it changes nothing, and no signal reaches it. */
export class Life {
  readonly provider: Provider;
  readonly reported: ReceiptSignal[] = [];
  /** All other reported signals. */
  readonly otherSignals: Exclude<Signal, ReceiptSignal>[] = [];
  /** Accepts a signal; may be replaced. A signal counts as reported when this resolves. */
  listen: (signal: Signal) => Promise<void> = async () => {};
  /** Decides whether a receipt's message is known; may be replaced. An `unknown` receipt does not count as reported. */
  knows: (signal: ReceiptSignal) => boolean = (signal) => this.#disk.messageOf(signal) !== null;
  timers = 0;
  /** Whether its outcomes do not come to the disk. */
  losesOutcomes = false;
  /** When `changed` was called, and when the peer sent an event. */
  readonly changes: number[] = [];
  readonly events: number[] = [];
  /** Everything that was logged. */
  readonly faults: unknown[] = [];
  readonly #disk: ProviderDisk;
  #dead = false;
  #buried: () => void = () => {};
  /** Resolves when a crashed provider is cleaned up. */
  readonly #burial = new Promise<void>((resolve) => {
    this.#buried = resolve;
  });
  #writes = 0;
  #diesAt: { write: number; side: Write } | null = null;

  constructor(harness: ProviderHarness, disk: ProviderDisk) {
    this.#disk = disk;
    const provider = harness.create(
      providerContext({
        instanceId: "inst_conformance",
        memory: this.#memory(disk),
        attempts: this.#attempts(disk),
        clock: this.#clock(harness.clock),
        numbers: async () => [{ address: OWN.from, customerId: OWN.customerId, isDefault: true }],
        senders: async () => [{ address: OWN.from, customerId: OWN.customerId, isDefault: true }],
        changed: () => void this.changes.push(harness.clock.real()),
        eventReceived: () => void this.events.push(harness.clock.real()),
        fault: (error) => void this.faults.push(error),
      }),
    );
    // A provider's entries and note about an outcome are on disk together with it, or not at all.
    const store: Parameters<typeof remembering>[1] = async (entries, conclude) => {
      if (this.losesOutcomes) return;
      await this.#write(() => {
        for (const { key, value } of entries) disk.put(key, value);
        conclude();
      });
    };
    this.provider = remembering(provider, store, disk.attempts);
  }

  async start(): Promise<this> {
    await this.provider.start((signal) => this.#receive(signal));
    return this;
  }

  die(): void {
    this.#dead = true;
  }

  /**
   * Cleans up a crashed provider: everything that it awaits resolves without effect, so that it releases its sockets.
   */
  bury(): void {
    this.#buried();
  }

  /** Crashes around write number `write` from now on (0 is the first): `before` it is on disk, or `after`, without a response. */
  dieAt(write: number, side: Write): void {
    this.#diesAt = { write: this.#writes + write, side };
  }

  get dead(): boolean {
    return this.#dead;
  }

  receipts(message: Outbound): ReceiptSignal["receipt"][] {
    const isOf = (signal: ReceiptSignal) => this.#disk.messageOf(signal) === message.messageId;
    return this.reported.filter(isOf).map((signal) => signal.receipt);
  }

  async #receive(signal: Signal): Promise<Applied> {
    await this.#alive();
    await this.listen(signal);
    await this.#alive();
    if (this.#dead) return "applied";
    if (signal.forget !== undefined) this.#disk.entries.delete(signal.forget);
    this.#disk.attempts.apply(signal);
    if (signal.kind !== "receipt") this.otherSignals.push(signal);
    else if (this.knows(signal)) this.reported.push(signal);
    else return "unknown";
    return "applied";
  }

  /** Calls from a crashed provider wait until it is cleaned up. */
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

  #attempts(disk: ProviderDisk): SendAttempts {
    const attempts = attemptsIn(disk.attempts, (change) => this.#write(change));
    return { ...attempts, known: async (references) => this.#alive().then(() => attempts.known(references)) };
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
      aheadMs: () => clock.aheadMs(),
      real: () => clock.real(),
      monotonic: () => clock.monotonic(),
      turnMs: () => clock.turnMs(),
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

/** The time within which everything must be reported, in the harness's time. */
export const LIMIT_MS = 60_000;

/** How long the end of a test waits for a provider to stop. */
const CLEARING_MS = 5_000;

export const NEVER_ABORTED = new AbortController().signal;

/** Registers one guarantee of providers as a test. */
export type Promises = (title: string, run: (stage: Stage, context: TestContext) => Promise<void>) => void;

export interface Stage {
  harness: ProviderHarness;
  disk: ProviderDisk;
  /** Every provider that was started in this test. */
  lives: readonly Life[];
  live(): Promise<Life>;
  /** A new message to a scenario's recipient. */
  message(to: { to: string; channel: Channel }, attempt?: number): Outbound;
  /** Waits until `life` has reported exactly `receipts` of `message`, and checks that nothing follows. */
  expectReceipts(life: Life, message: Outbound, receipts: readonly ReceiptSignal["receipt"][]): Promise<void>;
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
    expectReceipts: async (life, message, wanted) => {
      const isReported = () => wanted.every((receipt) => life.receipts(message).includes(receipt));
      const repeats = harness.repeatsReceipts === true;
      const isEnough = () => isReported() && (repeats || life.receipts(message).length >= wanted.length);
      await harness.advanceUntil(isEnough, LIMIT_MS);
      await quiet(harness);
      const reported = life.receipts(message);
      if (!repeats || !isReported()) return assert.deepEqual(reported, wanted);
      const unwanted = reported.filter((receipt) => !wanted.some((one) => implies(one, receipt)));
      assert.deepEqual(unwanted, [], "these were told besides");
    },
  };
}

/** Our address, and its customer. */
const OWN: Pick<Outbound, "from" | "customerId"> = outboundMessage({ messageId: "msg_own", to: "" });

let made = 0;

/** Ids are different, and the same in each run. */
function nextMessageId(): MessageId {
  made += 1;
  return `msg_00000000-0000-7000-8000-${String(made).padStart(12, "0")}`;
}

const RANKS: readonly ReceiptSignal["receipt"][] = ["sent", "delivered", "read"];

/** Whether a receipt implies the other one, or is the same. */
function implies(one: ReceiptSignal["receipt"], other: ReceiptSignal["receipt"]): boolean {
  return one === other || (RANKS.includes(other) && RANKS.indexOf(other) < RANKS.indexOf(one));
}

export async function quiet(harness: ProviderHarness): Promise<void> {
  await harness.advanceUntil(() => false, harness.quietMs);
}

/** The scenario, or null after skipping the test with the reason. */
export function have<More>(
  scenario: Scenario<More>,
  context: TestContext,
): Exclude<Scenario<More>, { skip: string }> | null {
  if (!("skip" in scenario)) return scenario as Exclude<Scenario<More>, { skip: string }>;
  context.skip(scenario.skip);
  return null;
}

/** Runs `work` and lets the time pass that it takes. */
export async function run<Value>(stage: Stage, work: Promise<Value>): Promise<Value> {
  let ended = false;
  const end = () => {
    ended = true;
  };
  work.then(end, end);
  assert.ok(await stage.harness.advanceUntil(() => ended, LIMIT_MS), `no end within ${LIMIT_MS} ms`);
  return await work;
}

/** Stops a provider at the end of a test, even one that crashed or that still waits. */
export async function clearAway(stage: Stage, life: Life): Promise<void> {
  life.bury();
  let ended = false;
  const end = () => {
    ended = true;
  };
  life.provider.stop().then(end, end);
  await stage.harness.advanceUntil(() => ended, CLEARING_MS);
}

/** Sends and lets time pass. The reference of an accepted message is stored from then on. */
export async function send(stage: Stage, life: Life, message: Outbound, abort = NEVER_ABORTED): Promise<Outcome> {
  return recorded(stage, message, await run(stage, life.provider.send(message, abort)));
}

/** Like `send`; null if the provider crashes before the response. */
export async function sendOrDie(stage: Stage, life: Life, message: Outbound): Promise<Outcome | null> {
  let answer: Outcome | null = null;
  const sending = life.provider.send(message, NEVER_ABORTED).then((outcome) => {
    answer = outcome;
  });
  await stage.harness.advanceUntil(() => answer !== null || life.dead, LIMIT_MS);
  if (!life.dead) await sending;
  return answer === null ? null : recorded(stage, message, answer);
}

/** Reconciles, like `send`; undefined if the provider cannot. */
export async function reconcile(stage: Stage, life: Life, message: Outbound): Promise<Outcome | "absent" | undefined> {
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
  assert.ok(outcome.outcome === "accepted" && outcome.reference !== "", JSON.stringify(outcome));
  return outcome.reference;
}
