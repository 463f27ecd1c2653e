/** Tests of the national tables: each character has the code of its table, and nothing is shown of an unknown one. */

import assert from "node:assert/strict";
import test from "node:test";
import { fromGsm } from "./gsm.ts";
import { nationalTables } from "./gsm-national.ts";

/** The tables by their columns, as they stand in TS 23.038, annex A; an escape is a NUL. */
const LOCKING: Readonly<Record<number, readonly string[]>> = {
  1: [
    "@£$¥€éùıòÇ\nĞğ\rÅå",
    "Δ_ΦΓΛΩΠΨΣΘΞ\0ŞşßÉ",
    " !\"#¤%&'()*+,-./",
    "0123456789:;<=>?",
    "İABCDEFGHIJKLMNO",
    "PQRSTUVWXYZÄÖÑÜ§",
    "çabcdefghijklmno",
    "pqrstuvwxyzäöñüà",
  ],
  3: [
    "@£$¥êéúíóç\nÔô\rÁá",
    "Δ_ªÇÀ∞^\\€Ó|\0ÂâÊÉ",
    " !\"#º%&'()*+,-./",
    "0123456789:;<=>?",
    "ÍABCDEFGHIJKLMNO",
    "PQRSTUVWXYZÃÕÚÜ§",
    "~abcdefghijklmno",
    "pqrstuvwxyzãõ`üà",
  ],
};

/** Characters of the single shift tables by code in hexadecimal. */
const EXTENSION = "0a\f 14^ 28{ 29} 2f\\ 3c[ 3d~ 3e] 40| 65€";
const SINGLE: Readonly<Record<number, string>> = {
  1: `${EXTENSION} 47Ğ 49İ 53Ş 63ç 67ğ 69ı 73ş`,
  2: `${EXTENSION} 09ç 41Á 49Í 4fÓ 55Ú 61á 69í 6fó 75ú`,
  3: `${EXTENSION} 05ê 09ç 0bÔ 0cô 0eÁ 0fá 12Φ 13Γ 15Ω 16Π 17Ψ 18Σ 19Θ 1fÊ 41À 49Í 4fÓ 55Ú 5bÃ 5cÕ 61Â 69í 6fó 75ú 7bã 7cõ 7fâ`,
};

test("each code of a locking shift table is the character of its column and row", () => {
  for (const [language, columns] of Object.entries(LOCKING)) {
    const tables = nationalTables({ locking: Number(language), single: null });
    for (const [high, column] of columns.entries()) {
      assert.equal(column.length, 16);
      for (const [low, character] of [...column].entries()) {
        if (character !== "\0") assert.equal(fromGsm(Uint8Array.of(high * 16 + low), tables), character);
      }
    }
    assert.equal(fromGsm(Uint8Array.of(0x1b, 0x65), tables), "€", "the extension table stays");
  }
});

test("a code after an escape is that of the single shift table, else that of the main table", () => {
  for (const [language, entries] of Object.entries(SINGLE)) {
    const tables = nationalTables({ locking: null, single: Number(language) });
    const known = new Map(
      entries.split(/ (?=[0-9a-f]{2})/).map((entry) => [Number.parseInt(entry, 16), entry.slice(2)]),
    );
    for (let code = 0; code < 0x80; code += 1) {
      if (code === 0x1b) continue;
      const shown = fromGsm(Uint8Array.of(0x1b, code), tables);
      assert.equal(shown, known.get(code) ?? fromGsm(Uint8Array.of(code)), `${language}: ${code.toString(16)}`);
    }
  }
});

test("a language without a table shows U+FFFD, and never a letter of another table", () => {
  const octets = Uint8Array.of(0x41, 0x0a, 0x20, 0x1b, 0x41, 0x1b, 0x65);
  for (const language of [0, 2, 4, 13, 14, 255]) {
    const locking = fromGsm(octets, nationalTables({ locking: language, single: language === 2 ? 99 : language }));
    assert.equal(locking, "\ufffd\n \ufffd\ufffd", String(language));
  }
  assert.equal(fromGsm(octets, nationalTables({ locking: null, single: 4 })), "A\n \ufffd\ufffd");
});
