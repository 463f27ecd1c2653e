/** The stored text of a response. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runsOf } from "../../test/support/runs.ts";
import { responseText } from "./response.ts";

test("the first bytes of a response are kept as they are", () => {
  assert.equal(responseText([], 1_024), "");
  assert.equal(responseText([Buffer.from("ok")], 1_024), "ok");
  assert.equal(responseText([Buffer.from("Zaż"), Buffer.from("ółć")], 1_024), "Zażółć");
  assert.equal(responseText([Buffer.from("Za\u017c").subarray(0, 3), Buffer.from("Za\u017c").subarray(3)], 8), "Zaż");
  assert.equal(responseText([Buffer.alloc(5_000, "x")], 1_024), "x".repeat(1_024));
});

test("a character that is cut at the end is left out", () => {
  assert.equal(responseText([Buffer.from("ab🚀")], 5), "ab");
  assert.equal(responseText([Buffer.from("ab🚀cd")], 6), "ab🚀");
});

test("bytes that are not text become text without NUL", () => {
  assert.equal(responseText([Buffer.from("a\0b\0")], 1_024), "a\ufffdb\ufffd");
  assert.equal(responseText([Buffer.from([0x61, 0xff, 0x62])], 1_024), "a\ufffdb");
});

test("no response becomes a text of more bytes than the limit, with NUL or with lone surrogates", () => {
  const chunk = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes));
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 4 }), fc.integer({ min: 1, max: 60 }), (chunks, bytesMax) => {
      const text = responseText(chunks, bytesMax);
      return Buffer.byteLength(text) <= bytesMax && !text.includes("\0") && text.isWellFormed();
    }),
    { numRuns: runsOf(1_000) },
  );
});
