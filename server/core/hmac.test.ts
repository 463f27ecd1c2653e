/** HMAC-SHA256 against the vectors of RFC 4231 and against node:crypto's own. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { ANY_CHARACTER } from "../../test/support/any-character.ts";
import { runsOf } from "../../test/support/runs.ts";
import { HmacKey } from "./hmac.ts";

const VECTORS: readonly { name: string; key: Buffer; data: Buffer; hex: string }[] = [
  {
    name: "1",
    key: Buffer.alloc(20, 0x0b),
    data: Buffer.from("Hi There"),
    hex: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
  },
  {
    name: "2: a key shorter than a digest",
    key: Buffer.from("Jefe"),
    data: Buffer.from("what do ya want for nothing?"),
    hex: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  },
  {
    name: "3",
    key: Buffer.alloc(20, 0xaa),
    data: Buffer.alloc(50, 0xdd),
    hex: "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
  },
  {
    name: "4",
    key: Buffer.from("0102030405060708090a0b0c0d0e0f10111213141516171819", "hex"),
    data: Buffer.alloc(50, 0xcd),
    hex: "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
  },
  {
    name: "6: a key longer than a block",
    key: Buffer.alloc(131, 0xaa),
    data: Buffer.from("Test Using Larger Than Block-Size Key - Hash Key First"),
    hex: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
  },
  {
    name: "7: key and data longer than a block",
    key: Buffer.alloc(131, 0xaa),
    data: Buffer.from(
      "This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being used by the HMAC algorithm.",
    ),
    hex: "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
  },
];

for (const { name, key, data, hex } of VECTORS) {
  test(`RFC 4231, test case ${name}`, () => {
    assert.equal(new HmacKey(key).sign("", data, "hex"), hex);
  });
}

test("signs any key, prefix and body as node:crypto does, one after another with the same key", () => {
  const anyKey = fc.oneof(fc.string({ minLength: 1 }), fc.uint8Array({ minLength: 1, maxLength: 200 }));
  const anyText = fc.oneof(fc.string({ unit: ANY_CHARACTER }), fc.constantFrom("", "é".repeat(40_000)));
  fc.assert(
    fc.property(anyKey, fc.array(fc.tuple(fc.string(), anyText), { maxLength: 4 }), (given, texts) => {
      const bytes = Buffer.from(given);
      const key = new HmacKey(bytes);
      for (const [prefix, body] of texts) {
        const expected = createHmac("sha256", bytes).update(prefix).update(body).digest();
        assert.equal(key.sign(prefix, body, "hex"), expected.toString("hex"));
        assert.equal(key.sign(prefix, Buffer.from(body), "base64"), expected.toString("base64"));
      }
    }),
    { numRuns: runsOf(200) },
  );
});

test("refuses an empty key", () => {
  assert.throws(() => new HmacKey(""));
});
