/** One error names every bad field by its path and says what is expected. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Type } from "typebox";
import { providerConfigs } from "../../../contract/instances.ts";
import { closed, text } from "../../../contract/schema.ts";
import { Phone, page } from "../../../contract/values.ts";
import { Sample } from "../../../test/support/edge.ts";
import { invalidFields } from "../../core/error.ts";
import { compileCheck } from "./validate.ts";

const checkSample = compileCheck("body", Sample);
const GOOD = { to: "+15005550100", content: { text: "hi" } };

function found(value: unknown): Record<string, string> {
  return Object.fromEntries(checkSample(value).map(({ path, message }) => [path, message]));
}

test("the error names each bad field and what it should be", () => {
  const rows: [unknown, Record<string, string>][] = [
    [GOOD, {}],
    [{}, { to: "is required", content: "is required" }],
    [[], { body: "must be an object, not a list" }],
    [null, { body: "must be an object, not null" }],
    ["x", { body: 'must be an object, not the string "x"' }],
    [{ ...GOOD, content: { text: 1 } }, { "content.text": "must be a string, not a number" }],
    [{ ...GOOD, content: { text: "" } }, { "content.text": "must not be empty" }],
    [{ ...GOOD, content: { text: "x".repeat(11) } }, { "content.text": "must have 1 to 10 characters" }],
    [{ ...GOOD, content: { text: "😀".repeat(10) } }, {}],
    [
      { ...GOOD, content: { text: "a", mediaUrls: ["x", 2, ""] } },
      {
        "content.mediaUrls[1]": "must be a string, not a number",
        "content.mediaUrls[2]": "must not be empty",
      },
    ],
    [
      { ...GOOD, content: { text: "a", mediaUrls: ["a", "b", "c", "d"] } },
      { "content.mediaUrls": "must have at most 3 items" },
    ],
    [
      { ...GOOD, channels: ["sms", "telegram"] },
      { "channels[1]": 'must be one of imessage, sms, rcs; got "telegram"' },
    ],
    [{ ...GOOD, channels: [] }, { channels: "must not be empty" }],
    [{ ...GOOD, limit: 9 }, { limit: "must be 10 to 20; got 9" }],
    [{ ...GOOD, limit: "10" }, { limit: 'must be a whole number, not the string "10"' }],
    [{ ...GOOD, limit: 10.5 }, { limit: "must be a whole number; got 10.5" }],
    [
      { ...GOOD, to: "555" },
      { to: 'must be a phone number in E.164 form, such as +15005550100, or an e-mail address; got "555"' },
    ],
    [{ ...GOOD, name: null }, {}],
    [{ ...GOOD, name: "toolong" }, { name: "must have 1 to 5 characters" }],
    [{ ...GOOD, name: 5 }, { name: "must be a string or null" }],
    [{ ...GOOD, amount: 0 }, { amount: "must be at least 1; got 0" }],
    [{ ...GOOD, amount: [] }, { amount: "must be a number or a string" }],
    [{ ...GOOD, metadata: [] }, { metadata: "must be an object, not a list" }],
    [{ ...GOOD, metadata: { a: "x".repeat(16_376) } }, {}],
    [{ ...GOOD, metadata: { a: "x".repeat(16_377) } }, { metadata: "must be at most 16,384 bytes as JSON" }],
    [
      { ...GOOD, metadata: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [i, i])) },
      { metadata: "must have at most 50 fields" },
    ],
  ];
  for (const [value, expected] of rows) assert.deepEqual(found(value), expected, JSON.stringify(value));
});

test("the error names unknown fields, also those of a prototype, and lists the known ones", () => {
  const odd = checkSample(
    JSON.parse('{"to":"+12","content":{"text":"a","colour":1},"__proto__":1,"constructor":2,"toString":3}'),
  );
  assert.deepEqual(
    odd.map(({ path }) => path),
    ["__proto__", "constructor", "toString", "content.colour"],
  );
  assert.equal(odd.at(-1)?.message, "is unknown; known are text, mediaUrls");
  assert.equal(Object.hasOwn(Object.prototype, "colour"), false);
});

test("a query reads numbers and booleans from text, fills defaults in, and reads a leading space of an address as +", () => {
  const check = compileCheck(
    "query",
    closed({ ...page, phone: Type.Optional(Phone), live: Type.Optional(Type.Boolean()) }),
  );
  const query = { limit: "7", live: "false", phone: " 15005550100" };
  assert.deepEqual(check(query), []);
  assert.deepEqual(query, { limit: 7, live: false, phone: "+15005550100" });
  const empty = {};
  assert.deepEqual(check(empty), []);
  assert.deepEqual(empty, { limit: 50 });
  assert.deepEqual(
    check({ limit: ["1", "2"] }).map(({ path }) => path),
    ["limit"],
  );
  assert.deepEqual(check({ cursor: "a\0" }), [{ path: "cursor", message: "must not contain NUL" }]);
});

test("a number of a query is written in decimal digits", () => {
  const check = compileCheck("query", closed({ ...page, seconds: Type.Optional(Type.Number({ maximum: 30 })) }));
  const paths = (query: object) => check(query).map(({ path }) => path);
  for (const limit of [
    "0x10",
    "1e1",
    " 5",
    "5 ",
    "+5",
    "5.0",
    "5.",
    "",
    "٥",
    "0b1",
    "1_0",
    "-",
    "ten",
    "0",
    "101",
    "-1",
  ])
    assert.deepEqual(paths({ limit }), ["limit"], limit);
  for (const limit of ["1", "100", "007"]) assert.deepEqual(paths({ limit }), [], limit);
  for (const seconds of ["1e1", "0x1", ".5", "1.", " 1"]) assert.deepEqual(paths({ seconds }), ["seconds"], seconds);
  assert.deepEqual(paths({ seconds: "1.5" }), []);
});

test("a number of a query is finite, whatever bounds it has", () => {
  const check = compileCheck("query", closed({ ...page, seconds: Type.Optional(Type.Number({ maximum: 30 })) }));
  for (const huge of ["1e999", "-1e999", "Infinity", "-Infinity"]) {
    const messages = check({ limit: huge, seconds: huge }).map(({ path, message }) => `${path} ${message}`);
    const not = `not the string ${JSON.stringify(huge)}`;
    assert.deepEqual(messages, [`limit must be a whole number, ${not}`, `seconds must be a number, ${not}`]);
  }
});

test("a schema that would let unknown fields through, or is quadratic, does not compile", () => {
  assert.throws(() => compileCheck("body", Type.Object({ a: Type.String() })), /not closed/);
  assert.throws(() => compileCheck("body", closed({ a: Type.Array(Type.Object({ b: Type.String() })) })), /not closed/);
  assert.throws(
    () => compileCheck("body", closed({ a: Type.Array(Type.String(), { uniqueItems: true, maxItems: 1 }) })),
    /quadratic/,
  );
  assert.throws(() => compileCheck("body", closed({ a: Type.Array(Type.String()) })), /maxItems/);
});

test("items of an overlong list are not validated", () => {
  const check = compileCheck("body", closed({ mentions: Type.Array(closed({ address: Phone }), { maxItems: 100 }) }));
  const read: string[] = [];
  const counted = (length: number) =>
    new Proxy(
      Array.from({ length }, () => ({})),
      {
        get(target, name, self) {
          if (/^\d+$/.test(String(name))) read.push(String(name));
          return Reflect.get(target, name, self);
        },
      },
    );
  assert.deepEqual(check({ mentions: counted(24_000) }), [
    { path: "mentions", message: "must have at most 100 items" },
  ]);
  assert.deepEqual(read, []);
  assert.equal(check({ mentions: counted(100) }).length, 100);
  assert.equal(read.length, 100);
});

test("at most 100 unknown fields are collected, and the next request counts anew", () => {
  const check = compileCheck("body", closed({ list: Type.Array(closed({ a: Type.Null() }), { maxItems: 100 }) }));
  const odd = Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`k${index}`, 1]));
  const found = check({ list: Array(100).fill({ a: null, ...odd }) });
  assert.equal(found.length, 100);
  assert.deepEqual(found[99], { path: "list[0].k99", message: "is unknown; known are a" });
  assert.deepEqual(check({ list: [{ a: null, b: 1 }] }), [{ path: "list[0].b", message: "is unknown; known are a" }]);
  assert.deepEqual(check({ list: [{ a: null }] }), []);
});

test("the length of a text is counted in characters", () => {
  const check = compileCheck("body", closed({ text: text(3, 10) }));
  for (const [isGood, size] of [
    [true, 3],
    [true, 10],
    [false, 2],
    [false, 11],
    [false, 100_000],
  ] as const) {
    for (const character of ["x", "😀"]) {
      assert.equal(check({ text: character.repeat(size) }).length === 0, isGood, `${size} times ${character}`);
    }
  }
});

test("a 400 has the first problem in its message and all in its details", () => {
  const one = invalidFields([{ path: "to", message: "is required" }]);
  assert.equal(one.message, "to: is required");
  const two = invalidFields([
    { path: "to", message: "is required" },
    { path: "x", message: "is unknown" },
  ]);
  assert.equal(two.message, "to: is required (and 1 more, see details)");
  assert.equal(two.details?.length, 2);
});

test("a malformed setting of a provider is refused with a sentence, not a pattern", () => {
  const check = compileCheck("body", providerConfigs.smpp);
  const config = {
    host: "smpp://h",
    port: 2775,
    systemId: "a",
    password: "p",
    bindMode: "pair",
    throughputPerSecond: 0,
  };
  const messages = check({ ...config, defaultCountryCode: "+44" }).map(({ path, message }) => `${path} ${message}`);
  assert.deepEqual(messages.sort(), [
    'defaultCountryCode must be the code of a country without +, such as 44; got "+44"',
    'host must be the name or IP address of a host alone, such as smsc.carrier.example; got "smpp://h"',
    "throughputPerSecond must be more than 0; got 0",
  ]);
});
