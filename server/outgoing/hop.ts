/** Passes requests to other processes of the same database, and knows those that they pass here: each is signed with their common key. */

import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Agent } from "undici";
import { setBounded } from "../core/bounded-map.ts";
import type { InstanceId, Random } from "../core/id.ts";
import { type MemberWake, WAKE_PATH, wakeText } from "../core/member-wake.ts";
import { PassedReplyLost } from "../core/not-running-here.ts";
import { WAKE_HEADER, WakeSignature } from "./wake-signature.ts";

const HEADER = "tightbeam-passed-on";
/** A signature counts for this long, and the clocks of two processes may differ by as much, in milliseconds. */
const WINDOW_MS = 30_000;
/** Ids of requests that are remembered; beyond it the oldest is forgotten. */
const IDS_MAX = 200_000;
/** Headers that the signature covers: who asks, for whom, and what. */
const SIGNED_HEADERS = [
  "authorization",
  "cookie",
  "content-type",
  "idempotency-key",
  "tightbeam-customer",
  "x-correlation-id",
  "x-request-id",
] as const;
const SIGNATURE = /^t=(\d{1,15}),id=([0-9a-f]{32}),body=([0-9a-f]{64}),v1=([0-9a-f]{64})$/;
/** How long the connection to another process may take, in milliseconds. */
const CONNECT_MS_MAX = 2_000;
/** How long the other process may take until its response begins, in milliseconds: longer than any action (20 s) with its record. */
const RESPONSE_MS_MAX = 60_000;
/** A wake that has no answer after this time is given up, in milliseconds: the other process has looked by then. */
const WAKE_MS_MAX = 2_000;

export interface HopOptions {
  /** The secret key that all processes of the database have. */
  secretKey: Uint8Array;
  /** Base URL of the other process that runs an instance; null if none does. */
  urlOf: (instanceId: InstanceId) => string | null;
  /** Base URL of this process as the others have it; null if they have none. */
  ownUrl: () => string | null;
  /** Real epoch milliseconds. */
  now: () => number;
  random: Random;
}

/** A request that another process has passed on, or one that claims it: `refusal` says why it does not count. */
type PassedOn =
  | {
      /** Whether this is the body that was passed on. */
      isBody(body: Uint8Array): boolean;
    }
  | { refusal: string };

const UNSIGNED: PassedOn = {
  refusal: "it is not signed by a process of this database for this request and this process",
};
const OUT_OF_TIME: PassedOn = { refusal: "it is older than 30 s, or the clocks of the processes differ by more" };
const USED: PassedOn = { refusal: "it was used before" };

/** The request that is passed on: its target and headers as the client sent them. */
interface RequestToPass {
  method: string;
  target: string;
  headers: Record<string, string>;
  body: Uint8Array | null;
}

/** Errors of a connection that was never made: the other process has not seen the request. */
const NOT_SENT = new Set([
  "EAI_AGAIN",
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "UND_ERR_CONNECT_TIMEOUT",
]);

