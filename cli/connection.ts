/** Finds the server and the key of a command: in its options, the environment, or `credentials.json`. */

import { readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { NoKeyError, UsageError } from "./failure.ts";
import { parseMarked } from "./files.ts";

/** The two kinds of key: one customer's, or the operator's. */
export type KeyKind = "messages" | "admin";

export interface Connection {
  baseUrl: string;
  apiKey: string;
  /** Where the two come from, in words: an option, a variable, a file, or the default. */
  origin: { baseUrl: string; apiKey: string };
}

interface Credentials {
  baseUrl?: string;
  apiKey?: string;
  adminKey?: string;
}

const KEY_VARIABLE = { messages: "TIGHTBEAM_API_KEY", admin: "TIGHTBEAM_ADMIN_KEY" } as const;
const DEFAULT_URL = "http://127.0.0.1:8080";

/** The server, and where its address comes from, in words: an option, a variable, a file, or the default. */
export interface Server {
  baseUrl: string;
  origin: string;
}

/** The server and key that the options name. */
interface Given {
  url?: string | undefined;
  key?: string | undefined;
}

type Env = Record<string, string | undefined>;

/** The server's address, found as `findConnection` finds it, without looking for a key. Throws `UsageError`. */
export function findServer(given: Given, env: Env): Server {
  const named = given.url || env.TIGHTBEAM_URL || undefined;
  if (named !== undefined && !/^https?:/i.test(named)) throw new UsageError(`--url ${named} is not an http address.`);
  if (named !== undefined && !URL.canParse(named)) throw new UsageError(`--url ${named} is not an address.`);
  if (named !== undefined) return { baseUrl: named, origin: given.url ? "--url" : "TIGHTBEAM_URL" };
  const path = credentialsPath(env);
  const { baseUrl } = readCredentials(path);
  if (baseUrl === undefined) return { baseUrl: DEFAULT_URL, origin: "the default" };
  requireOwn(path, baseUrl);
  return { baseUrl, origin: path };
}

/** Permissions of others than the owner. */
const OTHERS = 0o077;

/**
 * Throws `UsageError` if the file names a server on another machine, and somebody else may have written the file: keys and texts would go
 * to whoever left it in the present directory.
 */
function requireOwn(path: string, baseUrl: string): void {
  if (isLoopback(baseUrl) || [path, dirname(path)].every(isOwn)) return;
  throw new UsageError(
    `${path} names ${baseUrl}, and the file or its directory is not yours alone: nothing is sent there. Pass --url if you mean that server, or close both to others (chmod go= ${dirname(path)} ${path}).`,
  );
}

/** Whether a file or directory belongs to this user and is closed to others, as the service writes its own. Windows knows no such owners. */
function isOwn(path: string): boolean {
  const { uid, mode } = statSync(path);
  return process.getuid === undefined || (uid === process.getuid() && (mode & OTHERS) === 0);
}

/**
 * Address and key from the options, else the environment, else the `credentials.json` of a server's first start here.
 * A key of that file is sent only to the server of that file. Throws `UsageError` if there is none.
 */
export function findConnection(kind: KeyKind, given: Given, env: Env): Connection {
  const { baseUrl, origin } = findServer(given, env);
  const key = given.key || env[KEY_VARIABLE[kind]];
  if (key)
    return { baseUrl, apiKey: key, origin: { baseUrl: origin, apiKey: given.key ? "--key" : KEY_VARIABLE[kind] } };
  const path = credentialsPath(env);
  const stored = readCredentials(path);
  const storedKey = kind === "admin" ? stored.adminKey : stored.apiKey;
  if (storedKey && isSameServer(baseUrl, stored.baseUrl ?? DEFAULT_URL))
    return { baseUrl, apiKey: storedKey, origin: { baseUrl: origin, apiKey: path } };
  const hasLeftSandbox = stored.baseUrl !== undefined && !stored.adminKey && !stored.apiKey;
  const hint = hasLeftSandbox
    ? `${path} holds none since the first instance that is not a sandbox: use the one that the first start printed.`
    : `A server started here (tightbeam serve; in the repository npm start) leaves one in ${path}.`;
  const missing = kind === "admin" ? "admin key" : "key";
  throw new NoKeyError(baseUrl, `no ${missing} for ${baseUrl}: pass --key or set ${KEY_VARIABLE[kind]}. ${hint}`);
}

/** The keys that `credentials.json` holds for this server, as the variables to set; empty if it holds none. */
export function storedKeys(given: Given, env: Env): Record<string, string> {
  const stored = readCredentials(credentialsPath(env));
  if (!isSameServer(findServer(given, env).baseUrl, stored.baseUrl ?? DEFAULT_URL)) return {};
  const { apiKey, adminKey } = stored;
  return {
    ...(adminKey === undefined ? {} : { [KEY_VARIABLE.admin]: adminKey }),
    ...(apiKey === undefined ? {} : { [KEY_VARIABLE.messages]: apiKey }),
  };
}

function credentialsPath(env: Env): string {
  return join(env.TB_DATA_DIR || "data", "credentials.json");
}

function readCredentials(path: string): Credentials {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return {};
    throw new UsageError(`${path} cannot be read (${code}): pass --key, or run this as the user of the server.`);
  }
  try {
    return pickCredentials(parseMarked(text));
  } catch {
    throw new UsageError(`${path} is not JSON: pass --url and --key.`);
  }
}

function pickCredentials(value: unknown): Credentials {
  const found: Credentials = {};
  if (typeof value !== "object" || value === null) return found;
  for (const name of ["baseUrl", "apiKey", "adminKey"] as const) {
    const entry: unknown = Reflect.get(value, name);
    if (typeof entry === "string") found[name] = entry;
  }
  return found;
}

/** Longest wait for a connection in milliseconds. */
const CONNECT_MS_MAX = 2_000;

/** Why nothing listens at an address (`ECONNREFUSED`, `ENOTFOUND`); null if something does, or if it is not certain. */
export async function absenceOf(baseUrl: string): Promise<string | null> {
  const { connect } = await import("node:net");
  const { hostname, port, protocol } = new URL(baseUrl);
  const host = hostname.replace(/^\[|\]$/g, "");
  return await new Promise((resolve) => {
    const socket = connect({ host, port: Number(port) || (protocol === "https:" ? 443 : 80), timeout: CONNECT_MS_MAX });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      resolve(error.code === "ECONNREFUSED" || error.code === "ENOTFOUND" ? error.code : null);
    });
    socket.on("close", () => resolve(null));
    for (const end of ["connect", "timeout"]) socket.on(end, () => socket.destroy());
  });
}

/** Whether an address leads to this machine. */
function isLoopback(address: string): boolean {
  return URL.canParse(address) && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(address).hostname);
}

/** Whether scheme, host and port are equal. All names of the loopback interface are one host. */
function isSameServer(one: string, other: string): boolean {
  return originOf(one) === originOf(other);
}

function originOf(address: string): string {
  return URL.canParse(address)
    ? new URL(address).origin.replace(/\/\/(localhost|127\.0\.0\.1|\[::1\])(?=:|$)/, "//loopback")
    : address;
}
