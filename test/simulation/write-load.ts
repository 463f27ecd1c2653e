/** A scripted load of messages with three webhooks each, on a scripted clock, and what the store wrote for it. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../../server/config.ts";
import type { PostResult } from "../../server/outgoing/post.ts";
import { createProvider } from "../../server/providers/registry.ts";
import { openSqliteInProcess, type Ports } from "../../server/store/sqlite/store.ts";
import type { Store, StoreCounts } from "../../server/store/store.ts";
import { SimulatedClock } from "../support/clock.ts";
import { type BtreeWrites, countBtreeWrites } from "./btree-writes.ts";
import { Chance } from "./chance.ts";
import { ADMIN_KEY, FIRST_KEY } from "./client.ts";
import { Life } from "./life.ts";
import { Service } from "./service.ts";

/** Writes that one message costs the store, from its request to the recorded outcome of its last webhook. */
export interface MessageCost {
  transactions: number;
  commits: number;
  walFrames: number;
  statements: number;
  rows: number;
  btreeWrites: number;
}

/** `one`: every message goes to the same recipient. */
type Recipients = "many" | "one";

const WEBHOOKS_PER_MESSAGE = 3;
const ROUND = 32;
const ROUNDS = 8;
/** Between two rounds: 4,000 messages a second. */
const ROUND_MS = 8;
/** Parts in which a round arrives, as requests of several connections do. */
const PARTS = 4;
/** How long a commit takes, and a webhook's request. */
const COMMIT_MS = 1;
const POST_MS = 1;
const DRAIN_MS_MAX = 60_000;

/** Runs the load twice, first to warm up, and counts the second run until its last webhook has been recorded. */
export async function measureMessageCost(recipients: Recipients): Promise<MessageCost> {
  const directory = mkdtempSync(join(tmpdir(), "tightbeam-write-load-"));
  const load = await WriteLoad.open(join(directory, "load.db"), recipients);
  try {
    await load.run();
    const before = await load.counts();
    await load.run();
    return perMessage(before, await load.counts());
  } finally {
    await load.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

type Counts = StoreCounts & BtreeWrites;

function perMessage(before: Counts, after: Counts): MessageCost {
  const each = (name: keyof Counts) => (after[name] - before[name]) / (ROUND * ROUNDS);
  return {
    transactions: each("transactions"),
    commits: each("commits"),
    walFrames: each("walFrames"),
    statements: each("statements"),
    rows: each("rows"),
    btreeWrites: each("entries"),
  };
}

class WriteLoad {
  readonly #clock: SimulatedClock;
  readonly #service: Service;
  readonly #store: Store;
  readonly #readBtreeWrites: () => Promise<BtreeWrites>;
  readonly #recipients: Recipients;
  #sent = 0;
  #refused = 0;
  #posted = 0;
  readonly #faults: string[] = [];

  private constructor(
    clock: SimulatedClock,
    store: Store,
    readBtreeWrites: () => Promise<BtreeWrites>,
    recipients: Recipients,
  ) {
    this.#clock = clock;
    this.#store = store;
    this.#readBtreeWrites = readBtreeWrites;
    this.#recipients = recipients;
    this.#service = this.#compose();
  }

  static async open(path: string, recipients: Recipients): Promise<WriteLoad> {
    const clock = new SimulatedClock();
    let opened: Ports | null = null;
    const store = await openSqliteInProcess(path, undefined, (ports) => {
      opened = ports;
      const timer = { now: () => clock.real(), after: (ms: number, action: () => void) => clock.after(ms, action) };
      return { ...ports, timer, write: (jobs) => after(clock, COMMIT_MS, () => ports.write(jobs)) };
    });
    if (opened === null) throw new Error("the store has no ports");
    const load = new WriteLoad(clock, store, await countBtreeWrites(opened), recipients);
    await load.#until(load.#service.start());
    await load.#until(load.#subscribe());
    return load;
  }

  /** Sends all rounds and waits until every webhook was answered and everything is at rest. */
  async run(): Promise<void> {
    for (let round = 0; round < ROUNDS; round += 1) {
      for (let part = 0; part < PARTS; part += 1) {
        for (let index = 0; index < ROUND / PARTS; index += 1) void this.#send();
        await this.#clock.advance(ROUND_MS / PARTS);
      }
    }
    const wanted = this.#sent * WEBHOOKS_PER_MESSAGE;
    const isDone = await this.#clock.advanceUntil(() => this.#posted >= wanted || this.#refused > 0, DRAIN_MS_MAX);
    // The outcomes of the last webhooks are committed too.
    await this.#clock.advance(100);
    if (isDone && this.#refused + this.#faults.length === 0 && this.#posted === wanted) return;
    const counts = `${this.#refused} messages refused, ${this.#posted} of ${wanted} webhooks posted`;
    throw new Error([counts, ...this.#faults].join("\n"));
  }

  async counts(): Promise<Counts> {
    return { ...(await this.#until(this.#store.counts())), ...(await this.#readBtreeWrites()) };
  }

  async close(): Promise<void> {
    await this.#until(this.#service.stop());
  }

  async #send(): Promise<void> {
    const index = this.#sent;
    this.#sent += 1;
    const place = this.#recipients === "one" ? 0 : index;
    const body = {
      to: `+1500555${String(200 + place).padStart(4, "0")}`,
      content: { text: `Your order ${index} has left our warehouse and arrives tomorrow between 9 and 12.` },
      externalMessageId: `load-${index}`,
      metadata: { order: `A-${index}`, campaign: "autumn" },
    };
    const { status } = await this.#service.ask({ method: "POST", path: "/v1/messages", key: FIRST_KEY, body });
    if (status !== 202) this.#refused += 1;
  }

  async #subscribe(): Promise<void> {
    const body = { url: "https://receiver.example.com/hook", events: ["*"] };
    const { status, text } = await this.#service.ask({ method: "PUT", path: "/v1/webhooks", key: FIRST_KEY, body });
    if (status >= 300) throw new Error(text);
  }

  async #until<Value>(work: Promise<Value>): Promise<Value> {
    let isDone = false;
    const end = () => {
      isDone = true;
    };
    work.then(end, end);
    // In small steps: without a timer, work that goes on by itself would get no turn of the event loop.
    while (!isDone) await this.#clock.advance(1);
    return await work;
  }

  #compose(): Service {
    const ids = new Chance("ids");
    const jitter = new Chance("jitter");
    const ok: PostResult = {
      status: 200,
      durationMs: POST_MS,
      response: "{}",
      error: null,
      connected: true,
      timedOut: false,
      isPrivate: false,
    };
    return new Service({
      life: new Life(1, this.#clock),
      store: this.#store,
      config: readConfig({
        TB_API_KEY: FIRST_KEY,
        TB_ADMIN_KEY: ADMIN_KEY,
        TB_RATE_LIMIT: "off",
        TB_SANDBOX_INBOX: "off",
      }),
      random: (size) => ids.bytes(size),
      chance: () => jitter.next(),
      createProvider,
      poster: {
        post: ({ headers }) =>
          after(this.#clock, POST_MS, async () => {
            this.#posted += 1;
            return { ...ok, sent: ["User-Agent", "Tightbeam/1.2.3", ...Object.entries(headers).flat()] };
          }),
        close() {},
      },
      fault: (where, error) => void this.#faults.push(`${where}: ${error}`),
    });
  }
}

/** Does `work` after `ms` of the clock. */
function after<Value>(clock: SimulatedClock, ms: number, work: () => Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => void clock.after(ms, () => void work().then(resolve, reject)));
}
