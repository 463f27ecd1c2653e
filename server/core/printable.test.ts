import assert from "node:assert/strict";
import { test } from "node:test";
import { printable, printableLine } from "./printable.ts";

test("printable shows each control and each bidi mark as U+FFFD, and changes no other character", () => {
  const ranges = [
    [0, 0x1f],
    [0x7f, 0x9f],
    [0x61c, 0x61c],
    [0x200e, 0x200f],
    [0x2028, 0x202e],
    [0x2066, 0x2069],
  ] as const;
  for (let code = 0; code <= 0xffff; code += 1) {
    const character = String.fromCharCode(code);
    const isControl = ranges.some(([from, to]) => from <= code && code <= to);
    assert.equal(printable(character), isControl ? "\ufffd" : character, code.toString(16));
  }
  assert.equal(printable("مرحبا 👩‍👩‍👧 é"), "مرحبا 👩‍👩‍👧 é");
});

test("printableLine shows line feeds and tabs as spaces, and all else as printable does", () => {
  for (let code = 0; code <= 0xffff; code += 1) {
    const character = String.fromCharCode(code);
    const isSpace = character === "\n" || character === "\t";
    assert.equal(printableLine(character), isSpace ? " " : printable(character), code.toString(16));
  }
});
