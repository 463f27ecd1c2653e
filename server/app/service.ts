/** The whole service, composed by hand: settings, store, engine, HTTP; started in order, stopped in reverse. */

import { randomBytes } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { allRoutes } from "../api/all-routes.ts";
import { healthRoutes } from "../api/health.ts";
import { hookRoutes } from "../api/hooks.ts";
import { Inboxes, inboxReceiver } from "../api/inbox.ts";
import { OpenResponses } from "../api/open-responses.ts";
import { connectionsMaxOf, readOpenFilesMax } from "../api/pipeline/connection-limit.ts";
import { buildServer, type ServerOptions } from "../api/server.ts";
import { browserRoutes } from "../api/sessions.ts";
import { type Clock, type ClockShift, systemClock } from "../clock.ts";
import { baseUrl, type Config, ConfigError } from "../config.ts";
import { type AllowList, hostOf, isLoopback } from "../core/address.ts";
import { hashKey } from "../core/key.ts";
import { countShared } from "../engine/customers/rate-slices.ts";
import { UsageCounters } from "../engine/customers/usage.ts";
import type { EngineSettings } from "../engine/deps.ts";
import { Engine } from "../engine/engine.ts";
import type { SharedMembership } from "../engine/members/shared-membership.ts";
import { RequestLog } from "../engine/requests/request-log.ts";
import { resetClock, restoreClock } from "../engine/sandbox/clock.ts";
import { leftSandboxAt } from "../engine/sandbox/leave-sandbox.ts";
import { linkUnder } from "../engine/signed-links.ts";
import { createLog, type Log } from "../log.ts";
import { createMetrics, type Metrics } from "../metrics.ts";
import { Fetcher } from "../outgoing/fetch.ts";
import type { HopClient } from "../outgoing/hop.ts";
import { addConsole, missingSender } from "../pages/console.ts";
import { addPages, missingPage } from "../pages/pages.ts";
import { addReference } from "../pages/reference.ts";
import { PeerFault } from "../providers/provider.ts";
import { createSealer, fingerprint, loadSecretKey } from "../secrets.ts";
import { hasRealInstance } from "../store/instances.ts";
import { findSetting } from "../store/settings.ts";
import { type CommitObserver, type Store, StoreFull, StoreUnavailable } from "../store/store.ts";
import { bootstrap, type GeneratedKeys, type StartReport } from "./bootstrap.ts";
import { consoleLink } from "./console-link.ts";
import { makeDataDir } from "./data-directory.ts";
import { DeliverState } from "./deliver-messages.ts";
import { DeliverThread } from "./deliver-thread.ts";
import { findExposures } from "./exposures.ts";
import { followKey, forgetKeys, generateKey, keepCredentials } from "./generated-keys.ts";
import { createHealth } from "./health.ts";
import { listen, ownUrl } from "./listen.ts";
import { type MemberPlace, openMemberPlace } from "./member-place.ts";
import { createHop, findGaps, joinMembers, newMemberId } from "./members.ts";
import { createObserver } from "./observe.ts";
import { openStore } from "./open-store.ts";
import { pooledRandom } from "./pooled-random.ts";
import { describeService } from "./service-details.ts";
import { sessionSource } from "./session-source.ts";
import { settingAside } from "./setting-aside.ts";
import { sandboxSettings } from "./settings-in-force.ts";
import { logged } from "./store-events.ts";
import { SECRET_KEY } from "./stored-settings.ts";
import { warnOfProxy } from "./warn-of-proxy.ts";
import { type HostedLoop, type LoopSettings, runLoopHere } from "./webhook-loop.ts";

/** How long deliveries and send attempts in flight may take to end at a stop, in milliseconds. */
const DRAIN_MS = 25_000;
/** For how long health tells of a proxy that names no client, in milliseconds. */
const UNNAMED_KNOWN_MS = 3_600_000;

/** A service that runs. */
export interface Service {
  /** Its base URL, without a slash at the end. */
  url: string;
  port: number;
  started: StartReport;
  /** Makes a one-time link to the console; null unless the service is a sandbox that only this machine reaches. */
  link(): Promise<string | null>;
  /** Stops accepting requests, finishes work in flight, and releases the data directory. Takes at most 30 s. */
  stop(): Promise<void>;
}

