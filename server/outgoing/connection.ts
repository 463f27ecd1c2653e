/** The guarded connector: opens every socket to an address that a caller has named, and only if the address is permitted. */

import { closeSync, openSync } from "node:fs";
import { connect, isIP, isIPv4, type Socket } from "node:net";
import { devNull } from "node:os";
import { connect as connectTls } from "node:tls";
import { Agent, Client, type Dispatcher, Pool } from "undici";
import { type AllowList, allows, canonicalHost, isLocalhost, isPublicAddress } from "../core/address.ts";

/** Why a connection could not be made. */
export type ConnectFailure =
  | "ADDRESS_REFUSED"
  | "DNS_FAILED"
  | "TIMEOUT"
  | "CONNECTION_REFUSED"
  | "CONNECTION_RESET"
  | "CONNECTION_FAILED"
  | "TLS_FAILED"
  | OwnLimit;

/** Limits of this machine: no open files or memory left, or no port for this destination. */
export type OwnLimit = "OUT_OF_FILES" | "OUT_OF_PORTS";

/** A connection could not be made. The codes differ from undici's own, to which undici would react by reconnecting. */
export class ConnectError extends Error {
  readonly code: ConnectFailure;

  constructor(code: ConnectFailure, cause?: unknown) {
    super(code, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** The state of one connection of a pool, over all its sockets. */
export interface PooledConnection {
  /** Whether the socket has carried a response before: the receiver may have closed it since. */
  answered: boolean;
  /** Whether the address is private, so that only the operator's allow list permits it. */
  isPrivate: boolean;
  /** Ends the attempt to connect, if one is under way. */
  hangUp: () => void;
}

/** A request that gets to know its connection. */
export interface UsesConnection {
  connection: PooledConnection | null;
}

export interface ConnectorOptions {
  /** Null permits every address: for this server's own inbox only. */
  allow: AllowList | null;
  /** Finds the addresses of public names, and of names on the operator's list. */
  names: (host: string) => Promise<string[]>;
  listedNames: (host: string) => Promise<string[]>;
  /** PEM of the only trusted authority, for tests; else Node's authorities. */
  tlsCa?: string;
  /** Opens a TCP connection: `connect` of node:net outside tests. */
  open?: typeof connect;
  /** False: a connection for each request, closed after it. */
  keepAlive: boolean;
}

/** For each address, TLS included, in milliseconds (docs/events.md). */
const CONNECT_LIMIT_MS = 5_000;
const ADDRESSES_TRIED_MAX = 4;
const KEEP_ALIVE_MS = 4_000;
const TCP_KEEP_ALIVE_AFTER_MS = 60_000;

/** After these failures no other address of the name is tried: it would fail in the same way. */
const LAST_WORDS: ReadonlySet<ConnectFailure> = new Set(["ADDRESS_REFUSED", "TLS_FAILED", "OUT_OF_FILES"]);

/** Codes of the system if this process or machine is out of files or memory. */
const OUT_OF_FILES_CODES: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "ENOMEM", "ENOBUFS"]);

const LOCALHOST_ADDRESSES = ["127.0.0.1", "::1"];

/**
 * An undici agent with guarded connections: all addresses of the name must be permitted, and so must the address that
 * the socket has reached. HTTP/1.1 only. Lanes limit the number of connections; idle ones are closed after 4 s.
 */
export function guardedAgent(options: ConnectorOptions): Agent {
  return new Agent({
    allowH2: false,
    pipelining: options.keepAlive ? 1 : 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    // The caller's own deadline bounds the attempt.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (_target, done) => done(new ConnectError("ADDRESS_REFUSED"), null),
    factory: (origin, agentOptions) =>
      new Pool(origin, { ...agentOptions, factory: (to, given) => new TrackedClient(to, given, options) }),
  });
}

/** A client of undici, which has one connection at a time, and informs each request about its connection. */
class TrackedClient extends Client {
  readonly #connection: PooledConnection;

  constructor(origin: URL, clientOptions: Client.Options, options: ConnectorOptions) {
    const connection: PooledConnection = { answered: false, isPrivate: false, hangUp: () => {} };
    super(origin, {
      ...clientOptions,
      connect: (target, done) => {
        const stop = new AbortController();
        connection.hangUp = () => stop.abort();
        dial(target, options, connection, stop.signal).then(
          (socket) => done(null, socket),
          (error) => done(error, null),
        );
      },
    });
    this.#connection = connection;
    this.on("disconnect", () => {
      connection.answered = false;
    });
  }

  override dispatch(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler & Partial<UsesConnection>,
  ): boolean {
    handler.connection = this.#connection;
    return super.dispatch(options, handler);
  }
}

interface ConnectTarget {
  hostname: string;
  protocol: string;
  port: string;
}

async function dial(
  target: ConnectTarget,
  options: ConnectorOptions,
  connection: PooledConnection,
  stop: AbortSignal,
): Promise<Socket> {
  connection.isPrivate = false;
  const host = canonicalHost(target.hostname);
  const permitted = (ip: string) => permits(options.allow, target.protocol, host, ip);
  const addresses = await addressesOf(host, options);
  if (!addresses.every(permitted)) throw new ConnectError("ADDRESS_REFUSED");
  let failure = new ConnectError("DNS_FAILED");
  for (const address of addresses.slice(0, ADDRESSES_TRIED_MAX)) {
    if (stop.aborted) throw new ConnectError("TIMEOUT");
    try {
      const socket = await reach(address, host, target, { ...options, permitted, stop });
      connection.isPrivate = options.allow !== null && !isPublicAddress(address);
      return socket;
    } catch (error) {
      failure = error instanceof ConnectError ? error : new ConnectError(failureOf(error), error);
      if (LAST_WORDS.has(failure.code)) break;
    }
  }
  throw failure;
}

/** Whether an address is permitted: by the operator's allow list, or with TLS if it is public. */
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

/** Whether another file can be opened. If not, c-ares reports a mere "ECONNREFUSED". */
function canOpenFiles(): boolean {
  try {
    closeSync(openSync(devNull, "r"));
    return true;
  } catch (error) {
    return !isOutOfFiles(error);
  }
}

interface SocketOptions {
  permitted: (ip: string) => boolean;
  stop: AbortSignal;
  tlsCa?: string;
  open?: typeof connect;
}

/** Connects to exactly this address and checks the certificate against `host`. Rejects within 5 s. */
async function reach(address: string, host: string, target: ConnectTarget, how: SocketOptions): Promise<Socket> {
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
      // Set explicitly, so that no environment variable turns it off.
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

/** Resolves when the socket emits `event`, rejects if it fails or closes first. undici handles later errors. */
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
      // With IPv6 the code means that this machine has no address of that kind, which waiting does not change.
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
