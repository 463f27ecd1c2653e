/** Characters for the texts of random tests. */

import fc from "fast-check";

/** First of the lone surrogates, which no text has alone, and how many there are. */
const SURROGATES_AT = 0xd800;
const SURROGATES = 0x800;

/**
 * Every character that Unicode has room for, as `unit` of `fc.string`. The unit `"binary"` of fast-check has the same characters, and makes a map of
 * all million before its first text.
 */
export const ANY_CHARACTER: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: 0x10_ffff - SURROGATES })
  .map((at) => String.fromCodePoint(at < SURROGATES_AT ? at : at + SURROGATES));
