/** Texts that no store could keep. */

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { ANY_CHARACTER } from "../../test/support/any-character.ts";
import { storable } from "./storable.ts";

test("NUL and halves of surrogate pairs become U+FFFD, however deep they are, and everything else stays", () => {
  const bytes = Buffer.from([0, 0xd8]);
  const given = { text: "a\0b", list: ["\ud800", 1, { from: "x\udc00y" }], none: null, bytes, fine: "👋 \n é" };
  assert.deepEqual(storable(given), {
    text: "a\ufffdb",
    list: ["\ufffd", 1, { from: "x\ufffdy" }],
    none: null,
    bytes,
    fine: "👋 \n é",
  });
});

test("storable() returns a storable value itself, and its result is always storable", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const kept = storable(value);
      assert.equal(storable(kept), kept);
      assert.ok(JSON.stringify(kept).isWellFormed() && !JSON.stringify(kept).includes("\\u0000"));
    }),
  );
  fc.assert(
    fc.property(fc.string({ unit: ANY_CHARACTER }), (value) => {
      const kept = storable({ value }).value;
      assert.equal(kept.length, value.length);
      assert.ok(kept.isWellFormed() && !kept.includes("\0"));
    }),
  );
});
