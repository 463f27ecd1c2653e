/** Sends requests to the service, retries them if that is safe, and logs them. Knows no route. */

import { withoutTrailingSlashes } from "./base-url.ts";
import { TightbeamError } from "./errors.ts";
import type { CallOptions } from "./paging.ts";
import { type ApiPromise, apiPromise, open, type WithResponse } from "./response.ts";
import { ABSENCE_ADVICE, isAbsence, isRetryable, MAX_RETRIES, reasonOf, retryDelayMs } from "./retry.ts";

/** Parts of a request beside its method and path. Query values that are undefined are left out. */
export interface RequestOptions extends CallOptions {
  query?: object | undefined;
  body?: unknown;
}

/** Sends one request and returns the envelope's `data`. Throws `TightbeamError`, or the signal's reason. */
export type Request = <Data>(method: string, path: string, options?: RequestOptions) => ApiPromise<Data>;

/** Opens a stream of events, without reading its response. Throws `TightbeamError`, or the signal's reason. */
export type OpenStream = (
  path: string,
  given: {
    query?: object | undefined;
    lastEventId: string | null;
    signal: AbortSignal;
    headers?: CallOptions["headers"];
  },
) => Promise<Response>;

/** The connection of a client to the service. */
export interface Connection {
  request: Request;
  openStream: OpenStream;
  wait: NonNullable<ClientOptions["wait"]>;
  /** The client's own signal: it ends streams too. */
  signal: AbortSignal | undefined;
  /** Whether the server has responded to this client at least once. */
  hasResponded(): boolean;
}

/** The log of a client: `console`, pino, winston and the like. Each message is complete. */
export interface Logger {
  /** Each response: method, path, status, time, request id. */
  debug(message: string): void;
  /** Each retry: its reason and its delay. */
  warn(message: string): void;
}

/** Options of a client. `timeoutMs`, `maxRetries`, `signal` and `headers` can also be given to each call. */
export interface ClientOptions {
  /**
   * `tb_…`; sent as a bearer token and nowhere else. Default: the environment variable `TIGHTBEAM_API_KEY`. In a page
   * there must be none: the browser sends its cookie instead.
   */
  apiKey?: string | undefined;
  /** Address of the service, which may have a path. Default: `TIGHTBEAM_URL`, else `http://127.0.0.1:8080`. */
  baseUrl?: string | undefined;
  /** Default: the platform's. */
  fetch?: typeof fetch | undefined;
  /** Milliseconds that one attempt may take, with the body of its response; default 60,000. */
  timeoutMs?: number | undefined;
  /** Number of retries of a request that is safe to retry; default 3, and 0 for none. */
  maxRetries?: number | undefined;
  /** Aborts every request of this client; each throws its reason. */
  signal?: AbortSignal | undefined;
  /** Sent with every request. */
  headers?: CallOptions["headers"];
  /** Default: nothing is logged. Keys, bodies and query strings never are. */
  logger?: Logger | undefined;
  /** Waits before a retry; `why` is the failure. If it rejects, there is no retry. Default: a timer. */
  wait?: ((delayMs: number, why: TightbeamError, signal?: AbortSignal) => Promise<void>) | undefined;
  /** A number from 0 up to 1 that spreads the delays. Default: `Math.random`. */
  random?: (() => number) | undefined;
}

const TIMEOUT_MS = 60_000;
const DEFAULT_URL = "http://127.0.0.1:8080";

