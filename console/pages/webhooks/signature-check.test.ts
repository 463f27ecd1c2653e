/** The check of a signature names the part that is wrong, for every published vector and for usual mistakes. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { constructSignature } from "../../../sdk/signature.ts";
import { checkSignature, parseHeaders, type SignatureCheck } from "./signature-check.ts";

interface Vector {
  name: string;
  body: string;
  secrets: string[];
  headers: Record<string, string>;
  nowSeconds: number;
  toleranceSeconds: number;
  refusal: string | null;
}

const VECTORS = new URL("../../../sdk/vectors.json", import.meta.url);
const { vectors } = JSON.parse(readFileSync(VECTORS, "utf8")) as { vectors: Vector[] };

/** Received at this time, and checked at once. */
const as = (time: number) => ({ now: time, receivedAt: time });

function statesOf({ timestamp, content, key }: SignatureCheck) {
  return [timestamp.state, content.state, key.state].join(" ");
}

/** The states of timestamp, content and key that go with each refusal. */
const STATES: Record<string, RegExp> = {
  null: /^right right right$/,
  SECRET_MISSING: /^\w+ unknown wrong$/,
  SIGNATURE_MISSING: /^\w+ unknown unknown$/,
  SIGNATURE_MALFORMED: /^\w+ unknown unknown$/,
  TIMESTAMP_MALFORMED: /^wrong unknown unknown$/,
  TIMESTAMP_TOO_OLD: /^wrong right right$/,
  TIMESTAMP_IN_FUTURE: /^wrong right right$/,
  SIGNATURE_WRONG: /^\w+ (wrong right|right wrong|unknown unknown)$/,
  BODY_NOT_AN_EVENT: /^right wrong right$/,
};

for (const { name, body, secrets, headers, nowSeconds, toleranceSeconds, refusal } of vectors) {
  test(`published vector: ${name}`, async () => {
    const checks = await Promise.all(
      secrets.map((secret) =>
        checkSignature({ headers, body, secret, toleranceSeconds, ...as(nowSeconds * 1_000), sentBody: null }),
      ),
    );
    // Of several secrets, one has to fit.
    const check = checks.find((one) => one.refusal === refusal) ?? assert.fail(`not ${refusal}`);
    assert.match(statesOf(check), STATES[String(refusal)] ?? /never/);
  });
}

const now = 1_767_225_600_000;
const body = '{"id":"evt_1","type":"message.sent","timestamp":"2026-01-01T00:00:00.000Z","data":{"text":"a%"}}';
const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const headers = await constructSignature({ body, secret, timestamp: now, eventId: "evt_1" });
const sent = { headers, body, secret, now, receivedAt: null, sentBody: null };

for (const [mistake, change, states, says] of [
  ["a body with a line break more", { body: `${body}\n` }, "right wrong right", /line break or space more/],
  [
    "a body that was pretty-printed",
    { body: JSON.stringify(JSON.parse(body), null, 2) },
    "right wrong right",
    /raw bytes/,
  ],
  ["a secret with a line break", { secret: `${secret}\n` }, "right right wrong", /edge/],
  ["a secret in quotes", { secret: `"${secret}"` }, "right right wrong", /quotes/],
  ["a secret without its prefix", { secret: secret.slice(6) }, "right right wrong", /whsec_/],
  ["another text", { body: body.replace("a%", "b") }, "right unknown unknown", /raw/],
  [
    "another text, which the service did not send",
    { body: body.replace("a%", "b"), sentBody: body },
    "right wrong right",
    /on its way/,
  ],
  [
    "another secret, with the body that was sent",
    { secret: "other", sentBody: body },
    "right right wrong",
    /another one/,
  ],
  [
    "an old request with another secret",
    { secret: "other", now: now + 600_000 },
    "unknown unknown unknown",
    /600 s ago/,
  ],
] as const)
  test(`it names the part: ${mistake}`, async () => {
    const check = await checkSignature({ ...sent, ...change });
    assert.equal(check.refusal, "SIGNATURE_WRONG");
    assert.equal(statesOf(check), states);
    assert.match([check.timestamp, check.content, check.key].map((part) => part.says).join(" "), says);
  });

test("headers are read as lines, as options of curl and as JSON", () => {
  const expected = { "X-Signature": "sha256=ab", "X-Timestamp": "17" };
  for (const text of [
    "X-Signature: sha256=ab\r\nX-Timestamp: 17\r\n",
    "  -H 'X-Signature: sha256=ab' \\\n  -H 'X-Timestamp: 17'",
    '{"X-Signature":"sha256=ab","X-Timestamp":17}',
  ]) {
    assert.deepEqual(parseHeaders(text), expected, text);
  }
  assert.deepEqual(parseHeaders("POST /hooks HTTP/1.1\n\n"), {});
});

const DAY_MS = 86_400_000;

for (const [what, change, verdict, state, today] of [
  ["a request that was in time, a day later", { now: now + DAY_MS, receivedAt: now + 2_000 }, "genuine", "right", true],
  ["a request of just now", { receivedAt: now + 2_000 }, "genuine", "right", false],
  ["a request of a day ago that came nobody knows when", { now: now + DAY_MS }, "aged", "unknown", true],
  ["a replay", { now: now + DAY_MS, receivedAt: now + DAY_MS }, "refused", "wrong", false],
  ["a replay of a day ago", { now: now + DAY_MS, receivedAt: now + 400_000 }, "refused", "wrong", false],
  ["a request from the future", { now: now - DAY_MS }, "refused", "wrong", false],
] as const)
  test(`it is judged as of its receipt: ${what}`, async () => {
    const check = await checkSignature({ ...sent, ...change });
    assert.deepEqual([check.verdict, check.timestamp.state, check.today !== null], [verdict, state, today]);
    assert.deepEqual([check.content.state, check.key.state], ["right", "right"]);
    if (check.today !== null) assert.match(check.today, /refuses it as a replay: it was signed 86400 s ago/);
  });
