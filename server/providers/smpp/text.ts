/** Decodes the text of a short message by its data_coding (SMPP 3.4, 5.2.19; GSM 03.38, chapter 4). Pure. */

import { fromGsm } from "../../core/gsm.ts";
import { type NationalShifts, nationalTables } from "../../core/gsm-national.ts";
import type { CarrierAlphabet } from "../../core/segment.ts";

/** The alphabets that a data_coding can name. */
type Alphabet =
  | "gsm"
  | "ascii"
  | "ia5"
  | "latin1"
  | "ucs2"
  | "binary"
  | "cyrillic"
  | "hebrew"
  | "shiftJis"
  | "eucJp"
  | "eucKr";

const SMPP_CODINGS: Readonly<Record<number, Alphabet>> = {
  1: "ia5",
  2: "binary",
  3: "latin1",
  4: "binary",
  5: "shiftJis",
  6: "cyrillic",
  7: "hebrew",
  8: "ucs2",
  9: "binary",
  10: "eucJp",
  13: "eucJp",
  14: "eucKr",
};

const ENCODINGS = {
  cyrillic: "iso-8859-5",
  hebrew: "iso-8859-8",
  shiftJis: "shift_jis",
  eucJp: "euc-jp",
  eucKr: "euc-kr",
} as const satisfies Partial<Record<Alphabet, string>>;

/** The octets of one part, with what says how to read them. */
export interface PartOctets {
  dataCoding: number;
  octets: Uint8Array;
  /** The national tables of septets; null or absent for the default alphabet. */
  shifts?: NationalShifts | null;
}

/** Settings of an instance that say how texts are read. */
export interface TextSettings {
  defaultAlphabet: CarrierAlphabet;
  ia5AsGsm: boolean;
}

export type DecodedText = { text: string } | { binary: Uint8Array };

/** The first code unit of a text in UTF-16 that says its order of octets. */
const BYTE_ORDER_MARK = "\ufeff";
const NO_CHARACTER = "\ufffd";
const NOT_ASCII = /[\u0080-\u00ff]/g;

/**
 * Decodes octets by their data_coding. NULs at the end are left out, except in septets, where that octet is a character.
 * An unknown data_coding means the GSM alphabet (GSM 03.38, chapter 4), and 0 the carrier's default.
 */
export function readText(part: PartOctets, settings: TextSettings): DecodedText {
  const { octets, shifts = null } = part;
  const alphabet = alphabetOf(part.dataCoding, settings);
  if (alphabet === "binary") return { binary: octets };
  if (alphabet === "gsm") return { text: shifts === null ? fromGsm(octets) : fromGsm(octets, nationalTables(shifts)) };
  return { text: withoutNuls(decode(alphabet, octets)) };
}

function withoutNuls(text: string): string {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === 0) end -= 1;
  return text.slice(0, end);
}

/** Whether the octets are septets, in which a NUL is a character: `@`. */
export function areSeptets({ dataCoding }: PartOctets, settings: TextSettings): boolean {
  return alphabetOf(dataCoding, settings) === "gsm";
}

/** Octets of a unit of text by its data_coding: a character in septets, or half of one in UTF-16; null for octets that are no text. */
export function unitOctetsOf(dataCoding: number): 1 | 2 | null {
  // No setting changes the size.
  const alphabet = alphabetOf(dataCoding, { defaultAlphabet: "gsm", ia5AsGsm: false });
  return alphabet === "binary" ? null : alphabet === "ucs2" ? 2 : 1;
}

function decode(alphabet: Exclude<Alphabet, "binary" | "gsm">, octets: Uint8Array): string {
  switch (alphabet) {
    case "ascii":
      return Buffer.from(octets).toString("latin1").replace(NOT_ASCII, NO_CHARACTER);
    case "ia5":
    case "latin1":
      return Buffer.from(octets).toString("latin1");
    case "ucs2":
      return fromUtf16(octets);
    default:
      return new TextDecoder(ENCODINGS[alphabet]).decode(octets);
  }
}

/**
 * High octet first, unless a byte order mark says otherwise, or each character is ASCII with the low octet first and one of them a
 * space. One NUL at the end is no half of a character.
 */
function fromUtf16(octets: Uint8Array): string {
  const units = Buffer.from(octets.subarray(0, octets.length & ~1));
  const isReversed = (units[0] === 0xff && units[1] === 0xfe) || isAsciiLowFirst(units);
  const text = (isReversed ? units : units.swap16()).toString("utf16le");
  const half = octets.length % 2 === 1 && octets.at(-1) !== 0 ? NO_CHARACTER : "";
  // A peer that writes the mark writes it into every part, maybe into the middle of a character.
  const unmarked = text.startsWith(BYTE_ORDER_MARK) ? text.replaceAll(BYTE_ORDER_MARK, "") : text;
  return unmarked.toWellFormed() + half;
}

/**
 * Whether the units are ASCII with the low octet first, and one of them is a space. Without a space nothing is certain: with the high
 * octet first each such unit is a character too, and `开一刀` is Chinese. The unit of the space would be U+2000, a space of typesetters.
 */
function isAsciiLowFirst(units: Buffer): boolean {
  const pairs = Array.from({ length: units.length / 2 }, (_, at) => ({ low: units[at * 2], high: units[at * 2 + 1] }));
  const isAscii = (low = 0xff) => (low >= 0x20 && low < 0x7f) || low === 0x0a || low === 0x0d;
  const end = pairs.findLastIndex(({ low, high }) => low !== 0 || high !== 0) + 1;
  const text = pairs.slice(0, end);
  return text.some(({ low }) => low === 0x20) && text.every(({ low, high }) => high === 0 && isAscii(low));
}

function alphabetOf(dataCoding: number, { defaultAlphabet, ia5AsGsm }: TextSettings): Alphabet {
  if (dataCoding === 0) return defaultAlphabet;
  const known = SMPP_CODINGS[dataCoding];
  if (known !== undefined) return known === "ia5" && ia5AsGsm ? "gsm" : known;
  const group = dataCoding >> 4;
  // Group 1111: message class. Group 1110: store of waiting indications in UCS-2 (GSM 03.38, 4).
  if (group === 0xf) return (dataCoding & 0x04) === 0 ? "gsm" : "binary";
  if (group === 0xe) return "ucs2";
  // Group 00xx, general coding: bits 3 and 2 name the alphabet.
  if (group < 4) return (["gsm", "binary", "ucs2", "gsm"] as const)[(dataCoding >> 2) & 3] ?? "gsm";
  return "gsm";
}
