/** The whole service, composed by hand: settings, store, engine, HTTP; started in order, stopped in reverse. */

import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import type { FastifyInstance } from "fastify";
import { allRoutes } from "../api/all-routes.ts";
import { isForwarded } from "../api/forwarded.ts";
import { healthRoutes } from "../api/health.ts";
import { hookRoutes } from "../api/hooks.ts";
import { Inboxes, inboxReceiver } from "../api/inbox.ts";
import { OpenResponses } from "../api/open-responses.ts";
import { connectionsMaxOf, readOpenFilesMax } from "../api/pipeline/connection-limit.ts";
import { buildServer, type ServerOptions } from "../api/server.ts";
import { type Clock, type ClockShift, systemClock } from "../clock.ts";
import { baseUrl, type Config, ConfigError, hostOf, isLoopback } from "../config.ts";
import type { AllowList } from "../core/address.ts";
import { hashKey, isWellFormedKey, newKey } from "../core/key.ts";
import { readCredentials, removeKeys, writeCredentials } from "../credentials.ts";
import { UsageCounters } from "../engine/customers/usage.ts";
import type { EngineSettings } from "../engine/deps.ts";
import { Engine } from "../engine/engine.ts";
import { linkUnder } from "../engine/links.ts";
import { resetClock, restoreClock } from "../engine/sandbox/clock.ts";
import { createLog, type Log } from "../log.ts";
import { createMetrics, type Metrics } from "../metrics.ts";
import { Fetcher } from "../outgoing/fetch.ts";
import { addPages } from "../pages/pages.ts";
import { addReference } from "../pages/reference.ts";
import { PeerFault } from "../providers/provider.ts";
import { createSealer, fingerprint, loadSecretKey } from "../secrets.ts";
import { hasRealInstance } from "../store/instances.ts";
import { RowUnreadable } from "../store/rows.ts";
import { findSetting } from "../store/settings.ts";
import { StoreUnusable } from "../store/sqlite/connection.ts";
import { openSqlite } from "../store/sqlite/store.ts";
import { type CommitObserver, type Store, StoreFull } from "../store/store.ts";
import { bootstrap, type GeneratedKeys, type StartReport } from "./bootstrap.ts";
import { DeliverState } from "./deliver-messages.ts";
import { DeliverThread } from "./deliver-thread.ts";
import { findExposures } from "./exposures.ts";
import { createHealth } from "./health.ts";
import { createObserver } from "./observe.ts";
import { pooledRandom } from "./pooled-random.ts";
import { SECRET_KEY } from "./stored-settings.ts";
import { type HostedLoop, type LoopSettings, runLoopHere } from "./webhook-loop.ts";

/** How long deliveries and send attempts in flight may take to end at a stop, in milliseconds. */
const DRAIN_MS = 25_000;

/** A service that runs. */
export interface Service {
  /** Its base URL, without a slash at the end. */
  url: string;
  port: number;
  started: StartReport;
  /** Stops accepting requests, finishes work in flight, and releases the data directory. Takes at most 30 s. */
  stop(): Promise<void>;
}

/** Options of a start besides its settings. */
export interface StartOptions {
  version: string;
  /** Called when the database or a thread is lost: the process must end. `reason` is a sentence without a point. */
  lost: (reason: string) => void;
  log?: Log;
  /** Default: the machine's clock. */
  clock?: (shift: ClockShift) => Clock;
  /** Opens the store; by default the embedded store in threads. */
  openStore?: typeof openSqlite;
}

