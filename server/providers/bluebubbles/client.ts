/** HTTP client of one Mac. Classifies every response and failure, and never reveals the password. */

import { Agent, buildConnector, type Dispatcher, FormData } from "undici";
import type { Clock } from "../../clock.ts";
import { withoutTrailing } from "../../core/trim-end.ts";
import { dataOf, parseErrorBody } from "./records.ts";

/** Reason why a request has no successful response. */
export type Failure =
  /** The connection failed: nothing was written. */
  | { kind: "unreachable"; reason: string }
  /** BlueBubbles, or a proxy before it, responded with an error. `type` is null if the error is not BlueBubbles' own. */
  | { kind: "errorResponse"; status: number; type: string | null; message: string }
  /** The request may have been written, and no complete response arrived. */
  | { kind: "noResponse"; reason: string };

/** Content of a 2xx response, or a failure. */
export type MacResponse = { kind: "ok"; data: unknown } | Failure;

/** A downloaded file, or a failure. */
export type DownloadResult = { kind: "ok"; bytes: Uint8Array; mimeType: string | null } | Failure;

/** Query parameters; null and undefined values are left out. */
export type QueryParams = Readonly<Record<string, string | number | null | undefined>>;

export interface Limits {
  /** Real milliseconds until the response must be complete. */
  limitMs?: number;
  /** Ends the wait. The Mac still completes a request that was written. */
  abort?: AbortSignal;
}

/** File to upload, after the other fields of the form. */
export interface FileUpload {
  fields: Readonly<Record<string, string>>;
  filename: string;
  mimeType: string;
  bytes: Uint8Array;
}

export interface MacClientOptions {
  /** URL of BlueBubbles, without `/api/v1`. */
  url: string;
  password: string;
  clock: Clock;
  /** Whether this process may still send; always if absent. */
  mayWrite?: () => boolean;
}

/** BlueBubbles gives up after 120 s at its helper and 60 s at its database; the rest is for the network. */
export const SEND_LIMIT_MS = 190_000;
const READ_LIMIT_MS = 15_000;
const UPLOAD_LIMIT_MS = 600_000;
const CONNECT_LIMIT_MS = 10_000;
const KEEP_ALIVE_MS = 4_000;
/** BlueBubbles reports its start within this time after its connections broke. */
const RESTART_MS_MAX = 600_000;
/** A Mac that is awake responds within this time. */
const RESPONDS_WITHIN_MS = 20_000;
/** Limit of a response; a thousand rows with their payloads are a few MiB. */
const RESPONSE_BYTES_MAX = 64 * 1_048_576;
const REASON_LENGTH_MAX = 200;
/** Length of an error message that is searched for secrets before it is shortened. */
const MESSAGE_LENGTH_MAX = 2_000;

/** A request on its way out. */
interface ClientRequest {
  method: "GET" | "POST" | "PUT" | "DELETE";
  path: string;
  query?: QueryParams | undefined;
  body?: string | FormData | undefined;
  bytesMax: number;
  agent: Agent;
}

interface RawResponse {
  kind: "raw";
  status: number;
  mimeType: string | null;
  bytes: Uint8Array;
}

/** Client of one Mac until `close`. Never throws: failures are results. */
export class MacClient {
  readonly #base: string;
  readonly #password: string;
  readonly #clock: Clock;
  /** Requests that may be repeated use kept connections. Others use a new connection each, which was never idle. */
  readonly #reads: Agent;
  readonly #writes: Agent;
  #respondedAt: number | null = null;
  #awakeSince: number | null = null;
  #brokeAt: number | null = null;
  #restartedAt: number | null = null;

  constructor({ url, password, clock, mayWrite = () => true }: MacClientOptions) {
    this.#base = `${withoutTrailing(url, "/").replace(/\/api\/v1$/, "")}/api/v1`;
    this.#password = password;
    this.#clock = clock;
    this.#reads = agent(1, () => true);
    this.#writes = agent(0, mayWrite);
  }

  /** Last response of BlueBubbles, by the real clock; null before the first. */
  get respondedAt(): number | null {
    return this.#respondedAt;
  }

  /** Start of the period in which BlueBubbles responded in time, by the real clock; null while it does not. */
  get awakeSince(): number | null {
    return this.#awakeSince;
  }

  /** Last known restart of BlueBubbles, by the real clock; null if none is known. */
  get restartedAt(): number | null {
    return this.#restartedAt;
  }

