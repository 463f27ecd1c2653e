/** Forwards events to a receiver of your own as the service delivers them: the same bytes, signed, in order, repeated. */

import { setMaxListeners } from "node:events";
import { Agent, request as httpRequest } from "node:http";
import { request as httpsRequest, Agent as TlsAgent } from "node:https";
import { setTimeout as pause } from "node:timers/promises";
import { constructSignature } from "../sdk/webhook.ts";
import type { Event, EventType } from "../sdk/wire.ts";
import { isAccepted } from "./deliveries.ts";
import { UsageError } from "./failure.ts";

/** Where events are forwarded to, and with what they are signed. */
export interface Target {
  url: URL;
  secret: string;
  /** Of this program: it is in `User-Agent`. */
  version: string;
}

/** One sending of one event. Exactly one of `status` and `error` is null. */
export interface Forward {
  eventId: string;
  eventType: EventType;
  url: string;
  /** 1 for the first. */
  attempt: number;
  status: number | null;
  /** Why there was no answer, in the words of the service's own delivery log. */
  error: string | null;
  durationMs: number;
  /** When it is tried again; null when it is not. */
  retryInMs: number | null;
  /** Whether it was asked for by hand. */
  resent: boolean;
}

/** A whole attempt, as with the service. */
const ATTEMPT_MS_MAX = 30_000;
/** The status decides; what the answer says after that is not waited for. */
const BODY_MS_MAX = 1_000;

/** Sends an event once. Rejects with the signal's reason when that ends it. */
export async function forward(event: Event, target: Target, signal?: AbortSignal): Promise<Forward> {
  // The event's bytes are compact JSON.stringify of it: this makes the same ones again.
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
  const answered = await post(target.url, headers, body, signal).catch((error: unknown) => {
    signal?.throwIfAborted();
    return wordFor(error);
  });
  return {
    eventId: event.id,
    eventType: event.type,
    url: target.url.href,
    attempt: 1,
    status: typeof answered === "number" ? answered : null,
    error: typeof answered === "number" ? null : answered,
    durationMs: Math.round(performance.now() - startedAt),
    retryInMs: null,
    resent: false,
  };
}

