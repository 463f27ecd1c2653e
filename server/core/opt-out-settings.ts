/** The settings of a customer's opt-outs: their defaults, how a request changes them, and the words that they name. Pure. */

import type { ErrorDetail, OptOutSettings, SetOptOutSettings } from "../../sdk/wire.ts";
import { invalidFields } from "./error.ts";
import { type ChosenWords, comparedForm, fixedStopWord, wordMap } from "./opt-out.ts";
import { RESUME_WORDS } from "./opt-out-words.ts";

/** The settings of a customer that has set none. */
export const DEFAULT_OPT_OUT_SETTINGS: OptOutSettings = {
  scope: "customer",
  keywords: [],
  resume: [...RESUME_WORDS],
  confirmation: null,
  help: null,
};

/**
 * The settings after a request that names some of them. Throws a 400 that names each word of which nothing is compared, and each that
 * would both end and begin messages.
 */
export function changedOptOutSettings(
  settings: OptOutSettings,
  { scope, keywords, resume, confirmation, help }: SetOptOutSettings,
): OptOutSettings {
  const changed: OptOutSettings = {
    scope: scope ?? settings.scope,
    keywords: keywords ?? settings.keywords,
    resume: resume ?? settings.resume,
    confirmation: confirmation === undefined ? settings.confirmation : confirmation,
    help: help === undefined ? settings.help : help,
  };
  const problems = [
    ...(keywords === undefined ? [] : problemsOf("keywords", keywords, () => null)),
    ...(resume === undefined ? [] : problemsOf("resume", resume, fixedStopWord)),
    ...inBoth(changed, resume === undefined ? "keywords" : "resume"),
  ];
  if (problems.length > 0) throw invalidFields(problems);
  return changed;
}

function problemsOf(list: string, words: readonly string[], taken: (word: string) => string | null): ErrorDetail[] {
  return words.flatMap((word, index) => {
    const path = `${list}[${index}]`;
    if (comparedForm(word) === "") return [{ path, message: "must have a letter, a digit or a sign" }];
    return taken(word) === null ? [] : [{ path, message: "is one of the fixed words that end messages" }];
  });
}

/** The words of `list` that are in the other list too. */
function inBoth(settings: OptOutSettings, list: "keywords" | "resume"): ErrorDetail[] {
  const other = list === "keywords" ? "resume" : "keywords";
  const others = wordMap(settings[other]);
  return settings[list].flatMap((word, index) => {
    const form = comparedForm(word);
    if (form === "" || !others.has(form)) return [];
    return [{ path: `${list}[${index}]`, message: `is in ${other} too` }];
  });
}

const chosen = new WeakMap<OptOutSettings, ChosenWords>();

/** The words of the settings in the form in which they are compared; made once for each object. */
export function chosenWords(settings: OptOutSettings): ChosenWords {
  const known = chosen.get(settings);
  if (known !== undefined) return known;
  const words = { stop: wordMap(settings.keywords), resume: wordMap(settings.resume) };
  chosen.set(settings, words);
  return words;
}
