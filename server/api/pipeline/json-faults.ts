/**
 * Finds what `JSON.parse` takes in silence and changes: names that an object has twice, of which it keeps the last, and numbers that
 * a double cannot hold. Pure.
 */

import type { ErrorDetail } from "../../../sdk/wire.ts";
import { DETAILS_MAX } from "./errors.ts";
import { Strings } from "./json-strings.ts";

/** Most significant digits of a number: as many as tell every double from its neighbours (IEEE 754, 5.12.2). */
const DIGITS_MAX = 17;

/** The smallest number that a double holds with its full precision: 2^-1022. */
const NORMAL_MIN = 2.2250738585072014e-308;

/** Longest name and number that a detail shows, in characters. */
const SHOWN_MAX = 60;

/** The faults of a text of JSON: at most 100 of each kind. */
export interface JsonFaults {
  twice: ErrorDetail[];
  numbers: ErrorDetail[];
}

/** An object or a list that is open at a place of the text. */
interface OpenValue {
  path: string;
  /** The names so far of an object; null for a list. */
  names: Set<string> | null;
  /** The name that comes next has not come yet. */
  awaitsName: boolean;
  name: string;
  index: number;
}

/** Reads a text that `JSON.parse` has parsed. Takes time by the length of the text alone. */
export function findFaults(source: string): JsonFaults {
  const faults: JsonFaults = { twice: [], numbers: [] };
  const strings = new Strings(source);
  const open: OpenValue[] = [];
  for (let at = 0; at < source.length; at += 1) {
    const inner = open.at(-1);
    const char = source.charAt(at);
    if (char === '"') {
      const end = strings.endFrom(at);
      if (inner?.awaitsName === true) takeName(inner, JSON.parse(source.slice(at, end + 1)), faults.twice);
      at = end;
    } else if (char === "{" || char === "[") {
      const names = char === "{" ? new Set<string>() : null;
      open.push({ path: pathIn(inner), names, awaitsName: names !== null, name: "", index: 0 });
    } else if (char === "}" || char === "]") {
      open.pop();
    } else if (char === "," && inner !== undefined) {
      inner.index += 1;
      inner.awaitsName = inner.names !== null;
    } else if (char === "-" || (char >= "0" && char <= "9")) {
      const end = numberEnd(source, at);
      const written = source.slice(at, end + 1);
      if (!isExact(written)) add(faults.numbers, pathIn(inner), `${INEXACT}; got ${shortened(written)}`);
      at = end;
    }
  }
  return faults;
}

/** Longest number that is looked at: the smallest double takes 1,076 characters without an exponent. */
const LENGTH_MAX = 1_100;

const INEXACT = "is a number that cannot be returned as it came: write it as a string";

/** Index of the last character of the number that begins at `start` in a text of JSON. */
export function numberEnd(source: string, start: number): number {
  let end = start + 1;
  // Digits and `+-.`, `E`, `e`: in JSON nothing of it can follow a number.
  for (; ; end += 1) {
    const code = source.charCodeAt(end);
    const isPart = (code >= 0x2b && code <= 0x39 && code !== 0x2c && code !== 0x2f) || (code | 0x20) === 0x65;
    if (!isPart) return end - 1;
  }
}

/** Longest number without an exponent that is exact whatever it is: a double holds every decimal of 15 digits (IEEE 754, 5.12.2). */
const EXACT_LENGTH_MAX = 15;

/**
 * Whether a number comes back as it came: an integer within ±(2^53 - 1), or any other number of at most 17 significant digits that a double
 * holds. Other spellings of one number count as the same: `1.0` comes back as `1`.
 */
export function isExact(written: string): boolean {
  if (written.length <= EXACT_LENGTH_MAX && !/e/i.test(written)) return true;
  if (written.length > LENGTH_MAX) return false;
  const value = Number(written);
  if (!Number.isFinite(value)) return false;
  const { digits, exponent } = decimalOf(written);
  if (digits.length > DIGITS_MAX) return false;
  const size = Math.abs(value);
  if (size <= Number.MAX_SAFE_INTEGER && (size >= NORMAL_MIN || digits === "")) return true;
  if (/^-?\d+$/.test(written)) return false;
  const held = decimalOf(String(size));
  return held.digits === digits && held.exponent === exponent;
}

/** The significant digits of a number, and the power of ten of the last one. `digits` of 0 is empty. */
function decimalOf(written: string): { digits: string; exponent: number } {
  const [mantissa = "", power = "0"] = written.toLowerCase().replace(/^-/, "").split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const all = (whole + fraction).replace(/^0+/, "");
  let end = all.length;
  while (end > 0 && all.charAt(end - 1) === "0") end -= 1;
  return { digits: all.slice(0, end), exponent: Number(power) - fraction.length + all.length - end };
}

function takeName(object: OpenValue, name: string, twice: ErrorDetail[]): void {
  object.awaitsName = false;
  object.name = name;
  if (object.names?.has(name) === true) add(twice, pathIn(object), "is there twice");
  object.names?.add(name);
}

function add(found: ErrorDetail[], path: string, message: string): void {
  if (found.length < DETAILS_MAX) found.push({ path: path === "" ? "body" : path, message });
}

/** The path of the value that comes next in an open one: `metadata.prices[2]`. */
function pathIn(inner: OpenValue | undefined): string {
  if (inner === undefined) return "";
  const { path, names, index } = inner;
  if (names === null) return `${path}[${index}]`;
  const name = shortened(inner.name).toWellFormed();
  return path === "" ? name : `${path}.${name}`;
}

function shortened(text: string): string {
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}
