/** One run of the whole service in a world made from one seed: its time, disk, network, carriers, customers and deaths. */

import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ProviderName } from "../../sdk/wire.ts";
import { type Config, readConfig } from "../../server/config.ts";
import { PeerFault, type Provider, type ProviderContext } from "../../server/providers/provider.ts";
import type { Job } from "../../server/store/jobs/jobs.ts";
import { SimulatedClock } from "../support/clock.ts";
import { ScriptedCarrier } from "./carrier.ts";
import { Chance } from "./chance.ts";
import { ADMIN_KEY, type Call, Clients, type Customer, FIRST_KEY, type SendIntent } from "./client.ts";
import { type DiskFaults, type OpenDisk, openDisk } from "./disk.ts";
import { Life } from "./life.ts";
import { Network, type Sending } from "./network.ts";
import { Notes } from "./notes.ts";
import { observedSandbox, Takings } from "./observed.ts";
import { type QueueLog, QueueWatch } from "./queue-watch.ts";
import { type Rest, readRest } from "./rest.ts";
import { Service, type ServiceParts } from "./service.ts";
import { watched } from "./watchdog.ts";

/** Everything that left the system in one run. The oracle reads nothing else. */
export interface Observed {
  seed: string;
  kind: "scripted" | "sandbox";
  /** Whether receipts carry our message id, so that even a receipt before the stored outcome finds its message. */
  namesMessages: boolean;
  /** Settings that the rules depend on. */
  settings: Pick<Config, "webhookRetryScheduleMs" | "fallbackAfterMs" | "messageTtlMs">;
  calls: Call[];
  intents: SendIntent[];
  customers: Customer[];
  sendings: Sending[];
  queue: QueueLog;
  carrier: ScriptedCarrier["log"];
  /** Faults that the service reported, and in which life; not those of its peers. */
  faults: { life: number; where: string; message: string }[];
  /** Whether there was a time without room on the disk. */
  wasFull: boolean;
  /** How often a line to a carrier went down. */
  outages: number;
  /** Stops of the service, as positions in the run. */
  stops: { from: number; to: number }[];
  lives: number;
  /** Whether all work ended. */
  hasEnded: boolean;
  /** By customer. */
  rest: Map<string, Rest>;
}

/** Ways to break the service, for tests of the oracle. */
export interface Sabotage {
  disk?: (jobs: Job[]) => Job[];
  provider?: (provider: Provider) => Provider;
  poster?: (poster: ServiceParts["poster"]) => ServiceParts["poster"];
  config?: Record<string, string>;
}

/** Directory for the files of a run: in memory if the system offers it. A power cut is not simulated. */
const MEMORY = "/dev/shm";
const FILES = existsSync(MEMORY) ? MEMORY : tmpdir();

/** Rounds after which a world that is still busy counts as never coming to rest. */
const ROUNDS_MAX = 4_000;
const LIVES_MAX = 8;
/** The longest a start, a stop or an answer may take, and the step of waiting, in milliseconds. */
const WORK_MS_MAX = 120_000;
const STEP_MS = 10;

