import assert from "node:assert/strict";
import { test } from "node:test";
import { boundName, boundNames, NAME_UNITS_MAX } from "./bound-names.ts";

test("a name of up to 512 units stays, and a longer one becomes its beginning and its digest, always the same", () => {
  const most = "é".repeat(NAME_UNITS_MAX);
  assert.equal(boundName(most), most);
  const [one, other] = [`${most}a`, `${most}b`].map(boundName);
  assert.equal(one?.length, NAME_UNITS_MAX);
  assert.match(String(one), /^é{447}…[0-9a-f]{64}$/);
  assert.notEqual(one, other);
  assert.equal(boundName(`${most}a`), one);
  assert.equal(boundName(String(one)), one);
  for (const odd of ["", "a"]) assert.ok(boundName(odd + "🥓".repeat(400)).isWellFormed());
});

test("every name of a signal is bounded, and texts and references of files stay", () => {
  const long = "x".repeat(1_000);
  const short = boundName(long);
  const signal = {
    reference: long,
    from: long,
    replyTo: null,
    text: long,
    group: { reference: long, name: long, participants: [long, "+1"] },
    note: { reference: long, text: long },
    attachments: [{ reference: long }],
  };
  assert.deepEqual(boundNames(signal), {
    ...signal,
    reference: short,
    from: short,
    group: { reference: short, name: long, participants: [short, "+1"] },
    note: { reference: short, text: long },
  });
  const plain = { reference: "x", group: null, note: () => "" };
  assert.equal(boundNames(plain), plain);
});
