/** Requests to the service: made, tried again where that is safe, and their envelopes opened. Knows no route. */

import { TightbeamError } from "./errors.ts";
import type { ErrorDetail } from "./wire.ts";

/** Parts of a request beside its method and path. Query values that are undefined are left out. */
export interface RequestOptions {
  query?: object | undefined;
  body?: unknown;
  /** Makes a POST safe to repeat; every POST that brings none is given a random one. */
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Sends one request and answers the envelope's `data`; throws `TightbeamError`, or the signal's reason. */
export type Request = <Data>(method: string, path: string, options?: RequestOptions) => Promise<Data>;

/** Opens a stream of events; its response is not read. Throws `TightbeamError`, or the signal's reason. */
export type OpenStream = (
  path: string,
  given: { query?: object | undefined; lastEventId: string | null; signal: AbortSignal },
) => Promise<Response>;

/** The ways to the service that a client has. */
export interface Connection {
  request: Request;
  openStream: OpenStream;
  wait: NonNullable<ClientOptions["wait"]>;
}

/** What a request is made with. */
export interface ClientOptions {
  /** `tb_…`; sent as a bearer token and nowhere else. A page has none: there the browser's cookie speaks for it. */
  apiKey?: string;
  /** Where the service answers; default `http://127.0.0.1:8080`. A path in it is kept. */
  baseUrl?: string;
  /** Default: the platform's. */
  fetch?: typeof fetch;
  /** Milliseconds that one try may take, its answer's body included; default 60,000. */
  timeoutMs?: number;
  /** Waits before a retry, told why; a rejection gives up with its reason. Default: a timer. */
  wait?: (delayMs: number, why: TightbeamError, signal?: AbortSignal) => Promise<void>;
}

/** Retries after the first try (specification 7). */
const RETRIES_MAX = 3;
/** Wait before the first retry without `Retry-After`; doubles each time: 10, 20, 40 s (specification 7). */
const BACKOFF_SECONDS = 10;
const TIMEOUT_MS = 60_000;

/** Connects with these options. Throws `TypeError` for a missing key, a key in a page, or a bad address. */
export function connect(options: ClientOptions): Connection {
  requireKeyInItsPlace(options.apiKey);
  const base = parseBase(options.baseUrl ?? "http://127.0.0.1:8080");
  const wait = options.wait ?? pause;
  const request = async <Data>(method: string, path: string, given: RequestOptions = {}): Promise<Data> => {
    const { url, init, repeatable } = prepare(base, options.apiKey, method, path, given);
    for (let retry = 0; ; retry++) {
      const outcome = await attempt(options, url, init, given.signal);
      if (!(outcome instanceof TightbeamError)) return outcome.data as Data;
      if (retry === RETRIES_MAX || !isWorthRetrying(outcome, repeatable)) throw outcome;
      const delaySeconds = outcome.retryAfterSeconds ?? BACKOFF_SECONDS * 2 ** retry;
      await wait(delaySeconds * 1000, outcome, given.signal);
    }
  };
  const openStream: OpenStream = async (path, { query, lastEventId, signal }) => {
    const headers = headersOf(options.apiKey, "text/event-stream");
    if (lastEventId !== null) headers.set("Last-Event-ID", lastEventId);
    const response = await fetched(options, addressOf(base, path, query), { headers, redirect: "manual" }, signal);
    if (response instanceof TightbeamError) throw response;
    if (response.ok && response.headers.get("Content-Type")?.startsWith("text/event-stream")) return response;
    const refused = open(response, await response.text());
    throw refused instanceof TightbeamError ? refused : new TightbeamError("UNEXPECTED_RESPONSE", "This is no stream.");
  };
  return { request, openStream, wait };
}

/** A key that is in a page is everybody's: who reads the page has it. */
function requireKeyInItsPlace(apiKey: string | undefined): void {
  const isPage = "document" in globalThis && "window" in globalThis;
  if (isPage && apiKey !== undefined) {
    throw new TypeError(
      "An apiKey must not be used in a browser: everybody who opens the page could read it. Call the service from your server.",
    );
  }
  if (!isPage && !apiKey) throw new TypeError("apiKey is missing: it is the tb_… key of the service.");
}

function parseBase(baseUrl: string): string {
  if (!URL.canParse(baseUrl) || !/^https?:/i.test(baseUrl)) {
    throw new TypeError(`baseUrl ${JSON.stringify(baseUrl)} is not an http or https address.`);
  }
  return baseUrl.replace(/\/+$/, "");
}

interface Prepared {
  url: URL;
  init: RequestInit;
  /** Whether doing it twice is doing it once. */
  repeatable: boolean;
}

function addressOf(base: string, path: string, query: object | undefined): URL {
  const url = new URL(base + path);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}

function headersOf(apiKey: string | undefined, accept: string): Headers {
  return new Headers({ Accept: accept, ...(apiKey === undefined ? {} : { Authorization: `Bearer ${apiKey}` }) });
}

function prepare(
  base: string,
  apiKey: string | undefined,
  method: string,
  path: string,
  given: RequestOptions,
): Prepared {
  const url = addressOf(base, path, given.query);
  const headers = headersOf(apiKey, "application/json");
  const key = given.idempotencyKey ?? (method === "POST" && !carriesKey(given.body) ? randomKey() : undefined);
  if (key !== undefined) headers.set("Idempotency-Key", key);
  const init: RequestInit = { method, headers, redirect: "manual" };
  if (given.body !== undefined) {
    headers.set("Content-Type", "application/json");
    init.body = JSON.stringify(given.body);
  }
  return { url, init, repeatable: method !== "PATCH" };
}

function carriesKey(body: unknown): boolean {
  return isRecord(body) && body.idempotencyKey !== undefined;
}

/** 128 random bits in hex. (`crypto.randomUUID` is missing on pages that were not loaded over HTTPS.) */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** One try. A failure is a value here, so that the caller can weigh it; only the caller's own abort is thrown. */
async function attempt(
  options: ClientOptions,
  url: URL,
  init: RequestInit,
  signal: AbortSignal | undefined,
): Promise<{ data: unknown } | TightbeamError> {
  signal?.throwIfAborted();
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  const deadline = AbortSignal.timeout(timeoutMs);
  const either = signal ? AbortSignal.any([signal, deadline]) : deadline;
  try {
    const response = await fetched(options, url, init, either);
    return response instanceof TightbeamError ? response : open(response, await response.text());
  } catch (cause) {
    signal?.throwIfAborted();
    if (deadline.aborted) {
      return new TightbeamError("TIMEOUT", `No answer from ${url.origin} within ${timeoutMs} ms.`, { cause });
    }
    return connectionFailed(url, cause);
  }
}

/** The answer's head, or why there is none. Throws only when the signal was aborted. */
async function fetched(
  options: ClientOptions,
  url: URL,
  init: RequestInit,
  signal: AbortSignal,
): Promise<Response | TightbeamError> {
  const send = options.fetch ?? fetch;
  try {
    return await send(url, { ...init, signal });
  } catch (cause) {
    signal.throwIfAborted();
    return connectionFailed(url, cause);
  }
}

function connectionFailed(url: URL, cause: unknown): TightbeamError {
  return new TightbeamError("CONNECTION_FAILED", `No answer from ${url.origin}: ${reasonOf(cause)}.`, { cause });
}

/** `fetch` says only "fetch failed"; what happened is in its cause (`ECONNREFUSED`, `ENOTFOUND`, …). */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (isRecord(cause) && typeof cause.code === "string") return cause.code;
  return cause instanceof Error ? cause.message : String(cause);
}

