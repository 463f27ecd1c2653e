/** Signs wakes between the processes of a database, and knows those that another process has signed. */

import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { WAKE_PATH } from "../core/member-wake.ts";

/** The header with the signature of a wake. */
export const WAKE_HEADER = "tightbeam-wake";
/** A signature counts for this long, and the clocks of two processes may differ by as much, in milliseconds. */
const WINDOW_MS = 30_000;
const SIGNATURE = /^t=(\d{1,15}),body=([0-9a-f]{64}),v1=([0-9a-f]{64})$/;

/**
 * The signature of a wake covers its method, path, body and time, by a key that signs nothing else. It says neither for which process the wake
 * is nor its id: a wake that is repeated, or comes to another process, changes nothing.
 */
export class WakeSignature {
  readonly #key: Buffer;
  readonly #now: () => number;

  /** `secretKey`: the key that all processes of the database have. `now`: real epoch milliseconds. */
  constructor(secretKey: Uint8Array, now: () => number) {
    this.#key = createHmac("sha256", secretKey).update("tightbeam wake").digest();
    this.#now = now;
  }

  /** The value of the header for a body. */
  of(body: string): string {
    const at = String(Math.round(this.#now()));
    const hash = hashOf(body);
    return `t=${at},body=${hash},v1=${this.#sign("POST", WAKE_PATH, at, hash).toString("hex")}`;
  }

  /** The check of the body of a request whose head is that of a wake; null for any other request. */
  check({ method = "", url = "", headers }: IncomingMessage): ((body: Uint8Array) => boolean) | null {
    const [, at = "", hash = "", signature = ""] = SIGNATURE.exec(String(headers[WAKE_HEADER])) ?? [];
    if (signature === "" || Math.abs(this.#now() - Number(at)) > WINDOW_MS) return null;
    if (!timingSafeEqual(Buffer.from(signature, "hex"), this.#sign(method, url, at, hash))) return null;
    return (body) => hashOf(body) === hash;
  }

  #sign(method: string, path: string, at: string, bodyHash: string): Buffer {
    return createHmac("sha256", this.#key)
      .update(JSON.stringify([method, path, at, bodyHash]))
      .digest();
  }
}

/** SHA-256 of a body, in hexadecimal digits. */
function hashOf(body: string | Uint8Array): string {
  return createHash("sha256").update(body).digest("hex");
}
