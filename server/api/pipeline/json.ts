/** Parses the JSON of bodies (400, 413). Limits depth, fields and escapes first, and refuses strings that no store can keep. */

import { isUtf8 } from "node:buffer";
import type { ErrorDetail } from "../../../sdk/wire.ts";
import { ApiError, invalidFields } from "../../core/error.ts";
import { DETAILS_MAX } from "./errors.ts";

/** Deepest nesting of a body. */
export const DEPTH_MAX = 32;

/** Most fields and list items of a body: more than the largest metadata can have (8,191), and quickly parsed. */
export const FIELDS_MAX = 10_000;

/** Most characters of a body outside its strings: 256 KiB. */
const OUTSIDE_MAX = 262_144;

/** A longer string can only be the data of a file. In characters: 256 KiB. */
const LONG_MIN = 262_144;

/** Most escapes in long strings. Base64 needs none; clients that write `/` as `\\/` have some 160,000 in 10 MiB. */
const LONG_ESCAPES_MAX = 524_288;

/** Most backslashes and escaped quotes that are counted one by one: several times as many as texts and metadata can have. */
const ESCAPES_MAX = 131_072;

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
 * Parses a body of at least one byte. Throws 400 `INVALID_JSON` if it is not UTF-8 or not JSON, 413 if it is too deep or
 * has too many fields, and a 400 that names every string with NUL or half a surrogate pair: stores alter or refuse those.
 */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new ApiError("INVALID_JSON", "The body is not valid UTF-8.");
  const source = bytes.toString("utf8");
  // Before anything is built, and without recursion.
  checkSize(source);
  const value: unknown = parse(source);
  if (typeof value === "object" && value !== null && source.length <= QUOTABLE_MAX) SOURCES.set(value, source);
  // `includes` is far faster than the expression.
  if (source.includes("\\u") && ESCAPED_ODDITY.test(source)) refuseOddStrings(value);
  return value;
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
const BACKSLASH = 0x5c;

/** Counts brackets and commas outside strings. If the text is not JSON the count means nothing, and parsing refuses it. */
function checkSize(source: string): void {
  // 33 pairs of brackets do not fit into less.
  if (source.length <= 2 * DEPTH_MAX) return;
  const strings = new Strings(source);
  let depth = 0;
  let commas = 0;
  let outside = 0;
  for (let index = 0; index < source.length; index += 1) {
    const code = source.charCodeAt(index);
    outside += 1;
    if (outside > OUTSIDE_MAX) throw tooMany(`has more than ${OUTSIDE_MAX} characters outside of its strings`);
    if (code === QUOTE) {
      index = strings.endFrom(index);
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
}

function tooMany(problem: string): ApiError {
  return new ApiError("PAYLOAD_TOO_LARGE", `The body ${problem}. Send less.`);
}

/** Skips the strings of a body and counts their escapes. */
class Strings {
  readonly #source: string;
  #escapes = 0;
  #longEscapes = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** Index of the quote that closes the string opened at `start`, or the end of the text. */
  endFrom(start: number): number {
    for (let from = start + 1; ; ) {
      const end = this.#source.indexOf('"', from);
      if (end < 0) return this.#source.length;
      const slashes = this.#slashesBefore(end);
      if (slashes % 2 === 0) {
        if (end - start > LONG_MIN) this.#countEscapes(start, end);
        return end;
      }
      from = end + 1;
    }
  }

  #countEscapes(start: number, end: number): void {
    for (let at = start; ; at += 2) {
      at = this.#source.indexOf("\\", at);
      if (at < 0 || at >= end) return;
      this.#longEscapes += 1;
      if (this.#longEscapes > LONG_ESCAPES_MAX) throw tooMany(`has more than ${LONG_ESCAPES_MAX} escaped characters`);
    }
  }

  #slashesBefore(end: number): number {
    let slashes = 0;
    while (this.#source.charCodeAt(end - 1 - slashes) === BACKSLASH) {
      slashes += 1;
      this.#escapes += 1;
      if (this.#escapes > ESCAPES_MAX) throw tooMany(`has more than ${ESCAPES_MAX} escaped quotes and backslashes`);
    }
    return slashes;
  }
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

function refuseOddStrings(root: unknown): void {
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
  if (details.length > 0) throw invalidFields(details);
}
