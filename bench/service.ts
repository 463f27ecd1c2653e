/** The service under test as a child process, started as a user starts it, and the few calls that set it up. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { ProviderName } from "../sdk/wire.ts";
import { freePort } from "../test/support/free-port.ts";
import { waitFor } from "./clock.ts";
import type { Spent } from "./inside.ts";

/** A service that is ready. */
export interface Service {
  readonly port: number;
  readonly pid: number;
  /** The key of the first customer. */
  readonly apiKey: string;
  readonly adminKey: string;
  /** Time from its start until it was ready, in milliseconds. */
  readonly startMs: number;
  /** Its processor time and its store's counts. Only for a service started with `isCounted`, one call at a time. */
  spent(): Promise<Spent>;
  /**
   * Ends it with SIGTERM, and resolves when it has ended; uses SIGKILL if open deliveries delay the end by more than 2
   * s.
   */
  stop(): Promise<void>;
}

/** How a service is started. `nodeArgs` go to Node, before the program. */
export interface ServiceOptions {
  dataDir: string;
  nodeArgs?: readonly string[];
  isCounted?: boolean;
  /** Further settings. */
  env?: Readonly<Record<string, string>>;
}

const PROGRAM = fileURLToPath(new URL("../cli/bin.js", import.meta.url));
const INSIDE = new URL("./inside.ts", import.meta.url).href;
const KEYS = { apiKey: `tb_${"a".repeat(32)}`, adminKey: `tb_${"b".repeat(32)}` };
const READY_MS_MAX = 60_000;
const STOP_MS_MAX = 2_000;

/** Starts the service on a free port, without rate limit, inbox and request log. */
export async function startService({
  dataDir,
  nodeArgs = [],
  isCounted = false,
  env = {},
}: ServiceOptions): Promise<Service> {
  mkdirSync(dataDir, { recursive: true });
  const port = await freePort();
  const startedAt = performance.now();
  const inside = isCounted ? ["--import", INSIDE] : [];
  const child = spawn(process.execPath, [...nodeArgs, ...inside, PROGRAM, "serve"], {
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    env: {
      ...process.env,
      PORT: String(port),
      TB_DATA_DIR: dataDir,
      TB_API_KEY: KEYS.apiKey,
      TB_ADMIN_KEY: KEYS.adminKey,
      TB_RATE_LIMIT: "off",
      TB_SANDBOX_INBOX: "off",
      TB_REQUEST_LOG: "off",
      LOG_LEVEL: "warn",
      ...env,
    },
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    // The address is known here; all its other output is printed.
    const said = chunk.toString().replace(/^listening on .*\n/m, "");
    if (said !== "") process.stderr.write(said);
  });
  await waitFor("the service gets ready", () => isReady(child, port), { limitMs: READY_MS_MAX });
  const startMs = performance.now() - startedAt;
  return { port, pid: child.pid ?? 0, ...KEYS, startMs, spent: () => spentBy(child), stop: () => stop(child) };
}

function spentBy(child: ChildProcess): Promise<Spent> {
  return new Promise((resolve, reject) => {
    child.once("message", (spent) => resolve(spent as Spent));
    child.send({}, (error) => {
      if (error !== null) reject(error);
    });
  });
}

async function isReady(child: ChildProcess, port: number): Promise<boolean> {
  if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode}`);
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
  await answer?.arrayBuffer();
  return answer?.ok === true;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const kill = setTimeout(() => child.kill("SIGKILL"), STOP_MS_MAX);
  child.kill("SIGTERM");
  await ended;
  clearTimeout(kill);
}

/** Calls the service, and returns `data`. Throws if the request is refused. */
async function call(
  service: Pick<Service, "port">,
  { key, method, path, body }: { key: string; method: string; path: string; body?: unknown },
): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${service.port}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as { success: boolean; data?: unknown };
  if (!answer.success) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
  return answer.data;
}

/** Sends all events of the key's customer to `url`. */
export async function subscribe(service: Service, key: string, url: string): Promise<void> {
  await call(service, { key, method: "PUT", path: "/v1/webhooks", body: { url, events: ["*"] } });
}

/** Creates a provider instance, and returns its id. */
export async function addInstance(
  service: Service,
  provider: ProviderName,
  config: Record<string, unknown>,
): Promise<string> {
  const admin = { key: service.adminKey, method: "POST", path: "/v1/admin/instances" };
  return ((await call(service, { ...admin, body: { name: "Bench", provider, config } })) as { id: string }).id;
}

/** Creates a customer with its own number, by default on the sandbox, and returns its key. */
export async function addCustomer(
  service: Service,
  index: number,
  on: { provider: ProviderName; instanceId?: string } = { provider: "sandbox" },
): Promise<string> {
  const admin = { key: service.adminKey, method: "POST" };
  const customer = (await call(service, {
    ...admin,
    path: "/v1/admin/customers",
    body: { name: `Customer ${index}` },
  })) as { id: string };
  await call(service, {
    ...admin,
    path: `/v1/admin/customers/${customer.id}/numbers`,
    body: { phoneNumber: `+1500555${String(100 - index).padStart(4, "0")}`, ...on },
  });
  const key = { name: "bench", customerId: customer.id };
  return ((await call(service, { ...admin, path: "/v1/admin/keys", body: key })) as { key: string }).key;
}
