import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { signatureHeaders } from "../server/core/signature.ts";
import { constructSignature, type ReceivedWebhook, verifyWebhook, WebhookVerificationError } from "./signature.ts";

interface Vector {
  name: string;
  body: string;
  secrets: string[];
  headers: Record<string, string>;
  nowSeconds: number;
  toleranceSeconds: number;
  refusal: string | null;
}

const { vectors } = JSON.parse(readFileSync(new URL("vectors.json", import.meta.url), "utf8")) as { vectors: Vector[] };

/** Null where the webhook is believed, else why it is not. */
async function refusalOf(received: ReceivedWebhook): Promise<string | null> {
  try {
    await verifyWebhook(received);
    return null;
  } catch (error) {
    assert.ok(error instanceof WebhookVerificationError, String(error));
    assert.ok(error.message.length > 20, error.message);
    return error.reason;
  }
}

for (const { name, body, secrets, headers, nowSeconds, toleranceSeconds, refusal } of vectors) {
  test(`published vector: ${name}`, async () => {
    const received = { headers, secret: secrets, toleranceSeconds, now: nowSeconds * 1_000 };
    assert.equal(await refusalOf({ ...received, body }), refusal);
    assert.equal(await refusalOf({ ...received, body: Buffer.from(body) }), refusal);
    assert.equal(await refusalOf({ ...received, body, headers: new Headers(headers) }), refusal);
    assert.equal(await refusalOf({ ...received, body, now: new Date(nowSeconds * 1_000) }), refusal);
  });
}

const body = '{"id":"evt_1","type":"message.sent","timestamp":"2026-01-01T00:00:00.000Z","data":{}}';
const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

test("verifyWebhook accepts the service's signatures, and constructSignature makes the same", async () => {
  const timestamp = 1_767_225_600_000;
  const sent = signatureHeaders({
    eventId: "evt_1",
    body,
    secret,
    previousSecret: null,
    sentAtSeconds: timestamp / 1_000,
  });
  assert.deepEqual(await constructSignature({ body, secret, timestamp, eventId: "evt_1" }), sent);
  const event = await verifyWebhook({ body, headers: sent, secret, now: timestamp });
  assert.equal(event.id, "evt_1");
  const plain = await constructSignature({ body, secret: "plain", timestamp, eventId: "evt_1" });
  const { "webhook-signature": none, ...own } = plain;
  assert.equal(none, undefined);
  assert.equal((await verifyWebhook({ body, headers: own, secret: "plain", now: timestamp })).type, "message.sent");
});

test("verifyWebhook and constructSignature take a whsec_ secret with and without padding, and in both alphabets of base64", async () => {
  const timestamp = 1_767_225_600_000;
  const padded = Buffer.alloc(32, 0xfb).toString("base64");
  const forms = [padded, padded.slice(0, -1), Buffer.alloc(32, 0xfb).toString("base64url")];
  for (const secret of forms.map((form) => `whsec_${form}`)) {
    const signing = { eventId: "evt_1", body, secret, previousSecret: null, sentAtSeconds: timestamp / 1_000 };
    const { "X-Signature": _, "X-Timestamp": __, ...standard } = signatureHeaders(signing);
    assert.equal((await verifyWebhook({ body, headers: standard, secret, now: timestamp })).id, "evt_1", secret);
    assert.deepEqual(
      await constructSignature({ body, secret, timestamp, eventId: "evt_1" }),
      signatureHeaders(signing),
    );
  }
  assert.equal(
    (await constructSignature({ body, secret: `whsec_${padded}=`, timestamp, eventId: "evt_1" }))["webhook-id"],
    undefined,
  );
});

test("a body that was parsed already is refused with the reason", async () => {
  const headers = await constructSignature({ body, secret });
  for (const parsed of [JSON.parse(body), null, 42, [1]] as never[]) {
    assert.equal(await refusalOf({ body: parsed, headers, secret }), "BODY_NOT_RAW");
  }
});

test("verifyWebhook takes the headers of node:http: lower case, with lists for repeated headers", async () => {
  const headers = await constructSignature({ body, secret });
  const raw = { "x-signature": headers["X-Signature"], "x-timestamp": headers["X-Timestamp"], accept: ["a", "b"] };
  assert.equal(await refusalOf({ body, headers: raw, secret }), null);
  const twice = { ...raw, "x-signature": [headers["X-Signature"] ?? "", headers["X-Signature"] ?? ""] };
  assert.equal(await refusalOf({ body, headers: twice, secret }), "SIGNATURE_MALFORMED");
});

test("an empty secret neither signs nor verifies", async () => {
  await assert.rejects(constructSignature({ body, secret: "" }), TypeError);
  assert.equal(
    await refusalOf({ body, headers: await constructSignature({ body, secret }), secret: [] }),
    "SECRET_MISSING",
  );
});