/** Runs the world of a seed until it is at rest. The same seed gives the same run, unless the product changed. */
export async function simulate(seed: string, sabotage: Sabotage = {}): Promise<Observed> {
  const directory = mkdtempSync(join(FILES, "tightbeam-simulation-"));
  const world = new World(seed, join(directory, "world.db"), sabotage);
  try {
    return await watched(seed, () => world.run());
  } finally {
    await world.end();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** A hash of everything that was observed: equal for equal runs. */
export function hashOf(run: Observed): string {
  return createHash("sha256")
    .update(JSON.stringify({ ...run, rest: [...run.rest] }))
    .digest("hex");
}

class World {
  readonly #seed: string;
  readonly #path: string;
  readonly #sabotage: Sabotage;
  readonly #clock = new SimulatedClock();
  readonly #chance: Chance;
  readonly #ids: Chance;
  readonly #jitter: Chance;
  readonly #diskChance: Chance;
  readonly #network: Network;
  readonly #carrier: ScriptedCarrier;
  readonly #clients: Clients;
  readonly #kind: "scripted" | "sandbox";
  readonly #namesMessages: boolean;
  /** The settings of the rules, and those of the service (a sabotage may change them). */
  readonly #settings: Config;
  readonly #config: Config;
  readonly #faults: Observed["faults"] = [];
  readonly #fullTimes: { from: number; to: number }[] = [];
  readonly #disk: DiskFaults;
  readonly #queue: QueueLog = { pushed: [], situations: [] };
  readonly #notes = new Notes();
  readonly #takings = new Takings();
  #order = 0;
  readonly #stops: Observed["stops"] = [];
  #outages = 0;
  #lives = 0;
  #life: Life | null = null;
  #service: Service | null = null;
  #open: OpenDisk | null = null;

  constructor(seed: string, path: string, sabotage: Sabotage) {
    this.#seed = seed;
    this.#path = path;
    this.#sabotage = sabotage;
    const chance = new Chance(seed);
    this.#chance = chance;
    this.#ids = chance.stream("ids");
    this.#jitter = chance.stream("jitter");
    this.#diskChance = chance.stream("disk");
    const order = () => {
      this.#order += 1;
      return this.#order;
    };
    const clock = this.#clock;
    this.#kind = chance.flip(0.7) ? "scripted" : "sandbox";
    this.#namesMessages = this.#kind === "sandbox" || chance.flip(0.75);
    const settings = {
      TB_API_KEY: FIRST_KEY,
      TB_ADMIN_KEY: ADMIN_KEY,
      TB_RATE_LIMIT: "off",
      TB_SANDBOX_INBOX: chance.flip(0.25) ? "on" : "off",
      TB_MESSAGE_TTL: chance.flip(0.3) ? "10m" : "72h",
      TB_FALLBACK_AFTER: chance.flip(0.2) ? "45s" : "off",
    };
    this.#settings = readConfig(settings);
    this.#config = readConfig({ ...settings, ...sabotage.config });
    this.#network = new Network({ clock, chance: chance.stream("network"), order });
    const habits = {
      canBeAsked: chance.flip(0.7),
      repeatsReceipts: chance.flip(0.8),
      namesMessages: this.#namesMessages,
      concurrency: chance.pick([1, 4, 64]),
      sendTimeoutMs: chance.pick([40_000, 120_000]),
    };
    this.#carrier = new ScriptedCarrier({ clock, chance: chance.stream("carrier"), order }, habits);
    const ask: ConstructorParameters<typeof Clients>[0]["ask"] = async (request) => {
      const service = this.#service;
      if (service === null || !service.life.alive) return undefined;
      return await Promise.race([service.ask(request), service.life.death.then(() => null)]);
    };
    this.#clients = new Clients({ clock, chance: chance.stream("clients"), order, ask }, this.#kind);
    this.#disk = {
      operationsLeft: null,
      doneBeforeDeath: true,
      slowShare: chance.pick([0, 0.02, 0.2]),
      isFull: (real) => this.#fullTimes.some(({ from, to }) => real >= from && real < to),
      ...(sabotage.disk === undefined ? {} : { forge: sabotage.disk }),
    };
  }

  async run(): Promise<Observed> {
    // The first start of all is cut short now and then.
    if (this.#chance.flip(0.15)) this.#arm(12);
    await this.#revive();
    this.#disk.operationsLeft = null;
    await this.#clock.advance(1_000);
    await this.#revive();
    this.#disk.operationsLeft = null;
    await this.#until(this.#clients.setUp(), "the set-up");
    await this.#live();
    const hasEnded = await this.#rest();
    const rest = new Map<string, Rest>();
    const until: Parameters<typeof readRest>[2] = (work, what) => this.#until(work, what);
    for (const customer of this.#clients.customers) {
      rest.set(customer.name, await readRest(this.#clients, customer, until));
    }
    return {
      seed: this.#seed,
      kind: this.#kind,
      namesMessages: this.#namesMessages,
      settings: this.#settings,
      calls: this.#clients.calls,
      intents: this.#clients.intents,
      customers: this.#clients.customers,
      sendings: this.#network.sendings,
      queue: this.#queue,
      carrier: this.#carrier.log,
      faults: this.#faults,
      wasFull: this.#fullTimes.length > 0,
      outages: this.#outages,
      stops: this.#stops,
      lives: this.#lives,
      hasEnded,
      rest,
    };
  }

  async end(): Promise<void> {
    this.#life?.die();
    this.#service?.dispose();
    await this.#open?.release();
  }

  /** The eventful part: customers act, time passes, the process dies and comes back. */
  async #live(): Promise<void> {
    const chance = this.#chance;
    this.#arm(400);
    for (let acts = chance.between(25, 70); acts > 0; acts -= 1) {
      const event = chance.weighted({
        act: 80,
        people: this.#kind === "scripted" ? 14 : 0,
        crash: 2,
        stop: 2,
        shift: 4,
        full: 1,
        outage: this.#kind === "scripted" ? 8 : 0,
      });
      if (event === "act") this.#clients.act();
      else if (event === "people") this.#carrier.people.act(this.#clients.phones, this.#clients.numbers);
      else if (event === "crash") this.#life?.die();
      else if (event === "stop") await this.#stop();
      else if (event === "shift") await this.#shift();
      else if (event === "full") this.#runFull();
      else if (this.#carrier.flip()) this.#outages += 1;
      const pace = chance.weighted({ atOnce: 30, quick: 55, slow: 14, long: 3 });
      if (pace === "quick") await this.#clock.advance(chance.between(1, 400));
      else if (pace === "slow") await this.#clock.advance(chance.between(400, 5_000));
      else if (pace === "long") await this.#clock.advance(chance.between(5_000, 50_000));
      if (this.#life?.alive !== true && (this.#lives >= LIVES_MAX || chance.flip(0.4))) {
        await this.#clock.advance(chance.between(0, 3_000));
        await this.#revive();
      }
    }
  }

  /** Moves the shifted clock, once no send attempt of a dead process is still on its way. */
  async #shift(): Promise<void> {
    while (this.#carrier.isLate(this.#life)) await this.#clock.advance(200);
    this.#clock.shift(this.#chance.pick([5_000, 60_000, 400_000, 3_600_000, 30_000_000]));
  }

  #runFull(): void {
    const from = this.#clock.real();
    this.#fullTimes.push({ from, to: from + this.#chance.between(10, 3_000) });
  }

  /** Makes the next life, or the present one, die within the given number of disk operations. */
  #arm(operationsMax: number): void {
    this.#disk.operationsLeft =
      this.#lives < LIVES_MAX && this.#chance.flip(0.7) ? this.#chance.between(0, operationsMax) : null;
    this.#disk.doneBeforeDeath = this.#chance.flip(0.5);
  }

  /** Starts the service unless it runs, repeatedly if it dies during the start. */
  async #revive(): Promise<void> {
    while (this.#service === null || this.#life?.alive !== true) {
      await this.#bury();
      if (this.#lives > 0) this.#arm(400);
      this.#lives += 1;
      const life = new Life(this.#lives, this.#clock);
      this.#life = life;
      const queue = new QueueWatch(this.#lives, this.#queue);
      const world = { clock: this.#clock, chance: this.#diskChance, queue };
      this.#open = await openDisk(this.#path, life, world, this.#disk);
      const service = this.#compose(life, this.#open);
      const start = service.start().then(
        () => true,
        (error: unknown) => {
          this.#fault("start", error);
          life.die();
          return false;
        },
      );
      const started = Promise.race([start, life.death.then(() => false)]);
      if (await this.#until(started, "the start")) {
        this.#service = service;
        return;
      }
      service.dispose();
      await this.#clock.advance(this.#chance.between(1, 1_000));
    }
  }

  async #bury(): Promise<void> {
    this.#service?.dispose();
    this.#service = null;
    await this.#open?.release();
    this.#open = null;
  }

  async #stop(): Promise<void> {
    const service = this.#service;
    if (service === null || !service.life.alive) return;
    const from = ++this.#order;
    await this.#until(Promise.race([service.stop(), service.life.death]), "the stop");
    this.#stops.push({ from, to: ++this.#order });
    service.life.die();
    await this.#bury();
  }

  #compose(life: Life, { store }: OpenDisk): Service {
    const sabotage = this.#sabotage;
    let service: Service | null = null;
    const poster = this.#network.poster(life, async ({ url, body, headers }) => {
      const path = new URL(url).pathname;
      const request = { method: "POST", path, key: null, body: String(body), headers } as const;
      const { status, text } = (await service?.ask(request)) ?? { status: 404, text: "" };
      return { status, body: text };
    });
    service = new Service({
      life,
      store,
      config: this.#config,
      random: (size) => this.#ids.bytes(size),
      chance: () => this.#jitter.next(),
      createProvider: (name, deps) => {
        const inner = this.#line(life, name, deps);
        if (sabotage.provider === undefined) return inner;
        // A copy would keep the value of this moment.
        return Object.defineProperty(sabotage.provider(inner), "isUp", { get: () => inner.isUp !== false });
      },
      poster: sabotage.poster?.(poster) ?? poster,
      fault: (where, error) => {
        if (life.alive && !(error instanceof PeerFault)) this.#fault(where, error);
      },
    });
    return service;
  }

  /** A carrier's line of the world's kind. */
  #line(life: Life, name: ProviderName, deps: ProviderContext): Provider {
    if (this.#kind === "scripted") return this.#notes.line(this.#carrier, { life, name, ...deps });
    const parts = { clock: this.#clock, chance: this.#chance, order: () => ++this.#order, takings: this.#takings };
    return observedSandbox(deps, life, this.#carrier.log, parts);
  }

  #fault(where: string, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.#faults.push({ life: this.#lives, where, message });
  }

  /** Lets time pass until the work is done. */
  async #until<Value>(work: Promise<Value>, what: string): Promise<Value> {
    let done = false;
    const end = () => {
      done = true;
    };
    work.then(end, end);
    // In small steps: without a timer, work that goes on by itself would get no turn of the event loop.
    for (let waitedMs = 0; !done; waitedMs += STEP_MS) {
      if (waitedMs > WORK_MS_MAX) throw new Error(`${what} takes longer than ${WORK_MS_MAX} ms`);
      await this.#clock.advance(STEP_MS);
    }
    return await work;
  }

  /** Lets all work end; only receivers that are down for good still fail. Returns whether all work ended. */
  async #rest(): Promise<boolean> {
    this.#disk.slowShare = 0;
    this.#disk.isFull = () => false;
    this.#network.calm();
    this.#carrier.calm();
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      await this.#revive();
      this.#disk.operationsLeft = null;
      if (this.#clients.underWay === 0) void this.#clients.insist();
      const next = await this.#next();
      if (next === null) return true;
      if (next > this.#clock.now()) this.#clock.shift(next - this.#clock.now() + this.#chance.between(0, 2_000));
      await this.#clock.advance(250);
    }
    return false;
  }

  /** The shifted time of the next due work; now if work is in flight; null if all is at rest. */
  async #next(): Promise<number | null> {
    const now = this.#clock.now();
    const underWay = this.#clients.underWay + this.#network.underWay + this.#carrier.unreported;
    const busy = await this.#open?.peek(
      `select (select count(*) from messages where claimed_until is not null)
            + (select count(*) from memory where key <> 'last-event')`,
    );
    if (underWay + (busy ?? 0) > 0) return now;
    const queues = ["messages", "deliveries", "payments"];
    const due = queues.map((queue) => `select min(due_at) from ${queue}`).join(" union all ");
    return (await this.#open?.peek(`select min("min(due_at)") from (${due})`)) ?? null;
  }
}
