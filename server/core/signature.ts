/** Webhook signatures: created for each attempt, and checked by the built-in inbox. Pure, but for prepared keys, which it caches. */

import { timingSafeEqual } from "node:crypto";
import { memoized } from "./bounded-map.ts";
import { HmacKey } from "./hmac.ts";
import type { Random } from "./id.ts";
import { withoutTrailing } from "./trim-end.ts";

const SECRET_PREFIX = "whsec_";
const SECRET_BYTES = 32;
const STANDARD_KEY_BYTES_MIN = 24;
const STANDARD_KEY_BYTES_MAX = 64;

/** A request to sign: `sentAtSeconds` is the Unix time of the attempt, `previousSecret` the old secret during a rotation's grace. */
export interface SigningInput {
  eventId: string;
  body: string | Buffer;
  secret: string;
  previousSecret: string | null;
  sentAtSeconds: number;
}

/** A new signing secret: `whsec_` and the base64 of 32 random bytes. */
export function newSigningSecret(random: Random): string {
  return SECRET_PREFIX + Buffer.from(random(SECRET_BYTES)).toString("base64");
}

/** The keys that a secret stands for. `standard`: that of Standard Webhooks, if the secret is a `whsec_` secret. */
interface SecretKeys {
  own: HmacKey;
  standard: HmacKey | null;
}

const SECRETS_MAX = 1_000;
const keysOf = memoized(
  SECRETS_MAX,
  (secret: string): SecretKeys => ({ own: new HmacKey(secret), standard: standardKey(secret) }),
);

/**
 * The headers that sign one attempt: `X-Signature` and `X-Timestamp`, with the old secret during a rotation, and the
 * three headers of Standard Webhooks with every `whsec_` secret, the new one first. Without a `whsec_` secret those
 * three are left out. Throws for an empty secret, because an empty key must not sign.
 */
export function signatureHeaders(sending: SigningInput): Record<string, string> {
  const { eventId, body, secret, previousSecret } = sending;
  if (secret === "" || previousSecret === "") throw new Error("an empty secret cannot sign a webhook");
  const keys = keysOf(secret);
  const previous = previousSecret === null ? null : keysOf(previousSecret);
  const timestamp = String(sending.sentAtSeconds);
  const digest = (previous ?? keys).own.sign(`${timestamp}.`, body, "hex");
  const headers: Record<string, string> = { "X-Signature": `sha256=${digest}`, "X-Timestamp": timestamp };
  const signatures: string[] = [];
  for (const key of [keys.standard, previous?.standard ?? null]) {
    if (key !== null) signatures.push(`v1,${key.sign(`${eventId}.${timestamp}.`, body, "base64")}`);
  }
  if (signatures.length === 0) return headers;
  headers["webhook-id"] = eventId;
  headers["webhook-timestamp"] = timestamp;
  headers["webhook-signature"] = signatures.join(" ");
  return headers;
}

/** A received request; header names in lower case, as node:http returns them. */
export interface Received {
  body: string | Buffer;
  headers: Record<string, string | string[] | undefined>;
  secret: string;
  /** Default 300. */
  toleranceSeconds: number;
  nowSeconds: number;
}

/**
 * Whether `X-Signature` is that of the body and `X-Timestamp`, and the time within the tolerance of now. Compares in
 * constant time; anything but `sha256=` and 64 lower-case hex digits is false, and so is an empty secret.
 */
export function verifySignature(received: Received): boolean {
  const signature = received.headers["x-signature"];
  const timestamp = received.headers["x-timestamp"];
  if (typeof signature !== "string" || !/^sha256=[0-9a-f]{64}$/.test(signature)) return false;
  if (typeof timestamp !== "string" || !/^\d{1,12}$/.test(timestamp)) return false;
  if (received.secret === "") return false;
  const expected = keysOf(received.secret).own.sign(`${timestamp}.`, received.body, "hex");
  if (!timingSafeEqual(Buffer.from(expected), Buffer.from(signature.slice("sha256=".length)))) return false;
  return Math.abs(received.nowSeconds - Number(timestamp)) <= received.toleranceSeconds;
}

/** Whether the secret makes signatures of Standard Webhooks, beside `X-Signature`. */
export function isStandardSecret(secret: string): boolean {
  return secret !== "" && keysOf(secret).standard !== null;
}

/** Whether the secret looks like one of Standard Webhooks and is none: what follows `whsec_` is no key. */
export function isBrokenStandardSecret(secret: string): boolean {
  return secret.startsWith(SECRET_PREFIX) && !isStandardSecret(secret);
}

/**
 * The key of Standard Webhooks in a secret; null unless it is `whsec_` and base64 of 24 to 64 bytes, padded or not, in either
 * alphabet of RFC 4648.
 */
function standardKey(secret: string): HmacKey | null {
  if (!secret.startsWith(SECRET_PREFIX)) return null;
  const encoded = secret.slice(SECRET_PREFIX.length).replaceAll("-", "+").replaceAll("_", "/");
  const key = Buffer.from(encoded, "base64");
  if (key.length < STANDARD_KEY_BYTES_MIN || key.length > STANDARD_KEY_BYTES_MAX) return null;
  // Node skips what is no base64: only a text that the bytes lead back to is one.
  const padded = key.toString("base64");
  return encoded === padded || encoded === withoutTrailing(padded, "=") ? new HmacKey(key) : null;
}
