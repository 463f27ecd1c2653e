/** Parses values of options, and refuses an invalid value with a description of valid ones. */

import { InvalidArgumentError } from "commander";
import leven from "leven";
import type { RateLimit } from "../sdk/wire.ts";
import { parseDuration } from "../server/core/duration.ts";

/** A whole number from `min` up. */
export function wholeNumber(min: number): (text: string) => number {
  return (text) => {
    if (!/^\d{1,15}$/.test(text) || Number(text) < min)
      throw new InvalidArgumentError(`It must be a whole number from ${min} up.`);
    return Number(text);
  };
}

/** Whole seconds from a number of them, or from `90s`, `15m`, `2h`, `1d`. */
export function seconds(text: string): number {
  const ms = parseDuration(/^\d+$/.test(text) ? `${text}s` : text);
  if (ms === null || ms % 1000 !== 0)
    throw new InvalidArgumentError("It must be a time such as 90, 90s, 15m, 2h or 1d.");
  return ms / 1000;
}

/** One of `choices`; another word is refused with the nearest choice. */
export function oneOf<Choice extends string>(choices: readonly Choice[]): (text: string) => Choice {
  return (text) => {
    const chosen = choices.find((choice) => choice === text);
    if (chosen === undefined) throw new InvalidArgumentError(refusal(text, choices));
    return chosen;
  };
}

/** Longest list that is shown beside a suggestion. */
const LISTED_MAX = 8;

function refusal(word: string, choices: readonly string[]): string {
  const near = nearest(word, choices);
  const list = `It must be of: ${choices.join(", ")}.`;
  if (near === null) return list;
  return choices.length > LISTED_MAX ? `Did you mean ${near}?` : `Did you mean ${near}? ${list}`;
}

/** Names that other services have for a choice. */
const NAMED_ELSEWHERE: Readonly<Record<string, string>> = { "message.received": "message.inbound" };

/** The choice that was probably meant: it ends in the word (`delivered`) or differs by a few letters; null for none. */
function nearest(word: string, choices: readonly string[]): string | null {
  const asked = word.trim().toLowerCase();
  const ending = choices.find((choice) => choice === asked || choice.endsWith(`.${asked}`));
  if (ending !== undefined) return ending;
  const elsewhere = Object.entries(NAMED_ELSEWHERE).filter(([, choice]) => choices.includes(choice));
  const [best] = [...choices.map((choice) => [choice, choice] as const), ...elsewhere]
    .map(([name, choice]) => ({ choice, distance: leven(asked, name.toLowerCase()) }))
    .sort((one, other) => one.distance - other.distance);
  return best !== undefined && best.distance <= Math.max(1, asked.length / 3) ? best.choice : null;
}

/** One or more of `choices`, with commas between; a repeated option adds to them. */
export function oneOrMore<Choice extends string>(
  choices: readonly Choice[],
): (text: string, before: Choice[] | undefined) => Choice[] {
  return (text, before = []) => {
    const chosen = text.split(",").map((word) => oneOf(choices)(word.trim()));
    return [...before, ...chosen];
  };
}

/** A text; a repeated option adds to the list. */
export function repeated(text: string, before: string[] = []): string[] {
  return [...before, text];
}

/** `key=value`; a repeated option adds to the pairs. The value stays text. */
export function pair(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("It must be key=value.");
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** `key=value`, where a key may come several times. */
export function pairs(text: string, before: [string, string][] = []): [string, string][] {
  return [...before, ...Object.entries(pair(text))];
}

/** `Name: value`; the option may be repeated. */
export function headers(text: string, before: Record<string, string> = {}): Record<string, string> {
  const [name = ""] = text.split(":", 1);
  const value = text.slice(name.length + 1).trimStart();
  if (name.length === text.length || !/^[!#$%&'*+.^_`|~\w-]+$/.test(name) || /[\n\r\u2028\u2029]/.test(value))
    throw new InvalidArgumentError("It must be a header such as Name: value.");
  return { ...before, [name]: value };
}

/** Requests and a time between a slash: `100/60s`. */
export function rateLimit(text: string): RateLimit {
  const [limit, window, ...rest] = text.split("/");
  if (limit === undefined || window === undefined || rest.length > 0) {
    throw new InvalidArgumentError("It must be requests/time, such as 100/60s.");
  }
  return { limit: wholeNumber(1)(limit), windowSeconds: seconds(window) };
}

/** Words with commas between; an empty text is none. */
export function words(text: string): string[] {
  return text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}

/** `on` or `off`. */
export function onOrOff(text: string): boolean {
  if (text !== "on" && text !== "off") throw new InvalidArgumentError("It must be on or off.");
  return text === "on";
}