  /** BlueBubbles reports a restart. The report is not signed, so it counts only if a connection broke before. */
  noteRestart(): void {
    const now = this.#clock.real();
    if (this.#brokeAt !== null && now - this.#brokeAt <= RESTART_MS_MAX) this.#restartedAt = now;
  }

  /** Reads. Repeats the request once if the connection breaks. Default limit: 15 s. */
  async get(path: string, query: QueryParams = {}, limits: Limits = {}): Promise<MacResponse> {
    return this.#repeatable({ method: "GET", path, query }, limits);
  }

  /** Reads with POST, as BlueBubbles' queries require; otherwise like `get`. */
  async query(path: string, body: unknown, limits: Limits = {}): Promise<MacResponse> {
    return this.#repeatable({ method: "POST", path, body: JSON.stringify(body) }, limits);
  }

  /** Sends a request once, without a repeat. Default limit: 190 s. */
  async post(path: string, body?: unknown, limits: Limits = {}): Promise<MacResponse> {
    return this.#once("POST", path, body, limits);
  }

  async put(path: string, body: unknown, limits: Limits = {}): Promise<MacResponse> {
    return this.#once("PUT", path, body, limits);
  }

  async delete(path: string, body?: unknown, limits: Limits = {}): Promise<MacResponse> {
    return this.#once("DELETE", path, body, limits);
  }

  /** Posts a form with a file in its field `attachment`, once. Default limit: 10 min. */
  async upload(
    path: string,
    file: FileUpload,
    { limitMs = UPLOAD_LIMIT_MS, abort }: Limits = {},
  ): Promise<MacResponse> {
    const body = new FormData();
    for (const [name, value] of Object.entries(file.fields)) body.append(name, value);
    body.append("attachment", new Blob([Buffer.from(file.bytes)], { type: file.mimeType }), file.filename);
    const request = { method: "POST", path, body, bytesMax: RESPONSE_BYTES_MAX, agent: this.#writes } as const;
    return this.#parseResponse(await this.#send(request, limitMs, abort));
  }

  /** Downloads a file. Treats a file longer than `bytesMax` as lost. Default limit: 60 s. */
  async download(
    path: string,
    query: QueryParams,
    bytesMax: number,
    { limitMs = 60_000, abort }: Limits = {},
  ): Promise<DownloadResult> {
    const response = await this.#send({ method: "GET", path, query, bytesMax, agent: this.#reads }, limitMs, abort);
    if (response.kind !== "raw") return response;
    if (!isGood(response.status)) return this.#failureOf(response);
    return { kind: "ok", bytes: response.bytes, mimeType: response.mimeType };
  }

  /** Closes every connection: requests in flight are lost. */
  async close(): Promise<void> {
    await Promise.all([this.#reads.destroy(), this.#writes.destroy()]);
  }

  async #repeatable(
    request: Pick<ClientRequest, "method" | "path" | "query" | "body">,
    { limitMs = READ_LIMIT_MS, abort }: Limits,
  ): Promise<MacResponse> {
    const complete = { ...request, bytesMax: RESPONSE_BYTES_MAX, agent: this.#reads };
    const first = await this.#send(complete, limitMs, abort);
    const broke = first.kind === "noResponse" && first.reason !== TIMED_OUT && first.reason !== ABORTED;
    return this.#parseResponse(broke ? await this.#send(complete, limitMs, abort) : first);
  }

  async #once(
    method: ClientRequest["method"],
    path: string,
    body: unknown,
    { limitMs = SEND_LIMIT_MS, abort }: Limits,
  ): Promise<MacResponse> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    return this.#parseResponse(
      await this.#send({ method, path, body: text, bytesMax: RESPONSE_BYTES_MAX, agent: this.#writes }, limitMs, abort),
    );
  }

  async #send(request: ClientRequest, limitMs: number, abort: AbortSignal | undefined): Promise<RawResponse | Failure> {
    const ends = new AbortController();
    let reason = TIMED_OUT;
    const abortNow = () => {
      reason = ABORTED;
      ends.abort();
    };
    const stopTimer = this.#clock.after(limitMs, () => ends.abort());
    abort?.addEventListener("abort", abortNow, { once: true });
    if (abort?.aborted === true) abortNow();
    try {
      const response = await this.#exchange(request, ends.signal);
      this.#noteResponse(response);
      return response;
    } catch (error) {
      if (
        error instanceof NoConnection ||
        (ends.signal.aborted && reason === TIMED_OUT && limitMs <= RESPONDS_WITHIN_MS)
      )
        this.#awakeSince = null;
      if (!ends.signal.aborted) this.#brokeAt = this.#clock.real();
      if (error instanceof NoConnection) return { kind: "unreachable", reason: error.message };
      return { kind: "noResponse", reason: ends.signal.aborted ? reason : `the connection broke (${codeOf(error)})` };
    } finally {
      stopTimer();
      abort?.removeEventListener("abort", abortNow);
    }
  }

