import assert from "node:assert/strict";
import { test } from "node:test";
import { cutText, cutTexts, TEXT_BYTES_MAX } from "./cut-texts.ts";

test("a text is cut at 64 KiB of UTF-8, at a character", () => {
  for (const character of ["a", "é", "€", "🥓"]) {
    const bytes = Buffer.byteLength(character);
    const most = character.repeat(Math.floor(TEXT_BYTES_MAX / bytes));
    assert.equal(cutText(most), most);
    assert.equal(cutText(`${most}${character}`), most, character);
    assert.equal(cutText(`${most}${character.repeat(1_000)}`), most, character);
  }
  const odd = `a${"🥓".repeat(20_000)}`;
  assert.ok(cutText(odd).isWellFormed());
  assert.equal(Buffer.byteLength(cutText(odd)), TEXT_BYTES_MAX - 3);
});

test("every text of a signal is cut, and a signal without a long text stays itself", () => {
  const long = "x".repeat(100_000);
  const bytes = new Uint8Array(100_000);
  const cut = cutTexts({ text: long, group: { name: long, participants: [long, "+1"] }, files: [{ bytes }], at: 1 });
  const most = "x".repeat(TEXT_BYTES_MAX);
  assert.deepEqual(cut, { text: most, group: { name: most, participants: [most, "+1"] }, files: [{ bytes }], at: 1 });
  const short = { text: "x", list: ["y"], none: null };
  assert.equal(cutTexts(short), short);
});
