/** Keys are of the promised form, hard to guess, and open nothing once they are revoked or expired. */

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import { type ApiKey, hashKey, isUsable, isWellFormedKey, keyRecord, last4Of, newKey } from "./key.ts";

const KEY: ApiKey = {
  id: "key_1",
  version: 1,
  name: "shop",
  customerId: "cust_1",
  scope: "messages",
  permissions: ["read"],
  hash: "",
  last4: "abcd",
  rateLimit: { limit: 5, windowSeconds: 1 },
  createdAt: 0,
  lastUsedAt: 1,
  expiresAt: null,
  revokedAt: null,
  replacedBy: null,
};

test("a new key is tb_, 30 random base62 digits and their CRC32 in 6", () => {
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const seen = new Set<string>();
  for (let index = 0; index < 500; index += 1) {
    const key = newKey(randomBytes);
    assert.match(key, /^tb_[0-9A-Za-z]{36}$/);
    assert.ok(isWellFormedKey(key));
    const checksum = [...key.slice(33)].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0);
    assert.equal(checksum, crc32(key.slice(3, 33)));
    seen.add(key);
  }
  assert.equal(seen.size, 500);
});

test("the digits of a key are equally likely: bytes beyond the last multiple of 62 are thrown away", () => {
  let byte = 0;
  const counter = (size: number) => Uint8Array.from({ length: size }, () => byte++ % 256);
  const counts = new Map<string, number>();
  for (let index = 0; index < 620; index += 1) {
    for (const digit of newKey(counter).slice(3, 33)) counts.set(digit, (counts.get(digit) ?? 0) + 1);
  }
  assert.equal(counts.size, 62);
  const spread = Math.max(...counts.values()) / Math.min(...counts.values());
  assert.ok(spread < 1.1, String(spread));
});

test("a key is tb_ and 32 or more letters and digits, checksum or not", () => {
  for (const good of [`tb_${"a".repeat(32)}`, `tb_${"Z9".repeat(100)}`]) assert.ok(isWellFormedKey(good), good);
  const bad = [
    `tb_${"a".repeat(31)}`,
    `TB_${"a".repeat(32)}`,
    `tb_${"a".repeat(31)}_`,
    "",
    "tb_",
    `xtb_${"a".repeat(40)}`,
  ];
  for (const text of [...bad, `tb_${"a".repeat(32)}\n`, `tb_${"é".repeat(32)}`])
    assert.ok(!isWellFormedKey(text), text);
});

test("the service stores a key's SHA-256 in hex and its last four characters", () => {
  const key = `tb_${"a".repeat(36)}`;
  assert.equal(hashKey(key), createHash("sha256").update(key).digest("hex"));
  assert.equal(last4Of(key), "aaaa");
});

test("a revoked key is unusable at once, an expiring key from expiresAt on", () => {
  assert.ok(isUsable(KEY, 0));
  assert.ok(!isUsable({ ...KEY, revokedAt: 500 }, 0));
  assert.ok(isUsable({ ...KEY, expiresAt: 100 }, 99));
  assert.ok(!isUsable({ ...KEY, expiresAt: 100 }, 100));
});

test("the record of a key has every field, and the key itself only in the response that creates it", () => {
  assert.deepEqual(keyRecord(KEY), {
    id: "key_1",
    name: "shop",
    customerId: "cust_1",
    scope: "messages",
    permissions: ["read"],
    last4: "abcd",
    rateLimit: { limit: 5, windowSeconds: 1 },
    createdAt: "1970-01-01T00:00:00.000Z",
    lastUsedAt: "1970-01-01T00:00:00.001Z",
    expiresAt: null,
    revokedAt: null,
    replacedBy: null,
  });
  assert.equal(keyRecord(KEY, "tb_x").key, "tb_x");
});
