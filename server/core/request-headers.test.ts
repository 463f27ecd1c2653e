import assert from "node:assert/strict";
import { test } from "node:test";
import { packHeaders, unpackHeaders } from "./request-headers.ts";
import { signatureHeaders } from "./signature.ts";

const OWN = "a secret of the caller's own";
const [FIRST, SECOND] = ["A", "B"].map((letter) => `whsec_${letter.repeat(43)}=`) as [string, string];
const EVENT = { eventId: "evt_019b76da-a800-777a-a2a3-581013ec5c0f", correlationId: `cor_${"0".repeat(32)}` };

/** The headers of an attempt, as the service sends them. */
function sentHeaders(secret: string, previousSecret: string | null): Record<string, string> {
  const signed = { eventId: EVENT.eventId, body: '{"a":1}', secret, previousSecret, sentAtSeconds: 1_772_366_430 };
  return {
    "Content-Type": "application/json",
    "User-Agent": "Tightbeam/1.2.3",
    "X-Correlation-Id": EVENT.correlationId,
    ...signatureHeaders(signed),
  };
}

for (const [title, secret, previousSecret, lengthMax] of [
  ["X-Signature alone", OWN, null, 56],
  ["both kinds of signature", FIRST, null, 99],
  ["the signatures of a rotation", SECOND, FIRST, 142],
  ["the signatures of a rotation from a secret that is no whsec_", FIRST, OWN, 99],
] as const)
  test(`headers with ${title} are unpacked as they were sent, in at most ${lengthMax} characters`, () => {
    const sent = sentHeaders(secret, previousSecret);
    const packed = packHeaders(Object.entries(sent).flat()) ?? "";
    assert.deepEqual(Object.entries(unpackHeaders(packed, EVENT)), Object.entries(sent));
    assert.ok(packed.length <= lengthMax, `${packed.length}: ${packed}`);
  });

test("headers without a signature are not packed", () => {
  assert.equal(packHeaders([]), null);
  assert.equal(packHeaders(["Content-Type", "application/json", "User-Agent", "Tightbeam/1.2.3"]), null);
});
