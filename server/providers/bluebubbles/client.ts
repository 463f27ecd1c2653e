/** The HTTP of one Mac: asks, tells what came of it in four ways, and never says the password. Decides nothing else. */

import { Agent, buildConnector, type Dispatcher, FormData } from "undici";
import type { Clock } from "../../clock.ts";
import { dataOf, parseErrorBody } from "./records.ts";

/** Why there is no good answer. */
export type Failure =
  /** No byte of it was written: there was no connection. */
  | { kind: "refused"; reason: string }
  /** The Mac, or what stands before it, said no. `type` is null for what is no error of BlueBubbles itself. */
  | { kind: "answered"; status: number; type: string | null; message: string }
  /** It was written, or may have been, and no whole answer came. */
  | { kind: "lost"; reason: string };

/** What an answer with a 2xx carries. */
export type MacResponse = { kind: "ok"; data: unknown } | Failure;

/** A file's bytes, as the Mac has them. */
export type DownloadResult = { kind: "ok"; bytes: Uint8Array; mimeType: string | null } | Failure;

/** Values of a query; null and undefined ones are left out. */
export type QueryParams = Readonly<Record<string, string | number | null | undefined>>;

export interface Limits {
  /** Real milliseconds from the call to the whole answer. */
  limitMs?: number;
  /** Ends the wait: what was written stays written. */
  abort?: AbortSignal;
}

/** A file to upload: fields of the form come before it. */
export interface FileUpload {
  fields: Readonly<Record<string, string>>;
  filename: string;
  mimeType: string;
  bytes: Uint8Array;
}

export interface MacClientOptions {
  /** Where BlueBubbles listens, without `/api/v1`. */
  url: string;
  password: string;
  clock: Clock;
}

/** BlueBubbles gives up after 120 s at its helper and 60 s at its database; a little more is the network's. */
export const SEND_LIMIT_MS = 190_000;
const READ_LIMIT_MS = 15_000;
const UPLOAD_LIMIT_MS = 600_000;
const CONNECT_LIMIT_MS = 10_000;
const KEEP_ALIVE_MS = 4_000;
/** BlueBubbles says that it started within this after the connections to it broke. */
const RESTART_MS_MAX = 600_000;
/** What a Mac that is awake answers within. */
const SOON_MS = 20_000;
/** A thousand rows with their payloads are a few MiB. */
const ANSWER_BYTES_MAX = 64 * 1_048_576;
const REASON_LENGTH_MAX = 200;
/** So much of what a peer says is looked through for what is not to be repeated. */
const WORDS_LENGTH_MAX = 2_000;

/** One request as it goes out. */
interface ClientRequest {
  method: "GET" | "POST" | "PUT" | "DELETE";
  path: string;
  query?: QueryParams | undefined;
  body?: string | FormData | undefined;
  bytesMax: number;
  agent: Agent;
}

interface RawResponse {
  kind: "whole";
  status: number;
  mimeType: string | null;
  bytes: Uint8Array;
}

/** Talks to one Mac until `close`. Never throws: what goes wrong is an answer. */
export class MacClient {
  readonly #base: string;
  readonly #password: string;
  readonly #clock: Clock;
  /** What may be asked twice goes over connections that stay; what may not gets one of its own that was never idle. */
  readonly #reads: Agent;
  readonly #writes: Agent;
  #respondedAt: number | null = null;
  #awakeSince: number | null = null;
  #brokeAt: number | null = null;
  #restartedAt: number | null = null;

  constructor({ url, password, clock }: MacClientOptions) {
    this.#base = `${url.replace(/\/+$/, "").replace(/\/api\/v1$/, "")}/api/v1`;
    this.#password = password;
    this.#clock = clock;
    this.#reads = agent(1);
    this.#writes = agent(0);
  }

  /** When BlueBubbles last answered, by the real clock; null before. */
  get respondedAt(): number | null {
    return this.#respondedAt;
  }

  /** Since when it has answered whatever was to be answered soon, by the real clock; null before, and while it does not. */
  get awakeSince(): number | null {
    return this.#awakeSince;
  }

  /** When BlueBubbles last started, as it said itself and a broken connection bears out, by the real clock; null where neither is known. */
  get restartedAt(): number | null {
    return this.#restartedAt;
  }

