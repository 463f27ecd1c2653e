/** Signatures against known answers, and against WebCrypto, which shares no code with what is tested. */

import assert from "node:assert/strict";
import { randomBytes, webcrypto } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { runsOf } from "../../test/support/runs.ts";
import {
  isBrokenStandardSecret,
  isStandardSecret,
  newSigningSecret,
  signatureHeaders,
  verifySignature,
} from "./signature.ts";

const NOW = 1_750_000_000;
const SECRET = "a secret of the caller's own";
const BODY = '{"id":"evt_1","type":"message.sent","data":{"text":"Zażółć 🚀"}}';

async function independentHmac(key: Uint8Array, text: string): Promise<Buffer> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await webcrypto.subtle.importKey("raw", Uint8Array.from(key), algorithm, false, ["sign"]);
  return Buffer.from(await webcrypto.subtle.sign("HMAC", imported, new TextEncoder().encode(text)));
}

function sign(more: Partial<Parameters<typeof signatureHeaders>[0]> = {}): Record<string, string> {
  return signatureHeaders({
    eventId: "evt_1",
    body: BODY,
    secret: SECRET,
    previousSecret: null,
    sentAtSeconds: NOW,
    ...more,
  });
}

function verify(headers: Record<string, string | string[] | undefined>, more: { body?: string; now?: number } = {}) {
  return verifySignature({
    body: more.body ?? BODY,
    headers,
    secret: SECRET,
    toleranceSeconds: 300,
    nowSeconds: more.now ?? NOW,
  });
}

function received(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

test("X-Signature is sha256= and the hex HMAC of timestamp, period and raw body", async () => {
  const headers = sign();
  const digest = await independentHmac(Buffer.from(SECRET), `${NOW}.${BODY}`);
  assert.equal(headers["X-Signature"], `sha256=${digest.toString("hex")}`);
  assert.equal(headers["X-Timestamp"], String(NOW));
});

test("sign() makes the same signature as openssl", () => {
  // printf '1614265330.{"test": 2432232314}' | openssl dgst -sha256 -hmac 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const headers = sign({
    body: '{"test": 2432232314}',
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    sentAtSeconds: 1_614_265_330,
  });
  assert.equal(headers["X-Signature"], "sha256=2e37df5d4a028c51a7f3133d64ae1e300d2c2c900f1b1d49d4369ad2530f8964");
});

