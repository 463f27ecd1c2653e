/**
 * The service as a child process, as operators run it: started, called over a socket, signalled and killed by tests.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { TextDecoder } from "node:util";
import type { ErrorCode, ErrorDetail } from "../../sdk/wire.ts";
import { until } from "./wait.ts";

/** The root of the repository. */
const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const SERVE = [fileURLToPath(new URL("../../cli/bin.js", import.meta.url)), "serve"];

/** The default keys of processes. */
export const KEY = "tb_e2e0123456789abcdef0123456789abcdef";
export const ADMIN_KEY = "tb_e2eadmin0123456789abcdef0123456789";

/** A test, or whatever else ends what it started. */
export interface Scope {
  after(end: () => unknown): void;
}

/** A start takes a fraction of this on an idle machine. */
const START_LIMIT_MS = 60_000;

export interface ProcessOptions {
  dataDir: string;
  /** Settings that replace the test's defaults. An empty value removes a default. */
  env?: Record<string, string>;
  /** The command that the service runs behind, such as `nsenter`. */
  behind?: readonly string[];
  /** The program and its arguments; default: `tightbeam serve` of the sources. */
  program?: readonly string[];
  /** How long the start may take. */
  startMsMax?: number;
}

/** How a process ended. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A spawned process, running or ended. */
export interface Spawned {
  child: ChildProcess;
  pid: number;
  /** Everything written so far. */
  output: { stdout: string; stderr: string };
  exited: Promise<Exit>;
  /** Sends a signal, and resolves when the process has ended. */
  end(signal: NodeJS.Signals): Promise<Exit>;
}

/** A response of the service. `text` is its unparsed body. */
export interface Answered {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field, and fail on what is not there.
  data: any;
  error: { code: ErrorCode; message: string; details?: ErrorDetail[] } | undefined;
}

/** A process that takes requests. */
export interface Running extends Spawned {
  url: string;
  port: number;
  /** Time from the spawn until `/readyz` returned 200. */
  readyMs: number;
  ask(method: string, path: string, body?: unknown, key?: string): Promise<Answered>;
}

/** A process that ended before it was ready. */
export class StartFailed extends Error {
  readonly spawned: Spawned;
  readonly exit: Exit;

  constructor(spawned: Spawned, exit: Exit) {
    super(`it ended: ${JSON.stringify(exit)} ${JSON.stringify(spawned.output)}`);
    this.spawned = spawned;
    this.exit = exit;
  }
}

/** Spawns a command with exactly the given environment. The test ends it if it still runs. */
export function spawnCommand(t: Scope, command: readonly string[], env: Record<string, string> = {}): Spawned {
  const [file = "", ...args] = command;
  const child = spawn(file, args, { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    const decoder = new TextDecoder();
    child[name].on("data", (chunk: Buffer) => {
      output[name] += decoder.decode(chunk, { stream: true });
    });
  }
  const exited = new Promise<Exit>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal }));
  });
  const end = (signal: NodeJS.Signals) => {
    child.kill(signal);
    return exited;
  };
  t.after(() => end("SIGKILL"));
  return { child, pid: child.pid ?? 0, output, exited, end };
}

/** Spawns `tightbeam serve` on a free port, without rate limit and inbox unless `env` says otherwise. */
export function spawnService(
  t: Scope,
  { dataDir, env = {}, behind = [], program = [process.execPath, ...SERVE] }: ProcessOptions,
): Spawned {
  const settings: Record<string, string> = {
    PATH: process.env.PATH ?? "",
    PORT: "0",
    TB_DATA_DIR: dataDir,
    TB_API_KEY: KEY,
    TB_ADMIN_KEY: ADMIN_KEY,
    TB_RATE_LIMIT: "off",
    TB_SANDBOX_INBOX: "off",
    ...env,
  };
  return spawnCommand(t, [...behind, ...program], settings);
}

/** Starts `tightbeam serve`, and resolves when it is ready. Throws `StartFailed` when it ends before. */
export async function startProcess(t: Scope, options: ProcessOptions): Promise<Running> {
  const limitMs = options.startMsMax ?? START_LIMIT_MS;
  const startedAt = performance.now();
  const spawned = spawnService(t, options);
  let exit: Exit | null = null;
  void spawned.exited.then((ended) => {
    exit = ended;
  });
  const port = await until(
    () => {
      if (exit !== null) throw new StartFailed(spawned, exit);
      return portIn(spawned.output.stdout) ?? 0;
    },
    { limitMs, what: "the start" },
  );
  const url = `http://127.0.0.1:${port}`;
  const isReady = async () => (await fetch(`${url}/readyz`)).status === 200;
  await until(isReady, { limitMs, what: "/readyz" });
  const readyMs = Math.round(performance.now() - startedAt);
  const own = options.env?.TB_API_KEY || KEY;
  return { ...spawned, url, port, readyMs, ask: (method, path, body, key = own) => ask(url, key, method, path, body) };
}

/**
 * Sends a request to the service at `url`. Rejects without a response. A read is sent once more: a kept connection may be one of a
 * process that was killed.
 */
export async function ask(url: string, key: string, method: string, path: string, body?: unknown): Promise<Answered> {
  const options: RequestInit = {
    method,
    redirect: "manual",
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
  const send = () => fetch(url + path, options);
  const response = await (method === "GET" ? send().catch(send) : send());
  const text = await response.text();
  const envelope = JSON.parse(text) as Pick<Answered, "data" | "error">;
  return { ...envelope, status: response.status, headers: response.headers, text };
}

/** A page of a list, and its unparsed body. */
export interface Page<Item> {
  items: Item[];
  text: string;
}

/** All pages of a list under `data[name]`. */
export async function allPages<Item>(service: Pick<Running, "ask">, path: string, name: string): Promise<Page<Item>[]> {
  const pages: Page<Item>[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const from: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const answer = await service.ask("GET", `${path}${path.includes("?") ? "&" : "?"}limit=100${from}`);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.text}`);
    pages.push({ items: answer.data[name], text: answer.text });
    cursor = answer.data.pagination.nextCursor;
  }
  return pages;
}

/** The port in the line that says that the service listens; null before that line. */
function portIn(stdout: string): number | null {
  const line = stdout.split("\n").find((text) => text.includes('"event":"listening"'));
  if (line === undefined) return null;
  try {
    return (JSON.parse(line) as { port: number }).port;
  } catch {
    return null;
  }
}