/** Options of a start besides its settings. */
export interface StartOptions {
  version: string;
  /** Directory of the package, with the console and the documentation in `dist/console`; left out: pages say that there is none. */
  root?: string;
  /** The tarball of the client of this version, for `/sdk.tgz`. */
  readClient(): Promise<Buffer>;
  /** Called when the database or a thread is lost: the process must end. `reason` is a sentence without a point. */
  lost: (reason: string) => void;
  log?: Log;
  /** Default: the machine's clock. */
  clock?: (shift: ClockShift, skew: ClockShift) => Clock;
  /** Opens the store; by default that of the settings. */
  openStore?: typeof openStore;
}

/** Starts the service. Throws `ConfigError` with one clear line if it cannot start. */
export async function startService(config: Config, options: StartOptions): Promise<Service> {
  const log = options.log ?? createLog(config.logLevel);
  const state = new DeliverState();
  const skew: ClockShift = { ms: 0 };
  const clock = (options.clock ?? systemClock)(state.shift, skew);
  const metrics = createMetrics();
  const committed: CommitObserver = ({ transactions, durationMs }) => {
    metrics.transactionsCommitted.inc(transactions);
    metrics.commitGroupUnits.observe(transactions);
    metrics.commitSeconds.observe(durationMs / 1_000);
  };
  makeDataDir(config);
  const memberId = newMemberId();
  const events = logged(log, options.lost, committed);
  const place = openMemberPlace(config, memberId);
  let store: Store | null = null;
  try {
    store = await (options.openStore ?? openStore)(config, events, memberId);
    const secretKey = loadSecretKey(
      config.dataDir,
      config.secretKey,
      randomBytes,
      await findSetting(store.db, SECRET_KEY),
    );
    const parts = { memberId, place, log, clock, skew, state, metrics, store, committed };
    return await new Composition(config, options, { ...parts, secretKey }).start();
  } catch (error) {
    await store?.close();
    place?.close();
    metrics.stop();
    if (error instanceof StoreUnavailable)
      throw new ConfigError(`PostgreSQL went away during the start (${error.message}): start again.`);
    if (error instanceof StoreFull)
      throw new ConfigError(
        config.databaseUrl === null
          ? `The data directory ${config.dataDir} has no room left.`
          : "The disk of PostgreSQL has no room left.",
      );
    throw error;
  }
}

interface Parts {
  memberId: string;
  place: MemberPlace | null;
  log: Log;
  clock: Clock;
  /** How far the machine's clock is behind that of the database. */
  skew: ClockShift;
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
  readonly #requestLog: RequestLog;
  readonly #inboxes: Inboxes;
  /** Whether every instance is a sandbox. Only then the service allows loopback webhooks and keys in a file. */
  #isSandbox = true;
  /** When a trusted proxy last named no client of a sign-in (monotonic time). */
  #unnamedAt = Number.NEGATIVE_INFINITY;
  /** Resolves once no webhook reaches what only a sandbox allows. */
  #guarded: Promise<void> | undefined;
  readonly #fetcher: Fetcher;
  readonly #lasting = new OpenResponses();
  readonly #shared: SharedMembership | null;
  readonly #hop: HopClient | null;
  #loop: HostedLoop | null = null;
  /** The address that this process listens on. */
  #ownUrl = "";
  #url = "";
  #state: "starting" | "ready" | "closing" = "starting";

