/** Opt-outs of contacts from a number, and the keywords that cause them. Pure. */

import type { OptOut as WireOptOut } from "../../sdk/wire.ts";
import type { CustomerId } from "./id.ts";
import { iso } from "./instant.ts";
import { ENDINGS, HELP_WORDS, OPENINGS, RESUME_WORDS, STOP_SENTENCES, STOP_WORDS, textsOf } from "./opt-out-words.ts";

export interface OptOut {
  /** The customer of the number at the time of the opt-out. */
  customerId: CustomerId;
  number: string;
  contact: string;
  /** Which numbers it holds for: all of the customer, and `number` whoever has it; or `number` alone. */
  scope: WireOptOut["scope"];
  source: WireOptOut["source"];
  /** The keyword that the contact wrote; null if the opt-out came another way. */
  keyword: string | null;
  createdAt: number;
}

/** A keyword as its table or the customer's settings spell it, and its intent. */
export interface Keyword {
  intent: "stop" | "start";
  word: string;
}

/** A longer text is no keyword, nor is a longer first line. */
const COMPARED_CHARACTERS_MAX = 64;
/** UTF-16 units of which a character has at most two. */
const COMPARED_UNITS_MAX = COMPARED_CHARACTERS_MAX * 2;
const LINE_END = /[\n\v\f\r\u0085\u2028\u2029]/;
/** A character that shows something. The braille blank and the place of a file in a text of iMessage show nothing. */
const SHOWN = /[^\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800\ufffc]/u;
/**
 * Blanks, hyphens and other punctuation, the symbols that keyboards have beside it, accents and characters that show nothing. `ARRÊT` is
 * `ARRET`.
 */
const IGNORED = /[\s\p{P}$+<=>^`|~\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\p{Script=Inherited}\u2800\ufffc]/gu;

/** The form in which a word and a text are compared; empty if nothing of it counts. */
export function comparedForm(text: string): string {
  return text.normalize("NFKD").toUpperCase().replace(IGNORED, "");
}

/** Words by the form in which they are compared. */
export type WordMap = ReadonlyMap<string, string>;

/** The words by the form in which they are compared. Of two with one form the first is kept. */
export function wordMap(words: Iterable<string>): WordMap {
  const map = new Map<string, string>();
  for (const word of words) {
    const form = comparedForm(word);
    if (!map.has(form)) map.set(form, word);
  }
  return map;
}

function* stopTexts(): Generator<string> {
  for (const { rows } of STOP_WORDS) for (const row of rows) yield* textsOf(row);
  for (const sentence of STOP_SENTENCES.flatMap(({ rows }) => rows).flatMap(textsOf)) {
    for (const opening of OPENINGS) for (const ending of ENDINGS) yield `${opening} ${sentence} ${ending}`.trim();
  }
}

let stops: WordMap | null = null;

/** The texts that end messages everywhere. The first question makes the map of its thousands: no start waits for it. */
function fixedStops(): WordMap {
  stops ??= wordMap(stopTexts());
  return stops;
}

const HELP = wordMap(HELP_WORDS);

/** The words that a customer chose. */
export interface ChosenWords {
  /** Words that end messages, beside those that do so everywhere. */
  stop: WordMap;
  /** All words that begin messages again. */
  resume: WordMap;
}

const NO_CHOICE: ChosenWords = { stop: new Map(), resume: wordMap(RESUME_WORDS) };

/**
 * The keyword of a message whose text consists of nothing else, or whose first line does, if it has several: `STOP`, `Quit!`, `opt-out`,
 * `please stop texting me`, also in full-width characters. Null otherwise, and if the line has more than 64 characters. The cost does not
 * grow with the text.
 */
export function keywordOf(text: string | null, { stop, resume }: ChosenWords = NO_CHOICE): Keyword | null {
  const said = comparedForm(firstLineOf(text ?? ""));
  const stopped = fixedStops().get(said) ?? stop.get(said);
  if (stopped !== undefined) return { intent: "stop", word: stopped };
  const resumed = resume.get(said);
  return resumed === undefined ? null : { intent: "start", word: resumed };
}

/** Whether a message asks for help: `HELP`, `INFO` or `AIDE`, alone as a keyword is. */
export function asksForHelp(text: string | null): boolean {
  return HELP.has(comparedForm(firstLineOf(text ?? "")));
}

/** The word that ends messages everywhere and is compared like `word`; null if there is none. */
export function fixedStopWord(word: string): string | null {
  return fixedStops().get(comparedForm(word)) ?? null;
}

/** The first line that shows something; empty if it has more than 64 characters. */
function firstLineOf(text: string): string {
  const start = text.search(SHOWN);
  if (start === -1) return "";
  const [line = ""] = text.slice(start, start + COMPARED_UNITS_MAX + 1).split(LINE_END, 1);
  return [...line].length > COMPARED_CHARACTERS_MAX ? "" : line;
}

/** The record on the wire. */
export function optOutRecord(optOut: OptOut): WireOptOut {
  const { number, contact, scope, source, keyword, createdAt } = optOut;
  return { number, contact, scope, source, keyword, createdAt: iso(createdAt) };
}
