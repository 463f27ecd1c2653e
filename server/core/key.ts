/** API keys: creation, the stored hash, and validity. The key itself is never stored. Pure. */

import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { KeyPermission, KeyScope, RateLimit, Key as WireKey } from "../../sdk/wire.ts";
import type { CustomerId, KeyId, Random } from "./id.ts";
import { iso, isoOrNull } from "./instant.ts";

export interface ApiKey {
  id: KeyId;
  version: number;
  name: string;
  /** Null exactly for an admin key. */
  customerId: CustomerId | null;
  scope: KeyScope;
  /** Permissions of a customer's key; empty for an admin key. */
  permissions: KeyPermission[];
  /** SHA-256 of the key, lower-case hex. */
  hash: string;
  last4: string;
  /** Overrides the service's rate limit. */
  rateLimit: RateLimit | null;
  createdAt: number;
  lastUsedAt: number | null;
  /** Real time; the sandbox's clock does not move it. */
  expiresAt: number | null;
  revokedAt: number | null;
  /** The key that replaced it in a rotation. */
  replacedBy: KeyId | null;
}

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PREFIX = "tb_";
const SECRET_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
/** Largest multiple of 62 a byte can hold: bytes from here on would favour some digits. */
const FAIR_BYTES = 248;

/** A new key: `tb_`, 30 random base62 digits (178 bits), and their CRC32 as 6 more digits, for secret scanners. */
export function newKey(random: Random): string {
  let secret = "";
  while (secret.length < SECRET_LENGTH) {
    for (const byte of random(SECRET_LENGTH + 10)) {
      if (byte < FAIR_BYTES && secret.length < SECRET_LENGTH) secret += BASE62.charAt(byte % 62);
    }
  }
  return PREFIX + secret + checksum(secret);
}

function checksum(secret: string): string {
  let rest = crc32(secret);
  let digits = "";
  while (digits.length < CHECKSUM_LENGTH) {
    digits = BASE62.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** A key set by the operator has no checksum, so none is required. */
const WELL_FORMED = /^tb_[A-Za-z0-9]{32,}$/;

/** Whether `text` can be a key at all: `tb_` and 32 or more of `[A-Za-z0-9]`. */
export function isWellFormedKey(text: string): boolean {
  return WELL_FORMED.test(text);
}

/** The stored hash of a key: its SHA-256 in lower-case hex. */
export function hashKey(key: string): string {
  return hash("sha256", key, "hex");
}

/** The last four characters, by which people recognise their keys. */
export function last4Of(key: string): string {
  return key.slice(-4);
}

/** Whether the key is valid at the real time `now`: neither revoked nor expired. */
export function isUsable(apiKey: ApiKey, now: number): boolean {
  return apiKey.revokedAt === null && (apiKey.expiresAt === null || now < apiKey.expiresAt);
}

/** The record as the API returns it; `key` only in the response that creates it. */
export function keyRecord(apiKey: ApiKey, key?: string): WireKey {
  return {
    id: apiKey.id,
    name: apiKey.name,
    customerId: apiKey.customerId,
    scope: apiKey.scope,
    permissions: apiKey.permissions,
    last4: apiKey.last4,
    rateLimit: apiKey.rateLimit,
    createdAt: iso(apiKey.createdAt),
    lastUsedAt: isoOrNull(apiKey.lastUsedAt),
    expiresAt: isoOrNull(apiKey.expiresAt),
    revokedAt: isoOrNull(apiKey.revokedAt),
    replacedBy: apiKey.replacedBy,
    ...(key === undefined ? {} : { key }),
  };
}
