/** Opt-outs of contacts from a number, and the keywords that cause them. Pure. */

import type { OptOut as WireOptOut } from "../../sdk/wire.ts";
import type { CustomerId } from "./id.ts";
import { iso } from "./instant.ts";

export interface OptOut {
  /** The customer of the number at the time of the opt-out. */
  customerId: CustomerId;
  number: string;
  contact: string;
  source: WireOptOut["source"];
  /** The keyword that the contact wrote; null if the opt-out came another way. */
  keyword: string | null;
  createdAt: number;
}

/** Keywords after which carriers in the United States and Twilio stop messages to the contact. */
const STOP_WORDS = new Set(["STOP", "UNSUBSCRIBE", "END", "QUIT", "CANCEL", "STOPALL", "REVOKE", "OPTOUT"]);
/** Keywords of Twilio that end an opt-out. */
const START_WORDS = new Set(["START", "UNSTOP", "YES"]);

/** A keyword in capitals, and its intent. */
export interface Keyword {
  intent: "stop" | "start";
  word: string;
}

/** A longer text is no keyword, nor is a longer first line. */
const COMPARED_CHARACTERS_MAX = 64;
/** UTF-16 units of which a character has at most two. */
const COMPARED_UNITS_MAX = COMPARED_CHARACTERS_MAX * 2;
const LINE_END = /[\n\v\f\r\u0085\u2028\u2029]/;
/** Blanks, hyphens and other punctuation, control characters, and characters that show nothing. */
const IGNORED = /[\s\p{P}\p{Cc}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * The keyword of a message whose first line consists of nothing else: `STOP`, `Quit!`, `opt-out`, also in full-width characters. Null
 * otherwise, and if the line has more than 64 characters. The cost does not grow with the text.
 */
export function keywordOf(text: string | null): Keyword | null {
  const word = firstLineOf(text ?? "")
    .normalize("NFKC")
    .toUpperCase()
    .replace(IGNORED, "");
  if (STOP_WORDS.has(word)) return { intent: "stop", word };
  return START_WORDS.has(word) ? { intent: "start", word } : null;
}

/** The first line that is not blank; empty if it has more than 64 characters. */
function firstLineOf(text: string): string {
  const start = text.search(/\S/);
  const [line = ""] = text.slice(start, start + COMPARED_UNITS_MAX + 1).split(LINE_END, 1);
  return [...line].length > COMPARED_CHARACTERS_MAX ? "" : line;
}

/** The record on the wire. */
export function optOutRecord(optOut: OptOut): WireOptOut {
  const { number, contact, source, keyword, createdAt } = optOut;
  return { number, contact, source, keyword, createdAt: iso(createdAt) };
}