/** Connects with these options. Throws `TypeError` for a missing key, a key in a page, or a bad address or number. */
export function connect(given: ClientOptions): Connection {
  const options = { ...given, apiKey: given.apiKey ?? fromEnvironment("TIGHTBEAM_API_KEY") };
  requireKeyInItsPlace(options.apiKey);
  requireNumbers(options);
  const base = parseBase(options.baseUrl ?? fromEnvironment("TIGHTBEAM_URL") ?? DEFAULT_URL);
  const wait = options.wait ?? pause;
  const random = options.random ?? Math.random;
  let hasResponded = false;
  const respond = async (method: string, path: string, call: RequestOptions): Promise<WithResponse<unknown>> => {
    requireNumbers(call);
    const { url, init, repeatable } = prepare(base, options, method, path, call);
    const signal = anyOf([options.signal, call.signal]);
    const limits = { signal, timeoutMs: call.timeoutMs ?? options.timeoutMs ?? TIMEOUT_MS };
    const maxRetries = call.maxRetries ?? options.maxRetries ?? MAX_RETRIES;
    for (let retry = 0; ; retry++) {
      const outcome = await attempt(options, url, init, limits);
      if (!(outcome instanceof TightbeamError)) {
        hasResponded = true;
        return outcome;
      }
      if (outcome.status > 0) hasResponded = true;
      if (retry >= maxRetries || !isRetryable(outcome, { repeatable, hasResponded })) throw outcome;
      const delayMs = retryDelayMs(outcome, retry, random());
      options.logger?.warn(
        `${method} ${url.pathname}: ${outcome.code}, retry ${retry + 1} of ${maxRetries} in ${delayMs} ms`,
      );
      await wait(delayMs, outcome, signal);
    }
  };
  return {
    request: <Data>(method: string, path: string, call: RequestOptions = {}) =>
      apiPromise(respond(method, path, call) as Promise<WithResponse<Data>>),
    openStream: async (path, given) => {
      const response = await openedStream(options, addressOf(base, path, given.query), given);
      if (!(response instanceof TightbeamError) || response.status > 0) hasResponded = true;
      if (response instanceof TightbeamError) throw response;
      return response;
    },
    wait,
    signal: options.signal,
    hasResponded: () => hasResponded,
  };
}

async function openedStream(
  options: ClientOptions,
  url: URL,
  { lastEventId, signal, headers: more }: Parameters<OpenStream>[1],
): Promise<Response | TightbeamError> {
  const headers = headersOf(options, "text/event-stream", more);
  if (lastEventId !== null) headers.set("Last-Event-ID", lastEventId);
  const response = await fetched(options, url, { headers, redirect: "manual" }, signal);
  if (response instanceof TightbeamError) return response;
  if (response.ok && response.headers.get("Content-Type")?.startsWith("text/event-stream")) return response;
  const refused = open(response, await response.text());
  return refused instanceof TightbeamError
    ? refused
    : new TightbeamError("UNEXPECTED_RESPONSE", "The response is not a stream of events.");
}

/** Whether this code runs in a page. */
function isPage(): boolean {
  return "document" in globalThis && "window" in globalThis;
}

/** An environment variable; undefined if it is empty, or if there is no environment or no permission to read it. */
function fromEnvironment(name: string): string | undefined {
  if (isPage()) return undefined;
  try {
    const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
    return process?.env?.[name] || undefined;
  } catch {
    // Deno asks its user for each variable, and throws if the user says no.
    return undefined;
  }
}

/** Refuses a key in a page: everybody who opens the page could read it. */
function requireKeyInItsPlace(apiKey: string | undefined): void {
  if (isPage() && apiKey !== undefined) {
    throw new TypeError(
      "An apiKey must not be used in a browser: everybody who opens the page could read it. Call the service from your server.",
    );
  }
  if (!isPage() && !apiKey) {
    throw new TypeError("apiKey is missing: pass the tb_… key of the service, or set TIGHTBEAM_API_KEY.");
  }
}

function requireNumbers({ timeoutMs = 1, maxRetries = 0 }: Pick<CallOptions, "timeoutMs" | "maxRetries">): void {
  if (!(timeoutMs > 0)) throw new TypeError(`timeoutMs is ${timeoutMs}: it must be more than 0.`);
  if (!(maxRetries >= 0)) throw new TypeError(`maxRetries is ${maxRetries}: it must be 0 or more.`);
}

function parseBase(baseUrl: string): string {
  if (!URL.canParse(baseUrl) || !/^https?:/i.test(baseUrl)) {
    throw new TypeError(`baseUrl ${JSON.stringify(baseUrl)} is not an http or https address.`);
  }
  return withoutTrailingSlashes(baseUrl);
}

interface Prepared {
  url: URL;
  init: RequestInit;
  /** Whether the request has the same effect twice as once. */
  repeatable: boolean;
}

function addressOf(base: string, path: string, query: object | undefined): URL {
  const url = new URL(base + path);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}

function headersOf(options: ClientOptions, accept: string, more: CallOptions["headers"]): Headers {
  const headers = new Headers({ Accept: accept });
  if (options.apiKey !== undefined) headers.set("Authorization", `Bearer ${options.apiKey}`);
  for (const [name, value] of [...Object.entries(options.headers ?? {}), ...Object.entries(more ?? {})]) {
    if (value !== undefined) headers.set(name, value);
  }
  return headers;
}