test("the Standard Webhooks example gives its published signature", async () => {
  const secret = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const eventId = "msg_p5jXN8AQM9LWM0D4loKWxJek";
  const body = '{"test": 2432232314}';
  const headers = sign({ eventId, body, secret: `whsec_${secret}`, sentAtSeconds: 1_614_265_330 });
  assert.equal(headers["webhook-id"], eventId);
  assert.equal(headers["webhook-timestamp"], "1614265330");
  assert.equal(headers["webhook-signature"], "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  const independent = await independentHmac(Buffer.from(secret, "base64"), `${eventId}.1614265330.${body}`);
  assert.equal(headers["webhook-signature"], `v1,${independent.toString("base64")}`);
});

test("during a rotation X-Signature is the old secret's, webhook-signature carries both, new first", async () => {
  const secret = newSigningSecret(randomBytes);
  const previousSecret = newSigningSecret(randomBytes);
  const headers = sign({ secret, previousSecret });
  const old = await independentHmac(Buffer.from(previousSecret), `${NOW}.${BODY}`);
  assert.equal(headers["X-Signature"], `sha256=${old.toString("hex")}`);
  const both = await Promise.all(
    [secret, previousSecret].map((each) =>
      independentHmac(Buffer.from(each.slice(6), "base64"), `evt_1.${NOW}.${BODY}`),
    ),
  );
  assert.equal(headers["webhook-signature"], both.map((each) => `v1,${each.toString("base64")}`).join(" "));
});

test("a rotation between a whsec_ secret and another secret signs webhook-signature with the whsec_ secret alone", () => {
  const standard = newSigningSecret(randomBytes);
  const only = sign({ secret: standard })["webhook-signature"];
  assert.equal(sign({ secret: standard, previousSecret: SECRET })["webhook-signature"], only);
  assert.equal(sign({ secret: SECRET, previousSecret: standard })["webhook-signature"], only);
});

test("a secret that is not whsec_ and base64 of 24 to 64 bytes leaves the three headers out", () => {
  const key = (bytes: number) => randomBytes(bytes).toString("base64");
  const without = [
    SECRET,
    key(32),
    "whsec_",
    `whsec_${key(23)}`,
    `whsec_${key(65)}`,
    `whsec_${key(32)}=`,
    `whsec_${key(33)}=`,
    `whsec_${key(32)} `,
    `WHSEC_${key(32)}`,
    `whsec_${key(24)}!`,
    // Their last characters have bits that belong to no byte.
    `whsec_${Buffer.alloc(32, 0xff).toString("base64").slice(0, -2)}`,
    `whsec_${Buffer.alloc(32, 0xff).toString("base64").replace("8=", "9=")}`,
  ];
  for (const secret of without) {
    assert.deepEqual(Object.keys(sign({ secret })), ["X-Signature", "X-Timestamp"], secret);
    assert.equal(isStandardSecret(secret), false, secret);
    assert.equal(isBrokenStandardSecret(secret), secret.startsWith("whsec_"), secret);
  }
  assert.equal(isStandardSecret(""), false);
  for (const bytes of [24, 32, 64]) assert.equal(Object.keys(sign({ secret: `whsec_${key(bytes)}` })).length, 5);
});

test("a whsec_ secret signs webhook-signature alike with and without padding, and in both alphabets of base64", async () => {
  for (const bytes of [24, 25, 26, 32, 64]) {
    const key = Buffer.alloc(bytes, 0xfb);
    const padded = key.toString("base64");
    const independent = await independentHmac(key, `evt_1.${NOW}.${BODY}`);
    const url = (text: string) => text.replaceAll("+", "-").replaceAll("/", "_");
    for (const encoded of [padded, padded.replace(/=+$/, ""), url(padded), key.toString("base64url")]) {
      const secret = `whsec_${encoded}`;
      assert.equal(sign({ secret })["webhook-signature"], `v1,${independent.toString("base64")}`, secret);
      assert.deepEqual([isStandardSecret(secret), isBrokenStandardSecret(secret)], [true, false], secret);
    }
  }
});

test("a generated secret is whsec_ and 32 bytes, and never the same twice", () => {
  const secret = newSigningSecret(randomBytes);
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.notEqual(secret, newSigningSecret(randomBytes));
});

test("an empty secret never signs and never verifies", () => {
  assert.throws(() => sign({ secret: "" }), /empty secret/);
  assert.throws(() => sign({ previousSecret: "" }), /empty secret/);
  const headers = received(sign());
  assert.equal(verifySignature({ body: BODY, headers, secret: "", toleranceSeconds: 300, nowSeconds: NOW }), false);
});

test("verifySignature accepts sign()'s signatures, of text and of bytes", () => {
  const headers = received(sign({ body: Buffer.from(BODY) }));
  assert.deepEqual(headers, received(sign()));
  assert.equal(verify(headers), true);
  const bytes = { body: Buffer.from(BODY), headers, secret: SECRET, toleranceSeconds: 300, nowSeconds: NOW };
  assert.equal(verifySignature(bytes), true);
});

test("a timestamp more than 300 seconds from now is refused, 300 is not", () => {
  const headers = received(sign());
  for (const [now, expected] of [
    [NOW + 300, true],
    [NOW - 300, true],
    [NOW + 301, false],
    [NOW - 301, false],
  ] as const) {
    assert.equal(verify(headers, { now }), expected, String(now - NOW));
  }
});

test("a signature that is cut, empty, too long, repeated or in another form is refused", () => {
  const headers = received(sign());
  const right = headers["x-signature"] ?? "";
  const wrong = [
    "",
    "sha256=",
    right.slice(0, -1),
    right.slice(0, 20),
    `${right}0`,
    right + right.slice(7),
    `${right}, ${right}`,
    `${right}\n`,
    ` ${right}`,
    right.slice(7),
    right.toUpperCase(),
    right.replace("sha256", "sha1"),
    `sha256=${"g".repeat(64)}`,
    `sha256=${"0".repeat(64)}`,
    `sha256=${"0".repeat(1_000_000)}`,
  ];
  for (const signature of wrong) {
    assert.equal(verify({ ...headers, "x-signature": signature }), false, signature.slice(0, 80));
  }
  assert.equal(verify({ ...headers, "x-signature": undefined }), false);
  assert.equal(verify({ ...headers, "x-signature": [right, right] }), false);
  for (const timestamp of [undefined, "", "NaN", "-1", "1e9", `${NOW}.0`, ` ${NOW}`, "9".repeat(400), [String(NOW)]]) {
    assert.equal(verify({ ...headers, "x-timestamp": timestamp }), false, String(timestamp).slice(0, 80));
  }
});

test("a change of any one character of body, timestamp or signature is refused", () => {
  const headers = received(sign());
  fc.assert(
    fc.property(fc.nat(BODY.length - 1), fc.constantFrom("0", "x", "}"), (at, character) => {
      const body = BODY.slice(0, at) + character + BODY.slice(at + 1);
      return verify(headers, { body }) === (body === BODY);
    }),
    { numRuns: runsOf(300) },
  );
  assert.equal(verify({ ...headers, "x-timestamp": String(NOW + 1) }), false);
});
