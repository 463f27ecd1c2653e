/** Passes requests to other processes of the same database, and knows those that they pass here: each is signed with their common key. */

import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Agent } from "undici";
import type { InstanceId } from "../core/id.ts";
import { PassedReplyLost } from "../core/not-running-here.ts";

const HEADER = "tightbeam-passed-on";
/** The clocks of two hosts may differ by this much, in milliseconds. */
const SKEW_MS_MAX = 300_000;
/** How long the connection to another process may take, in milliseconds. */
const CONNECT_MS_MAX = 2_000;
/** How long the other process may take until its response begins, in milliseconds: longer than any action (20 s) with its record. */
const RESPONSE_MS_MAX = 60_000;

export interface HopOptions {
  /** The secret key that all processes of the database have. */
  secretKey: Uint8Array;
  /** Base URL of the other process that runs an instance; null if none does. */
  urlOf: (instanceId: InstanceId) => string | null;
  /** Real epoch milliseconds. */
  now: () => number;
}

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
  readonly #agent = new Agent({
    connect: { timeout: CONNECT_MS_MAX },
    headersTimeout: RESPONSE_MS_MAX,
    bodyTimeout: RESPONSE_MS_MAX,
  });

  constructor(options: HopOptions) {
    this.#options = options;
    this.#key = createHmac("sha256", options.secretKey).update("tightbeam hop").digest();
  }

  /**
   * Whether another process passed this request on: its signature is right, and not older than five minutes. Removes the signature
   * from the headers: whoever is shown them could repeat the request with it.
   */
  isPassedOn({ method = "", url = "", headers }: IncomingMessage): boolean {
    const given = headers[HEADER];
    if (given === undefined) return false;
    delete headers[HEADER];
    const [, at = "", signature = ""] = /^t=(\d{1,15}),v1=([0-9a-f]{64})$/.exec(String(given)) ?? [];
    if (signature === "" || Math.abs(this.#options.now() - Number(at)) > SKEW_MS_MAX) return false;
    const wanted = this.#sign(at, method, url, callerOf(headers));
    return timingSafeEqual(Buffer.from(signature, "hex"), wanted);
  }

  /**
   * The response of the process that runs the instance; null if there is none, or no connection to it could be made. Throws
   * `PassedReplyLost` if the connection ended later.
   */
  async pass(instanceId: InstanceId, { method, target, headers, body }: RequestToPass) {
    const base = this.#options.urlOf(instanceId);
    if (base === null) return null;
    const at = String(Math.round(this.#options.now()));
    const signature = this.#sign(at, method, target, callerOf(headers)).toString("hex");
    try {
      const { origin, pathname } = new URL(base);
      const response = await this.#agent.request({
        origin,
        path: pathname.replace(/\/$/, "") + target,
        method: method as "GET",
        headers: { ...headers, [HEADER]: `t=${at},v1=${signature}` },
        body: body === null || body.length === 0 ? null : body,
      });
      return { status: response.statusCode, headers: joined(response.headers), body: response.body };
    } catch (error) {
      if (NOT_SENT.has(codeOf(error))) return null;
      throw new PassedReplyLost("the connection to the process of the instance ended", { cause: error });
    }
  }

  /** Ends the connections. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #sign(at: string, method: string, target: string, caller: string): Buffer {
    const named = createHash("sha256").update(caller).digest("hex");
    return createHmac("sha256", this.#key).update(`${at}\n${method}\n${target}\n${named}`).digest();
  }
}

/** The key of the caller, or the cookie of its session. */
function callerOf({
  authorization,
  cookie = "",
}: {
  authorization?: string | undefined;
  cookie?: string | undefined;
}): string {
  return authorization ?? cookie;
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
