/** Parses the JSON of bodies (400, 413). Limits depth, fields and escapes first, and refuses strings that no store can keep. */

import { isUtf8 } from "node:buffer";
import type { ErrorDetail } from "../../../sdk/wire.ts";
import { withoutByteOrderMark } from "../../core/byte-order-mark.ts";
import { ApiError, invalidFields } from "../../core/error.ts";
import { DETAILS_MAX } from "./errors.ts";
import { findFaults, isExact, numberEnd } from "./json-faults.ts";
import { Strings, tooMany } from "./json-strings.ts";

/** Deepest nesting of a body. */
export const DEPTH_MAX = 32;

/** Most fields and list items of a body: more than the largest metadata can have (8,191), and quickly parsed. */
export const FIELDS_MAX = 10_000;

/** Most characters of a body outside its strings: 256 KiB. */
const OUTSIDE_MAX = 262_144;

/** This field may hold any string: the store keeps it as JSON text, where odd characters are escaped. */
const FREE_FIELD = "metadata";

/** Longest body whose source text is kept beside its value, in characters, so that errors can quote numbers as written. */
const QUOTABLE_MAX = 16_384;

/** Source texts by parsed value. */
const SOURCES = new WeakMap<object, string>();

/** A number of a body, as its sender wrote it: `25.0010`, `1e21`. */
export class WrittenNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Finds numbers of a body as its sender wrote them, by JSON pointer (RFC 6901). Null if the pointer leads to no number or
 * the body is longer than 16 KiB. The first lookup parses the body again, so only refusals use it.
 */
export function writtenNumbers(body: unknown): (pointer: string) => WrittenNumber | null {
  const source = typeof body === "object" && body !== null ? SOURCES.get(body) : undefined;
  let parsed: unknown;
  return (pointer) => {
    if (source === undefined) return null;
    parsed ??= JSON.parse(source, asWritten);
    let place = parsed;
    for (const step of pointer.split("/").slice(1)) {
      if (typeof place !== "object" || place === null) return null;
      const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
      place = Object.hasOwn(place, name) ? (place as Record<string, unknown>)[name] : undefined;
    }
    return place instanceof WrittenNumber ? place : null;
  };
}

/** A reviver for `JSON.parse`, which passes it the source text of each primitive. */
function asWritten(_: string, value: unknown, context?: { source?: string }): unknown {
  const text = context?.source;
  return typeof value === "number" && text !== undefined ? new WrittenNumber(text) : value;
}

/** Quotes a caller's value inside a message: shortened, and without characters that a terminal would act on. */
export function quote(value: string): string {
  const shown = value.length > 60 ? `${value.slice(0, 60)}…` : value;
  return JSON.stringify(shown.toWellFormed());
}

/**
 * Parses a body of at least one byte, which may begin with a byte order mark. Throws 400 `INVALID_JSON` if it is not UTF-8, not JSON, or
 * has an object that names a key twice; 413 if it is too deep or has too many fields; and a 400 that names every string with NUL or half
 * a surrogate pair, which stores alter or refuse, and every number that would not come back as it came.
 */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new ApiError("INVALID_JSON", "The body is not valid UTF-8.");
  const source = withoutByteOrderMark(bytes.toString("utf8"));
  // Before anything is built, and without recursion.
  const { names, rounds } = survey(source);
  const value: unknown = parse(source);
  if (typeof value === "object" && value !== null && source.length <= QUOTABLE_MAX) SOURCES.set(value, source);
  const { twice, numbers } = rounds || namesIn(value) < names ? findFaults(source) : NO_FAULTS;
  if (twice.length > 0) throw namedTwice(twice);
  // `includes` is far faster than the expression.
  const strings = source.includes("\\u") && ESCAPED_ODDITY.test(source) ? oddStrings(value) : [];
  const odd = [...strings, ...numbers].slice(0, DETAILS_MAX);
  if (odd.length > 0) throw invalidFields(odd);
  return value;
}

const NO_FAULTS = { twice: [], numbers: [] };

function namedTwice(details: ErrorDetail[]): ApiError {
  const message = `The body names ${quote(details[0]?.path ?? "a field")} twice in one object. Send each field once.`;
  return new ApiError("INVALID_JSON", message, { details });
}

/** How many names the objects of a value have. An object that was written with a name twice has it once. */
function namesIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const inner: unknown[] = Array.isArray(value) ? value : Object.values(value);
  let names = inner === value ? 0 : inner.length;
  for (const one of inner) names += namesIn(one);
  return names;
}

function parse(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch (error) {
    const position = / at position \d+( \(line \d+ column \d+\))?$/.exec(error instanceof Error ? error.message : "");
    throw new ApiError("INVALID_JSON", `The body is not valid JSON${position?.[0] ?? ""}. Check quotes and commas.`);
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;

/**
 * Counts the names of a text, and limits its brackets and commas outside strings. `rounds`: it has a number that a double does not hold.
 * If the text is not JSON the counts mean nothing, and parsing refuses it.
 */
function survey(source: string): { names: number; rounds: boolean } {
  const strings = new Strings(source);
  let [names, rounds] = [0, false];
  let depth = 0;
  let commas = 0;
  let outside = 0;
  for (let index = 0; index < source.length; index += 1) {
    const code = source.charCodeAt(index);
    outside += 1;
    if (outside > OUTSIDE_MAX) throw tooMany(`has more than ${OUTSIDE_MAX} characters outside of its strings`);
    if ((code >= DIGIT_0 && code <= DIGIT_9) || code === MINUS) {
      const end = numberEnd(source, index);
      outside += end - index;
      rounds ||= !isExact(source.slice(index, end + 1));
      index = end;
    } else if (code === QUOTE) {
      index = strings.endFrom(index);
    } else if (code === COLON) {
      names += 1;
    } else if (code === COMMA) {
      commas += 1;
      if (commas >= FIELDS_MAX) throw tooMany(`has more than ${FIELDS_MAX} fields`);
    } else if ((code | 0x20) === 0x7b) {
      depth += 1;
      if (depth > DEPTH_MAX) throw tooMany(`is nested deeper than ${DEPTH_MAX} levels`);
    } else if ((code | 0x20) === 0x7d) {
      depth -= 1;
    }
  }
  return { names, rounds };
}

/** Only an escape can make NUL or a surrogate: JSON forbids raw NUL, and UTF-8 has no surrogates. */
const ESCAPED_ODDITY = /\\u(0000|d[89a-f])/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds NUL
const NUL = /\u0000/;

/** Whether every store can keep the string: it contains no NUL and no half of a surrogate pair. */
export function isStorable(value: string): boolean {
  return value.isWellFormed() && !NUL.test(value);
}

const ODD = "must not contain NUL or half a surrogate pair";

function oddStrings(root: unknown): ErrorDetail[] {
  const details: ErrorDetail[] = [];
  const left: { value: unknown; path: string }[] = [{ value: root, path: "" }];
  for (let item = left.pop(); item !== undefined && details.length < DETAILS_MAX; item = left.pop()) {
    const { value, path } = item;
    if (typeof value === "string") {
      if (!isStorable(value)) details.push({ path: path || "body", message: ODD });
    } else if (Array.isArray(value)) {
      value.forEach((inner, index) => void left.push({ value: inner, path: `${path}[${index}]` }));
    } else if (typeof value === "object" && value !== null) {
      for (const [name, inner] of Object.entries(value)) {
        if (!isStorable(name)) details.push({ path: path || "body", message: `has a field whose name ${ODD}` });
        else if (name !== FREE_FIELD) left.push({ value: inner, path: path === "" ? name : `${path}.${name}` });
      }
    }
  }
  return details;
}
