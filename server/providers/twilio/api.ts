/** Speaks HTTP with the API: one request, one answer, and what is known when there is none. Holds the connections. */

import { Agent, type Dispatcher } from "undici";
import type { Clock } from "../../clock.ts";
import type { TwilioSettings } from "./settings.ts";

/** An answer, whatever its status. Header names are in lower case. */
export interface TwilioResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

/**
 * Why there is no answer, in words without an address. `unsent`: no byte of the request left this machine. `unanswered`:
 * it may have arrived. `tooLarge`: there is one, and its body is larger than was allowed.
 */
export interface NoResponse {
  noResponse: "unsent" | "unanswered" | "tooLarge";
  reason: string;
}

export interface TwilioRequest {
  method: "GET" | "POST";
  /** Behind the base address, with its slash; or a whole address. */
  path: string;
  form?: URLSearchParams;
  /** Ends the waiting. */
  abort?: AbortSignal;
  timeoutMs?: number;
  bodyBytesMax?: number;
  /** Leaves the credentials out: for an address that is not the API's. */
  isForeign?: boolean;
}

/** Less than the engine waits for a hand-over, so that what is known is said. */
const TIMEOUT_MS = 30_000;
const CONNECT_MS = 10_000;
/** A page of 1,000 messages is about 2 MiB. */
const BODY_BYTES_MAX = 16 * 1_048_576;
/** Below what servers commonly keep: a connection that its peer has just closed makes an unknown outcome. */
const KEEP_ALIVE_MS = 4_000;

/** Asks the API. `close` ends what is under way, as unsent or unanswered. */
export class Api {
  readonly #clock: Clock;
  readonly #baseUrl: string;
  readonly #authorization: string;
  readonly #agent: Agent;
  readonly #open = new Set<ApiExchange>();
  #closed = false;

  constructor({ accountSid, authToken, baseUrl }: TwilioSettings, clock: Clock, connections: number) {
    this.#clock = clock;
    this.#baseUrl = baseUrl;
    this.#authorization = `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString("base64")}`;
    this.#agent = new Agent({
      connections,
      pipelining: 1,
      allowH2: false,
      connect: { timeout: CONNECT_MS },
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      // One deadline of our own holds over all of it.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** Asks once; never rejects, never follows a redirect, never asks again. */
  request(question: TwilioRequest): Promise<TwilioResponse | NoResponse> {
    const { method, path, form, abort, timeoutMs = TIMEOUT_MS, bodyBytesMax = BODY_BYTES_MAX } = question;
    const target = URL.parse(path.startsWith("/") ? this.addressOf(path) : path);
    if (target === null || this.#closed) {
      return Promise.resolve({ noResponse: "unsent", reason: target === null ? "no address" : "the provider stopped" });
    }
    return new Promise((resolve) => {
      const exchange = new ApiExchange(bodyBytesMax, (ended) => {
        stopTimer();
        abort?.removeEventListener("abort", callOff);
        this.#open.delete(exchange);
        resolve(ended);
      });
      const callOff = () => exchange.end("it was called off");
      const stopTimer = this.#clock.after(timeoutMs, () => exchange.end(`no answer within ${timeoutMs / 1_000} s`));
      this.#open.add(exchange);
      abort?.addEventListener("abort", callOff, { once: true });
      if (abort?.aborted === true) return callOff();
      const headers = this.#headers(question);
      const { origin, pathname, search } = target;
      const body = form === undefined ? null : form.toString();
      this.#agent.dispatch({ origin, path: pathname + search, method, headers, body }, exchange);
    });
  }

  /** The whole address of a path: one that the API itself named has the path of the base address in it already. */
  addressOf(path: string): string {
    const { origin = "", pathname = "/" } = URL.parse(this.#baseUrl) ?? {};
    return pathname !== "/" && path.startsWith(`${pathname}/`) ? `${origin}${path}` : `${this.#baseUrl}${path}`;
  }

  /** Ends what is open, and closes every connection. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const exchange of [...this.#open]) exchange.end("the provider stopped");
    await this.#agent.destroy();
  }

  #headers({ form, isForeign = false }: TwilioRequest): Record<string, string> {
    return {
      "user-agent": "Tightbeam",
      ...(isForeign ? {} : { authorization: this.#authorization }),
      ...(form === undefined ? {} : { "content-type": "application/x-www-form-urlencoded" }),
    };
  }
}

/** One request as undici's handler: it hears of each step, and ends once. */
class ApiExchange implements Dispatcher.DispatchHandler {
  readonly #bodyBytesMax: number;
  readonly #ended: (ended: TwilioResponse | NoResponse) => void;
  #controller: Dispatcher.DispatchController | null = null;
  #done = false;
  #status = 0;
  #headers: Record<string, string> = {};
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(bodyBytesMax: number, ended: (ended: TwilioResponse | NoResponse) => void) {
    this.#bodyBytesMax = bodyBytesMax;
    this.#ended = ended;
  }

  /** Waits no longer. What was not begun by then is never sent. */
  end(reason: string): void {
    this.#fail(reason);
    this.#controller?.abort(new Error(reason));
  }

  /** The request is about to be written: until now it was provably not sent. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#done) controller.abort(new Error("it was called off before it was sent"));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value ?? ""].flat().join(", ")]),
    );
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#done) return;
    this.#bytes += chunk.length;
    if (this.#bytes <= this.#bodyBytesMax) {
      this.#chunks.push(chunk);
      return;
    }
    this.#finish({ noResponse: "tooLarge", reason: `the answer is larger than ${this.#bodyBytesMax} bytes` });
    queueMicrotask(() => controller.abort(new Error("the answer is too large")));
  }

  onResponseEnd(): void {
    this.#finish({ status: this.#status, headers: this.#headers, body: Buffer.concat(this.#chunks, this.#bytes) });
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    const { code } = error as { code?: unknown };
    // undici's messages may name the address; its codes do not.
    this.#fail(typeof code === "string" ? (WORDS[code] ?? code) : "the connection broke off");
  }

  #fail(reason: string): void {
    this.#finish({ noResponse: this.#controller === null ? "unsent" : "unanswered", reason });
  }

  #finish(ended: TwilioResponse | NoResponse): void {
    if (this.#done) return;
    this.#done = true;
    this.#ended(ended);
  }
}

/** Words for the codes that operators see most; of others the code is told. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was reset",
  ENOTFOUND: "its host name has no address",
  EAI_AGAIN: "its host name could not be looked up",
  ETIMEDOUT: "the connection took too long",
  UND_ERR_CONNECT_TIMEOUT: "the connection took too long",
  UND_ERR_SOCKET: "the connection was closed",
};
