/** Sealing: secrets are stored encrypted, bound to their place. Knows the key and its file; stores nothing else. */

import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";
import { existsSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "./config.ts";
import { setBounded } from "./core/bounded-map.ts";
import type { Random } from "./core/id.ts";
import { createPrivateFile, replacePrivateFile } from "./private-file.ts";

const ALGORITHM = "aes-256-gcm";
const VERSION = "v1";
const KEY_BYTES = 32;
/** Length of a GCM nonce that is drawn at random (NIST SP 800-38D, 8.2.2). */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID_LENGTH = 8;
/** Cached plain secrets: every webhook needs one for its signature. */
const OPENED_MAX = 1_000;
const KEY_FILE = "secret.key";
/** The file of the next key while secrets are sealed with it; it becomes `secret.key` afterwards. */
const NEXT_KEY_FILE = "secret.key.next";

/** Seals and opens texts with one key. `place` is where the text is stored (`table|customer|row|column`). */
export interface Sealer {
  /** `v1.<key id>.<nonce>.<ciphertext and tag>`, the last two base64url; differs each time. */
  seal(plain: string, place: string): string;
  /** The sealed text. Throws if it was sealed with another key or for another place, or was altered. */
  open(sealed: string, place: string): string;
}

/** A sealer (AES-256-GCM) with a key of 32 bytes; `random` draws its nonces. */
export function createSealer(key: Buffer, random: Random): Sealer {
  if (key.length !== KEY_BYTES) throw new Error(`a secret key has ${KEY_BYTES} bytes, this one has ${key.length}`);
  const keyId = fingerprint(key).slice(0, KEY_ID_LENGTH);
  /** By their sealed text. */
  const opened = new Map<string, { place: string; plain: string }>();
  return {
    seal(plain, place) {
      const nonce = random(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(place));
      const sealed = Buffer.concat([cipher.update(plain, "utf8"), cipher.final(), cipher.getAuthTag()]);
      return [VERSION, keyId, Buffer.from(nonce).toString("base64url"), sealed.toString("base64url")].join(".");
    },
    open(text, place) {
      const known = opened.get(text);
      if (known?.place === place) return known.plain;
      const { sealedWith, nonce, sealed } = parseSealed(text, place);
      if (sealedWith !== keyId) {
        const hint = "start with the TB_SECRET_KEY or the secret.key of that time";
        throw new Error(
          `the secret at ${place} was sealed with key ${sealedWith}, the present key is ${keyId}: ${hint}`,
        );
      }
      const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(place)).setAuthTag(sealed.subarray(-TAG_BYTES));
      try {
        const plain = decipher.update(sealed.subarray(0, -TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
        setBounded(opened, text, { place, plain }, OPENED_MAX);
        return plain;
      } catch (cause) {
        throw new Error(`the secret at ${place} was sealed for another place, or altered`, { cause });
      }
    },
  };
}

function parseSealed(text: string, place: string): { sealedWith: string; nonce: Buffer; sealed: Buffer } {
  const [version, sealedWith = "", nonceText = "", sealedText = "", ...rest] = text.split(".");
  const nonce = Buffer.from(nonceText, "base64url");
  const sealed = Buffer.from(sealedText, "base64url");
  if (version !== VERSION || nonce.length !== NONCE_BYTES || sealed.length < TAG_BYTES || rest.length > 0) {
    throw new Error(`what is stored at ${place} is not a sealed secret`);
  }
  return { sealedWith, nonce, sealed };
}

/** 32 hexadecimal digits that identify a key without revealing it. */
export function fingerprint(key: Buffer): string {
  return createHmac("sha256", key).update("tightbeam secret key").digest("hex").slice(0, 32);
}

/**
 * The secret key: `fromConfig` if given, else the content of `secret.key` in the data directory, which is created (mode
 * 0600, on disk, never overwritten) if it is missing and nothing is sealed yet. `sealedWith`, the fingerprint in the database,
 * decides whether a change of the key was completed. Throws `ConfigError` if the file is lost, invalid or unreadable.
 */
export function loadSecretKey(
  dataDir: string,
  fromConfig: Buffer | null,
  random: Random,
  sealedWith: string | null,
): Buffer {
  if (fromConfig !== null) return fromConfig;
  const path = join(dataDir, KEY_FILE);
  try {
    const next = readNextKey(dataDir);
    if (next !== null && fingerprint(next) === sealedWith) activateNextKey(dataDir);
    if (!existsSync(path) && sealedWith !== null)
      throw new ConfigError(
        `The secret key that the database was made with is missing: set TB_SECRET_KEY to it, or put it into ${path}.`,
      );
    if (!existsSync(path)) createPrivateFile(path, `${Buffer.from(random(KEY_BYTES)).toString("base64")}\n`);
    return parseKeyFile(path, readFileSync(path, "utf8"));
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`The secret key ${path} can be neither read nor made: ${(error as Error).message}.`);
  }
}

/** Stores the next key on disk before the first secret is sealed with it. */
export function saveNextKey(dataDir: string, key: Buffer): void {
  replacePrivateFile(join(dataDir, NEXT_KEY_FILE), `${key.toString("base64")}\n`);
}

/** Makes the next key the present key, once all secrets are sealed with it. */
export function activateNextKey(dataDir: string): void {
  renameSync(join(dataDir, NEXT_KEY_FILE), join(dataDir, KEY_FILE));
}

/** The present key of a data directory and, while secrets are sealed again, the next one; without files that hold no key. */
export function secretKeysIn(dataDir: string): Buffer[] {
  return [KEY_FILE, NEXT_KEY_FILE].flatMap((name) => {
    const path = join(dataDir, name);
    try {
      return existsSync(path) ? [parseKeyFile(path, readFileSync(path, "utf8"))] : [];
    } catch (error) {
      if (error instanceof ConfigError) return [];
      throw error;
    }
  });
}

function readNextKey(dataDir: string): Buffer | null {
  const path = join(dataDir, NEXT_KEY_FILE);
  return existsSync(path) ? parseKeyFile(path, readFileSync(path, "utf8")) : null;
}

function parseKeyFile(path: string, text: string): Buffer {
  const key = Buffer.from(text.trim(), "base64");
  if (key.length === KEY_BYTES && key.toString("base64") === text.trim()) return key;
  throw new ConfigError(
    `${path} does not hold a key (${KEY_BYTES} bytes as base64): restore it, or set TB_SECRET_KEY.`,
  );
}
