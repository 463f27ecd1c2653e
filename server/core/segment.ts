/** Cuts a text into short messages: its encoding and its segments (GSM 03.40, 9.2.3.24.1). Pure. */

import type { Channel, Encoding } from "../../sdk/wire.ts";
import { countSeptets, ESCAPE, fromGsm, septetsOf, smartEncode, toGsm } from "./gsm.ts";

/** Octets of user data in one short message (GSM 03.40, 9.2.3.16). */
const SEGMENT_OCTETS = 140;

/** The user data header of a segment among several: length, and a concatenation element with an 8-bit reference (GSM 03.40, 9.2.3.24.1). */
const HEADER_OCTETS = 6;

/** The alphabet in which a carrier takes a text in GSM-7. It turns the other two into septets itself. */
export type CarrierAlphabet = "gsm" | "latin1" | "ascii";

/**
 * A text in segments. `units`: septets, code units of UTF-16, or octets, by the encoding. Each septet takes one octet
 * here. `octets` of GSM-7 are in the carrier's alphabet.
 */
export interface Segmented {
  encoding: Encoding;
  segments: { octets: Uint8Array; units: number }[];
}

export interface SegmentOptions {
  /** The carrier's default alphabet; `gsm` if absent. */
  alphabet?: CarrierAlphabet;
  /** Whether a text outside GSM-7 may use ISO 8859-1 if that has all of it. */
  latin1?: boolean;
  /**
   * Octets of the header of each of several segments: 6 by default, 7 with a 16-bit reference, 0 if the parts are
   * marked without a header.
   */
  headerOctets?: number;
  /** Whether the text stays in one segment, for a carrier that cuts it itself. */
  single?: boolean;
}

/**
 * Splits `text` into short messages: in GSM-7 if that and the carrier's alphabet have every character, else in Latin-1 if
 * `latin1` allows it and it has every character, else in UCS-2 (UTF-16, high octet first). Makes one segment if the text fits, and one empty
 * segment for an empty text. Never splits a pair of the extension table or a surrogate pair.
 */
export function segmentText(text: string, options: SegmentOptions = {}): Segmented {
  const { alphabet = "gsm" } = options;
  const septets = hasEvery(alphabet, text) ? toGsm(text) : null;
  if (septets !== null) {
    const gsm = cut("GSM-7", septets, options, (at) => septets[at - 1] === ESCAPE);
    return alphabet === "gsm" ? gsm : { ...gsm, segments: gsm.segments.map(inLatin1) };
  }
  if (options.latin1 === true && hasEvery("latin1", text))
    return cut("Latin-1", Buffer.from(text, "latin1"), options, () => false);
  return cut("UCS-2", Buffer.from(text, "utf16le").swap16(), options, (at) => isInPair(text, at));
}

/** The number of segments and units of `segmentText(text)`, counted without making the segments. */
export function measure(text: string): { encoding: Encoding; segments: number; units: number } {
  const septets = countSeptets(text);
  if (septets === null) {
    const segments = countUcs2Segments(text);
    return { encoding: "UCS-2", segments, units: text.length };
  }
  return { encoding: "GSM-7", segments: countGsmSegments(text, septets), units: septets };
}

/** The text that SMS sends: `smart` replaces characters outside GSM-7 by look-alikes. */
export function smsText(text: string, smart: boolean): string {
  return smart ? smartEncode(text) : text;
}

/** Segments and encoding for a message's record: null without a text, or if the channel is not SMS. */
export function segmentsOf(
  { channel, text }: { channel: Channel; text: string | null },
  smart: boolean,
): { segments: number; encoding: Encoding } | { segments: null; encoding: null } {
  if (channel !== "sms" || text === null || text === "") return { segments: null, encoding: null };
  const { segments, encoding } = measure(smsText(text, smart));
  return { segments, encoding };
}

/** Bits of a unit on the air. */
const UNIT_BITS = { "GSM-7": 7, "Latin-1": 8, "UCS-2": 16 } as const satisfies Record<Encoding, number>;

/** Units that fit in one segment with a header of `headerOctets`: 160 and 153, 140 and 134, 70 and 67. */
function unitsMax(encoding: Encoding, headerOctets: number): number {
  return Math.floor(((SEGMENT_OCTETS - headerOctets) * 8) / UNIT_BITS[encoding]);
}

function cut(
  encoding: Encoding,
  octets: Uint8Array,
  { headerOctets = HEADER_OCTETS, single = false }: SegmentOptions,
  isInside: (at: number) => boolean,
): Segmented {
  const octetsPerUnit = encoding === "UCS-2" ? 2 : 1;
  const units = octets.length / octetsPerUnit;
  if (single || units <= unitsMax(encoding, 0)) return { encoding, segments: [{ octets, units }] };
  const max = unitsMax(encoding, headerOctets);
  const segments: Segmented["segments"] = [];
  for (let start = 0; start < units; ) {
    let end = Math.min(start + max, units);
    if (end < units && isInside(end)) end -= 1;
    segments.push({ octets: octets.subarray(start * octetsPerUnit, end * octetsPerUnit), units: end - start });
    start = end;
  }
  return { encoding, segments };
}

function countGsmSegments(text: string, septets: number): number {
  if (septets <= unitsMax("GSM-7", 0)) return 1;
  const max = unitsMax("GSM-7", HEADER_OCTETS);
  let segments = 1;
  let used = 0;
  for (let at = 0; at < text.length; at += 1) {
    const width = septetsOf(text.charCodeAt(at));
    if (used + width > max) {
      segments += 1;
      used = 0;
    }
    used += width;
  }
  return segments;
}

function countUcs2Segments(text: string): number {
  if (text.length <= unitsMax("UCS-2", 0)) return 1;
  const max = unitsMax("UCS-2", HEADER_OCTETS);
  let segments = 0;
  for (let start = 0; start < text.length; segments += 1) {
    const end = start + max;
    start = isInPair(text, end) ? end - 1 : end;
  }
  return segments;
}

/** Whether `at` splits a surrogate pair. */
function isInPair(text: string, at: number): boolean {
  return (text.charCodeAt(at - 1) & 0xfc00) === 0xd800 && (text.charCodeAt(at) & 0xfc00) === 0xdc00;
}

/** The highest code unit of each alphabet; GSM-7 is not one range. */
const UNIT_MAX = { gsm: 0xffff, latin1: 0xff, ascii: 0x7f } as const satisfies Record<CarrierAlphabet, number>;

function hasEvery(alphabet: CarrierAlphabet, text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    if (text.charCodeAt(at) > UNIT_MAX[alphabet]) return false;
  }
  return true;
}

/** A segment of septets in Latin-1 or ASCII, which number their common characters alike. */
function inLatin1({ octets, units }: Segmented["segments"][number]): Segmented["segments"][number] {
  return { octets: Buffer.from(fromGsm(octets), "latin1"), units };
}