  /** Something says that BlueBubbles has just started. Nobody signs that, so it counts only if a connection broke before it. */
  noteRestart(): void {
    const now = this.#clock.real();
    if (this.#brokeAt !== null && now - this.#brokeAt <= RESTART_MS_MAX) this.#restartedAt = now;
  }

  /** Reads; asked once more when the connection broke under it. 15 s unless told otherwise. */
  async get(path: string, query: QueryParams = {}, limits: Limits = {}): Promise<MacResponse> {
    return this.#repeatable({ method: "GET", path, query }, limits);
  }

  /** Reads by a POST, as the Mac's queries are made; else as `get`. */
  async query(path: string, body: unknown, limits: Limits = {}): Promise<MacResponse> {
    return this.#repeatable({ method: "POST", path, body: JSON.stringify(body) }, limits);
  }

  /** Does something, once. 190 s unless told otherwise. */
  async post(path: string, body?: unknown, limits: Limits = {}): Promise<MacResponse> {
    return this.#once("POST", path, body, limits);
  }

  async put(path: string, body: unknown, limits: Limits = {}): Promise<MacResponse> {
    return this.#once("PUT", path, body, limits);
  }

  async delete(path: string, body?: unknown, limits: Limits = {}): Promise<MacResponse> {
    return this.#once("DELETE", path, body, limits);
  }

  /** Posts a form with a file in its field `attachment`, once. 10 min unless told otherwise. */
  async upload(
    path: string,
    file: FileUpload,
    { limitMs = UPLOAD_LIMIT_MS, abort }: Limits = {},
  ): Promise<MacResponse> {
    const body = new FormData();
    for (const [name, value] of Object.entries(file.fields)) body.append(name, value);
    body.append("attachment", new Blob([Buffer.from(file.bytes)], { type: file.mimeType }), file.filename);
    const asked = { method: "POST", path, body, bytesMax: ANSWER_BYTES_MAX, agent: this.#writes } as const;
    return this.#parseResponse(await this.#send(asked, limitMs, abort));
  }

  /** The bytes at a path. Longer than `bytesMax` counts as lost. 60 s unless told otherwise. */
  async download(
    path: string,
    query: QueryParams,
    bytesMax: number,
    { limitMs = 60_000, abort }: Limits = {},
  ): Promise<DownloadResult> {
    const whole = await this.#send({ method: "GET", path, query, bytesMax, agent: this.#reads }, limitMs, abort);
    if (whole.kind !== "whole") return whole;
    if (!isGood(whole.status)) return this.#failureOf(whole);
    return { kind: "ok", bytes: whole.bytes, mimeType: whole.mimeType };
  }

  /** Cuts every connection: what is under way is lost. */
  async close(): Promise<void> {
    await Promise.all([this.#reads.destroy(), this.#writes.destroy()]);
  }

  async #repeatable(
    asked: Pick<ClientRequest, "method" | "path" | "query" | "body">,
    { limitMs = READ_LIMIT_MS, abort }: Limits,
  ): Promise<MacResponse> {
    const whole = { ...asked, bytesMax: ANSWER_BYTES_MAX, agent: this.#reads };
    const first = await this.#send(whole, limitMs, abort);
    const broke = first.kind === "lost" && first.reason !== TIMED_OUT && first.reason !== CALLED_OFF;
    return this.#parseResponse(broke ? await this.#send(whole, limitMs, abort) : first);
  }

  async #once(
    method: ClientRequest["method"],
    path: string,
    body: unknown,
    { limitMs = SEND_LIMIT_MS, abort }: Limits,
  ): Promise<MacResponse> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    return this.#parseResponse(
      await this.#send({ method, path, body: text, bytesMax: ANSWER_BYTES_MAX, agent: this.#writes }, limitMs, abort),
    );
  }

  async #send(asked: ClientRequest, limitMs: number, abort: AbortSignal | undefined): Promise<RawResponse | Failure> {
    const ends = new AbortController();
    let reason = TIMED_OUT;
    const callOff = () => {
      reason = CALLED_OFF;
      ends.abort();
    };
    const stopTimer = this.#clock.after(limitMs, () => ends.abort());
    abort?.addEventListener("abort", callOff, { once: true });
    if (abort?.aborted === true) callOff();
    try {
      const whole = await this.#exchange(asked, ends.signal);
      this.#noteResponse(whole);
      return whole;
    } catch (error) {
      if (error instanceof NoConnection || (ends.signal.aborted && reason === TIMED_OUT && limitMs <= SOON_MS))
        this.#awakeSince = null;
      if (!ends.signal.aborted) this.#brokeAt = this.#clock.real();
      if (error instanceof NoConnection) return { kind: "refused", reason: error.message };
      return { kind: "lost", reason: ends.signal.aborted ? reason : `the connection broke (${codeOf(error)})` };
    } finally {
      stopTimer();
      abort?.removeEventListener("abort", callOff);
    }
  }

