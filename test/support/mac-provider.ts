/** A BlueBubbles provider beside a fake Mac, on one simulated clock, with its signals, memory and faults. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { ChosenWords } from "../../server/core/opt-out.ts";
import { chosenWords, DEFAULT_OPT_OUT_SETTINGS } from "../../server/core/opt-out-settings.ts";
import { createBluebubbles } from "../../server/providers/bluebubbles/bluebubbles.ts";
import type {
  Applied,
  Memory,
  Outbound,
  Outcome,
  OwnAddress,
  Provider,
  Signal,
} from "../../server/providers/provider.ts";
import { AttemptsKept, attemptsIn } from "./attempts.ts";
import { SimulatedClock } from "./clock.ts";
import { type Mac, type MacOptions, startMac } from "./mac/mac.ts";
import { outboundMessage } from "./outbound.ts";
import { providerContext, remembering } from "./provider.ts";

/** The instance's number, and two contacts. */
export const OWN = "+15550000001";
export const ANNA = "+15550100001";
export const BEN = "+15550100002";

/** Turns of the event loop after which everything has completed if the Mac is idle. */
const QUIET_TURNS = 30;
/** A send is a few calls of the Mac's, each 250 ms after the other at most. */
const SEND_TRIES = 200;

const NO_WORDS: ChosenWords = { stop: new Map(), resume: new Map() };

export interface MacProviderStageOptions extends MacOptions {
  ingest?: "webhook" | "socket";
  numbers?: readonly OwnAddress[];
  /** By default the words that every customer has. */
  words?: ChosenWords;
  /** Whether to start the provider; otherwise the test does. */
  starts?: boolean;
}

/** A memory that outlives the provider, and can be made to fail. */
class TestMemory implements Memory {
  readonly entries = new Map<string, string>();
  fails = false;
  readonly attempts = new AttemptsKept();

  async list(prefix: string) {
    return [...this.entries].filter(([key]) => key.startsWith(prefix)).map(([key, value]) => ({ key, value }));
  }

  async put(key: string, value: string): Promise<void> {
    if (this.fails) throw new Error("the disk is full");
    this.entries.set(key, value);
  }

  async delete(key: string): Promise<void> {
    if (this.fails) throw new Error("the disk is full");
    this.entries.delete(key);
  }
}

/** Starts a Mac and a provider for it; both are stopped at the end of the test. */
export async function stageMacProvider(
  t: TestContext,
  options: MacProviderStageOptions = {},
): Promise<MacProviderStage> {
  const clock = new SimulatedClock();
  const mac = await startMac({ ownAddress: OWN, ...options, clock });
  t.after(() => mac.stop());
  const listening = new MacProviderStage(mac, clock, options);
  await listening.listen();
  t.after(() => listening.end());
  if (options.starts !== false) await listening.start();
  return listening;
}

