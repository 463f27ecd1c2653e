/** Signed tokens of addresses that need no API key: downloads, with an expiry, and hooks of instances. Pure. */

import { createHmac, timingSafeEqual } from "node:crypto";
import type { AttachmentId, InstanceId } from "./id.ts";

/** Length of a key that signs links, in bytes. */
export const LINK_KEY_BYTES = 32;

const UUID_BYTES = 16;
const EXPIRY_BYTES = 6;
/** Length of the shortened signature: 128 bits cannot be guessed, and the address stays short. */
const SIGNATURE_BYTES = 16;
const TOKEN_BYTES = UUID_BYTES + EXPIRY_BYTES + SIGNATURE_BYTES;
const PREFIX = "att_";
const UUID_HEX = /^[0-9a-f]{32}$/;

/** The file of a token. `expiresAt` is in real epoch milliseconds; null: never. */
export interface LinkTarget {
  id: AttachmentId;
  expiresAt: number | null;
}

/** The token of a file, 51 characters of base64url. It replaces an API key. */
export function signLink(key: Uint8Array, { id, expiresAt }: LinkTarget): string {
  const uuid = id.slice(PREFIX.length).replaceAll("-", "");
  if (!UUID_HEX.test(uuid)) throw new Error(`${id} is not the id of a file`);
  const bytes = Buffer.alloc(UUID_BYTES + EXPIRY_BYTES);
  bytes.write(uuid, "hex");
  bytes.writeUIntBE(expiresAt ?? 0, UUID_BYTES, EXPIRY_BYTES);
  return Buffer.concat([bytes, signatureOf(key, bytes)]).toString("base64url");
}

/** The file of a token at the real time `now`; null if the token is malformed, forged or expired. */
export function openLink(key: Uint8Array, token: string, now: number): AttachmentId | null {
  const bytes = parse(token);
  if (bytes === null) return null;
  const signed = bytes.subarray(0, UUID_BYTES + EXPIRY_BYTES);
  if (!timingSafeEqual(bytes.subarray(UUID_BYTES + EXPIRY_BYTES), signatureOf(key, signed))) return null;
  return isPast(bytes, now) ? null : idOf(bytes);
}

/** Whether the token has expired at the real time `now`. Does not check the signature: `openLink` does. */
export function isLinkOver(token: string, now: number): boolean {
  const bytes = parse(token);
  return bytes === null || isPast(bytes, now);
}

/** The token of an instance's hook, 22 characters of base64url: the same as long as the key is. */
export function signHook(key: Uint8Array, id: InstanceId): string {
  const hmac = createHmac("sha256", key).update("tightbeam hook\n").update(id);
  return hmac.digest().subarray(0, SIGNATURE_BYTES).toString("base64url");
}

/** Whether `token` is that of the instance's hook. */
export function isHookOf(key: Uint8Array, id: InstanceId, token: string): boolean {
  const [given, right] = [Buffer.from(token), Buffer.from(signHook(key, id))];
  return given.length === right.length && timingSafeEqual(given, right);
}

function parse(token: string): Buffer | null {
  const bytes = Buffer.from(token, "base64url");
  // The decoder skips invalid characters, so the text must also round-trip.
  return bytes.length === TOKEN_BYTES && bytes.toString("base64url") === token ? bytes : null;
}

function isPast(bytes: Buffer, now: number): boolean {
  const expiresAt = bytes.readUIntBE(UUID_BYTES, EXPIRY_BYTES);
  return expiresAt !== 0 && expiresAt <= now;
}

function idOf(bytes: Buffer): AttachmentId {
  const hex = bytes.toString("hex", 0, UUID_BYTES);
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)];
  return `${PREFIX}${parts.join("-")}`;
}

function signatureOf(key: Uint8Array, bytes: Buffer): Buffer {
  const hmac = createHmac("sha256", key).update("tightbeam download link\n").update(bytes);
  return hmac.digest().subarray(0, SIGNATURE_BYTES);
}
