/** The whole service, started for a test on a free port with its own data directory, and called like by a client. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { ErrorCode, ErrorDetail } from "../../sdk/wire.ts";
import { type Service, type StartOptions, startService } from "../../server/app/service.ts";
import { readConfig } from "../../server/config.ts";
import { createLog } from "../../server/log.ts";
import { openPostgres } from "../../server/store/postgres/store.ts";
import { openSqliteInProcess } from "../../server/store/sqlite/store.ts";
import type { Store } from "../../server/store/store.ts";
import { assertAnswered } from "./contract.ts";
import { type PreparedPostgres, type ServiceDatabase, serviceDatabase } from "./service-database.ts";

/** The tarball that test services hand out as their client: an empty one. */
const CLIENT = gzipSync(Buffer.alloc(1_024));

/** A response of the service: either `data` or `error`, from its envelope. */
export interface Answered {
  status: number;
  headers: Headers;
  requestId: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field, and fail on what is not there.
  data: any;
  error: { code: ErrorCode; message: string; details?: ErrorDetail[] } | undefined;
}

/** A request to the service; `key` is the first customer's unless given, null sends none. */
export interface Asking {
  body?: unknown;
  key?: string | null;
  headers?: Record<string, string>;
}

export interface TestService {
  service: Service;
  dataDir: string;
  url: string;
  key: string;
  adminKey: string;
  /** Runs a statement on the database, with `?` for each of `values`. */
  sql(text: string, ...values: (string | number | null)[]): Promise<Record<string, unknown>[]>;
  ask(method: string, path: string, asking?: Asking): Promise<Answered>;
  /** Ends the service as SIGTERM would, and starts another on the same data. `between` may work on it, and name settings. */
  restart(between?: () => Promise<Record<string, string>>): Promise<void>;
  stop(): Promise<void>;
}

/** Options of a test's service besides its settings. */
export interface TestServiceOptions extends Pick<StartOptions, "clock" | "log" | "root"> {
  /** Whether the database has threads of its own, as in production; otherwise it is in this process, which starts sooner. */
  inThreads?: boolean;
  /** The data directory with its content; default: a new directory. */
  dataDir?: string;
  /** The server for its database; default: the embedded database, or as `TB_TEST_ENGINE` says. */
  postgres?: PreparedPostgres;
  /** The database, which other services use too. The test drops it. */
  shared?: Pick<ServiceDatabase, "url" | "sql">;
  /** Gets the store of each start, if it is in this process. */
  onStore?: (store: Store) => void;
}

/**
 * Starts the service. `env` sets settings; unless they say otherwise there is no rate limit and no log. The test stops
 * it, which removes the data directory.
 */
export async function startTestService(
  env: Record<string, string> = {},
  options: TestServiceOptions = {},
): Promise<TestService> {
  const {
    clock,
    inThreads = false,
    log,
    onStore = () => {},
    dataDir = newDirectory(),
    postgres,
    root,
    shared,
  } = options;
  const own = shared === undefined ? await serviceDatabase(dataDir, postgres ?? null) : null;
  const database = own ?? { url: null, sql: async () => [], ...shared };
  const settings = {
    PORT: "0",
    TB_RATE_LIMIT: "off",
    TB_SANDBOX_INBOX: "off",
    ...env,
    TB_DATA_DIR: dataDir,
    DATABASE_URL: database.url ?? "",
  };
  const start = (more: Record<string, string> = {}) =>
    startService(readConfig({ ...settings, ...more }), {
      version: "test",
      readClient: async () => CLIENT,
      lost: fail,
      log: log ?? createLog(env.LOG_LEVEL === undefined ? "silent" : "info"),
      ...(clock === undefined ? {} : { clock }),
      ...(root === undefined ? {} : { root }),
      ...(inThreads ? {} : { openStore: openInProcess(onStore) }),
    });
  let service = await start();
  const { apiKey: key = env.TB_API_KEY ?? "", adminKey = env.TB_ADMIN_KEY ?? "" } = service.started.generated;
  return {
    get service() {
      return service;
    },
    get url() {
      return service.url;
    },
    dataDir,
    key,
    adminKey,
    sql: (text, ...values) => database.sql(text, values),
    ask: (method, path, asking = {}) => ask(addressOf(service, env), key, method, path, asking),
    async restart(between = async () => ({})) {
      await service.stop();
      service = await start(await between());
    },
    async stop() {
      await service.stop();
      await own?.drop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** The address of the service itself: its URL may be that of several processes. */
function addressOf({ url, port }: Service, env: Record<string, string>): string {
  return env.TB_PUBLIC_URL === undefined ? url : `http://127.0.0.1:${port}`;
}

/** Opens the database without threads: the start of a service with them takes four times as long, and on PostgreSQL ten times. */
function openInProcess(onStore: (store: Store) => void): NonNullable<StartOptions["openStore"]> {
  return async (config, events, memberId) => {
    const { databaseUrl, dataDir, retentionMs } = config;
    const { committed: observe, reachable, waiting } = events;
    const store =
      databaseUrl === null
        ? await openSqliteInProcess(join(dataDir, "tightbeam.db"), observe)
        : await openPostgres(databaseUrl, memberId, { observe, reachable, waiting, retentionMs });
    onStore(store);
    return store;
  };
}

function newDirectory(): string {
  return mkdtempSync(join(tmpdir(), "tightbeam-test-"));
}

function fail(reason: string): never {
  throw new Error(`the database was lost: ${reason}`);
}

async function ask(url: string, ownKey: string, method: string, path: string, asking: Asking): Promise<Answered> {
  const { body, key = ownKey, headers = {} } = asking;
  const response = await fetch(url + path, {
    method,
    redirect: "manual",
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const envelope = JSON.parse(await response.text()) as Omit<Answered, "status" | "headers">;
  assertAnswered(method, path, response.status, envelope);
  return { ...envelope, status: response.status, headers: response.headers };
}
