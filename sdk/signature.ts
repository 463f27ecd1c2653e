/** Verifies the signatures of webhooks, and makes them for tests of a receiver. Needs only Web Crypto. */

import type { Event } from "./wire.ts";

/** Greatest distance of a signature's time from now, in seconds. */
const TOLERANCE_SECONDS = 300;
/** Bytes that the key of a `whsec_` secret may have (Standard Webhooks). */
const STANDARD_KEY_BYTES = { min: 24, max: 64 };
const SECRET_PREFIX = "whsec_";

/** Reasons to refuse a webhook. */
export type WebhookRefusal =
  | "BODY_NOT_RAW"
  | "SECRET_MISSING"
  | "SIGNATURE_MISSING"
  | "SIGNATURE_MALFORMED"
  | "TIMESTAMP_MALFORMED"
  | "TIMESTAMP_TOO_OLD"
  | "TIMESTAMP_IN_FUTURE"
  | "SIGNATURE_WRONG"
  | "BODY_NOT_AN_EVENT";

/** A webhook that is not genuine: respond 400 or 401. `reason` is its kind, `message` what to do about it. */
export class WebhookVerificationError extends Error {
  override readonly name = "WebhookVerificationError";
  readonly reason: WebhookRefusal;

  constructor(reason: WebhookRefusal, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Headers of a server: a `Headers` object, or a record whose names may be in any case. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** A request that a receiver got. */
export interface ReceivedWebhook {
  /** The raw body: text or bytes, not parsed. */
  body: string | Uint8Array | ArrayBuffer;
  headers: WebhookHeaders;
  /** One secret, or several while a secret is being changed: one of them has to fit. */
  secret: string | readonly string[];
  /** Default 300. */
  toleranceSeconds?: number;
  /** Default: the present time. */
  now?: Date | number;
}

/**
 * Returns the event of a webhook that is signed correctly, by `X-Signature` or by the `webhook-signature` of Standard
 * Webhooks. Compares in constant time. Throws `WebhookVerificationError`.
 */
export async function verifyWebhook(received: ReceivedWebhook): Promise<Event> {
  const body = bytesOf(received.body);
  const secrets = [received.secret].flat().filter((secret) => secret !== "" && secret !== undefined);
  if (secrets.length === 0) throw refused("SECRET_MISSING", "No secret was given: an empty one verifies nothing.");
  const claims = [ownClaim(received.headers), standardClaim(received.headers)].filter((claim) => claim !== null);
  if (claims.length === 0) {
    throw refused(
      "SIGNATURE_MISSING",
      "There is no X-Signature and no webhook-signature header: the request is not from the service.",
    );
  }
  const nowSeconds = Math.floor(Number(received.now ?? Date.now()) / 1_000);
  const problems: WebhookVerificationError[] = [];
  for (const claim of claims) {
    const problem = await problemOf(claim, body, secrets, nowSeconds, received.toleranceSeconds ?? TOLERANCE_SECONDS);
    if (problem === null) return eventOf(body);
    problems.push(problem);
  }
  throw problems[0] ?? refused("SIGNATURE_MISSING", "Nothing was signed.");
}

/** Signatures that a set of headers claims, with their time and the prefix that is signed before the body. */
interface Claim {
  timestamp: string;
  /** Signed before the body. */
  prefix: string;
  /** Null if the header is malformed. */
  signatures: Uint8Array<ArrayBuffer>[] | null;
  keyOf(secret: string): Uint8Array<ArrayBuffer> | null;
}

/** `X-Signature` and `X-Timestamp`: the key is the secret's characters. */
function ownClaim(headers: WebhookHeaders): Claim | null {
  const signature = headerOf(headers, "x-signature");
  if (signature === null) return null;
  const timestamp = headerOf(headers, "x-timestamp") ?? "";
  const [, hex = null] = /^sha256=([0-9a-f]{64})$/.exec(signature) ?? [];
  return { timestamp, prefix: `${timestamp}.`, signatures: hex === null ? null : [fromHex(hex)], keyOf: utf8 };
}

/** The headers of Standard Webhooks: the key is the decoded base64 of the secret. */
function standardClaim(headers: WebhookHeaders): Claim | null {
  const signature = headerOf(headers, "webhook-signature");
  if (signature === null) return null;
  const timestamp = headerOf(headers, "webhook-timestamp") ?? "";
  const id = headerOf(headers, "webhook-id") ?? "";
  const found = signature.split(" ").flatMap((part) => (part.startsWith("v1,") ? [fromBase64(part.slice(3))] : []));
  const signatures = found.filter((one) => one !== null);
  return {
    timestamp,
    prefix: `${id}.${timestamp}.`,
    signatures: signatures.length === 0 ? null : signatures,
    keyOf: standardKey,
  };
}

async function problemOf(
  claim: Claim,
  body: Uint8Array,
  secrets: readonly string[],
  nowSeconds: number,
  toleranceSeconds: number,
): Promise<WebhookVerificationError | null> {
  if (claim.signatures === null) {
    return refused(
      "SIGNATURE_MALFORMED",
      "The signature header is not of the form sha256=<64 hex digits> or v1,<base64>.",
    );
  }
  if (!/^\d{1,12}$/.test(claim.timestamp)) {
    return refused("TIMESTAMP_MALFORMED", "The timestamp header is missing, or not a number of seconds.");
  }
  const signed = concatenated(utf8(claim.prefix), body);
  let fits = false;
  for (const secret of secrets) {
    const key = claim.keyOf(secret);
    // Every secret is tried, even after one that fits: the time reveals nothing.
    if (key !== null && (await isSigned(key, claim.signatures, signed))) fits = true;
  }
  if (!fits) {
    const message =
      "The signature does not fit: another secret, or the body was changed on its way. Verify the raw body.";
    return refused("SIGNATURE_WRONG", message);
  }
  const ageSeconds = nowSeconds - Number(claim.timestamp);
  if (ageSeconds > toleranceSeconds) {
    return refused(
      "TIMESTAMP_TOO_OLD",
      `It was signed ${ageSeconds} s ago, ${toleranceSeconds} s are allowed: a replay, or this clock is wrong.`,
    );
  }
  if (-ageSeconds > toleranceSeconds) {
    return refused(
      "TIMESTAMP_IN_FUTURE",
      `It was signed ${-ageSeconds} s ahead of this clock, ${toleranceSeconds} s are allowed.`,
    );
  }
  return null;
}

/** Whether one of the signatures belongs to `signed`. Web Crypto compares in constant time. */
async function isSigned(
  key: Uint8Array<ArrayBuffer>,
  signatures: readonly Uint8Array<ArrayBuffer>[],
  signed: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const imported = await importKey(key, "verify");
  const checks = signatures.map((signature) => crypto.subtle.verify("HMAC", imported, signature, signed));
  return (await Promise.all(checks)).some((fits) => fits);
}

/** The parts of a signature for a test of a receiver. */
export interface SignatureParts {
  body: string | Uint8Array | ArrayBuffer;
  secret: string;
  /** Default: the present time. */
  timestamp?: Date | number;
  /** With an id and a `whsec_` secret there are headers of Standard Webhooks too. */
  eventId?: string;
}

/** The signature headers that the service sends with this body, for tests of a receiver. Throws `TypeError` on an empty secret. */
export async function constructSignature(parts: SignatureParts): Promise<Record<string, string>> {
  const { secret, eventId } = parts;
  if (secret === "") throw new TypeError("An empty secret signs nothing.");
  const body = bytesOf(parts.body);
  const timestamp = String(Math.floor(Number(parts.timestamp ?? Date.now()) / 1_000));
  const digest = await signatureOf(utf8(secret), concatenated(utf8(`${timestamp}.`), body));
  const headers: Record<string, string> = { "X-Signature": `sha256=${toHex(digest)}`, "X-Timestamp": timestamp };
  const key = standardKey(secret);
  if (key === null || eventId === undefined) return headers;
  const standard = await signatureOf(key, concatenated(utf8(`${eventId}.${timestamp}.`), body));
  return {
    ...headers,
    "webhook-id": eventId,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${toBase64(standard)}`,
  };
}

function eventOf(body: Uint8Array): Event {
  try {
    const event: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    if (typeof event === "object" && event !== null && "id" in event && "type" in event) return event as Event;
  } catch {
    // Refused below: the signature fits, but the body is no event.
  }
  throw refused("BODY_NOT_AN_EVENT", "The signature fits, but the body is no event of this service.");
}

/** The body's bytes. A parsed body is refused: its bytes are not the signed ones. */
function bytesOf(body: unknown): Uint8Array<ArrayBuffer> {
  if (typeof body === "string") return utf8(body);
  if (body instanceof Uint8Array) return Uint8Array.from(body);
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  const message = `The body is ${body === null ? "null" : `of type ${typeof body}`}, not the raw text or bytes: take it before anything parses it.`;
  throw refused("BODY_NOT_RAW", message);
}

function headerOf(headers: WebhookHeaders, name: string): string | null {
  if (isHeaders(headers)) return headers.get(name);
  for (const [given, value] of Object.entries(headers)) {
    if (given.toLowerCase() !== name || value === undefined) continue;
    return typeof value === "string" ? value : value.join(" ");
  }
  return null;
}

function isHeaders(headers: WebhookHeaders): headers is { get(name: string): string | null } {
  return typeof headers.get === "function";
}

/** The key in a `whsec_` secret; null unless it is base64 of 24 to 64 bytes, padded or not, in either alphabet of RFC 4648. */
function standardKey(secret: string): Uint8Array<ArrayBuffer> | null {
  if (!secret.startsWith(SECRET_PREFIX)) return null;
  const encoded = secret.slice(SECRET_PREFIX.length).replaceAll("-", "+").replaceAll("_", "/");
  const key = fromBase64(encoded) ?? fromBase64(encoded + "=".repeat(-encoded.length & 3));
  if (key === null || key.length < STANDARD_KEY_BYTES.min || key.length > STANDARD_KEY_BYTES.max) return null;
  return key;
}

function importKey(key: Uint8Array<ArrayBuffer>, use: "sign" | "verify") {
  return crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, [use]);
}

async function signatureOf(key: Uint8Array<ArrayBuffer>, signed: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.sign("HMAC", await importKey(key, "sign"), signed));
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function concatenated(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

function fromHex(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The bytes of exact base64; null for anything that the encoder would not have written. */
function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return toBase64(bytes) === text ? bytes : null;
  } catch {
    return null;
  }
}

function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

function refused(reason: WebhookRefusal, message: string): WebhookVerificationError {
  return new WebhookVerificationError(reason, message);
}
