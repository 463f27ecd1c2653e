/** The guarded connector: the only place that opens sockets for what callers name, and only to addresses judged here. */

import { closeSync, openSync } from "node:fs";
import { connect, isIP, isIPv4, type Socket } from "node:net";
import { devNull } from "node:os";
import { connect as connectTls } from "node:tls";
import { Agent, Client, type Dispatcher, Pool } from "undici";
import { type AllowList, allows, canonicalHost, isLocalhost, isPublicAddress } from "../core/address.ts";

/** Why there is no connection. */
export type ConnectFailure =
  | "ADDRESS_REFUSED"
  | "DNS_FAILED"
  | "TIMEOUT"
  | "CONNECTION_REFUSED"
  | "CONNECTION_RESET"
  | "CONNECTION_FAILED"
  | "TLS_FAILED"
  | OwnLimit;

/** This machine could not connect: it has no files or memory left, or no port for this destination. */
export type OwnLimit = "OUT_OF_FILES" | "OUT_OF_PORTS";

/** A connection that could not be made. Its code is not undici's own for sockets, which it would answer by reconnecting. */
export class ConnectError extends Error {
  readonly code: ConnectFailure;

  constructor(code: ConnectFailure, cause?: unknown) {
    super(code, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** One place in a pool: the socket it has now, if any, and what is known of it. */
export interface Line {
  /** The socket has answered a request before: its peer may have closed it meanwhile. */
  answered: boolean;
  /** The address is not public: only the operator's list opened it. */
  opened: boolean;
  /** Ends the attempt to connect, if one is under way. */
  hangUp: () => void;
}

/** A request that wants to know the line it goes out on. */
export interface OnLine {
  line: Line | null;
}

export interface ConnectorOptions {
  /** Null: nothing is guarded. For this server's own inbox only. */
  allow: AllowList | null;
  /** Finds the addresses of public names, and of names on the operator's list. */
  names: (host: string) => Promise<string[]>;
  listedNames: (host: string) => Promise<string[]>;
  /** PEM of the only authority to trust, for tests; else the authorities that Node ships. */
  tlsCa?: string;
  /** Opens a TCP connection: `connect` of node:net, unless a test says otherwise. */
  open?: typeof connect;
  /** False: a connection for each request, closed after it. */
  keepAlive: boolean;
}

/** Contract 5: for each address, TLS included. */
const CONNECT_LIMIT_MS = 5_000;
const ADDRESSES_TRIED_MAX = 4;
const KEEP_ALIVE_MS = 4_000;
const TCP_KEEP_ALIVE_AFTER_MS = 60_000;

/** After these no other address of the name is tried: it would be the same there. */
const LAST_WORDS: ReadonlySet<ConnectFailure> = new Set(["ADDRESS_REFUSED", "TLS_FAILED", "OUT_OF_FILES"]);

/** Codes of the system for what this process, or this machine, has no more of. */
const OUT_OF_FILES_CODES: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "ENOMEM", "ENOBUFS"]);

const LOCALHOST_ADDRESSES = ["127.0.0.1", "::1"];

/**
 * An undici agent whose every connection goes through the guard: all addresses of the name must be permitted, and so
 * must the one the socket says it reached. HTTP/1.1; no limit of connections (lanes are), idle ones end after 4 s.
 */
export function guardedAgent(options: ConnectorOptions): Agent {
  return new Agent({
    allowH2: false,
    pipelining: options.keepAlive ? 1 : 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    // One deadline of our own bounds the attempt.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (_target, done) => done(new ConnectError("ADDRESS_REFUSED"), null),
    factory: (origin, agentOptions) =>
      new Pool(origin, { ...agentOptions, factory: (to, given) => new LineClient(to, given, options) }),
  });
}

/** A client of undici, which is one connection at a time, that tells each request about its line. */
class LineClient extends Client {
  readonly #line: Line;

  constructor(origin: URL, clientOptions: Client.Options, options: ConnectorOptions) {
    const line: Line = { answered: false, opened: false, hangUp: () => {} };
    super(origin, {
      ...clientOptions,
      connect: (target, done) => {
        const stop = new AbortController();
        line.hangUp = () => stop.abort();
        dial(target, options, line, stop.signal).then(
          (socket) => done(null, socket),
          (error) => done(error, null),
        );
      },
    });
    this.#line = line;
    this.on("disconnect", () => {
      line.answered = false;
    });
  }

