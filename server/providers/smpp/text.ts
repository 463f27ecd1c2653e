/** Decodes the text of a short message by its data_coding (SMPP 3.4, 5.2.19; GSM 03.38, chapter 4). Pure. */

import { fromGsm } from "../../core/gsm.ts";

/** The alphabets that a data_coding can name. */
type Alphabet = "gsm" | "ascii" | "latin1" | "ucs2" | "binary" | "cyrillic" | "hebrew" | "shiftJis" | "eucJp" | "eucKr";

const SMPP_CODINGS: Readonly<Record<number, Alphabet>> = {
  0: "gsm",
  1: "ascii",
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
  ucs2: "utf-16be",
} as const satisfies Partial<Record<Alphabet, string>>;

export type DecodedText = { text: string } | { binary: Uint8Array };

/**
 * Decodes octets by their data_coding. `ia5AsGsm`: the SMSC writes IA5 (1) for octets in the GSM alphabet. An unknown
 * data_coding means the default alphabet (GSM 03.38, chapter 4).
 */
export function readText(dataCoding: number, octets: Uint8Array, { ia5AsGsm }: { ia5AsGsm: boolean }): DecodedText {
  const alphabet = alphabetOf(dataCoding);
  switch (alphabet) {
    case "binary":
      return { binary: octets };
    case "gsm":
      return { text: fromGsm(octets) };
    case "ascii":
      return { text: ia5AsGsm ? fromGsm(octets) : Buffer.from(octets).toString("latin1") };
    case "latin1":
      return { text: Buffer.from(octets).toString("latin1") };
    default:
      return { text: new TextDecoder(ENCODINGS[alphabet]).decode(octets) };
  }
}

function alphabetOf(dataCoding: number): Alphabet {
  const known = SMPP_CODINGS[dataCoding];
  if (known !== undefined) return known;
  const group = dataCoding >> 4;
  // Group 1111: message class. Group 1110: store of waiting indications in UCS-2 (GSM 03.38, 4).
  if (group === 0xf) return (dataCoding & 0x04) === 0 ? "gsm" : "binary";
  if (group === 0xe) return "ucs2";
  // Group 00xx, general coding: bits 3 and 2 name the alphabet.
  if (group < 4) return (["gsm", "binary", "ucs2", "gsm"] as const)[(dataCoding >> 2) & 3] ?? "gsm";
  return "gsm";
}
