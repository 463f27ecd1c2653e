/** JSON within the limits is parsed unchanged; every other body is refused with the right code. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ApiError } from "../../core/error.ts";
import { DEPTH_MAX, FIELDS_MAX, parseJson, quote } from "./json.ts";
import { isExact } from "./json-faults.ts";

/** The parsed text; of a text that was refused for its numbers, what JSON.parse makes of it. */
function parsed(source: string): unknown {
  try {
    return parseJson(Buffer.from(source));
  } catch (error) {
    const isOfNumber = error instanceof ApiError && error.message.includes("write it as a string");
    if (isOfNumber) return JSON.parse(source.trim());
    throw error;
  }
}

function refusal(source: string | Buffer): { code: string; paths: string[] | undefined } {
  try {
    parseJson(Buffer.from(source));
  } catch (error) {
    if (error instanceof ApiError) return { code: error.code, paths: error.details?.map(({ path }) => path) };
    throw error;
  }
  return { code: "none", paths: undefined };
}

test("any JSON within the limits is parsed as JSON.parse would", () => {
  fc.assert(
    fc.property(
      fc.json({ maxDepth: 8, stringUnit: "grapheme" }),
      fc.constantFrom("", " ", "\n", "\ufeff"),
      (source, space) => {
        assert.deepEqual(parsed(space + source), JSON.parse(source));
      },
    ),
  );
});

test("JSON may be 32 levels deep and no deeper, brackets in strings not counted", () => {
  const nested = (depth: number, inner = "") => "[".repeat(depth) + inner + "]".repeat(depth);
  assert.equal(refusal(nested(DEPTH_MAX)).code, "none");
  assert.equal(refusal(nested(DEPTH_MAX + 1)).code, "PAYLOAD_TOO_LARGE");
  assert.equal(refusal(`${'{"a":['.repeat(16)}${"]}".repeat(16)}`).code, "none");
  assert.equal(refusal(`${'{"a":['.repeat(16)}{}${"]}".repeat(16)}`).code, "PAYLOAD_TOO_LARGE");
  assert.equal(refusal(JSON.stringify(["[".repeat(100), '\\"[['.repeat(40), "\\"])).code, "none");
  assert.equal(refusal(nested(DEPTH_MAX, '"[[[\\\\"')).code, "none");
  assert.equal(refusal(nested(200_000)).code, "PAYLOAD_TOO_LARGE");
  assert.equal(refusal(`[${"[],".repeat(1000)}[]]`).code, "none");
});

test("a body has a bounded number of fields and items", () => {
  assert.equal(refusal(`[${"1,".repeat(FIELDS_MAX - 1)}1]`).code, "none");
  assert.equal(refusal(`[${"1,".repeat(FIELDS_MAX)}1]`).code, "PAYLOAD_TOO_LARGE");
});

test("a body of 10 MiB without a file is refused before anything is built from it", () => {
  const MAX = 10_485_760;
  const filled = (prefix: string, unit: string, suffix: string) =>
    prefix + unit.repeat(Math.floor((MAX - prefix.length - suffix.length) / unit.length)) + suffix;
  const parse = JSON.parse;
  let built = 0;
  JSON.parse = (...given) => {
    built += 1;
    return parse(...given);
  };
  try {
    for (const [prefix, unit, suffix] of [
      ['{"text":"', "\\n", '"}'],
      ['{"text":"', '\\"', '"}'],
      ['{"text":"', "\\\\", '"}'],
      ['{"text":"', "\\ud83d", '"}'],
      ['{"to":', "1", "}"],
      ["{", " ", "}"],
      ["[", '""', "]"],
      ["", "[]", ""],
      ["[", "{},", "1]"],
    ] as const) {
      assert.equal(refusal(filled(prefix, unit, suffix)).code, "PAYLOAD_TOO_LARGE", unit);
    }
    assert.equal(built, 0);
    const slashes = `\\/${"A".repeat(62)}`;
    assert.equal(refusal(filled('{"data":"', slashes, '"}')).code, "none", "base64 as PHP writes it");
    assert.equal(refusal(filled('{"data":"', "A", '"}')).code, "none");
  } finally {
    JSON.parse = parse;
  }
});

test("the error names at most 100 malformed strings", () => {
  assert.equal(refusal(`[${'"\\ud83d",'.repeat(5_000)}1]`).paths?.length, 100);
});

test("a body that is no JSON is INVALID_JSON and never another code", () => {
  for (const bad of [
    "{",
    '{"a":}',
    "",
    " ",
    "undefined",
    "'a'",
    '{"a":1,}',
    "NaN",
    '"\t"',
    '"\0"',
    '"',
    '"\\',
    "\ufeff\ufeff{}",
    "{}\ufeff",
    "\ufeff",
    "{}x",
  ]) {
    assert.equal(refusal(bad).code, "INVALID_JSON", JSON.stringify(bad));
  }
  assert.equal(refusal(Buffer.from([0x22, 0xff, 0x22])).code, "INVALID_JSON");
  assert.equal(refusal(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])).code, "INVALID_JSON");
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'[]{}",:\\ua0n1\n'.split("")), maxLength: 200 }), (source) => {
      assert.ok(["none", "INVALID_JSON", "PAYLOAD_TOO_LARGE", "VALIDATION_ERROR"].includes(refusal(source).code));
    }),
  );
});

