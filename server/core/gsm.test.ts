/** Tests of the seven-bit alphabet: each code both ways, what is not in it, and what smart encoding may change. */

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { runsOf } from "../../test/support/runs.ts";
import { countSeptets, fromGsm, septetsOf, smartEncode, toGsm } from "./gsm.ts";

const EXTENDED = "\f^{}\\[~]|€";
/** As its twelve rows and eight columns stand in GSM 03.38, 6.2.1, a column at a time: an order other than the code's. */
const COLUMNS = [
  "@£$¥èéùìòÇ\nØø\rÅå",
  "Δ_ΦΓΛΩΠΨΣΘΞ\0ÆæßÉ",
  " !\"#¤%&'()*+,-./",
  "0123456789:;<=>?",
  "¡ABCDEFGHIJKLMNO",
  "PQRSTUVWXYZÄÖÑÜ§",
  "¿abcdefghijklmno",
  "pqrstuvwxyzäöñüà",
];

function octets(text: string): number[] {
  const septets = toGsm(text);
  assert.notEqual(septets, null, text);
  return [...(septets ?? [])];
}

test("every character of the default alphabet has the code of its column and row", () => {
  let seen = 0;
  COLUMNS.forEach((column, high) => {
    assert.equal(column.length, 16);
    [...column].forEach((character, low) => {
      if (character === "\0") return;
      assert.deepEqual(octets(character), [high * 16 + low], character);
      assert.equal(fromGsm(Uint8Array.of(high * 16 + low)), character);
      seen += 1;
    });
  });
  assert.equal(seen, 127);
});

test("a character of the extension table is an escape and its code", () => {
  const codes = [0x0a, 0x14, 0x28, 0x29, 0x2f, 0x3c, 0x3d, 0x3e, 0x40, 0x65];
  assert.deepEqual(
    octets(EXTENDED),
    codes.flatMap((code) => [0x1b, code]),
  );
  assert.equal(fromGsm(Uint8Array.from(octets(EXTENDED))), EXTENDED);
  assert.deepEqual(octets("{€} @£"), [0x1b, 0x28, 0x1b, 0x65, 0x1b, 0x29, 0x20, 0x00, 0x01]);
});

test("a single character outside GSM 03.38 makes the whole text not encodable", () => {
  for (const character of ["ç", "`", "\t", "ê", "ą", "“", "😀", "\u001b", "\0", "中", "\u0301", "\ud800"]) {
    assert.equal(toGsm(`abc${character}`), null, JSON.stringify(character));
    assert.equal(countSeptets(`abc${character}`), null);
  }
  assert.deepEqual(toGsm(""), new Uint8Array(0));
});

test("exactly 127 + 10 code units are in the alphabet", () => {
  const counts = [0, 0, 0];
  for (let unit = 0; unit < 0x10000; unit += 1) counts[septetsOf(unit)] = (counts[septetsOf(unit)] ?? 0) + 1;
  assert.deepEqual(counts, [0x10000 - 137, 127, 10]);
});

test("every text of the alphabet is decoded from its septets unchanged", () => {
  const character = fc.constantFrom(...[...COLUMNS.join("").replace("\0", ""), ...EXTENDED]);
  fc.assert(
    fc.property(fc.array(character, { maxLength: 400 }), (characters) => {
      const text = characters.join("");
      const septets = toGsm(text) ?? assert.fail("is in the alphabet");
      assert.equal(septets.length, countSeptets(text));
      assert.equal(fromGsm(septets), text);
    }),
    { numRuns: runsOf(500) },
  );
});

test("an escape without a valid extension is decoded as GSM 03.38 requires", () => {
  assert.equal(fromGsm(Uint8Array.of(0x41, 0x1b)), "A ", "nothing follows: a space");
  assert.equal(fromGsm(Uint8Array.of(0x1b, 0x1b, 0x41)), " A", "a second escape: a space");
  assert.equal(fromGsm(Uint8Array.of(0x1b, 0x41)), "A", "not in the extension table: that of the default alphabet");
  assert.equal(fromGsm(Uint8Array.of(0x41, 0x80, 0xff)), "A\ufffd\ufffd", "above 127: no septet");
});

test("any octets decode to a text without an exception", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      assert.ok(fromGsm(bytes).length <= bytes.length);
    }),
  );
});

test("smart encoding replaces characters with look-alikes if the whole text then fits GSM 03.38", () => {
  for (const [given, written] of [
    ["“Hello” – it’s…", '"Hello" - it\'s...'],
    ["«Oui» ‹non›", '"Oui" <non>'],
    ["no\u00a0break\u202fnarrow\u3000wide\ttab", "no break narrow wide tab"],
    ["o\ufb03ce \ufb01\ufb02e", "office fifle"],
    ["ＡＢＣ！～", "ABC!~"],
    ["soft\u00adhyphen\u200b\ufeff", "softhyphen"],
    ["cafe\u0301 A\u030a", "café Å"],
    ["a\u2212b\u2011c\u2014d", "a-b-c-d"],
    ["one\u2028two", "one\ntwo"],
    ["`quote´", "'quote'"],
  ] as const) {
    assert.equal(smartEncode(given), written);
    assert.notEqual(toGsm(smartEncode(given)), null);
  }
});

test("smart encoding changes no text that fits already, or that would not fit after it", () => {
  for (const text of [
    "“ą”",
    "“日本”…",
    "“😀”",
    "½ “cup”",
    "x² – y",
    "plain {text} €",
    "",
    "\u200b",
    "ç’",
    "👩\u200d🚀’",
  ]) {
    assert.equal(smartEncode(text), text);
  }
});

test("smart encoding returns the text itself or a text of the alphabet, and is idempotent", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 40 }), (text) => {
      const encoded = smartEncode(text);
      assert.ok(encoded === text || toGsm(encoded) !== null);
      assert.equal(smartEncode(encoded), encoded);
    }),
    { numRuns: runsOf(500) },
  );
});
