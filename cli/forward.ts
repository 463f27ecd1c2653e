/** Forwards events to your own receiver as the service delivers them: the same bytes, signed, in order, with retries. */

import { setMaxListeners } from "node:events";
import { Agent, request as httpRequest } from "node:http";
import { request as httpsRequest, Agent as TlsAgent } from "node:https";
import { setTimeout as pause } from "node:timers/promises";
import { constructSignature } from "../sdk/signature.ts";
import type { AnyEvent, EventType } from "../sdk/wire.ts";
import { isAccepted } from "./deliveries.ts";
import { UsageError } from "./failure.ts";

/** The receiver, and the secret that its events are signed with. */
export interface Target {
  url: URL;
  secret: string;
  /** Version of this program, for `User-Agent`. */
  version: string;
}

/** One attempt to forward an event. Exactly one of `status` and `error` is null. */
export interface Forward {
  eventId: string;
  eventType: EventType;
  url: string;
  /** 1 for the first. */
  attempt: number;
  status: number | null;
  /** Why there was no response, with the codes of the service's delivery log. */
  error: string | null;
  durationMs: number;
  /** Time until the next attempt; null if there is none. */
  retryInMs: number | null;
  /** Whether `events resend` requested it. */
  resent: boolean;
}

/** Longest attempt, the same as the service's. */
const ATTEMPT_MS_MAX = 30_000;
/** The status decides: the body is read for this long and no longer. */
const BODY_MS_MAX = 1_000;

/** Sends an event once. Rejects with the signal's reason if the signal ends it. */
export async function forward(event: AnyEvent, target: Target, signal?: AbortSignal): Promise<Forward> {
  // The service sends compact JSON.stringify of the event: this produces the same bytes.
  const body = Buffer.from(JSON.stringify(event));
  const signature = await constructSignature({ body, secret: target.secret, eventId: event.id });
  const { correlationId } = event.data;
  const headers = {
    "Content-Type": "application/json",
    "User-Agent": `Tightbeam/${target.version}`,
    ...signature,
    ...(typeof correlationId === "string" ? { "X-Correlation-Id": correlationId } : {}),
  };
  const startedAt = performance.now();
  const result = await post(target.url, headers, body, signal).catch((error: unknown) => {
    signal?.throwIfAborted();
    return codeFor(error);
  });
  return {
    eventId: event.id,
    eventType: event.type,
    url: target.url.href,
    attempt: 1,
    status: typeof result === "number" ? result : null,
    error: typeof result === "number" ? null : result,
    durationMs: Math.round(performance.now() - startedAt),
    retryInMs: null,
    resent: false,
  };
}

/** The status of the response. Redirects are not followed. */
function post(url: URL, headers: Record<string, string>, body: Buffer, stop: AbortSignal | undefined): Promise<number> {
  const deadline = AbortSignal.timeout(ATTEMPT_MS_MAX);
  const signal = stop === undefined ? deadline : AbortSignal.any([stop, deadline]);
  return new Promise((resolve, reject) => {
    const isTls = url.protocol === "https:";
    // A connection for each attempt: none is left over from a receiver that was restarted in between.
    const agent = isTls ? new TlsAgent({ keepAlive: false }) : new Agent({ keepAlive: false });
    const sent = (isTls ? httpsRequest : httpRequest)(url, { method: "POST", headers, agent, signal });
    sent.on("error", reject);
    sent.on("response", (response) => {
      resolve(response.statusCode ?? 0);
      const enough = setTimeout(() => response.destroy(), BODY_MS_MAX);
      response.on("error", () => {}).on("close", () => clearTimeout(enough));
      response.resume();
    });
    sent.end(body);
  });
}

const CODES: Readonly<Record<string, string>> = {
  ECONNREFUSED: "CONNECTION_REFUSED",
  ECONNRESET: "CONNECTION_RESET",
  ENOTFOUND: "DNS_FAILED",
  EAI_AGAIN: "DNS_FAILED",
  ABORT_ERR: "TIMEOUT",
};

function codeFor(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (/^(CERT_|ERR_TLS|ERR_SSL|DEPTH_ZERO|UNABLE_TO_|SELF_SIGNED|EPROTO)/.test(code)) return "TLS_FAILED";
  return CODES[code] ?? (code.startsWith("HPE_") ? "PROTOCOL_ERROR" : "CONNECTION_FAILED");
}

/** Parses an address with or without `http://`, or a port of this machine. Throws `UsageError`. */
export function parseTarget(text: string): URL {
  const address = addressOf(text);
  if (address !== null && URL.canParse(address) && new URL(address).port !== "0") return new URL(address);
  throw new UsageError(
    `${text} is not an address to forward to: give one such as http://localhost:3000/hook, or a port such as 3000.`,
  );
}

