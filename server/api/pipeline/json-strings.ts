/** Skips the strings of a JSON text, and limits their escapes (413). */

import { ApiError } from "../../core/error.ts";

/** A longer string can only be the data of a file. In characters: 256 KiB. */
const LONG_MIN = 262_144;

/** Most escapes in long strings. Base64 needs none; clients that write `/` as `\\/` have some 160,000 in 10 MiB. */
const LONG_ESCAPES_MAX = 524_288;

/** Most backslashes and escaped quotes that are counted one by one: several times as many as texts and metadata can have. */
const ESCAPES_MAX = 131_072;

const BACKSLASH = 0x5c;

/** The 413 of a body with too much of something. */
export function tooMany(problem: string): ApiError {
  return new ApiError("PAYLOAD_TOO_LARGE", `The body ${problem}. Send less.`);
}

/** Skips the strings of a body and counts their escapes. */
export class Strings {
  readonly #source: string;
  #escapes = 0;
  #longEscapes = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** Index of the quote that closes the string opened at `start`, or the end of the text. Throws 413 for too many escapes. */
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
