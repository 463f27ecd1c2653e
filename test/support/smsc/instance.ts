/** An SMPP instance with a message centre, in real time: its signals, its memory and its log. */

import type { TestContext } from "node:test";
import type { Clock } from "../../../server/clock.ts";
import { systemClock } from "../../../server/clock.ts";
import type { MessageId } from "../../../server/core/id.ts";
import type {
  Applied,
  InboundSignal,
  Memory,
  Outbound,
  Outcome,
  OwnAddress,
  Provider,
  ReceiptSignal,
  SendAttempts,
  Signal,
} from "../../../server/providers/provider.ts";
import { createSmpp } from "../../../server/providers/smpp/smpp.ts";
import { AttemptsKept, attemptsIn } from "../attempts.ts";
import { outboundMessage } from "../outbound.ts";
import { providerContext, remembering } from "../provider.ts";
import { until } from "../wait.ts";
import { hasSmsc, PASSWORD, type Smsc, SYSTEM_ID, startSmsc } from "./smsc.ts";

/** The number on the instance. */
export const OWN = "+15550000001";
/** A recipient, without the two digits that select the message centre's behaviour. */
export const TO = "+155501000";

/** Memory and send attempts that outlive the provider, and that a test can make fail. */
export class Disk implements Memory {
  readonly entries = new Map<string, string>();
  /** As the engine keeps them. */
  readonly kept = new AttemptsKept();
  readonly attempts: SendAttempts = attemptsIn(this.kept, (change) => this.write(change));
  fails = false;
  /** Failed writes. */
  refused = 0;

  async list(prefix: string) {
    return [...this.entries].filter(([key]) => key.startsWith(prefix)).map(([key, value]) => ({ key, value }));
  }

  /** Entries of the memory, and attempts with a note. */
  get size(): number {
    return this.entries.size + this.kept.noted.length;
  }

  async write(change: () => void): Promise<void> {
    if (this.fails) {
      this.refused += 1;
      throw new Error("the disk is full");
    }
    change();
  }

  put(key: string, value: string): Promise<void> {
    return this.write(() => void this.entries.set(key, value));
  }

  async delete(key: string): Promise<void> {
    this.entries.delete(key);
  }
}

export interface InstanceOptions {
  config?: Record<string, unknown>;
  disk?: Disk;
  clock?: Clock;
  numbers?: readonly OwnAddress[];
  /** Whether to wait until the instance is bound; the default. */
  waits?: boolean;
}

export class TestInstance {
  readonly provider: Provider;
  readonly disk: Disk;
  readonly receipts: ReceiptSignal[] = [];
  readonly inbound: InboundSignal[] = [];
  readonly faults: unknown[] = [];
  /** References of accepted messages, as the service has stored them. */
  readonly references = new Set<string>();
  /** The addresses of accepted messages by reference. */
  readonly sent = new Map<string, { from: string; to: string }>();
  /** The engine's answer to a signal; may be replaced. */
  onSignal: (signal: Signal) => Applied | Promise<Applied> = (signal) => this.appliedOf(signal);
  #made = 0;

  constructor(port: number, options: InstanceOptions) {
    const { config = {}, disk = new Disk(), clock = systemClock() } = options;
    this.disk = disk;
    const bare = createSmpp(
      providerContext({
        instanceId: "inst_smpp",
        clock,
        memory: disk,
        attempts: disk.attempts,
        config: {
          host: "127.0.0.1",
          port,
          systemId: SYSTEM_ID,
          password: PASSWORD,
          bindMode: "transceiver",
          ...config,
        },
        isNumber: async (address) =>
          (options.numbers ?? [{ address: OWN }]).some((number) => number.address === address),
        findSent: async (reference) => this.sent.get(reference) ?? null,
        numbers: async () => options.numbers ?? [{ address: OWN, customerId: "cust_1", isDefault: true }],
        fault: (error) => void this.faults.push(error),
      }),
    );
    this.provider = remembering(bare, async (_, conclude) => disk.write(conclude), disk.kept);
  }

  async start(waits: boolean): Promise<this> {
    await this.provider.start(async (signal) => {
      const applied = await this.onSignal(signal);
      if (applied === "unknown") return applied;
      if (signal.forget !== undefined) this.disk.entries.delete(signal.forget);
      this.disk.kept.apply(signal);
      if (signal.kind === "receipt") this.receipts.push(signal);
      else if (signal.kind === "inbound") this.inbound.push(signal);
      return applied;
    });
    if (waits) await until(() => this.provider.isUp, { what: "the bind" });
    return this;
  }

  /** A receipt without a known message is unknown. */
  appliedOf(signal: Signal): Applied {
    if (signal.kind !== "receipt" || signal.messageId !== undefined) return "applied";
    return this.references.has(signal.reference) ? "applied" : "unknown";
  }

  message(to: string, text = "Hello", more: Partial<Outbound> = {}): Outbound {
    this.#made += 1;
    const messageId: MessageId = `msg_00000000-0000-7000-8000-${String(this.#made).padStart(12, "0")}`;
    return outboundMessage({ messageId, from: OWN, to, channel: "sms", text, attemptedAt: Date.now(), ...more });
  }

  async send(to: string, text = "Hello", more: Partial<Outbound> = {}): Promise<Outcome> {
    const message = this.message(to, text, more);
    const outcome = await this.provider.send(message, new AbortController().signal);
    if (outcome.outcome !== "accepted") return outcome;
    this.references.add(outcome.reference);
    this.sent.set(outcome.reference, message);
    return outcome;
  }

  /** Sends, and returns the reference of the accepted message. */
  async accepted(to: string, text = "Hello", more: Partial<Outbound> = {}): Promise<string> {
    const outcome = await this.send(to, text, more);
    if (outcome.outcome !== "accepted") throw new Error(`it was not taken: ${JSON.stringify(outcome)}`);
    return outcome.reference;
  }

  /** The reported receipts of a reference, in order. */
  receiptsOf(reference: string): string[] {
    return this.receipts.filter((signal) => signal.reference === reference).map(({ receipt }) => receipt);
  }

  async receipt(reference: string): Promise<ReceiptSignal> {
    return await until(() => this.receipts.find((signal) => signal.reference === reference), { what: "the receipt" });
  }
}

/** Starts an instance; the end of the test stops it. */
export async function startInstance(
  t: TestContext,
  port: number,
  options: InstanceOptions = {},
): Promise<TestInstance> {
  const instance = new TestInstance(port, options);
  t.after(() => instance.provider.stop());
  return await instance.start(options.waits ?? true);
}

/** A message centre with a bound instance; null after skipping the test with the reason. */
export async function smppStage(
  t: TestContext,
  options: InstanceOptions = {},
  smscOptions: Record<string, string | number> = {},
): Promise<{ smsc: Smsc; instance: TestInstance } | null> {
  if (!hasSmsc(t)) return null;
  const smsc = await startSmsc(smscOptions);
  t.after(() => smsc.kill());
  return { smsc, instance: await startInstance(t, smsc.port, options) };
}
