/** JSON of bodies: neither too deep nor too much, and nothing in it that no store takes. */

import { isUtf8 } from "node:buffer";
import type { ErrorDetail } from "../../../sdk/wire.ts";
import { ApiError, invalidFields } from "../../core/error.ts";
import { DETAILS_MAX } from "./errors.ts";

/** Deepest nesting of a body. */
export const DEPTH_MAX = 32;

/** Most fields and list items of a body: more than the largest metadata can have (8,191), and little work. */
export const FIELDS_MAX = 10_000;

/** Most characters of a body outside of strings, where only the names and values of fields can stand: 256 KiB. */
const OUTSIDE_MAX = 262_144;

/** From this length on a string can only be the data of a file, in characters: 256 KiB. */
const LONG_MIN = 262_144;

/** Most escapes in long strings. Base64 needs none; clients that write `/` as `\\/` have some 160,000 in 10 MiB. */
const LONG_ESCAPES_MAX = 524_288;

/** Most backslashes and escaped quotes that are looked at one by one: several times what texts and metadata can have. */
const ESCAPES_MAX = 131_072;

/** Field whose strings are the caller's own affair: it is kept as JSON text, in which every character is escaped. */
const FREE_FIELD = "metadata";

/** Longest body whose numbers can be quoted as they were written, in characters: it is kept as long as its value is. */
const QUOTABLE_MAX = 16_384;

/** What bodies were parsed from. */
const SOURCES = new WeakMap<object, string>();

/** A number of a body, as its sender wrote it: `25.0010`, `1e21`. */
export class WrittenNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Finds numbers of a body as its sender wrote them, by JSON pointer (RFC 6901): null where no number stands there, or the
 * body is longer than 16 KiB. The first number that is asked for parses the body once more, so it is for refusals only.
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

/** A reviver: Node gives it the text of each primitive. */
function asWritten(_: string, value: unknown, deps?: { source?: string }): unknown {
  const text = deps?.source;
  return typeof value === "number" && text !== undefined ? new WrittenNumber(text) : value;
}

/** A value of the caller's inside a message: short, and nothing that a terminal would act on. */
export function quote(value: string): string {
  const shown = value.length > 60 ? `${value.slice(0, 60)}…` : value;
  return JSON.stringify(shown.toWellFormed());
}

/**
 * The value of a body of at least one byte. Not UTF-8 or not JSON: 400 `INVALID_JSON`. Too deep or too many fields:
 * 413. A string with NUL or half a surrogate pair: 400, all of them named, since one store would alter it and another refuse it.
 */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new ApiError("INVALID_JSON", "The body is not valid UTF-8.");
  const source = bytes.toString("utf8");
  // Both are limited before anything is built, and nothing here calls itself.
  checkSize(source);
  const value: unknown = parse(source);
  if (typeof value === "object" && value !== null && source.length <= QUOTABLE_MAX) SOURCES.set(value, source);
  // The search for two characters is far faster than the expression.
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

/** Counts brackets and commas outside strings. In what is not JSON the count means nothing, and parsing says so. */
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

function tooMany(what: string): ApiError {
  return new ApiError("PAYLOAD_TOO_LARGE", `The body ${what}. Send less.`);
}

/** The strings of a body, which are passed over. */
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

/** Raw NUL is no JSON, and UTF-8 has no surrogates: only an escape can make either. */
const ESCAPED_ODDITY = /\\u(0000|d[89a-f])/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is what is looked for
const NUL = /\u0000/;

/** Whether a store may take the string: it has no NUL and no half of a surrogate pair. */
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