function open(response: Response, text: string): { data: unknown } | TightbeamError {
  const envelope = parseJson(text);
  if (response.ok && isRecord(envelope) && envelope.success === true && "data" in envelope) {
    return { data: envelope.data };
  }
  const answer = {
    status: response.status,
    requestId: isRecord(envelope) && typeof envelope.requestId === "string" ? envelope.requestId : null,
    retryAfterSeconds: parseRetryAfter(response.headers.get("Retry-After")),
  };
  const error = isRecord(envelope) ? envelope.error : undefined;
  if (isRecord(error) && typeof error.code === "string" && typeof error.message === "string") {
    const details = Array.isArray(error.details) ? error.details.filter(isDetail) : [];
    return new TightbeamError(error.code, error.message, { ...answer, details });
  }
  const what = `${response.status} ${text.slice(0, 200)}`.trim();
  return new TightbeamError("UNEXPECTED_RESPONSE", `The answer is not one of this service: ${what}`, answer);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whole seconds, as many as a timer can wait; null for none, and for the date form, which this service does not use. */
function parseRetryAfter(value: string | null): number | null {
  return value !== null && /^\d{1,6}$/.test(value) ? Number(value) : null;
}

/** 429 and 503 were refused before anything was done; after no answer at all only what may be done twice is. */
function isWorthRetrying(error: TightbeamError, repeatable: boolean): boolean {
  if (error.status === 429 || error.status === 503) return true;
  return error.status === 0 && repeatable;
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

function isDetail(value: unknown): value is ErrorDetail {
  return isRecord(value) && typeof value.path === "string" && typeof value.message === "string";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
