/** The seven-bit alphabet of SMS (GSM 03.38, 6.2.1): encodes and decodes text, and replaces characters that it lacks. Pure. */

/** The default alphabet in the order of its codes, 0 to 127 (GSM 03.38, 6.2.1). Code 27 is the escape. */
const DEFAULT_ALPHABET =
  "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\x1bÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?" +
  "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà";

/** Characters that take an escape and a code (GSM 03.38, 6.2.1.1). */
const EXTENSION: readonly (readonly [number, string])[] = [
  [0x0a, "\f"],
  [0x14, "^"],
  [0x28, "{"],
  [0x29, "}"],
  [0x2f, "\\"],
  [0x3c, "["],
  [0x3d, "~"],
  [0x3e, "]"],
  [0x40, "|"],
  [0x65, "€"],
];

/** The septet that announces a code of the extension table. */
export const ESCAPE = 0x1b;

const NOT_IN_IT = -1;
const EXTENDED = 0x100;

/** By code unit: the septet, with `EXTENDED` added for one of the extension table, or `NOT_IN_IT`. The euro sign is the highest. */
const CODES = new Int16Array(0x20ad).fill(NOT_IN_IT);
for (let code = 0; code < DEFAULT_ALPHABET.length; code += 1) {
  if (code !== ESCAPE) CODES[DEFAULT_ALPHABET.charCodeAt(code)] = code;
}
for (const [code, character] of EXTENSION) CODES[character.charCodeAt(0)] = EXTENDED | code;

/** The two tables of a text in seven bits. */
export interface GsmTables {
  /** The characters by code, 0 to 127. */
  main: readonly string[];
  /** The characters after an escape, by code; null if none of them is known. */
  extension: ReadonlyMap<number, string> | null;
}

/** The default alphabet with its extension table. */
export const DEFAULT_TABLES: GsmTables = { main: Array.from(DEFAULT_ALPHABET), extension: new Map(EXTENSION) };

/** Replaces an octet above 127, which is no septet. */
const NO_CHARACTER = "\ufffd";

/** Septets of a code unit: 1, or 2 from the extension table; 0 if the alphabet lacks it. */
export function septetsOf(unit: number): 0 | 1 | 2 {
  const code = CODES[unit] ?? NOT_IN_IT;
  if (code === NOT_IN_IT) return 0;
  return code < EXTENDED ? 1 : 2;
}

/** Septets of `text`; null if the alphabet lacks a character of it. */
export function countSeptets(text: string): number | null {
  let count = 0;
  for (let at = 0; at < text.length; at += 1) {
    const septets = septetsOf(text.charCodeAt(at));
    if (septets === 0) return null;
    count += septets;
  }
  return count;
}

/**
 * `text` as septets, one per octet, not packed; a character of the extension table is `ESCAPE` and its code. Null if the
 * alphabet lacks a character of it.
 */
export function toGsm(text: string): Uint8Array | null {
  const count = countSeptets(text);
  if (count === null) return null;
  const septets = new Uint8Array(count);
  let to = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = CODES[text.charCodeAt(at)] ?? NOT_IN_IT;
    if (code >= EXTENDED) {
      septets[to] = ESCAPE;
      to += 1;
    }
    septets[to] = code & 0x7f;
    to += 1;
  }
  return septets;
}

/**
 * The text of septets, one per octet. An escape before a code that the extension table lacks is ignored; before another escape
 * or the end it is a space (GSM 03.38, 6.2.1 and 6.2.1.1). An octet above 127 becomes U+FFFD, and so does any code after an
 * escape if the extension table is not known.
 */
export function fromGsm(septets: Uint8Array, { main, extension }: GsmTables = DEFAULT_TABLES): string {
  let text = "";
  for (let at = 0; at < septets.length; at += 1) {
    const code = septets[at] ?? 0;
    if (code !== ESCAPE) {
      text += main[code] ?? NO_CHARACTER;
      continue;
    }
    at += 1;
    const extended = septets[at];
    if (extended === undefined || extended === ESCAPE) text += " ";
    else if (extension === null) text += NO_CHARACTER;
    else text += extension.get(extended) ?? main[extended] ?? NO_CHARACTER;
  }
  return text;
}

/** Replacements within the alphabet: the replacement, and the characters that it replaces. */
const SAME_READING: readonly (readonly [string, string])[] = [
  ['"', "«»“”„‟″ʺˮ❝❞〝〞"],
  ["'", "‘’‚‛′ʹʻʼʽˈˊˋ`´❛❜"],
  ["-", "\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\ufe58\ufe63•"],
  ["<", "‹"],
  [">", "›"],
  ["/", "\u2044\u2215\u29f8"],
  ["...", "…"],
  ["!!", "‼"],
  ["\n", "\u0085\u2028\u2029"],
  [" ", "\t\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"],
  ["ff", "ﬀ"],
  ["fi", "ﬁ"],
  ["fl", "ﬂ"],
  ["ffi", "ﬃ"],
  ["ffl", "ﬄ"],
  ["st", "ﬅﬆ"],
  // Invisible: soft hyphen, zero width, direction and variation marks, byte order mark.
  [
    "",
    "\u00ad\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufe0e\ufe0f\ufeff",
  ],
];

/** Offset of the full-width forms of `!` to `~` (Unicode, FF01 to FF5E). */
const FULL_WIDTH_OFFSET = 0xfee0;

const REPLACEMENTS: ReadonlyMap<string, string> = new Map([
  ...SAME_READING.flatMap(([written, characters]) =>
    Array.from(characters, (character) => [character, written] as const),
  ),
  ...Array.from({ length: 0x7f - 0x21 }, (_, at): [string, string] => [
    String.fromCharCode(0x21 + at + FULL_WIDTH_OFFSET),
    String.fromCharCode(0x21 + at),
  ]),
]);

/**
 * `text` with characters that the alphabet lacks (quotation marks, dashes, spaces, an ellipsis, ligatures, full-width and
 * composed forms) replaced by similar ones that it has. Returns `text` unchanged if the alphabet has all of it, or lacks a
 * character even then: the whole text is sent as UCS-2 in that case, and replacements would gain nothing.
 */
export function smartEncode(text: string): string {
  if (countSeptets(text) !== null) return text;
  let encoded = "";
  for (const character of text.normalize("NFC")) {
    encoded += septetsOf(character.charCodeAt(0)) > 0 ? character : (REPLACEMENTS.get(character) ?? character);
  }
  return encoded === "" || countSeptets(encoded) === null ? text : encoded;
}