/** Starts the service. Throws `ConfigError` with one clear line if it cannot start. */
export async function startService(config: Config, options: StartOptions): Promise<Service> {
  const log = options.log ?? createLog(config.logLevel);
  const state = new DeliverState();
  const clock = (options.clock ?? systemClock)(state.shift);
  const metrics = createMetrics();
  const committed: CommitObserver = ({ transactions, durationMs }) => {
    metrics.transactionsCommitted.inc(transactions);
    metrics.commitGroupUnits.observe(transactions);
    metrics.commitSeconds.observe(durationMs / 1_000);
  };
  makeDataDir(config);
  const store = await openStore(config, options, log, committed);
  try {
    const secretKey = loadSecretKey(
      config.dataDir,
      config.secretKey,
      randomBytes,
      await findSetting(store.db, SECRET_KEY),
    );
    return await new Composition(config, options, { log, clock, state, metrics, store, secretKey, committed }).start();
  } catch (error) {
    await store.close();
    metrics.stop();
    if (error instanceof StoreFull) throw new ConfigError(`The data directory ${config.dataDir} has no room left.`);
    throw error;
  }
}

function makeDataDir(config: Config): void {
  try {
    mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new ConfigError(`The data directory ${config.dataDir} cannot be made: ${(error as Error).message}.`);
  }
}

async function openStore(config: Config, options: StartOptions, log: Log, committed: CommitObserver): Promise<Store> {
  const { openStore: open = openSqlite, lost } = options;
  try {
    return await open(
      config.dataDir,
      (reason) => lost(`the database is lost (${reason}); start again when the disk is well`),
      committed,
      (progress) => log.info("upgrade", { reason: progress }),
    );
  } catch (error) {
    throw error instanceof StoreUnusable ? new ConfigError(error.message) : error;
  }
}

interface Parts {
  log: Log;
  clock: Clock;
  state: DeliverState;
  metrics: Metrics;
  store: Store;
  secretKey: Buffer;
  committed: CommitObserver;
}

class Composition {
  readonly #config: Config;
  readonly #options: StartOptions;
  readonly #parts: Parts;
  readonly #engine: Engine;
  readonly #usage: UsageCounters;
  readonly #inboxes: Inboxes;
  /** Whether every instance is a sandbox. Only then the service allows loopback webhooks and keys in a file. */
  #isSandbox = true;
  /** Resolves once no webhook reaches what only a sandbox allows. */
  #guarded: Promise<void> | undefined;
  readonly #fetcher: Fetcher;
  readonly #lasting = new OpenResponses();
  #loop: HostedLoop | null = null;
  #url = "";
  #state: "starting" | "ready" | "closing" = "starting";

  constructor(config: Config, options: StartOptions, parts: Parts) {
    const { clock, state, metrics, store, secretKey } = parts;
    const log = settingAside(parts.log, store);
    this.#config = config;
    this.#options = options;
    this.#parts = { ...parts, log };
    const fault = (where: string, error: unknown) =>
      log[error instanceof PeerFault ? "warn" : "error"]("fault", { where, error });
    const clockStepped = (ms: number) =>
      log.warn("the clock was set", {
        reason: `the machine's time went ${ms < 0 ? "back" : "forward"} by ${Math.abs(ms)} ms`,
      });
    this.#usage = new UsageCounters({ store, clock, fault });
    this.#fetcher = new Fetcher({ allow: config.fetchAllow, userAgent: `Tightbeam/${options.version}` });
    this.#engine = new Engine({
      store,
      clock,
      shift: state.shift,
      random: pooledRandom(),
      chance: Math.random,
      sealer: createSealer(secretKey, randomBytes),
      settings: this.#settings(),
      observer: createObserver(metrics, this.#usage, { fault, clockStepped }),
      leaveSandbox: () => this.#leaveSandbox(),
      publicUrl: () => this.#url,
      link: linkUnder(() => this.#url, { clock }),
      fetcher: this.#fetcher,
    });
    this.#inboxes = new Inboxes(this.#engine.deps, (path) => `${this.#url}${path}`);
  }