  constructor(config: Config, options: StartOptions, parts: Parts) {
    const { clock, memberId, state, metrics, store, secretKey } = parts;
    const log = settingAside(parts.log, store);
    this.#config = config;
    this.#options = options;
    this.#parts = { ...parts, log };
    const fault = (where: string, error: unknown) => {
      // The log says once that the database is out of reach, and once that it is back.
      if (error instanceof StoreUnavailable && !store.isAvailable) return;
      const isOurs = !(error instanceof PeerFault || error instanceof StoreUnavailable);
      log[isOurs ? "error" : "warn"]("fault", { where, error });
    };
    const clockStepped = (ms: number) =>
      log.warn("the clock was set", {
        reason: `the machine's time went ${ms < 0 ? "back" : "forward"} by ${Math.abs(ms)} ms`,
      });
    this.#shared = joinMembers({ ...parts, config, fault, ownUrl: () => this.#ownUrl });
    this.#usage = new UsageCounters({ store, clock, fault, owner: memberId });
    this.#requestLog = new RequestLog({ store, clock, fault, dropped: (count) => metrics.requestsUnlogged.inc(count) });
    this.#requestLog.mode = sandboxSettings(config, true).requestLog;
    this.#fetcher = new Fetcher({ allow: config.fetchAllow, userAgent: `Tightbeam/${options.version}` });
    this.#engine = new Engine({
      store,
      ...(this.#shared === null ? {} : { shared: this.#shared }),
      clock,
      shift: state.shift,
      random: pooledRandom(),
      chance: Math.random,
      sealer: createSealer(secretKey, randomBytes),
      settings: this.#settings(),
      observer: createObserver(metrics, this.#usage, { fault, clockStepped }),
      leaveSandbox: () => this.#leaveSandbox(),
      keyChanged: (hash, key) => this.#isSandbox && followKey(config.dataDir, this.#parts.log, hash, key),
      publicUrl: () => this.#url,
      link: linkUnder(() => this.#url, { clock }),
      fetcher: this.#fetcher,
      sendWake: async (url, wake) => await this.#hop?.wake(url, wake),
    });
    this.#hop = createHop(secretKey, this.#engine.deps, this.#engine.deps.membership, this.#shared);
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
    return sandboxSettings(this.#config, this.#isSandbox).webhookAllow;
  }

  /** The loop of deliveries: in a thread of its own, if the database is in threads too. */
  #createLoop(ownUrl: string): HostedLoop {
    const { deps } = this.#engine;
    const { store, state, secretKey, committed } = this.#parts;
    const userAgent = `Tightbeam/${this.#options.version}`;
    const loop: LoopSettings = { allow: this.#webhookAllow(), userAgent, ownUrl };
    const ports = store.openPorts();
    if (ports === null) {
      const isCurrent = () => this.#engine.isConfigCurrent;
      const ownsLane = (lane: string) => deps.membership.ownsLane(lane);
      return runLoopHere({ ...deps, ownsLane, isCurrent, store: store.fork() }, loop, this.#config.webhookAllowReal);
    }
    return new DeliverThread({
      ...deps,
      ports,
      state,
      secretKey,
      loop,
      committed,
      lost: (reason) => this.#options.lost(`the thread that sends webhooks is lost (${reason}); start again`),
    });
  }

  /** Ends what only sandboxes allow: webhooks to loopback, and keys in a file. */
  async #leaveSandbox(): Promise<void> {
    await resetClock(this.#engine.deps);
    if (this.#isSandbox) {
      forgetKeys(this.#config.dataDir, this.#url, this.#parts.log);
      this.#isSandbox = false;
      this.#requestLog.mode = sandboxSettings(this.#config, false).requestLog;
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
    const { clock, log, place, secretKey, store } = this.#parts;
    const url = baseUrl(this.#config, port);
    this.#url = url;
    // The thread loads its code meanwhile.
    this.#ownUrl = ownUrl(app);
    const loop = this.#createLoop(this.#ownUrl);
    this.#loop = loop;
    await this.#shared?.join();
    await restoreClock(this.#engine.deps);
    await place?.endFormer(store, clock.now());
    const generate = (name: keyof GeneratedKeys) => generateKey(this.#config.dataDir, url, name);
    const started = await bootstrap(this.#engine.deps, this.#config, fingerprint(secretKey), generate);
    keepCredentials(this.#config, url, started);
    if ((await hasRealInstance(store.db)) || (await leftSandboxAt({ store })) !== null) await this.#leaveSandbox();
    this.#usage.start();
    await this.#engine.start(loop);
    this.#state = "ready";
    log.info("listening", { port, version: this.#options.version });
    for (const reason of findExposures(this.#config.dataDir, process.getuid?.())) log.warn("exposed", { reason });
    const { membership } = this.#engine.deps;
    for (const reason of findGaps(this.#config, membership, this.#ownUrl)) log.warn("several processes", { reason });
    if (isLoopback(hostOf(url))) warnOfProxy(app, log);
    const link = async () => (this.#isSandbox ? await consoleLink(this.#engine.deps) : null);
    return { url, port, started, link, stop: () => this.#stop(app) };
  }

  #buildServer(): FastifyInstance {
    const { deps } = this.#engine;
    const { log, clock, metrics } = this.#parts;
    const inboxes = this.#inboxes;
    const authenticate = (key: string) => {
      const hash = hashKey(key);
      return deps.configCache.key(hash) ?? deps.configCache.findKey(hash);
    };
    const { version, root = null, readClient } = this.#options;
    const hasUnnamedClients = () => clock.monotonic() - this.#unnamedAt < UNNAMED_KNOWN_MS;
    const health = createHealth({ deps, metrics, authenticate, state: () => this.#state, hasUnnamedClients });
    const described = { version, config: this.#config, deps, health };
    const describe = () => describeService({ ...described, isSandbox: this.#isSandbox });
    const parts = { usage: this.#usage, requestLog: this.#requestLog, inboxes, describeService: describe };
    const api = allRoutes(deps, parts, this.#lasting);
    const names = () => ({ publicUrl: this.#url, bindHost: this.#config.host });
    const state = () => ({
      isSandbox: this.#isSandbox,
      isClockMoved: deps.shift.ms !== 0,
      isInboxOn: this.#isSandbox && deps.settings.sandboxInbox,
      version,
    });
    const unnamed = () => {
      this.#unnamedAt = clock.monotonic();
    };
    const sessions = browserRoutes(deps, { names, state });
    const options: ServerOptions = {
      routes: [...api, ...sessions, ...healthRoutes(health), ...hookRoutes(deps), inboxReceiver(inboxes)],
      authenticate,
      sessions: sessionSource(deps, names),
      keyUsed: (key) => this.#usage.used(key.id),
      rateLimit: this.#config.rateLimit,
      countShared: countShared(deps),
      hop: this.#hop,
      woken: (wake) => this.#engine.woken(wake),
      isWorker: this.#config.role === "worker",
      trustedProxies: this.#config.trustedProxies,
      unnamed,
      connectionsMax: connectionsMaxOf(readOpenFilesMax()),
      overloadSeconds: () => deps.backPressure.overloadSeconds,
      isClosing: () => this.#state !== "ready",
      hasDatabase: () => this.#parts.store.isAvailable,
      completed: (request) => {
        metrics.countRequest(request);
        if (request.keyId === null) return;
        this.#usage.count([request.keyId], request.limited ? "rateLimited" : "requests");
      },
      requestLog: this.#requestLog,
      log,
      clock,
      newId: deps.newId,
      random: deps.random,
    };
    if (options.isWorker === true) return buildServer(options);
    const app = buildServer({ ...options, sendMissingPage: missingPage(options, missingSender(root)) });
    const reference = { version, readClient, log, root, baseUrl: () => this.#url };
    addPages(app, options, (pages) => {
      addReference(pages, reference);
      addConsole(pages, root);
    });
    return app;
  }

  async #stop(app: FastifyInstance): Promise<void> {
    if (this.#state === "closing") return;
    this.#state = "closing";
    const { clock, log, metrics, place, store } = this.#parts;
    log.info("stopping");
    this.#inboxes.stop();
    this.#lasting.stop();
    const giveBack = clock.after(DRAIN_MS, () => {
      this.#engine.cutOff();
      this.#loop?.cutOff();
      // A phone of the sandbox may wait for files from many addresses in sequence.
      void this.#fetcher.close();
    });
    const cutClients = clock.after(DRAIN_MS, () => app.server.closeAllConnections());
    await this.#engine.stop();
    giveBack();
    // A client that does not read its response would hold up the stop, and with it what is still to be written.
    await app.close();
    cutClients();
    await this.#loop?.close();
    await this.#fetcher.close();
    await this.#hop?.close();
    await this.#usage.stop();
    await this.#requestLog.stop();
    await store.close();
    place?.close();
    metrics.stop();
    log.info("stopped");
  }
}
