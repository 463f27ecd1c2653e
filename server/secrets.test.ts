/** Tests of sealing: only the right key at the right place opens, and the key's file is made once. */

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import fc from "fast-check";
import { ConfigError } from "./config.ts";
import { createSealer, fingerprint, loadSecretKey } from "./secrets.ts";

const KEY = createHash("sha256").update("a key").digest();
const OTHER_KEY = createHash("sha256").update("another key").digest();
const PLACE = "endpoints|cust_1|wh_1|secret";

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "tightbeam-"));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

test("a sealed text is opened unchanged, for any text", () => {
  const sealer = createSealer(KEY, randomBytes);
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme" }),
      fc.string(),
      (plain, place) => sealer.open(sealer.seal(plain, place), place) === plain,
    ),
  );
});

test("a sealed text has the form v1.<key id>.<nonce>.<ciphertext and tag> and hides the text", () => {
  const sealed = createSealer(KEY, randomBytes).seal("whsec_secret", PLACE);
  assert.match(sealed, /^v1\.[0-9a-f]{8}\.[A-Za-z0-9_-]{16}\.[A-Za-z0-9_-]{38}$/);
  assert.ok(sealed.startsWith(`v1.${fingerprint(KEY).slice(0, 8)}.`));
  assert.doesNotMatch(sealed, /secret/);
});

test("the same text is sealed differently each time", () => {
  const sealer = createSealer(KEY, randomBytes);
  assert.notEqual(sealer.seal("text", PLACE), sealer.seal("text", PLACE));
});

test("a secret that was moved to another place does not open", () => {
  const sealer = createSealer(KEY, randomBytes);
  const sealed = sealer.seal("text", PLACE);
  assert.throws(() => sealer.open(sealed, "endpoints|cust_2|wh_1|secret"), /sealed for another place, or altered/);
});

test("a secret that was altered in any character does not open", () => {
  const sealer = createSealer(KEY, randomBytes);
  // Two bytes and a tag of 16 fill whole base64 groups, so that every character counts.
  const sealed = sealer.seal("ab", PLACE);
  for (let index = 0; index < sealed.length; index += 1) {
    const altered = `${sealed.slice(0, index)}${sealed[index] === "A" ? "B" : "A"}${sealed.slice(index + 1)}`;
    assert.throws(() => sealer.open(altered, PLACE), Error, altered);
  }
});

test("opening with another key fails with an error that names both keys and what to do", () => {
  const sealed = createSealer(KEY, randomBytes).seal("text", PLACE);
  const ids = `sealed with key ${fingerprint(KEY).slice(0, 8)}, the present key is ${fingerprint(OTHER_KEY).slice(0, 8)}`;
  assert.throws(() => createSealer(OTHER_KEY, randomBytes).open(sealed, PLACE), new RegExp(`${ids}.*TB_SECRET_KEY`));
});

test("opening a text that is not sealed fails with an error that says so", () => {
  const sealer = createSealer(KEY, randomBytes);
  for (const text of ["", "whsec_plain", "v2.a.b.c", "v1.a.b.c", `${sealer.seal("text", PLACE)}.more`]) {
    assert.throws(() => sealer.open(text, PLACE), /is not a sealed secret/, text);
  }
});

test("createSealer refuses a key that does not have 32 bytes", () => {
  assert.throws(() => createSealer(Buffer.alloc(16), randomBytes), /has 32 bytes, this one has 16/);
});

test("a fingerprint is the same for the same key only, and does not contain it", () => {
  assert.match(fingerprint(KEY), /^[0-9a-f]{32}$/);
  assert.equal(fingerprint(KEY), fingerprint(Buffer.from(KEY)));
  assert.notEqual(fingerprint(KEY), fingerprint(OTHER_KEY));
  assert.notEqual(fingerprint(KEY), KEY.toString("hex").slice(0, 32));
});

test("the first start makes a key file with mode 0600, and later starts find the same key", (t) => {
  const dir = join(directory(t), "data");
  const made = loadSecretKey(dir, null, randomBytes, null);
  assert.equal(statSync(join(dir, "secret.key")).mode & 0o777, 0o600);
  assert.equal(readFileSync(join(dir, "secret.key"), "utf8"), `${made.toString("base64")}\n`);
  assert.deepEqual(loadSecretKey(dir, null, randomBytes, null), made);
});

test("a key from the setting counts, and no file is made for it", (t) => {
  const dir = directory(t);
  assert.deepEqual(loadSecretKey(dir, KEY, randomBytes, null), KEY);
  assert.throws(() => statSync(join(dir, "secret.key")), /ENOENT/);
});

test("a lost key is not replaced by a new one", (t) => {
  const dir = directory(t);
  assert.throws(
    () => loadSecretKey(dir, null, randomBytes, fingerprint(KEY)),
    oneLine(/set TB_SECRET_KEY to it, or put it into .*secret\.key/),
  );
  assert.throws(() => statSync(join(dir, "secret.key")), /ENOENT/);
});

test("a key file that is damaged or out of reach stops the start with one line, and is not overwritten", (t) => {
  const path = join(directory(t), "secret.key");
  for (const text of ["", "short", KEY.toString("hex"), `${KEY.toString("base64")}AAAA`]) {
    writeFileSync(path, text);
    assert.throws(
      () => loadSecretKey(join(path, ".."), null, randomBytes, null),
      oneLine(/secret\.key does not hold a key/),
    );
    assert.equal(readFileSync(path, "utf8"), text);
  }
  assert.throws(() => loadSecretKey(path, null, randomBytes, null), oneLine(/can be neither read nor made/));
});

function oneLine(pattern: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof ConfigError && pattern.test(error.message) && !error.message.includes("\n");
}
