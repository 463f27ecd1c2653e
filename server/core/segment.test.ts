/** Tests of segmentation: its limits, what is never cut apart, and the counts of a calculator that is not ours. */

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { SegmentedMessage } from "sms-segments-calculator";
import { ANY_CHARACTER } from "../../test/support/any-character.ts";
import { runsOf } from "../../test/support/runs.ts";
import { fromGsm } from "./gsm.ts";
import { measure, type Segmented, type SegmentOptions, segmentText } from "./segment.ts";

function units(text: string, options?: SegmentOptions): number[] {
  return segmentText(text, options).segments.map((segment) => segment.units);
}

/** The text that the segments of one message carry, read from their octets alone. */
function read({ encoding, segments }: Segmented): string {
  const bytes = Buffer.concat(segments.map((segment) => segment.octets));
  if (encoding === "GSM-7") return fromGsm(bytes);
  return encoding === "Latin-1" ? bytes.toString("latin1") : Buffer.from(bytes).swap16().toString("utf16le");
}

test("a text of GSM-7 takes 160 septets alone and 153 in each of several", () => {
  assert.deepEqual(units("a".repeat(160)), [160]);
  assert.deepEqual(units("a".repeat(161)), [153, 8]);
  assert.deepEqual(units("a".repeat(306)), [153, 153]);
  assert.deepEqual(units("a".repeat(307)), [153, 153, 1]);
  assert.deepEqual(units("a".repeat(1530)), Array(10).fill(153));
  assert.deepEqual(units("€".repeat(80)), [160]);
});

test("a text of UCS-2 takes 70 units alone and 67 in each of several", () => {
  assert.deepEqual(units("ą".repeat(70)), [70]);
  assert.deepEqual(units("ą".repeat(71)), [67, 4]);
  assert.deepEqual(units("ą".repeat(134)), [67, 67]);
  assert.deepEqual(units("ą".repeat(670)), Array(10).fill(67));
});

test("a text of Latin-1 takes 140 octets alone and 134 in each of several, if the caller allows Latin-1", () => {
  assert.deepEqual(units("ê".repeat(140), { latin1: true }), [140]);
  assert.deepEqual(units("ê".repeat(141), { latin1: true }), [134, 7]);
  assert.equal(segmentText("ç", { latin1: true }).encoding, "Latin-1");
  assert.equal(segmentText("ç").encoding, "UCS-2");
  assert.equal(segmentText("çą", { latin1: true }).encoding, "UCS-2");
  assert.equal(segmentText("é€", { latin1: true }).encoding, "GSM-7");
});

test("a header of 7 octets leaves 152, 66 and 133; none leaves 160, 70 and 140 in each of several", () => {
  for (const [text, gsm7, none] of [
    ["a".repeat(480), [152, 152, 152, 24], [160, 160, 160]],
    ["ą".repeat(210), [66, 66, 66, 12], [70, 70, 70]],
    ["ê".repeat(420), [133, 133, 133, 21], [140, 140, 140]],
  ] as const) {
    assert.deepEqual(units(text, { headerOctets: 7, latin1: true }), gsm7);
    assert.deepEqual(units(text, { headerOctets: 0, latin1: true }), none);
    assert.equal(units(text, { single: true, latin1: true }).length, 1);
  }
});

test("a pair of the extension table is not cut apart", () => {
  assert.deepEqual(units("]".repeat(152)), [152, 152]);
  assert.deepEqual(units("]".repeat(153)), [152, 152, 2]);
  assert.deepEqual(units(`${"a".repeat(152)}{${"a".repeat(100)}`), [152, 102]);
  assert.deepEqual(units(`${"a".repeat(151)}{${"a".repeat(100)}`), [153, 100]);
  assert.deepEqual(units("[".repeat(241), { headerOctets: 7 }), [152, 152, 152, 26]);
});

test("a surrogate pair is not cut apart", () => {
  assert.deepEqual(units("😀".repeat(35)), [70]);
  assert.deepEqual(units("😀".repeat(36)), [66, 6]);
  assert.deepEqual(units(`${"ą".repeat(66)}😀😀😀`), [66, 6]);
  assert.deepEqual(units(`${"ą".repeat(65)}😀😀😀`), [67, 4]);
});

test("an empty text is one empty segment", () => {
  assert.deepEqual(segmentText(""), { encoding: "GSM-7", segments: [{ octets: new Uint8Array(0), units: 0 }] });
  assert.deepEqual(measure(""), { encoding: "GSM-7", segments: 1, units: 0 });
});

test("UCS-2 has its high octet first", () => {
  const [segment] = segmentText("ą😀").segments;
  assert.deepEqual([...(segment?.octets ?? [])], [0x01, 0x05, 0xd8, 0x3d, 0xde, 0x00]);
});

/** Characters of one code point that do not join with their neighbours: the calculator keeps such joined ones in one piece. */
const PLAIN = [..."abcdefghijklm nopqrstuvwxyz.@£Ωà0123456789\n\r"];
const EXTENDED = [..."\f^{}\\[~]|€"];
const OTHER = ["ç", "`", "\t", "ą", "中", "😀", "🎉", "“"];

