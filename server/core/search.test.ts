import assert from "node:assert/strict";
import { test } from "node:test";
import { hasWords, searchWords } from "./search.ts";

test("every word of a search has to be in the text, in any order and any case", () => {
  const text = "Ihre Bestellung ist unterwegs in die Große Straße";
  for (const [search, is] of [
    ["bestellung", true],
    ["UNTERWEGS Bestellung", true],
    ["  strasse \t GROSSE ", true],
    ["stell", true],
    ["bestellung storniert", false],
    ["", true],
  ] as const) {
    assert.equal(hasWords(text, searchWords(search)), is, JSON.stringify(search));
  }
});

test("a search text of spaces alone has no words", () => {
  assert.equal(searchWords(" \n\t "), "");
});