function prepare(base: string, options: ClientOptions, method: string, path: string, call: RequestOptions): Prepared {
  const url = addressOf(base, path, call.query);
  const headers = headersOf(options, "application/json", call.headers);
  const isKeyed = headers.has("Idempotency-Key") || carriesKey(call.body);
  const key = call.idempotencyKey ?? (method === "POST" && !isKeyed ? randomKey() : undefined);
  if (key !== undefined) headers.set("Idempotency-Key", key);
  const init: RequestInit = { method, headers, redirect: "manual" };
  if (call.body !== undefined) {
    headers.set("Content-Type", "application/json");
    init.body = JSON.stringify(call.body);
  }
  return { url, init, repeatable: method !== "PATCH" };
}

function carriesKey(body: unknown): boolean {
  return typeof body === "object" && body !== null && "idempotencyKey" in body && body.idempotencyKey !== undefined;
}

/** 128 random bits in hex. (`crypto.randomUUID` is missing on pages that were not loaded over HTTPS.) */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** One signal for several, aborted with the first of them. Undefined for none. */
export function anyOf(signals: (AbortSignal | undefined)[]): AbortSignal | undefined {
  const given = signals.filter((signal) => signal !== undefined);
  return given.length > 1 ? AbortSignal.any(given) : given[0];
}

interface Limits {
  signal: AbortSignal | undefined;
  timeoutMs: number;
}

/** Makes one attempt. Returns a failure as a value; throws only if the caller aborts. */
async function attempt(
  options: ClientOptions,
  url: URL,
  init: RequestInit,
  { signal, timeoutMs }: Limits,
): Promise<WithResponse<unknown> | TightbeamError> {
  signal?.throwIfAborted();
  const startedAt = performance.now();
  const deadline = timeoutMs === Number.POSITIVE_INFINITY ? undefined : AbortSignal.timeout(timeoutMs);
  let outcome: WithResponse<unknown> | TightbeamError;
  try {
    const response = await fetched(options, url, init, anyOf([signal, deadline]));
    outcome = response instanceof TightbeamError ? response : open(response, await response.text());
  } catch (cause) {
    signal?.throwIfAborted();
    outcome = deadline?.aborted
      ? new TightbeamError("TIMEOUT", `No response from ${url.origin} within ${timeoutMs} ms.`, { cause })
      : connectionFailed(url, cause);
  }
  const took = Math.round(performance.now() - startedAt);
  options.logger?.debug(`${init.method} ${url.pathname} → ${resultOf(outcome)} in ${took} ms`);
  return outcome;
}

function resultOf(outcome: WithResponse<unknown> | TightbeamError): string {
  const status = outcome instanceof TightbeamError ? outcome.status : outcome.response.status;
  const code = outcome instanceof TightbeamError ? outcome.code : "";
  return [status || "", code, outcome.requestId ?? ""].filter((part) => part !== "").join(" ");
}

/** The head of the response, or the failure. Throws only if the signal is aborted. */
async function fetched(
  options: ClientOptions,
  url: URL,
  init: RequestInit,
  signal: AbortSignal | undefined,
): Promise<Response | TightbeamError> {
  const send = options.fetch ?? fetch;
  try {
    return await send(url, signal === undefined ? init : { ...init, signal });
  } catch (cause) {
    signal?.throwIfAborted();
    return connectionFailed(url, cause);
  }
}

function connectionFailed(url: URL, cause: unknown): TightbeamError {
  const failure = new TightbeamError("CONNECTION_FAILED", `No response from ${url.origin}: ${reasonOf(cause)}.`, {
    cause,
  });
  if (!isAbsence(failure)) return failure;
  const message = `Nothing answers at ${url.origin} (${reasonOf(cause)}). ${ABSENCE_ADVICE}`;
  return new TightbeamError("CONNECTION_FAILED", message, { cause });
}

function pause(delayMs: number, _why: TightbeamError, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(finish, delayMs);
    signal?.addEventListener("abort", stop, { once: true });
    function finish() {
      signal?.removeEventListener("abort", stop);
      resolve();
    }
    function stop() {
      clearTimeout(timer);
      reject(signal?.reason);
    }
  });
}