export class HopClient {
  readonly #options: HopOptions;
  readonly #key: Buffer;
  readonly #wakes: WakeSignature;
  readonly #agent = new Agent({
    connect: { timeout: CONNECT_MS_MAX },
    headersTimeout: RESPONSE_MS_MAX,
    bodyTimeout: RESPONSE_MS_MAX,
  });
  /** The ids of requests that came, with their times, the oldest first. */
  readonly #seen = new Map<string, number>();

  constructor(options: HopOptions) {
    this.#options = options;
    this.#key = createHmac("sha256", options.secretKey).update("tightbeam hop").digest();
    this.#wakes = new WakeSignature(options.secretKey, options.now);
  }

  /**
   * The request as another process has passed it on; null if none claims to have done so. The claim is refused if its signature is wrong or
   * was made for another process, is older than 30 s, or was here before. Removes the signature from the headers, since nobody else needs it.
   */
  passedOn({ method = "", url = "", headers }: IncomingMessage): PassedOn | null {
    const given = headers[HEADER];
    if (given === undefined) return null;
    delete headers[HEADER];
    const [, at = "", id = "", bodyHash = "", signature = ""] = SIGNATURE.exec(String(given)) ?? [];
    if (signature === "") return UNSIGNED;
    const recipient = this.#options.ownUrl();
    const wanted = this.#sign({ recipient, at, id, bodyHash, method, target: url, headers });
    if (!timingSafeEqual(Buffer.from(signature, "hex"), wanted)) return UNSIGNED;
    const now = this.#options.now();
    if (Math.abs(now - Number(at)) > WINDOW_MS) return OUT_OF_TIME;
    if (this.#seen.has(id)) return USED;
    for (const [seen, seenAt] of this.#seen) {
      // A signature from a clock that is ahead counts for twice the window.
      if (Math.abs(now - seenAt) <= 2 * WINDOW_MS) break;
      this.#seen.delete(seen);
    }
    setBounded(this.#seen, id, now, IDS_MAX);
    return { isBody: (body) => hashOf(body) === bodyHash };
  }

  /**
   * The response of the process that runs the instance; null if there is none, or no connection to it could be made. Throws
   * `PassedReplyLost` if the connection ended later, and the reason of `gone` if that ended it.
   */
  async pass(instanceId: InstanceId, { method, target, headers, body }: RequestToPass, gone: AbortSignal) {
    const base = this.#options.urlOf(instanceId);
    if (base === null) return null;
    const at = String(Math.round(this.#options.now()));
    const id = Buffer.from(this.#options.random(ID_BYTES)).toString("hex");
    const bodyHash = hashOf(body ?? NO_BODY);
    const signature = this.#sign({ recipient: base, at, id, bodyHash, method, target, headers }).toString("hex");
    try {
      const response = await this.#agent.request({
        ...placeOf(base, target),
        method: method as "GET",
        headers: { ...headers, [HEADER]: `t=${at},id=${id},body=${bodyHash},v1=${signature}` },
        body: body === null || body.length === 0 ? null : body,
        signal: gone,
      });
      return { status: response.statusCode, headers: joined(response.headers), body: response.body };
    } catch (error) {
      gone.throwIfAborted();
      if (NOT_SENT.has(codeOf(error))) return null;
      throw new PassedReplyLost("the connection to the process of the instance ended", { cause: error });
    }
  }

  /** Wakes the process at a base URL. Resolves once the wake has arrived; throws if it is lost. */
  async wake(base: string, wake: MemberWake | "all"): Promise<void> {
    const body = wakeText(wake);
    const { body: answer } = await this.#agent.request({
      ...placeOf(base, WAKE_PATH),
      method: "POST",
      headers: { [WAKE_HEADER]: this.#wakes.of(body) },
      body,
      headersTimeout: WAKE_MS_MAX,
      bodyTimeout: WAKE_MS_MAX,
    });
    await answer.dump();
  }

  /** See `WakeSignature.check`. */
  checkWake(request: IncomingMessage): ((body: Uint8Array) => boolean) | null {
    return this.#wakes.check(request);
  }

  /** Ends the connections. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #sign({ recipient, at, id, bodyHash, method, target, headers }: Signed): Buffer {
    const named = SIGNED_HEADERS.map((name) => [name, headers[name] ?? null]);
    return createHmac("sha256", this.#key)
      .update(JSON.stringify([recipient, at, id, method, target, bodyHash, named]))
      .digest();
  }
}

/** Where a target is at the process with a base URL. */
function placeOf(base: string, target: string): { origin: string; path: string } {
  const { origin, pathname } = new URL(base);
  return { origin, path: pathname.replace(/\/$/, "") + target };
}

/** Everything that a signature covers. */
interface Signed {
  /** Base URL of the process that the request is for, as it is listed among the members. */
  recipient: string | null;
  at: string;
  id: string;
  bodyHash: string;
  method: string;
  target: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

const ID_BYTES = 16;
const NO_BODY = new Uint8Array();

/** SHA-256 of a body, in hexadecimal digits, as a signature has it. */
function hashOf(body: Uint8Array): string {
  return createHash("sha256").update(body).digest("hex");
}

function joined(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const one = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value] as const],
  );
  return Object.fromEntries(one);
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