  /** Notes a response. A proxy may respond in place of a sleeping Mac. */
  #noteResponse(response: RawResponse): void {
    const isItsOwn = isGood(response.status) || parseErrorBody(parseJson(response.bytes)).type !== null;
    if (isItsOwn) this.#respondedAt = this.#clock.real();
    this.#awakeSince = isItsOwn ? (this.#awakeSince ?? this.#respondedAt) : null;
  }

  #parseResponse(response: RawResponse | Failure): MacResponse {
    if (response.kind !== "raw") return response;
    if (!isGood(response.status)) return this.#failureOf(response);
    const body = parseJson(response.bytes);
    if (body === undefined) return { kind: "noResponse", reason: `the response (${response.status}) is not JSON` };
    return { kind: "ok", data: dataOf(body) };
  }

  /**
   * Turns an error response into a failure. Responses for unknown paths, and of proxies, are not JSON. Some error messages
   * repeat the request, and with it the password.
   */
  #failureOf({ status, bytes }: RawResponse): Failure {
    const body = parseJson(bytes);
    const { type, message } = parseErrorBody(body);
    const text = message ?? (body === undefined ? "the response is not JSON" : "no reason given");
    const cleaned = text
      .slice(0, MESSAGE_LENGTH_MAX)
      .replace(/\?[^\s?=]*=\S*/g, "?…")
      .replaceAll(this.#password, "…");
    return { kind: "errorResponse", status, type, message: cleaned.slice(0, REASON_LENGTH_MAX) };
  }

  async #exchange(
    { method, path, query, body, bytesMax, agent }: ClientRequest,
    signal: AbortSignal,
  ): Promise<RawResponse> {
    const response = await agent.request({
      ...this.#address(path, query),
      method,
      body: body ?? null,
      headers: typeof body === "string" ? { "content-type": "application/json" } : {},
      signal,
    });
    const type = response.headers["content-type"];
    return {
      kind: "raw",
      status: response.statusCode,
      mimeType: typeof type === "string" ? type : null,
      bytes: await readAll(response.body, bytesMax),
    };
  }

  #address(path: string, query: QueryParams = {}): { origin: string; path: string } {
    const url = new URL(`${this.#base}${path}`);
    for (const [name, value] of Object.entries(query)) {
      if (value !== null && value !== undefined) url.searchParams.set(name, String(value));
    }
    url.searchParams.set("password", this.#password);
    return { origin: url.origin, path: `${url.pathname}${url.search}` };
  }
}

/** Escapes a path segment: a chat's guid contains semicolons and a plus. */
export function pathSegment(text: string): string {
  return encodeURIComponent(text);
}

/** Whether the error comes from BlueBubbles itself, and not from a proxy before it. */
export function isBlueBubblesError(failure: Failure): boolean {
  return failure.kind === "errorResponse" && failure.type !== null;
}

/** Whether BlueBubbles itself failed at this request. Other requests may succeed. */
export function isServerError(failure: Failure): boolean {
  return isBlueBubblesError(failure) && failure.kind === "errorResponse" && failure.status === 500;
}

/** Whether the Mac does not have the requested object. */
export function isNotFound(response: MacResponse | DownloadResult): boolean {
  return response.kind === "errorResponse" && response.status === 404 && isBlueBubblesError(response);
}

/** Describes a failure for a timeline or log: without URLs, and with numbers and addresses removed. */
export function describeFailure(failure: Failure): string {
  switch (failure.kind) {
    case "unreachable":
      return `the Mac cannot be reached: ${failure.reason}`;
    case "noResponse":
      return `the Mac did not respond (${failure.reason})`;
    case "errorResponse":
      return `the Mac responded with ${failure.status}: ${withoutAddresses(failure.message)}`;
  }
}

function withoutAddresses(text: string): string {
  return text.replace(/[^\s;:"'<>()]+/g, (word) => (/.@./s.test(word) ? "…" : word)).replace(/\+?\d{5,}/g, "…");
}

const TIMED_OUT = "timed out";
const ABORTED = "aborted";

/** The connection failed. Unlike undici's own socket errors, this code does not make undici connect again. */
class NoConnection extends Error {
  readonly code = "NO_CONNECTION";
}

/** An agent that gives up each connection that opens when this process may not write any more. */
function agent(pipelining: 0 | 1, mayWrite: () => boolean): Agent {
  const connector = buildConnector({ timeout: CONNECT_LIMIT_MS, allowH2: false });
  return new Agent({
    allowH2: false,
    pipelining,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    // One limit of our own covers the whole exchange.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (target, done) =>
      connector(target, (error, socket) => {
        if (error !== null) return done(new NoConnection(codeOf(error)), null);
        if (mayWrite()) return done(null, socket);
        socket.destroy();
        done(new NoConnection("another process runs the instance by now"), null);
      }),
  });
}

async function readAll(body: Dispatcher.ResponseData["body"], bytesMax: number): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new TooLong();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

class TooLong extends Error {
  readonly code = "TOO_LONG";
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString("utf8")) as unknown;
  } catch {
    return undefined;
  }
}

function isGood(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Code of an error. Its message may contain the URL, and with it the password. */
function codeOf(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : null;
  return typeof code === "string" ? code : "no code";
}
