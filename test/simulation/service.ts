/** The whole service of one life, put together as the product does it: real store, engine and handlers; all else simulated. */

import { BlockList } from "node:net";
import type { FastifyInstance } from "fastify";
import { allRoutes } from "../../server/api/all-routes.ts";
import { Inboxes, inboxReceiver } from "../../server/api/inbox.ts";
import { buildServer } from "../../server/api/server.ts";
import { bootstrap } from "../../server/app/bootstrap.ts";
import { createObserver } from "../../server/app/observe.ts";
import type { Config } from "../../server/config.ts";
import type { Random } from "../../server/core/id.ts";
import { hashKey, newKey } from "../../server/core/key.ts";
import { UsageCounters } from "../../server/engine/customers/usage.ts";
import { Engine, type EngineParts } from "../../server/engine/engine.ts";
import { Deliver } from "../../server/engine/webhooks/deliver.ts";
import type { Log } from "../../server/log.ts";
import { createMetrics, type Metrics } from "../../server/metrics.ts";
import type { PostRequest, PostResult } from "../../server/outgoing/post.ts";
import { createSealer, fingerprint } from "../../server/secrets.ts";
import type { Store } from "../../server/store/store.ts";
import { NO_FETCHER } from "../support/context.ts";
import type { Life } from "./life.ts";

/** How long open deliveries and send attempts may take to end at a stop, in milliseconds. */
const DRAIN_MS = 25_000;

/** The key that seals the database's secrets: the same in every life. */
const SECRET_KEY = Buffer.alloc(32, 7);

/** A request to the service. `key` null sends none. */
export interface Request {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  key: string | null;
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Answer {
  status: number;
  text: string;
}

/** Parts that one life of the service is built from. */
export interface ServiceParts {
  life: Life;
  store: Store;
  config: Config;
  random: Random;
  chance: () => number;
  createProvider: NonNullable<EngineParts["createProvider"]>;
  poster: { post(request: PostRequest): Promise<PostResult>; close(): void };
  /** Called with every fault that the service reports. */
  fault(where: string, error: unknown): void;
}

/** The service of one life, started. After the end of its life it responds to nothing. */
export class Service {
  readonly life: Life;
  readonly #parts: ServiceParts;
  readonly #engine: Engine;
  readonly #usage: UsageCounters;
  readonly #inboxes: Inboxes;
  readonly #metrics: Metrics;
  readonly #app: FastifyInstance;
  #closing = false;
  /** The store of the loop of deliveries. */
  #deliveries: Store | null = null;

  constructor(parts: ServiceParts) {
    const { life, store, config, random, chance, createProvider, fault } = parts;
    const { clock } = life;
    this.life = life;
    this.#parts = parts;
    this.#metrics = createMetrics();
    this.#usage = new UsageCounters({ store, clock, fault, owner: `life ${life.number}` });
    this.#engine = new Engine({
      store,
      clock,
      shift: { ms: 0 },
      random,
      chance,
      sealer: createSealer(SECRET_KEY, random),
      settings: config,
      observer: createObserver(this.#metrics, this.#usage, { fault, clockStepped: () => {} }),
      leaveSandbox: async () => {},
      keyChanged: () => {},
      publicUrl: () => "http://127.0.0.1",
      link: (token) => `/v1/attachments/${token}`,
      fetcher: NO_FETCHER,
      createProvider,
    });
    this.#inboxes = new Inboxes(this.#engine.deps, (path) => path);
    this.#app = this.#buildServer();
  }

  async start(): Promise<void> {
    const generate = () => newKey(this.#parts.random);
    await bootstrap(this.#engine.deps, this.#parts.config, fingerprint(SECRET_KEY), generate);
    await this.#app.ready();
    this.#usage.start();
    const { poster, store } = this.#parts;
    const sender = { poster, inboxUrl: (path: string) => `http://127.0.0.1${path}` };
    this.#deliveries = store.fork();
    await this.#engine.start(new Deliver({ ...this.#engine.deps, store: this.#deliveries }, sender));
  }

  /** Sends a request as a client does. Never rejects; resolves only while the life lasts. */
  async ask({ method, path, key, body, headers = {} }: Request): Promise<Answer> {
    const authorization = key === null ? {} : { authorization: `Bearer ${key}` };
    const content = body === undefined ? {} : { "content-type": "application/json" };
    const payload = body === undefined ? {} : { payload: typeof body === "string" ? body : JSON.stringify(body) };
    const asked = this.#app.inject({
      method,
      url: path,
      headers: { ...authorization, ...content, ...headers },
      ...payload,
    });
    const { statusCode, body: text } = await this.life.whileAlive(asked);
    return { status: statusCode, text };
  }

  /** Stops as after SIGTERM. */
  async stop(): Promise<void> {
    this.#closing = true;
    this.#inboxes.stop();
    const giveBack = this.life.clock.after(DRAIN_MS, () => {
      this.#engine.cutOff();
      this.#parts.poster.close();
    });
    await this.#engine.stop();
    giveBack();
    this.#parts.poster.close();
    await this.#usage.stop();
    await this.#deliveries?.close();
    await this.#parts.store.close();
    this.dispose();
  }

  /** Releases resources outside the simulated world. */
  dispose(): void {
    this.#metrics.stop();
  }

  #buildServer(): FastifyInstance {
    const { deps } = this.#engine;
    const { random, config, fault } = this.#parts;
    return buildServer({
      routes: [
        ...allRoutes(deps, {
          usage: this.#usage,
          requestLog: this.#usage,
          inboxes: this.#inboxes,
          describeService: () => Promise.reject(new Error("the simulation has no settings to tell")),
        }),
        inboxReceiver(this.#inboxes),
      ],
      authenticate: (key) => deps.configCache.key(hashKey(key)) ?? deps.configCache.findKey(hashKey(key)),
      sessions: null,
      keyUsed: (key) => this.#usage.used(key.id),
      rateLimit: config.rateLimit,
      countShared: null,
      hop: null,
      overloadSeconds: () => null,
      isClosing: () => this.#closing,
      hasDatabase: () => true,
      trustedProxies: new BlockList(),
      unnamed: () => {},
      requestLog: null,
      completed: ({ keyId, limited }) => {
        if (keyId !== null) this.#usage.count([keyId], limited ? "rateLimited" : "requests");
      },
      log: logTo(fault),
      clock: deps.clock,
      newId: deps.newId,
      random,
    });
  }
}

/** A log that keeps only the service's errors. */
function logTo(fault: ServiceParts["fault"]): Log {
  const nothing = () => {};
  return { debug: nothing, info: nothing, warn: nothing, error: (event, fields) => fault(event, fields?.error) };
}
