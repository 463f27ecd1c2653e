/** National tables of the seven-bit alphabet of SMS: languages that replace the default alphabet or its extension table (3GPP TS 23.038, annex A). Pure. */

import { DEFAULT_TABLES, type GsmTables } from "./gsm.ts";

/** The languages of a text's two tables, by their numbers in the user data header (TS 23.038, 6.2.1.2.4); null for the default table. */
export interface NationalShifts {
  /** The language whose table replaces the default alphabet. */
  locking: number | null;
  /** The language whose table replaces the extension table, which an escape announces. */
  single: number | null;
}

const TURKISH = 1;
const SPANISH = 2;
const PORTUGUESE = 3;

/** Codes and their characters, in pairs. */
type Codes = readonly (readonly [code: number, character: string])[];

/** Characters of the locking shift tables in place of those of the default alphabet (A.3.1, A.3.3). Spanish has none (A.3.2). */
const LOCKING: Readonly<Record<number, Codes>> = {
  [TURKISH]: [
    ...runOf(0x04, "€"),
    ...runOf(0x07, "ı"),
    ...runOf(0x0b, "Ğğ"),
    ...runOf(0x1c, "Şş"),
    ...runOf(0x40, "İ"),
    ...runOf(0x60, "ç"),
  ],
  [PORTUGUESE]: [
    ...runOf(0x04, "ê"),
    ...runOf(0x06, "úíóç"),
    ...runOf(0x0b, "Ôô"),
    ...runOf(0x0e, "Áá"),
    ...runOf(0x12, "ªÇÀ∞^\\€Ó|"),
    ...runOf(0x1c, "ÂâÊ"),
    ...runOf(0x24, "º"),
    ...runOf(0x40, "Í"),
    ...runOf(0x5b, "ÃÕÚ"),
    ...runOf(0x60, "~"),
    ...runOf(0x7b, "ãõ`"),
  ],
};

/** Characters of the single shift tables besides those of the extension table, or in place of them (A.2.1 to A.2.3). */
const SINGLE: Readonly<Record<number, Codes>> = {
  [TURKISH]: [
    [0x47, "Ğ"],
    [0x49, "İ"],
    [0x53, "Ş"],
    [0x63, "ç"],
    [0x67, "ğ"],
    [0x69, "ı"],
    [0x73, "ş"],
  ],
  [SPANISH]: [
    [0x09, "ç"],
    [0x41, "Á"],
    [0x49, "Í"],
    [0x4f, "Ó"],
    [0x55, "Ú"],
    [0x61, "á"],
    [0x69, "í"],
    [0x6f, "ó"],
    [0x75, "ú"],
  ],
  [PORTUGUESE]: [
    [0x05, "ê"],
    [0x09, "ç"],
    ...runOf(0x0b, "Ôô"),
    ...runOf(0x0e, "Áá"),
    ...runOf(0x12, "ΦΓ^ΩΠΨΣΘ"),
    [0x1f, "Ê"],
    [0x41, "À"],
    [0x49, "Í"],
    [0x4f, "Ó"],
    [0x55, "Ú"],
    ...runOf(0x5b, "ÃÕ"),
    [0x61, "Â"],
    [0x69, "í"],
    [0x6f, "ó"],
    [0x75, "ú"],
    ...runOf(0x7b, "ãõ"),
    [0x7f, "â"],
  ],
};

/** The main table of a language that is not here: the same in all of them are only the ends of lines and the space. */
const UNKNOWN_MAIN: readonly string[] = DEFAULT_TABLES.main.map((character) =>
  ["\n", "\r", " "].includes(character) ? character : "\ufffd",
);

/**
 * The tables of a text. Known are Turkish (1), Spanish (2, single shift) and Portuguese (3). A character of any other
 * language's table is U+FFFD: another table would show a wrong letter.
 */
export function nationalTables({ locking, single }: NationalShifts): GsmTables {
  return { main: mainOf(locking), extension: extensionOf(single) };
}

function mainOf(language: number | null): readonly string[] {
  if (language === null) return DEFAULT_TABLES.main;
  const codes = LOCKING[language];
  if (codes === undefined) return UNKNOWN_MAIN;
  const main = [...DEFAULT_TABLES.main];
  for (const [code, character] of codes) main[code] = character;
  return main;
}

function extensionOf(language: number | null): GsmTables["extension"] {
  if (language === null) return DEFAULT_TABLES.extension;
  const codes = SINGLE[language];
  return codes === undefined ? null : new Map([...(DEFAULT_TABLES.extension ?? []), ...codes]);
}

/** Characters with successive codes. */
function runOf(first: number, characters: string): Codes {
  return Array.from(characters, (character, at) => [first + at, character] as const);
}
