/** Opt-outs: contacts that do not want messages from a number, and the words by which they say so. Pure. */

import type { OptOut as WireOptOut } from "../../sdk/wire.ts";
import type { CustomerId } from "./id.ts";
import { iso } from "./instant.ts";

export interface OptOut {
  /** Who had the number when the contact was put on its list. */
  customerId: CustomerId;
  number: string;
  contact: string;
  source: WireOptOut["source"];
  /** What the contact wrote, where that was it. */
  keyword: string | null;
  createdAt: number;
}

/** The words for which carriers in the United States, and Twilio, end messages to whoever writes one of them. */
const STOP_WORDS = new Set(["STOP", "UNSUBSCRIBE", "END", "QUIT", "CANCEL", "STOPALL", "REVOKE", "OPTOUT"]);
/** Twilio's words to take that back. */
const START_WORDS = new Set(["START", "UNSTOP", "YES"]);

/** What a contact asked for with the whole of a message, and the word for it in capitals. */
export interface Keyword {
  intent: "stop" | "start";
  word: string;
}

/** Blanks and punctuation around a word: people write `STOP.`, `Quit!` and `"stop"`. */
const AROUND = /^[\s\p{P}]+|[\s\p{P}]+$/gu;

/**
 * The keyword that `text` is: the whole of it, in any case, blanks and punctuation around it left out. Null for anything
 * else.
 */
export function keywordOf(text: string | null): Keyword | null {
  const word = text?.replace(AROUND, "").toUpperCase() ?? "";
  if (STOP_WORDS.has(word)) return { intent: "stop", word };
  return START_WORDS.has(word) ? { intent: "start", word } : null;
}

/** The record on the wire. */
export function optOutRecord(optOut: OptOut): WireOptOut {
  const { number, contact, source, keyword, createdAt } = optOut;
  return { number, contact, source, keyword, createdAt: iso(createdAt) };
}