export class MacProviderStage {
  readonly mac: Mac;
  readonly clock: SimulatedClock;
  readonly memory = new TestMemory();
  /** Every signal reported and accepted, in order. */
  readonly signals: Signal[] = [];
  readonly faults: unknown[] = [];
  /** Events that the Mac sent. */
  events = 0;
  /** Decides the result of a signal: `applied` by default; a throw is a full disk. */
  onSignal: (signal: Signal) => Applied = () => "applied";
  /** Guids of ours that the service knows; a receipt for any other is `unknown`. Null: it knows all. */
  known: Set<string> | null = null;
  numbers: readonly OwnAddress[];
  readonly #words: ChosenWords;
  ingest: "webhook" | "socket";
  /** Settings of the provider that differ from the truth. */
  password: string | null = null;
  hookAddress: string | null = null;
  url: string | null = null;
  #provider: Provider | null = null;
  #hookPort = 0;
  readonly #hook = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const path = (request.url ?? "").replace(HOOK_PATH, "");
    const asked = { method: "POST" as const, path, url: this.hookUrl, headers: {}, body: Buffer.concat(parts) };
    const reply = await this.#provider?.receive?.(asked);
    response.writeHead(reply?.status ?? 503).end();
  });

  constructor(mac: Mac, clock: SimulatedClock, { ingest = "webhook", numbers, words }: MacProviderStageOptions) {
    this.#words = words ?? chosenWords(DEFAULT_OPT_OUT_SETTINGS);
    this.mac = mac;
    this.clock = clock;
    this.ingest = ingest;
    this.numbers = numbers ?? [{ address: OWN, customerId: "cust_1", isDefault: true }];
  }

  get hookUrl(): string {
    return this.hookAddress ?? `http://127.0.0.1:${this.#hookPort}${HOOK_PATH}`;
  }

  get provider(): Provider {
    if (this.#provider === null) throw new Error("the provider is not started");
    return this.#provider;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#hook.listen(0, "127.0.0.1", resolve));
    this.#hookPort = (this.#hook.address() as AddressInfo).port;
  }

  /** Starts a provider on the memory of the previous provider. */
  async start(): Promise<void> {
    const bare = createBluebubbles(
      providerContext({
        attempts: attemptsIn(this.memory.attempts),
        instanceId: "inst_mac",
        clock: this.clock,
        memory: this.memory,
        config: { url: this.url ?? this.mac.url, password: this.password ?? this.mac.password, ingest: this.ingest },
        hookUrl: () => this.hookUrl,
        numbers: async () => this.numbers,
        optOutWordsAt: async (address) => (address === OWN ? this.#words : NO_WORDS),
        eventReceived: () => {
          this.events += 1;
        },
        fault: (error) => void this.faults.push(error),
      }),
    );
    this.#provider = remembering(bare, async (_, conclude) => conclude(), this.memory.attempts);
    await this.#provider.start((signal) => this.#signal(signal));
    await this.idle();
  }

  async stop(): Promise<void> {
    const provider = this.#provider;
    this.#provider = null;
    await provider?.stop();
  }

  async end(): Promise<void> {
    await this.stop();
    this.#hook.closeAllConnections();
    this.#hook.close();
  }

  /** Sends a text, lets the needed time pass, and returns its guid. */
  async send(text: string, to = ANNA, more: Partial<Outbound> = {}): Promise<string> {
    let outcome: Outcome | null = null;
    const sending = this.provider.send({ ...OUTBOUND, to, text, ...more }, new AbortController().signal);
    void sending.then((came) => {
      outcome = came;
    });
    await this.idle();
    for (let tries = 0; outcome === null && tries < SEND_TRIES; tries += 1) await this.pass(50);
    return this.#accepted(await sending);
  }

  #accepted(outcome: Outcome): string {
    if (outcome.outcome !== "accepted") throw new Error(`it was not taken: ${JSON.stringify(outcome)}`);
    return outcome.reference;
  }

  /** Posts to the hook, as anybody could who knows its address; returns the status. */
  async post(body: unknown, path = "/mac"): Promise<number> {
    const bytes = typeof body === "string" ? body : JSON.stringify(body);
    const response = await fetch(`${this.hookUrl}${path}`, { method: "POST", body: bytes });
    await this.idle();
    return response.status;
  }

  /** Resolves when nothing is in flight any more, on the Mac or here. */
  async idle(): Promise<void> {
    await this.mac.idle();
    for (let turns = 0; turns < QUIET_TURNS; turns += 1) await turn();
    await this.mac.idle();
  }

  /** Lets time pass, timer by timer. */
  async pass(ms: number): Promise<void> {
    const end = this.clock.real() + ms;
    await this.idle();
    while (this.clock.real() < end) {
      const next = Math.min(end, this.clock.nextAt ?? end);
      await this.clock.advance(Math.max(1, next - this.clock.real()));
      await this.idle();
    }
  }

  /** Accepted signals of one kind. */
  of<Kind extends Signal["kind"]>(kind: Kind): Extract<Signal, { kind: Kind }>[] {
    return this.signals.filter((signal): signal is Extract<Signal, { kind: Kind }> => signal.kind === kind);
  }

  /** The receipts of one message, in order. */
  receiptsOf(guid: string): string[] {
    return this.of("receipt")
      .filter(({ reference }) => reference === guid)
      .map(({ receipt }) => receipt);
  }

  async #signal(signal: Signal): Promise<Applied> {
    await turn();
    const applied = this.onSignal(signal);
    const isKnown = signal.kind !== "receipt" || this.known === null || this.known.has(signal.reference);
    if (!isKnown) return "unknown";
    this.signals.push(signal);
    if (signal.forget !== undefined) this.memory.entries.delete(signal.forget);
    this.memory.attempts.apply(signal);
    return applied;
  }
}

const HOOK_PATH = "/hooks/inst_mac/token";

const OUTBOUND = outboundMessage({ messageId: "msg_1", customerId: "cust_1", from: OWN, to: ANNA });
