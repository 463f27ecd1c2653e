/** The HTTP client of the API: one request, one response, or the reason why there is none. */

import { Agent, type Dispatcher } from "undici";
import type { Clock } from "../../clock.ts";
import type { TwilioSettings } from "./settings.ts";

/** A response with any status. Header names are in lower case. */
export interface TwilioResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

/**
 * Why there is no response; `reason` contains no address. `unsent`: no byte of the request left this machine.
 * `unanswered`: the request may have arrived. `tooLarge`: the body of the response is larger than allowed.
 */
export interface NoResponse {
  noResponse: "unsent" | "unanswered" | "tooLarge";
  reason: string;
}

export interface TwilioRequest {
  method: "GET" | "POST";
  /** A path below the base address, or a whole address. */
  path: string;
  form?: URLSearchParams;
  abort?: AbortSignal;
  timeoutMs?: number;
  bodyBytesMax?: number;
  /** Sends no credentials: for an address that is not the API's. */
  isForeign?: boolean;
}

/** Less than `sendTimeoutMs`, so that the reason can be reported. */
const TIMEOUT_MS = 30_000;
const CONNECT_MS = 10_000;
/** A page of 1,000 messages is about 2 MiB. */
const BODY_BYTES_MAX = 16 * 1_048_576;
/**
 * Shorter than common servers use, because a request on a connection that the server is just closing has an unknown
 * outcome.
 */
const KEEP_ALIVE_MS = 4_000;

/** `close` ends open requests as unsent or unanswered. */
export class Api {
  readonly #mayWrite: () => boolean;
  readonly #clock: Clock;
  readonly #baseUrl: string;
  readonly #authorization: string;
  readonly #agent: Agent;
  readonly #open = new Set<ApiExchange>();
  #closed = false;

  constructor(
    { accountSid, authToken, baseUrl }: TwilioSettings,
    clock: Clock,
    connections: number,
    mayWrite: () => boolean = () => true,
  ) {
    this.#mayWrite = mayWrite;
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
      // One timer covers the whole request.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** Makes one request. Never rejects, never follows a redirect, never retries. */
  request(question: TwilioRequest): Promise<TwilioResponse | NoResponse> {
    const { method, path, form, abort, timeoutMs = TIMEOUT_MS, bodyBytesMax = BODY_BYTES_MAX } = question;
    const target = URL.parse(path.startsWith("/") ? this.addressOf(path) : path);
    if (target === null || this.#closed) {
      return Promise.resolve({ noResponse: "unsent", reason: target === null ? "no address" : "the provider stopped" });
    }
    return new Promise((resolve) => {
      const exchange = new ApiExchange(bodyBytesMax, this.#mayWrite, (ended) => {
        stopTimer();
        abort?.removeEventListener("abort", callOff);
        this.#open.delete(exchange);
        resolve(ended);
      });
      const callOff = () => exchange.end("it was aborted");
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

  /** Completes a path. A path that the API returned already contains the path of the base address. */
  addressOf(path: string): string {
    const { origin = "", pathname = "/" } = URL.parse(this.#baseUrl) ?? {};
    return pathname !== "/" && path.startsWith(`${pathname}/`) ? `${origin}${path}` : `${this.#baseUrl}${path}`;
  }

  /** Ends open requests, and closes every connection. */
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

/** The undici handler of one request. It ends once. */
class ApiExchange implements Dispatcher.DispatchHandler {
  readonly #bodyBytesMax: number;
  readonly #mayWrite: () => boolean;
  readonly #ended: (ended: TwilioResponse | NoResponse) => void;
  #controller: Dispatcher.DispatchController | null = null;
  #done = false;
  #status = 0;
  #headers: Record<string, string> = {};
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(bodyBytesMax: number, mayWrite: () => boolean, ended: (ended: TwilioResponse | NoResponse) => void) {
    this.#bodyBytesMax = bodyBytesMax;
    this.#mayWrite = mayWrite;
    this.#ended = ended;
  }

  /** Stops waiting. A request that was not begun is never sent. */
  end(reason: string): void {
    this.#fail(reason);
    this.#controller?.abort(new Error(reason));
  }

  /** The request is about to be written. Up to this point it was provably not sent. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (!this.#mayWrite()) this.#fail("another process runs the instance by now");
    else this.#controller = controller;
    if (this.#done) controller.abort(new Error("it was aborted before it was sent"));
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
    this.#finish({ noResponse: "tooLarge", reason: `the response is larger than ${this.#bodyBytesMax} bytes` });
    queueMicrotask(() => controller.abort(new Error("the response is too large")));
  }

  onResponseEnd(): void {
    this.#finish({ status: this.#status, headers: this.#headers, body: Buffer.concat(this.#chunks, this.#bytes) });
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    const { code } = error as { code?: unknown };
    // undici's messages may contain the address; its codes do not.
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

/** Descriptions of common codes; any other code is shown as it is. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was reset",
  ENOTFOUND: "its host name has no address",
  EAI_AGAIN: "its host name could not be looked up",
  ETIMEDOUT: "the connection took too long",
  UND_ERR_CONNECT_TIMEOUT: "the connection took too long",
  UND_ERR_SOCKET: "the connection was closed",
};
