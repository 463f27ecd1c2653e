/** Webhook signatures: created for each attempt, and checked by the built-in inbox. Pure; HMAC is node:crypto's. */

import { createHmac, timingSafeEqual } from "node:crypto";
import type { Random } from "./id.ts";

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

/**
 * The headers that sign one attempt: `X-Signature` and `X-Timestamp`, with the old secret during a rotation, and the
 * three headers of Standard Webhooks with every `whsec_` secret, the new one first. Without a `whsec_` secret those
 * three are left out. Throws for an empty secret, because an empty key must not sign.
 */
export function signatureHeaders(sending: SigningInput): Record<string, string> {
  const { eventId, body, secret, previousSecret } = sending;
  if (secret === "" || previousSecret === "") throw new Error("an empty secret cannot sign a webhook");
  const timestamp = String(sending.sentAtSeconds);
  const digest = hmac(previousSecret ?? secret, `${timestamp}.`, body).toString("hex");
  const headers: Record<string, string> = { "X-Signature": `sha256=${digest}`, "X-Timestamp": timestamp };
  const keys = standardKeys(secret, previousSecret);
  if (keys.length === 0) return headers;
  const signatures = keys.map((key) => `v1,${hmac(key, `${eventId}.${timestamp}.`, body).toString("base64")}`);
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
  const expected = hmac(received.secret, `${timestamp}.`, received.body);
  if (!timingSafeEqual(expected, Buffer.from(signature.slice("sha256=".length), "hex"))) return false;
  return Math.abs(received.nowSeconds - Number(timestamp)) <= received.toleranceSeconds;
}

function hmac(key: string | Buffer, prefix: string, body: string | Buffer): Buffer {
  const mac = createHmac("sha256", key);
  if (typeof body === "string") return mac.update(prefix + body).digest();
  return mac.update(prefix).update(body).digest();
}

function standardKeys(secret: string, previousSecret: string | null): Buffer[] {
  const keys = [standardKey(secret), previousSecret === null ? null : standardKey(previousSecret)];
  return keys.filter((key) => key !== null);
}

/** The key of Standard Webhooks in a secret; null unless it is `whsec_` and exact base64 of 24 to 64 bytes. */
function standardKey(secret: string): Buffer | null {
  if (!secret.startsWith(SECRET_PREFIX)) return null;
  const encoded = secret.slice(SECRET_PREFIX.length);
  const key = Buffer.from(encoded, "base64");
  if (key.length < STANDARD_KEY_BYTES_MIN || key.length > STANDARD_KEY_BYTES_MAX) return null;
  return key.toString("base64") === encoded ? key : null;
}