/** `localhost`, or a host with a dot or a port: a mistyped word matches none of these. */
const HOST = /^((localhost|\[[^\]]+\]|[^/?#@:]+\.[^/?#@:.]+)(:\d+)?|[^/?#@:]+:\d+)([/?#]|$)/i;

function addressOf(text: string): string | null {
  if (/^\d{1,5}$/.test(text)) return `http://localhost:${text}/`;
  if (/^https?:\/\//i.test(text)) return text;
  return HOST.test(text) ? `http://${text}` : null;
}

/** Waits before each retry in milliseconds: short, since somebody is watching. */
const RETRIES_MS: readonly number[] = [1_000, 5_000, 15_000, 30_000, 60_000];
/** First attempts in flight, as many as the service makes to one endpoint by default. */
const IN_FLIGHT_MAX = 16;

/** Counts of a forwarder. */
export interface Tally {
  events: number;
  accepted: number;
  /** Ids of events that were not accepted: their retries ran out, or the forwarder ended first. */
  missed: string[];
}

/** Forwards a stream of events until `finish`. Calls `onForward` for every attempt. */
export class Forwarder {
  readonly #target: Target;
  readonly #onForward: (forward: Forward) => void;
  readonly #stop = new AbortController();
  /** First attempts in flight or waiting: the stream is not read faster than they end. */
  readonly #first = new Set<Promise<void>>();
  /** The latest first attempt of each message: the next event of the message waits for it. */
  readonly #tails = new Map<string, Promise<void>>();
  /** Attempts in flight. */
  readonly #open = new Set<Promise<unknown>>();
  readonly #closed = new AbortController();
  readonly #end = new Promise<void>((resolve) => this.#closed.signal.addEventListener("abort", () => resolve()));
  readonly #missed = new Set<string>();
  #events = 0;

  constructor(target: Target, onForward: (forward: Forward) => void) {
    this.#target = target;
    this.#onForward = onForward;
    // One listener for each event in flight is no leak.
    setMaxListeners(0, this.#stop.signal, this.#closed.signal);
  }

  /** Starts to forward an event; resolves when there is room for the next one. */
  async take(event: AnyEvent): Promise<void> {
    this.#events += 1;
    this.#missed.add(event.id);
    const { messageId } = event.data;
    const key = typeof messageId === "string" ? messageId : event.id;
    const first = (this.#tails.get(key) ?? Promise.resolve()).then(() => this.#begin(event));
    this.#tails.set(key, first);
    this.#first.add(first);
    void first.then(() => {
      this.#first.delete(first);
      if (this.#tails.get(key) === first) this.#tails.delete(key);
    });
    while (this.#first.size >= IN_FLIGHT_MAX && !this.#closed.signal.aborted)
      await Promise.race([...this.#first, this.#end]);
  }

  /** Sends an event again because `events resend` requested it. */
  async resend(event: AnyEvent): Promise<Forward> {
    const done = { ...(await this.#attempt(event)), resent: true };
    this.#onForward(done);
    return done;
  }

  /** Starts no new attempt and no retry from now on. */
  close(): void {
    this.#closed.abort();
  }

  /** Closes the forwarder, gives attempts in flight `graceMs` to end, and returns the counts. */
  async finish(graceMs: number): Promise<Tally> {
    this.close();
    const cut = setTimeout(() => this.#stop.abort(), graceMs);
    while (this.#open.size > 0) await Promise.allSettled(this.#open);
    clearTimeout(cut);
    return { events: this.#events, accepted: this.#events - this.#missed.size, missed: [...this.#missed] };
  }

  /** Aborts attempts in flight. */
  cut(): void {
    this.#stop.abort();
  }

  /** Makes the first attempt and schedules retries. Never rejects. */
  async #begin(event: AnyEvent): Promise<void> {
    if (this.#closed.signal.aborted) return;
    if (!(await this.#try(event, 1))) void this.#retry(event);
  }

  async #retry(event: AnyEvent): Promise<void> {
    for (const [index, delayMs] of RETRIES_MS.entries()) {
      await pause(delayMs, undefined, { signal: this.#closed.signal }).catch(() => {});
      if (this.#closed.signal.aborted || (await this.#try(event, index + 2))) return;
    }
  }

  /** Makes one attempt and reports it. Returns whether the event is finished. */
  async #try(event: AnyEvent, attempt: number): Promise<boolean> {
    try {
      const done = await this.#attempt(event);
      const retryInMs = isAccepted(done) || this.#closed.signal.aborted ? null : (RETRIES_MS[attempt - 1] ?? null);
      this.#onForward({ ...done, attempt, retryInMs });
      return isAccepted(done);
    } catch (error) {
      if (this.#stop.signal.aborted) return true;
      throw error;
    }
  }

  async #attempt(event: AnyEvent): Promise<Forward> {
    const attempt = forward(event, this.#target, this.#stop.signal);
    this.#open.add(attempt);
    try {
      const done = await attempt;
      if (isAccepted(done)) this.#missed.delete(event.id);
      return done;
    } finally {
      this.#open.delete(attempt);
    }
  }
}