test("NUL and halves of surrogate pairs are refused and named everywhere but in metadata", () => {
  const rows: [string, string[]][] = [
    ['{"content":{"text":"a\\u0000b"}}', ["content.text"]],
    ['{"a":["x","\\ud83d"],"b":"\\uDE00"}', ["a[1]", "b"]],
    ['{"a\\u0000":1}', ["body"]],
    ['{"a":{"\\ud800":1}}', ["a"]],
    ['"\\u0000"', ["body"]],
  ];
  for (const [source, paths] of rows) {
    assert.deepEqual({ ...refusal(source), paths: refusal(source).paths?.sort() }, { code: "VALIDATION_ERROR", paths });
  }
  assert.equal(refusal('{"text":"\\ud83d\\ude00 \\\\u0000","metadata":{"a":"\\u0000","b":["\\ud83d"]}}').code, "none");
});

test("an object that names a key twice is refused, with the path of each", () => {
  const rows: [string, string[]][] = [
    ['{"to":"a","to":"b"}', ["to"]],
    ['{"to":"a","\\u0074o":"a"}', ["to"]],
    ['{"a":{"b":[1,{"c":1,"c":2,"c":3}]}}', ["a.b[1].c", "a.b[1].c"]],
    ['{"metadata":{"x":{"y":"}","y":"{"}},"z":[{"z":1},{"z":2}]}', ["metadata.x.y"]],
    ['[{"":1,"":2}]', ["[0]."]],
    ['{"__proto__":1,"__proto__":2}', ["__proto__"]],
    [' {"a" : "\\"a\\":1,\\\\" , "a" : 1} ', ["a"]],
  ];
  for (const [source, paths] of rows) assert.deepEqual(refusal(source), { code: "INVALID_JSON", paths }, source);
  for (const fine of [
    '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}],"c":"a:a:a"}',
    '{"__proto__":{"a":1},"a":1}',
    '{"a":"::"}',
  ]) {
    assert.equal(refusal(fine).code, "none", fine);
  }
  assert.equal(refusal(`{${'"a":1,'.repeat(5_000)}"a":1}`).paths?.length, 100);
});

test("a number that would not come back as it came is refused on its path", () => {
  const rows: [string, boolean][] = [
    ["9007199254740991", true],
    ["-9007199254740991", true],
    ["9007199254740992", false],
    ["-9007199254740993", false],
    ["12345678901234567890", false],
    ["9007199254740993.0", false],
    ["9007199254740993e0", false],
    ["1e400", false],
    ["-1e400", false],
    ["1e-400", false],
    ["0.1234567890123456789", false],
    ["1.00000000000000001", false],
    ["1.0000000000000000000000000", true],
    ["100.0000000000000000000", true],
    ["0.00000000000000000012", true],
    ["0.30000000000000004", true],
    ["0.10000000000000001", true],
    ["1.0", true],
    ["-0", true],
    ["0.0e5", true],
    ["1e21", true],
    ["6.02214076e23", true],
    ["1.7976931348623157E+308", true],
    ["5e-324", true],
    ["3e-324", false],
    ["2.2250738585072014e-308", true],
  ];
  for (const [written, fits] of rows) {
    assert.equal(isExact(written), fits, written);
    const expected = fits ? { code: "none", paths: undefined } : { code: "VALIDATION_ERROR", paths: ["metadata.a[1]"] };
    assert.deepEqual(refusal(`{"metadata":{"a":[1,${written}]}}`), expected, written);
  }
  assert.deepEqual(refusal("1e999").paths, ["body"]);
  assert.equal(refusal('{"to":"12345678901234567890","a":"1e999"}').code, "none");
  assert.deepEqual(refusal('{"text":"\\u0000","a":[1e999,1e999]}').paths, ["text", "a[0]", "a[1]"]);
  assert.equal(refusal(`[${"1e999,".repeat(5_000)}1]`).paths?.length, 100);
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      assert.equal(
        isExact(JSON.stringify(value)),
        !Number.isInteger(value) || Number.isSafeInteger(value) || Math.abs(value) >= 1e21,
      );
    }),
  );
});

test("a quoted value is short and harmless", () => {
  assert.equal(quote('a"\n\u001b[31m'), '"a\\"\\n\\u001b[31m"');
  assert.ok(quote("x".repeat(1000)).length < 70);
  assert.ok(quote("\ud800").isWellFormed());
});
