/** Values that clients send by mistake, or to do harm. */

/** In the place of an id in a path. */
export const ODD_IDS = [
  "msg_00000000-0000-7000-8000-000000000000",
  "+15005550100",
  "%2B15005550100",
  "scheduled",
  "list",
  "x".repeat(600),
  "%zz",
  "%c3%28",
  "%00",
  "%2e%2e",
  "..",
  "a%2Fb",
  "__proto__",
  "constructor",
  "'%20OR%201=1--",
  "%F0%9F%98%80",
  ":id",
  "*",
  "",
];

/** Odd values of a query parameter. */
export const ODD_VALUES = [
  "",
  "0",
  "-1",
  "101",
  "1e9",
  "1e999",
  "NaN",
  "true",
  "null",
  "%00",
  "%zz",
  "[]",
  "a,b",
  "*",
  "2026-02-30",
  "%F0%9F",
  "+1",
];

/** In the place of a cursor. */
export const ODD_CURSORS = [
  "x",
  "bnVsbA",
  "e30",
  "W10",
  "WzEsMl0",
  "eyJpZCI6bnVsbH0",
  "eyJfX3Byb3RvX18iOjF9",
  "A".repeat(2_000),
];

/** In the place of any value of a body, as JSON. */
export const ODD_JSON = [
  "null",
  "true",
  "0",
  "-1",
  "1e400",
  "9007199254740993",
  "0.1",
  '""',
  '"x"',
  "[]",
  "{}",
  "[null]",
  '"\\u0000"',
  '"\\ud800"',
  '"\\ud83d\\ude00"',
  '"+15005550100"',
  '"a@example.com"',
  '"https://127.0.0.1/x"',
  '"https://example.com/x"',
  '"2026-02-30T00:00:00Z"',
  '"2999-01-01T00:00:00Z"',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  `"${"x".repeat(20_000)}"`,
];

/** Names of fields that no body has. */
export const ODD_NAMES = [
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "",
  "a.b",
  "a/b~0",
  "é",
  "\\u0000",
  "x".repeat(300),
];

/** Names of parameters that no query has. */
export const ODD_PARAMETERS = ["__proto__", "constructor", "x[y]", "%zz", ""];
