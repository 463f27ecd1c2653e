/** The text of a short message by its data_coding (SMPP 3.4, 5.2.19; GSM 03.38, chapter 4). Pure. */

import { fromGsm } from "../../core/gsm.ts";

/** Alphabets that a data_coding can name; `binary` is none. */
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

/** What a message is made of: text, or octets that are none. */
export type DecodedText = { text: string } | { binary: Uint8Array };

/**
 * What octets of this data_coding are. `ia5AsGsm`: an SMSC says IA5 (1) of octets that are in the alphabet of GSM. One that
 * nobody knows is the default alphabet (GSM 03.38, chapter 4).
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
  // Message class with a meaning (GSM 03.38, 4: 1111), and store of waiting indications (1110: UCS-2).
  if (group === 0xf) return (dataCoding & 0x04) === 0 ? "gsm" : "binary";
  if (group === 0xe) return "ucs2";
  // General coding (00xx): bits 3 and 2 name the alphabet.
  if (group < 4) return (["gsm", "binary", "ucs2", "gsm"] as const)[(dataCoding >> 2) & 3] ?? "gsm";
  return "gsm";
}
