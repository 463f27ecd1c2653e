/** Tests of rows that are passed as JSON. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { inputColumn, jsonRows } from "./json-rows.ts";

test("rows as JSON keep every text but NUL and halves of surrogate pairs, and leave nulls out", () => {
  const columns = [inputColumn("memory", "key", "k"), inputColumn("memory", "value", "v")];
  const texts = ["\\u0000", "\\\\u0000 \u0001 \u{1F600}", 'quote " \n', "a\u0000b", "\ud800", "\\\u0000", "x\udc00\\"];
  const kept = ["\\u0000", "\\\\u0000 \u0001 \u{1F600}", 'quote " \n', "a\ufffdb", "\ufffd", "\\\ufffd", "x\ufffd\\"];
  const read = JSON.parse(
    jsonRows(
      columns,
      texts.map((text) => [text, null]),
    ),
  );
  assert.deepEqual(
    read,
    kept.map((text) => ({ k: text })),
  );
});