  override dispatch(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler & Partial<OnLine>,
  ): boolean {
    handler.line = this.#line;
    return super.dispatch(options, handler);
  }
}

interface Target {
  hostname: string;
  protocol: string;
  port: string;
}

async function dial(target: Target, options: ConnectorOptions, line: Line, stop: AbortSignal): Promise<Socket> {
  line.opened = false;
  const host = canonicalHost(target.hostname);
  const permitted = (ip: string) => permits(options.allow, target.protocol, host, ip);
  const addresses = await addressesOf(host, options);
  if (!addresses.every(permitted)) throw new ConnectError("ADDRESS_REFUSED");
  let failure = new ConnectError("DNS_FAILED");
  for (const address of addresses.slice(0, ADDRESSES_TRIED_MAX)) {
    if (stop.aborted) throw new ConnectError("TIMEOUT");
    try {
      const socket = await reach(address, host, target, { ...options, permitted, stop });
      line.opened = options.allow !== null && !isPublicAddress(address);
      return socket;
    } catch (error) {
      failure = error instanceof ConnectError ? error : new ConnectError(failureOf(error), error);
      if (LAST_WORDS.has(failure.code)) break;
    }
  }
  throw failure;
}

/** Without TLS only what the operator opened is reached; with it, what is public as well. */
function permits(allow: AllowList | null, protocol: string, host: string, ip: string): boolean {
  if (allow === null || allows(allow, { host, ip })) return true;
  return protocol === "https:" && isPublicAddress(ip);
}

async function addressesOf(host: string, options: ConnectorOptions): Promise<string[]> {
  if (isIP(host) !== 0) return [host];
  if (isLocalhost(host)) return LOCALHOST_ADDRESSES;
  const listed = options.allow !== null && allows(options.allow, { host, ip: null });
  try {
    return await (listed ? options.listedNames(host) : options.names(host));
  } catch (error) {
    throw new ConnectError(isOutOfFiles(error) || !canOpenFiles() ? "OUT_OF_FILES" : "DNS_FAILED", error);
  }
}

/** Whether another file can be opened. c-ares does not say why it could not ask: "ECONNREFUSED". */
function canOpenFiles(): boolean {
  try {
    closeSync(openSync(devNull, "r"));
    return true;
  } catch (error) {
    return !isOutOfFiles(error);
  }
}

interface Reaching {
  permitted: (ip: string) => boolean;
  stop: AbortSignal;
  tlsCa?: string;
  open?: typeof connect;
}

/** A connected socket to exactly this address, its certificate checked against `host`. Rejects within 5 s. */
async function reach(address: string, host: string, target: Target, how: Reaching): Promise<Socket> {
  const secure = target.protocol === "https:";
  let socket = (how.open ?? connect)({
    host: address,
    port: Number(target.port || (secure ? 443 : 80)),
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEP_ALIVE_AFTER_MS,
  });
  const giveUp = () => socket.destroy(new ConnectError("TIMEOUT"));
  const timer = setTimeout(giveUp, CONNECT_LIMIT_MS);
  how.stop.addEventListener("abort", giveUp, { once: true });
  try {
    await happens(socket, "connect");
    const reached = socket.remoteAddress;
    if (reached === undefined) throw new ConnectError("CONNECTION_RESET");
    if (!how.permitted(reached)) throw new ConnectError("ADDRESS_REFUSED");
    if (!secure) return socket;
    socket = connectTls({
      socket,
      host,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ALPNProtocols: ["http/1.1"],
      // Said outright, so that no environment variable turns it off.
      rejectUnauthorized: true,
      ...(how.tlsCa === undefined ? {} : { ca: how.tlsCa }),
    });
    await happens(socket, "secureConnect").catch((error: unknown) => {
      throw error instanceof ConnectError ? error : new ConnectError("TLS_FAILED", error);
    });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
    how.stop.removeEventListener("abort", giveUp);
  }
}

/** Resolves when the socket emits `event`, rejects when it fails or closes first. Its later errors are undici's. */
function happens(socket: Socket, event: "connect" | "secureConnect"): Promise<void> {
  return new Promise((resolve, reject) => {
    const closed = () => reject(new ConnectError("CONNECTION_RESET"));
    socket.on("error", reject);
    socket.once("close", closed);
    socket.once(event, () => {
      socket.off("close", closed);
      resolve();
    });
  });
}

function isOutOfFiles(error: unknown): boolean {
  return OUT_OF_FILES_CODES.has((error as { code?: unknown } | null)?.code);
}

function failureOf(error: unknown): ConnectFailure {
  if (isOutOfFiles(error)) return "OUT_OF_FILES";
  const { code, address } = (error ?? {}) as { code?: unknown; address?: unknown };
  switch (code) {
    case "EADDRNOTAVAIL":
      // Of IPv6 the same code says that this machine has no such address to send from, which time does not mend.
      return isIPv4(String(address)) ? "OUT_OF_PORTS" : "CONNECTION_FAILED";
    case "ECONNREFUSED":
      return "CONNECTION_REFUSED";
    case "ECONNRESET":
    case "EPIPE":
      return "CONNECTION_RESET";
    case "ETIMEDOUT":
      return "TIMEOUT";
    default:
      return "CONNECTION_FAILED";
  }
}