  #settings(): EngineSettings {
    const allowed = () => this.#webhookAllow();
    return {
      ...this.#config,
      get webhookAllow() {
        return allowed();
      },
    };
  }

  #webhookAllow(): AllowList {
    return this.#isSandbox ? this.#config.webhookAllow : this.#config.webhookAllowReal;
  }

  /** The loop of deliveries: in a thread of its own, if the database is in threads too. */
  #createLoop(ownUrl: string): HostedLoop {
    const { deps } = this.#engine;
    const { store, state, secretKey, committed } = this.#parts;
    const userAgent = `Tightbeam/${this.#options.version}`;
    const loop: LoopSettings = { allow: this.#webhookAllow(), userAgent, ownUrl };
    const ports = store.openPorts();
    if (ports === null) return runLoopHere({ ...deps, store: store.fork() }, loop);
    const { lost } = this.#options;
    return new DeliverThread({
      ...deps,
      ports,
      state,
      secretKey,
      loop,
      committed,
      lost: (reason) => lost(`the thread that sends webhooks is lost (${reason}); start again`),
    });
  }

  /** Ends what only sandboxes allow: webhooks to loopback, and keys in a file. */
  async #leaveSandbox(): Promise<void> {
    await resetClock(this.#engine.deps);
    if (this.#isSandbox) {
      const hadKeys = removeKeys(this.#config.dataDir, this.#url);
      if (hadKeys) this.#parts.log.info("left the sandbox: credentials.json holds no keys any more");
      this.#isSandbox = false;
      this.#guarded = this.#loop?.allow(this.#webhookAllow());
    }
    // Another request may have begun it.
    await this.#guarded;
  }

  async start(): Promise<Service> {
    const app = this.#buildServer();
    // Before anything is created, so that a start without a free port creates no keys. Requests during the start get a
    // 503.
    const port = await listen(app, this.#config);
    try {
      return await this.#begin(app, port);
    } catch (error) {
      await app.close();
      await this.#loop?.close();
      throw error;
    }
  }

  async #begin(app: FastifyInstance, port: number): Promise<Service> {
    const { log, secretKey } = this.#parts;
    const url = baseUrl(this.#config, port);
    this.#url = url;
    // The thread loads its code meanwhile.
    const loop = this.#createLoop(ownUrl(app));
    this.#loop = loop;
    await restoreClock(this.#engine.deps);
    const generate = (name: keyof GeneratedKeys) => generateKey(this.#config.dataDir, url, name);
    const started = await bootstrap(this.#engine.deps, this.#config, fingerprint(secretKey), generate);
    keepCredentials(this.#config, url, started);
    if (await hasRealInstance(this.#parts.store.db)) await this.#leaveSandbox();
    this.#usage.start();
    await this.#engine.start(loop);
    this.#state = "ready";
    log.info("listening", { port, version: this.#options.version });
    for (const reason of findExposures(this.#config.dataDir, process.getuid?.())) log.warn("exposed", { reason });
    if (isLoopback(hostOf(url))) warnOfProxy(app, log);
    return { url, port, started, stop: () => this.#stop(app) };
  }

  #buildServer(): FastifyInstance {
    const { deps } = this.#engine;
    const { log, clock, metrics } = this.#parts;
    const inboxes = this.#inboxes;
    const authenticate = (key: string) => {
      const hash = hashKey(key);
      return deps.configCache.key(hash) ?? deps.configCache.findKey(hash);
    };
    const api = allRoutes(deps, this.#usage, inboxes, this.#lasting);
    const health = createHealth({ deps, metrics, authenticate, state: () => this.#state });
    const options: ServerOptions = {
      routes: [...api, ...healthRoutes(health), ...hookRoutes(deps), inboxReceiver(inboxes)],
      authenticate,
      keyUsed: (key) => this.#usage.used(key.id),
      rateLimit: this.#config.rateLimit,
      connectionsMax: connectionsMaxOf(readOpenFilesMax()),
      overloadSeconds: () => deps.backPressure.overloadSeconds,
      isClosing: () => this.#state !== "ready",
      completed: (request) => {
        metrics.countRequest(request);
        if (request.keyId === null) return;
        this.#usage.count([request.keyId], request.limited ? "rateLimited" : "requests");
      },
      log,
      clock,
      newId: deps.newId,
      random: deps.random,
    };
    const app = buildServer(options);
    const { version } = this.#options;
    addPages(app, options, (pages) => addReference(pages, { routes: api, version, baseUrl: () => this.#url }));
    return app;
  }

  async #stop(app: FastifyInstance): Promise<void> {
    if (this.#state === "closing") return;
    this.#state = "closing";
    const { clock, log, metrics, store } = this.#parts;
    log.info("stopping");
    this.#inboxes.stop();
    this.#lasting.stop();
    const giveBack = clock.after(DRAIN_MS, () => {
      this.#engine.cutOff();
      this.#loop?.cutOff();
      // A phone of the sandbox may wait for files from many addresses in sequence.
      void this.#fetcher.close();
    });
    await this.#engine.stop();
    giveBack();
    await app.close();
    await this.#loop?.close();
    await this.#fetcher.close();
    await this.#usage.stop();
    await store.close();
    metrics.stop();
    log.info("stopped");
  }
}

/** Logs the first request through a proxy to a service that is configured for its own machine only. */
function warnOfProxy({ server }: FastifyInstance, log: Log): void {
  const look = (request: IncomingMessage) => {
    if (!isForwarded(request)) return;
    server.off("request", look);
    log.warn("forwarded request", {
      reason:
        "a proxy passes requests on, and TB_PUBLIC_URL does not say where others reach this service: links lead to this machine alone, and on a loopback HOST webhooks may reach whatever listens here; set TB_PUBLIC_URL",
    });
  };
  server.on("request", look);
}

/** A log that also puts the row of each logged `RowUnreadable` into quarantine, whether a request or a loop read it. */
function settingAside(log: Log, store: Pick<Store, "quarantine">): Log {
  return {
    ...log,
    error(event, fields) {
      if (fields?.error instanceof RowUnreadable) store.quarantine(fields.error.row);
      log.error(event, fields);
    },
  };
}

async function listen(app: FastifyInstance, { host, port }: Config): Promise<number> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    await app.close();
    throw new ConfigError(listenProblem(error, host, port));
  }
  return portOf(app);
}

function listenProblem(error: unknown, host: string, port: number): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === "EADDRINUSE")
    return `Port ${port} on ${host} is in use: stop what listens there, or set PORT (0 picks a free one).`;
  if (code === "EACCES") return `Port ${port} needs more rights: set PORT to one above 1023.`;
  return `Cannot listen on ${host}:${port}: ${(error as Error).message}.`;
}

function portOf(app: FastifyInstance): number {
  const address = app.server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** The address at which this process reaches itself: the one it listens on, or loopback for all addresses. */
function ownUrl(app: FastifyInstance): string {
  const address = app.server.address();
  if (typeof address !== "object" || address === null) return "";
  const host = address.address === "0.0.0.0" ? "127.0.0.1" : address.address === "::" ? "::1" : address.address;
  return `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`;
}

/**
 * Generates a key and writes it to the credentials file before it is stored, so that a crash in between loses no key.
 */
function generateKey(dataDir: string, url: string, name: keyof GeneratedKeys): string {
  const kept = readCredentials(dataDir);
  const left = kept?.[name];
  const key = left !== undefined && isWellFormedKey(left) ? left : newKey(randomBytes);
  writeCredentials(dataDir, { ...kept, baseUrl: url, [name]: key });
  return key;
}

/** Writes the generated keys, and only those, to the file that the command line reads. */
function keepCredentials(config: Config, url: string, { generated, fromSettings }: StartReport): void {
  const kept = readCredentials(config.dataDir);
  const apiKey = fromSettings.apiKey ? undefined : (generated.apiKey ?? kept?.apiKey);
  const adminKey = fromSettings.adminKey ? undefined : (generated.adminKey ?? kept?.adminKey);
  writeCredentials(config.dataDir, {
    baseUrl: url,
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(adminKey === undefined ? {} : { adminKey }),
  });
}