  /** What stands before a Mac answers in its place while it sleeps. */
  #noteResponse(whole: RawResponse): void {
    const isItsOwn = isGood(whole.status) || parseErrorBody(parseJson(whole.bytes)).type !== null;
    if (isItsOwn) this.#respondedAt = this.#clock.real();
    this.#awakeSince = isItsOwn ? (this.#awakeSince ?? this.#respondedAt) : null;
  }

  #parseResponse(whole: RawResponse | Failure): MacResponse {
    if (whole.kind !== "whole") return whole;
    if (!isGood(whole.status)) return this.#failureOf(whole);
    const body = parseJson(whole.bytes);
    if (body === undefined) return { kind: "lost", reason: `the answer (${whole.status}) is not JSON` };
    return { kind: "ok", data: dataOf(body) };
  }

  /**
   * An answer that is no 2xx. Those of unknown paths, and of what stands before the Mac, are no JSON. Some of them repeat
   * what they were asked, and with it the password.
   */
  #failureOf({ status, bytes }: RawResponse): Failure {
    const body = parseJson(bytes);
    const { type, message } = parseErrorBody(body);
    const words = message ?? (body === undefined ? "an answer that is not JSON" : "no reason given");
    const told = words
      .slice(0, WORDS_LENGTH_MAX)
      .replace(/\?\S*=\S*/g, "?…")
      .replaceAll(this.#password, "…");
    return { kind: "answered", status, type, message: told.slice(0, REASON_LENGTH_MAX) };
  }

  async #exchange(
    { method, path, query, body, bytesMax, agent }: ClientRequest,
    signal: AbortSignal,
  ): Promise<RawResponse> {
    const answer = await agent.request({
      ...this.#address(path, query),
      method,
      body: body ?? null,
      headers: typeof body === "string" ? { "content-type": "application/json" } : {},
      signal,
    });
    const type = answer.headers["content-type"];
    return {
      kind: "whole",
      status: answer.statusCode,
      mimeType: typeof type === "string" ? type : null,
      bytes: await readAll(answer.body, bytesMax),
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

/** A part of a path that may hold anything: the guid of a chat has semicolons and a plus. */
export function pathSegment(text: string): string {
  return encodeURIComponent(text);
}

/** Whether BlueBubbles itself says so, and not what stands before it. */
export function isBlueBubblesError(failure: Failure): boolean {
  return failure.kind === "answered" && failure.type !== null;
}

/** Whether BlueBubbles itself broke at what it was asked: at something else it may not. */
export function isServerError(failure: Failure): boolean {
  return isBlueBubblesError(failure) && failure.kind === "answered" && failure.status === 500;
}

/** Whether the Mac says that it has no such thing. */
export function isNotFound(answer: MacResponse | DownloadResult): boolean {
  return answer.kind === "answered" && answer.status === 404 && isBlueBubblesError(answer);
}

/** A failure in words for a timeline or a log: no URL is in it, and of what the peer said no number and no address. */
export function describeFailure(failure: Failure): string {
  switch (failure.kind) {
    case "refused":
      return `the Mac cannot be reached: ${failure.reason}`;
    case "lost":
      return `the Mac gives no answer (${failure.reason})`;
    case "answered":
      return `the Mac answered ${failure.status}: ${withoutAddresses(failure.message)}`;
  }
}

function withoutAddresses(words: string): string {
  return words.replace(/[^\s;:"'<>()]+@[^\s;:"'<>()]+/g, "…").replace(/\+?\d{5,}/g, "…");
}

const TIMED_OUT = "none in time";
const CALLED_OFF = "called off";

/** There is no connection. Its code is not undici's own for sockets, which it would answer by connecting again. */
class NoConnection extends Error {
  readonly code = "NO_CONNECTION";
}

function agent(pipelining: 0 | 1): Agent {
  const connector = buildConnector({ timeout: CONNECT_LIMIT_MS, allowH2: false });
  return new Agent({
    allowH2: false,
    pipelining,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    // One limit of our own bounds the whole exchange.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (target, done) =>
      connector(target, (error, socket) => {
        if (error === null) done(null, socket);
        else done(new NoConnection(codeOf(error)), null);
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

/** The code of an error: its message may say the address, and with it the password. */
function codeOf(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : null;
  return typeof code === "string" ? code : "no code";
}
