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

/** Blanks and punctuation around a keyword: people write `STOP.`, `Quit!` and `"stop"`. */
const AROUND = /^[\s\p{P}]+|[\s\p{P}]+$/gu;

/**
 * The keyword of a message that consists of nothing else, in any case, with blanks and punctuation around it. Null otherwise.
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