const lengths = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: 55, max: 170 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 1540 }) },
);

/** Texts of up to ten segments, mostly around their boundaries, of an alphabet that changes from text to text. */
const texts = fc
  .tuple(fc.constantFrom(PLAIN, [...PLAIN, ...EXTENDED], EXTENDED, [...PLAIN, ...OTHER], OTHER), lengths)
  .chain(([characters, length]) =>
    fc
      .array(fc.constantFrom(...characters), { minLength: Math.max(1, length - 6), maxLength: length, size: "max" })
      .map((found) => found.join("")),
  );

test("counts and encodings are those of Twilio's calculator, in many texts", () => {
  fc.assert(
    fc.property(texts, (text) => {
      const theirs = new SegmentedMessage(text);
      const { encoding, segments } = segmentText(text);
      assert.equal(encoding, theirs.getEncodingName());
      assert.equal(segments.length, theirs.segmentsCount);
    }),
    { numRuns: runsOf(2_000) },
  );
});

test("at every length around a boundary the counts are those of Twilio's calculator", () => {
  for (const [head, tail] of [
    ["a", "€"],
    ["€", "a"],
    ["ą", "😀"],
    ["😀", "ą"],
  ] as const) {
    const width = head.length;
    for (const boundary of [67, 70, 134, 153, 160, 306, 459]) {
      for (let length = boundary - 3; length <= boundary + 3; length += 1) {
        const text = head.repeat(Math.floor(length / width)) + tail;
        assert.equal(segmentText(text).segments.length, new SegmentedMessage(text).segmentsCount, `${head}${length}`);
      }
    }
  }
});

test("the octets of all segments decode to the text, with any header, and no segment exceeds a short message", () => {
  const anything = fc.oneof(texts, fc.string({ unit: ANY_CHARACTER, maxLength: 400 }));
  fc.assert(
    fc.property(anything, fc.constantFrom(0, 6, 7), fc.boolean(), (text, headerOctets, latin1) => {
      const segmented = segmentText(text, { headerOctets, latin1 });
      assert.equal(read(segmented), text);
      const bits = { "GSM-7": 7, "Latin-1": 8, "UCS-2": 16 }[segmented.encoding];
      const header = segmented.segments.length > 1 ? headerOctets : 0;
      for (const segment of segmented.segments) {
        assert.ok(Math.ceil((segment.units * bits) / 8) + header <= 140);
        const alone = read({ encoding: segmented.encoding, segments: [segment] });
        assert.ok(!/^[\udc00-\udfff]/.test(alone) || /^[\udc00-\udfff]/.test(text), "begins within a pair");
      }
    }),
    { numRuns: runsOf(1_000) },
  );
});

test("measure() agrees with segmentText() for any text", () => {
  fc.assert(
    fc.property(fc.oneof(texts, fc.string({ unit: ANY_CHARACTER, maxLength: 400 })), (text) => {
      const { encoding, segments } = segmentText(text);
      const total = segments.reduce((sum, segment) => sum + segment.units, 0);
      assert.deepEqual(measure(text), { encoding, segments: segments.length, units: total });
    }),
    { numRuns: runsOf(2_000) },
  );
});

test("a carrier with another default alphabet gets its octets, in segments of as many septets", () => {
  const octets = (text: string, options: SegmentOptions) => {
    const { encoding, segments } = segmentText(text, options);
    return [encoding, ...segments.map((segment) => Buffer.from(segment.octets).toString("latin1"))];
  };
  assert.deepEqual(
    octets("{Zoë} @_$", { alphabet: "latin1" }),
    ["UCS-2", "\0{\0Z\0o\0ë\0}\0 \0@\0_\0$"],
    "no ë on phones",
  );
  assert.deepEqual(octets("{Zoé} @_$£", { alphabet: "latin1" }), ["GSM-7", "{Zoé} @_$£"]);
  assert.deepEqual(octets("{Zoe} @_$", { alphabet: "ascii" }), ["GSM-7", "{Zoe} @_$"]);
  for (const [text, alphabet] of [
    ["é", "ascii"],
    ["`", "ascii"],
    ["€", "latin1"],
    ["Δ", "latin1"],
  ] as const) {
    assert.equal(segmentText(text, { alphabet }).encoding, "UCS-2", text);
  }
  assert.equal(segmentText("Zoë", { alphabet: "ascii", latin1: true }).encoding, "Latin-1");
  // On the air a bracket takes two septets, so that 80 are a whole segment.
  assert.deepEqual(units("[".repeat(80), { alphabet: "latin1" }), [160]);
  assert.deepEqual(units("[".repeat(81), { alphabet: "ascii" }), [152, 10]);
  assert.deepEqual(octets("[".repeat(81), { alphabet: "ascii" }), ["GSM-7", "[".repeat(76), "[".repeat(5)]);
});
