import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { getExpectedTwilioSignature, validateRequest, validateRequestWithBody } from "twilio/lib/webhooks/webhooks.js";
import { runsOf } from "../../../test/support/runs.ts";
import { isSignedBy, parametersOf } from "./signature.ts";

const TOKEN = "12345";

function formOf(parameters: Record<string, string | string[]>): Buffer {
  const pairs = Object.entries(parameters).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  return Buffer.from(new URLSearchParams(pairs as string[][]).toString());
}

function verdict(token: string, url: string, signature: string, body: Buffer): boolean {
  return isSignedBy(token, { url, signature, parameters: parametersOf(body), body });
}

test("the example in Twilio's documentation verifies, and no other signature does", () => {
  const url = "https://mycompany.com/myapp.php?foo=1&bar=2";
  const body = formOf({
    CallSid: "CA1234567890ABCDE",
    Caller: "+14158675309",
    Digits: "1234",
    From: "+14158675309",
    To: "+18005551212",
  });
  const right = "RSOYDt4T1cUTdK1PDd93/VVr8B8=";
  assert.equal(verdict(TOKEN, url, right, body), true);
  const wrong = [
    "",
    right.slice(0, -1),
    `${right}=`,
    right.toLowerCase(),
    ` ${right}`,
    `${right}, ${right}`,
    "=",
    "\0",
  ];
  for (const signature of wrong) assert.equal(verdict(TOKEN, url, signature, body), false, signature);
  assert.equal(verdict("12346", url, right, body), false);
  assert.equal(verdict("", url, right, body), false);
});

const text = fc.string({ unit: "grapheme", maxLength: 8 });
const name = fc.oneof(fc.constantFrom("From", "To", "Body", "MessageSid", "a", "A", "1", "constructor"), text);
const parameters = fc.dictionary(
  name.filter((one) => one !== "" && one !== "__proto__"),
  fc.oneof(text, fc.array(text, { minLength: 1, maxLength: 3 })),
  { maxKeys: 5, noNullPrototype: true },
);
const url = fc
  .record({
    scheme: fc.constantFrom("https", "http", "HTTPS"),
    user: fc.constantFrom("", "", "", "user@", "user:word@"),
    host: fc.constantFrom("example.com", "EXAMPLE.com", "127.0.0.1", "[::1]", "a.b-c.example"),
    port: fc.constantFrom("", "", ":443", ":80", ":8443"),
    path: fc.array(fc.constantFrom("/hooks", "/a b", "/%41", "/é", "/.", "/'", "/", "/~(x)!"), { maxLength: 4 }),
    query: fc.constantFrom("", "", "?", "?a=1&b=2", "?q='x'", "?q=%27x%27", "?a=é b", "?a&a=", "?x=%zz", "?to=+1"),
  })
  .map(({ scheme, user, host, port, path, query }) => `${scheme}://${user}${host}${port}${path.join("")}${query}`);

/** Addresses that might be signed instead: with a port, without one, in another spelling, or a different one. */
function respelt(address: string, how: number): string {
  switch (how) {
    case 0:
      return address;
    case 1:
      return address.replace(/:(443|80|8443)(?=[/?]|$)/, "");
    case 2:
      return address.replace(/^(https?:\/\/[^/?]*?)(:\d+)?(?=[/?]|$)/i, "$1:443");
    case 3:
      return new URL(address).toString();
    case 4:
      return new URL(address).toString().replace("'", "%27");
    case 5:
      return address.replace("https", "http");
    default:
      return `${address}x`;
  }
}

test("every verdict equals that of Twilio's own library", () => {
  let right = 0;
  const numRuns = runsOf(5_000);
  fc.assert(
    fc.property(url, parameters, fc.integer({ min: 0, max: 6 }), fc.boolean(), (address, given, how, isOther) => {
      // A form cannot carry half a surrogate pair: it becomes another character on its way.
      const body = formOf(given as Record<string, string | string[]>);
      const sent = Object.fromEntries(
        [...parametersOf(body)].map(([key, values]) => [key, values.length === 1 ? values[0] : [...values]]),
      );
      const signature = getExpectedTwilioSignature(isOther ? "54321" : TOKEN, respelt(address, how), sent);
      const theirs = validateRequest(TOKEN, signature, address, sent);
      assert.equal(verdict(TOKEN, address, signature, body), theirs);
      if (theirs) right += 1;
    }),
    { numRuns },
  );
  assert.ok(right > numRuns / 5, `only ${right} were right`);
});

test("a body that is not a form is accepted if its hash is in the address, as in Twilio's own library", () => {
  const body = Buffer.from('{"a":1}');
  const hash = createHash("sha256").update(body).digest("hex");
  const address = `https://example.com/hook?bodySHA256=${hash}`;
  const signature = getExpectedTwilioSignature(TOKEN, address, {});
  for (const [sent, given] of [
    [body, signature],
    [Buffer.from('{"a":2}'), signature],
    [body, `${signature.slice(0, -2)}A=`],
  ] as const) {
    const ours = isSignedBy(TOKEN, { url: address, signature: given, parameters: new Map(), body: sent });
    assert.equal(ours, validateRequestWithBody(TOKEN, given, address, sent.toString()));
    assert.equal(ours, sent === body && given === signature);
  }
});