/** The status of the answer. Redirects are not followed. */
function post(url: URL, headers: Record<string, string>, body: Buffer, stop: AbortSignal | undefined): Promise<number> {
  const deadline = AbortSignal.timeout(ATTEMPT_MS_MAX);
  const signal = stop === undefined ? deadline : AbortSignal.any([stop, deadline]);
  return new Promise((resolve, reject) => {
    const isTls = url.protocol === "https:";
    // A connection for each: a receiver that is started anew in between has no old one that is dead.
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

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "CONNECTION_REFUSED",
  ECONNRESET: "CONNECTION_RESET",
  ENOTFOUND: "DNS_FAILED",
  EAI_AGAIN: "DNS_FAILED",
  ABORT_ERR: "TIMEOUT",
};

function wordFor(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (/^(CERT_|ERR_TLS|ERR_SSL|DEPTH_ZERO|UNABLE_TO_|SELF_SIGNED|EPROTO)/.test(code)) return "TLS_FAILED";
  return WORDS[code] ?? (code.startsWith("HPE_") ? "PROTOCOL_ERROR" : "CONNECTION_FAILED");
}

/** An address to forward to: a whole one, one without `http://`, or a port of this machine. Throws `UsageError`. */
export function parseTarget(text: string): URL {
  const address = addressOf(text);
  if (address !== null && URL.canParse(address) && new URL(address).port !== "0") return new URL(address);
  throw new UsageError(
    `${text} is not an address to forward to: give one such as http://localhost:3000/hook, or a port such as 3000.`,
  );
}

/** `localhost`, or a host with a dot or a port: what cannot be a mistyped word. */
const HOST = /^(localhost|\[[^\]]+\]|[^/?#@:]+\.[^/?#@:.]+|[^/?#@:]+(?=:\d))(:\d+)?([/?#]|$)/i;

function addressOf(text: string): string | null {
  if (/^\d{1,5}$/.test(text)) return `http://localhost:${text}/`;
  if (/^https?:\/\//i.test(text)) return text;
  return HOST.test(text) ? `http://${text}` : null;
}

/** Waits before each repeat of what failed, in milliseconds: short, since somebody is looking on. */
const RETRIES_MS: readonly number[] = [1_000, 5_000, 15_000, 30_000, 60_000];
/** Attempts at once, as many as the service makes to one endpoint. */
const AT_ONCE = 16;

/** How it stands. */
export interface Tally {
  events: number;
  taken: number;
  /** Ids of those that were not taken, whether they were given up or the end came first. */
  missed: string[];
}

/** Forwards a stream of events, until `finish`. Tells of every attempt. */
export class Forwarder {
  readonly #target: Target;
  readonly #onForward: (forward: Forward) => void;
  readonly #stop = new AbortController();
  /** First attempts under way or in line: a stream is not read faster than that. */
  readonly #first = new Set<Promise<void>>();
  /** The last first attempt of each message: the next event of it waits for that. */
  readonly #lines = new Map<string, Promise<void>>();
  /** Attempts under way. */
  readonly #open = new Set<Promise<unknown>>();
  readonly #closed = new AbortController();
  readonly #end = new Promise<void>((resolve) => this.#closed.signal.addEventListener("abort", () => resolve()));
  readonly #missed = new Set<string>();
  #events = 0;

  constructor(target: Target, onForward: (forward: Forward) => void) {
    this.#target = target;
    this.#onForward = onForward;
    // As many listen to them as events are under way, which is no leak.
    setMaxListeners(0, this.#stop.signal, this.#closed.signal);
  }

  /** Takes an event up to be forwarded; resolves when the next one can be taken. */
  async take(event: Event): Promise<void> {
    this.#events += 1;
    this.#missed.add(event.id);
    const { messageId } = event.data;
    const line = typeof messageId === "string" ? messageId : event.id;
    const first = (this.#lines.get(line) ?? Promise.resolve()).then(() => this.#begin(event));
    this.#lines.set(line, first);
    this.#first.add(first);
    void first.then(() => {
      this.#first.delete(first);
      if (this.#lines.get(line) === first) this.#lines.delete(line);
    });
    while (this.#first.size >= AT_ONCE && !this.#closed.signal.aborted) await Promise.race([...this.#first, this.#end]);
  }

  /** Sends an event once more, because somebody asks for it. */
  async resend(event: Event): Promise<Forward> {
    const done = { ...(await this.#attempt(event)), resent: true };
    this.#onForward(done);
    return done;
  }

  /** Begins nothing new from now on, and repeats nothing. */
  close(): void {
    this.#closed.abort();
  }

  /** Closes it, gives what is under way `graceMs` to end, and says how it went. */
  async finish(graceMs: number): Promise<Tally> {
    this.close();
    const cut = setTimeout(() => this.#stop.abort(), graceMs);
    while (this.#open.size > 0) await Promise.allSettled(this.#open);
    clearTimeout(cut);
    return { events: this.#events, taken: this.#events - this.#missed.size, missed: [...this.#missed] };
  }

  /** Ends what is under way at once. */
  cut(): void {
    this.#stop.abort();
  }

  /** The first attempt; repeats go on by themselves. Never rejects. */
  async #begin(event: Event): Promise<void> {
    if (this.#closed.signal.aborted) return;
    if (!(await this.#try(event, 1))) void this.#repeat(event);
  }

  async #repeat(event: Event): Promise<void> {
    for (const [index, delayMs] of RETRIES_MS.entries()) {
      await pause(delayMs, undefined, { signal: this.#closed.signal }).catch(() => {});
      if (this.#closed.signal.aborted || (await this.#try(event, index + 2))) return;
    }
  }

  /** One attempt, told of; whether nothing is left to be done. */
  async #try(event: Event, attempt: number): Promise<boolean> {
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

  async #attempt(event: Event): Promise<Forward> {
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
