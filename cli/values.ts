/** Values of options: read from their text, or refused with what would be right. */

import { InvalidArgumentError } from "commander";
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

/** One of `choices`, or several with commas between; the option may be repeated, and adds up. */
export function oneOrMore<Choice extends string>(
  choices: readonly Choice[],
): (text: string, before: Choice[] | undefined) => Choice[] {
  return (text, before = []) => {
    const chosen = text.split(",").map((word) => choices.find((choice) => choice === word.trim()));
    if (!chosen.every((choice) => choice !== undefined)) {
      throw new InvalidArgumentError(`It must be of: ${choices.join(", ")}.`);
    }
    return [...before, ...chosen];
  };
}

/** `key=value`; the option may be repeated, and adds up. The value is kept as text. */
export function pair(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("It must be key=value.");
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
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
