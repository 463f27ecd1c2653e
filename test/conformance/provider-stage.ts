/** The stage on which a provider is put through its conformance suite: its disk, its lives and deaths, its scenarios. */

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Channel } from "../../sdk/wire.ts";
import type { Clock } from "../../server/clock.ts";
import type { MessageId } from "../../server/core/id.ts";
import type {
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

/** A recipient that shows one behaviour on a channel, or why this provider's peer has none that does. */
export type Scenario<More = unknown> = ({ to: string; channel: Channel } & More) | { skip: string };

/** `receipts`: what the provider must have told in the end, in the order told, repeats included. */
export interface Receipts {
  receipts: readonly ReceiptSignal["receipt"][];
}

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
  /** The contact does something once the message was delivered: `answers` are the kinds of signal, in order. */
  answers: Scenario<Receipts & { answers: readonly Exclude<Signal["kind"], "receipt">[] }>;
  /** Takes the message, and its answer gets lost. */
  losesAnswer: Scenario<Receipts>;
}

export interface ProviderHarness {
  clock: Clock;
  /** Lets time pass until `condition` holds: whether it came to hold within `limitMs`. */
  advanceUntil(condition: () => boolean, limitMs: number): Promise<boolean>;
  /** A provider with the same peer as every other of this harness, not started. */
  create(context: ProviderContext): Provider;
  /** How often the peer took the message on its channel. */
  taken(message: Outbound): number;
  scenarios: Scenarios;
  /** Whether the peer knows a message it has, so that a repeated hand-over changes nothing; if not, why. */
  knowsRepeats: true | { skip: string };
  /** Makes a receipt of a message that nobody sent come in, if there is a peer that could. */
  strayReceipt: (() => Promise<void>) | { skip: string };
  /** How long without a signal shows that none comes, in the harness's time. */
  quietMs: number;
  stop(): Promise<void>;
}

/** The durable memory of an instance: outlives its providers. `created` counts the entries made under a key. */
export class ProviderDisk {
  readonly entries = new Map<string, string>();
  readonly #created = new Map<string, number>();

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
  timers = 0;
  readonly #disk: ProviderDisk;
  #dead = false;
  #writes = 0;
  #diesAt: { write: number; side: Write } | null = null;

  constructor(harness: ProviderHarness, disk: ProviderDisk) {
    this.#disk = disk;
    this.provider = harness.create(
      providerContext({
        instanceId: "inst_conformance",
        memory: this.#memory(disk),
        clock: this.#clock(harness.clock),
      }),
    );
  }

  async start(): Promise<this> {
    await this.provider.start(async (signal) => {
      await this.#alive();
      await this.listen(signal);
      await this.#alive();
      if (signal.forget !== undefined) this.#disk.entries.delete(signal.forget);
      if (signal.kind === "receipt") this.told.push(signal);
      else this.heard.push(signal);
      return "applied";
    });
    return this;
  }

  die(): void {
    this.#dead = true;
  }

  /** Dies around its write number `write` (0 is the first): `before` it is on disk, or `after`, unanswered. */
  dieAt(write: number, side: Write): void {
    this.#diesAt = { write, side };
  }

  get dead(): boolean {
    return this.#dead;
  }

  receipts(message: Outbound): ReceiptSignal["receipt"][] {
    return this.told.filter((signal) => signal.messageId === message.messageId).map((signal) => signal.receipt);
  }

  /** Whoever waits for a dead provider's world waits for ever. */
  #alive(): Promise<void> {
    return this.#dead ? new Promise(() => {}) : Promise.resolve();
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
    write();
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

export const NEVER_ABORTED = new AbortController().signal;

/** Registers one promise of a provider as a test. */
export type Promises = (title: string, run: (stage: Stage, context: TestContext) => Promise<void>) => void;

export interface Stage {
  harness: ProviderHarness;
  disk: ProviderDisk;
  live(): Promise<Life>;
  /** A new message to a scenario's recipient. */
  message(to: { to: string; channel: Channel }, attempt?: number): Outbound;
  /** Waits until `life` told exactly `receipts` of `message`, and shows that nothing follows. */
  toldInTheEnd(life: Life, message: Outbound, receipts: readonly string[]): Promise<void>;
}

export function stageOf(harness: ProviderHarness, disk: ProviderDisk, lives: Life[]): Stage {
  return {
    harness,
    disk,
    live: async () => {
      const life = new Life(harness, disk);
      lives.push(life);
      return await life.start();
    },
    message: ({ to, channel }, attempt = 1) => outboundMessage({ messageId: nextMessageId(), to, channel, attempt }),
    toldInTheEnd: async (life, message, wanted) => {
      await harness.advanceUntil(() => life.receipts(message).length >= wanted.length, LIMIT_MS);
      await quiet(harness);
      assert.deepEqual(life.receipts(message), wanted);
    },
  };
}

let made = 0;

/** Ids differ, and are the same in each run. */
function nextMessageId(): MessageId {
  made += 1;
  return `msg_00000000-0000-7000-8000-${String(made).padStart(12, "0")}`;
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

/** Sends, letting the time pass that the answer takes. */
export async function send(stage: Stage, life: Life, message: Outbound, abort = NEVER_ABORTED): Promise<Outcome> {
  let outcome: Outcome | null = null;
  const sending = life.provider.send(message, abort).then((answer) => {
    outcome = answer;
    return answer;
  });
  await stage.harness.advanceUntil(() => outcome !== null, LIMIT_MS);
  return await sending;
}

export function acceptedReference(outcome: Outcome | "absent" | undefined): string {
  assert.ok(outcome !== undefined && outcome !== "absent");
  assert.equal(outcome.outcome, "accepted");
  assert.ok(outcome.outcome === "accepted" && outcome.reference !== "");
  return outcome.reference;
}
