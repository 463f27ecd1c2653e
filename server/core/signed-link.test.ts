/** Tokens of download links. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AttachmentId } from "./id.ts";
import { isLinkOver, openLink, signLink } from "./signed-link.ts";

const KEY = Buffer.alloc(32, 1);
const ID: AttachmentId = "att_0192f0c1-2345-7abc-8def-0123456789ab";
const NOW = Date.UTC(2026, 0, 2);

test("a token opens its file until the millisecond before it expires", () => {
  const token = signLink(KEY, { id: ID, expiresAt: NOW });
  assert.match(token, /^[A-Za-z0-9_-]{51}$/);
  assert.equal(openLink(KEY, token, NOW - 1), ID);
  assert.equal(openLink(KEY, token, NOW), null);
  assert.deepEqual([isLinkOver(token, NOW - 1), isLinkOver(token, NOW)], [false, true]);
});

test("a token without an end opens its file for ever", () => {
  const token = signLink(KEY, { id: ID, expiresAt: null });
  assert.equal(openLink(KEY, token, 2 ** 47), ID);
  assert.equal(isLinkOver(token, 2 ** 47), false);
});

test("a token of another key, or with any bit changed, opens nothing", () => {
  const token = signLink(KEY, { id: ID, expiresAt: NOW });
  assert.equal(openLink(Buffer.alloc(32, 2), token, 0), null);
  const bytes = Buffer.from(token, "base64url");
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const forged = Buffer.from(bytes);
    forged[bit >> 3] = (forged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    assert.equal(openLink(KEY, forged.toString("base64url"), 0), null, `bit ${bit}`);
  }
});

test("no other text opens a file, and neither does a token with any character added, removed or changed", () => {
  const token = signLink(KEY, { id: ID, expiresAt: null });
  for (const bent of ["", "x", `${token}A`, token.slice(1), `${token}=`, ` ${token}`, `${token.slice(0, 50)}!`]) {
    assert.equal(openLink(KEY, bent, 0), null, bent);
    assert.equal(isLinkOver(bent, 0), true, bent);
  }
  fc.assert(fc.property(fc.string({ unit: "grapheme" }), (text) => openLink(KEY, text, 0) === null));
});

test("signLink refuses an id that is not the id of a file", () => {
  assert.throws(() => signLink(KEY, { id: "att_x", expiresAt: null }), /not the id of a file/);
});
