import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parsePhoneNumberFromString } from "libphonenumber-js/min";
import { cpuMsOf } from "../../test/support/cpu-time.ts";
import { runsOf } from "../../test/support/runs.ts";
import { checkRecipient, maskAddress, parseAddress } from "./phone.ts";

test("a number in E.164 is a phone number, and stays unchanged", () => {
  for (const text of ["+15005550100", "+12", "+999999999999999", "+4915112345678"]) {
    assert.deepEqual(parseAddress(text), { kind: "phone", address: text });
  }
});

test("a text that is almost E.164 is no address", () => {
  const wrong = [
    "",
    "+",
    "+1",
    "15005550100",
    "+05005550100",
    "+1234567890123456",
    "+1 500 555 0100",
    "+1-500-555-0100",
  ];
  for (const text of [
    ...wrong,
    " +15005550100",
    "+15005550100\n",
    "+1500555010a",
    "+١٥٠٠٥٥٥٠١٠٠",
    "tel:+15005550100",
  ]) {
    assert.equal(parseAddress(text), null, JSON.stringify(text));
  }
});

test("an iMessage e-mail address is the same in any case", () => {
  assert.deepEqual(parseAddress("Ada.Lovelace+tb@Example.COM"), {
    kind: "email",
    address: "ada.lovelace+tb@example.com",
  });
  for (const text of ["a@b.co", "o'neil@mail.example", "x_y-z@a-b.example.org", "1@2.io"]) {
    assert.equal(parseAddress(text)?.kind, "email", text);
  }
});

test("a text that only resembles an e-mail address is no address", () => {
  const wrong = [
    "@",
    "a@",
    "@b.co",
    "a@b",
    "a@@b.co",
    "a b@c.co",
    "a@b..co",
    ".a@b.co",
    "a.@b.co",
    "a..b@c.co",
    "a@-b.co",
  ];
  for (const text of [
    ...wrong,
    "a@b-.co",
    "a@127.0.0.1",
    "a@[127.0.0.1]",
    "a@b.co\n",
    '"a b"@c.co',
    "a@b_c.co",
    "ä@b.co",
  ]) {
    assert.equal(parseAddress(text), null, JSON.stringify(text));
  }
});

test("an e-mail has at most 254 characters, 64 of them before the @, 63 in a label", () => {
  const label = "d".repeat(63);
  const local = "l".repeat(64);
  const longest = `${local}@${label}.${label}.${"d".repeat(58)}.cc`;
  assert.equal(longest.length, 254);
  assert.equal(parseAddress(longest)?.kind, "email");
  assert.equal(parseAddress(`${local}@${label}.${label}.${"d".repeat(59)}.cc`), null);
  assert.equal(parseAddress(`${local}l@example.com`), null);
  assert.equal(parseAddress(`a@${label}d.com`), null);
});

test("parsing a parsed address returns it unchanged, and no text takes long to parse", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.emailAddress(), fc.stringMatching(/^\+\d{0,20}$/)), (text) => {
      const parsed = parseAddress(text);
      if (parsed !== null) assert.deepEqual(parseAddress(parsed.address), parsed);
    }),
  );
  for (const text of ["a.".repeat(127), `a@${"a.".repeat(126)}`, `a@${"a-".repeat(126)}`, "+1".repeat(5_000_000)]) {
    const ms = cpuMsOf(() => assert.equal(parseAddress(text), null));
    assert.ok(ms < 1_000, `${ms} ms`);
  }
});

test("a log shows four characters of an address at most, and none of a short one", () => {
  assert.equal(maskAddress("+15005550100"), "…0100");
  assert.equal(maskAddress("ada@example.com"), "….com");
  assert.equal(maskAddress("+12"), "…");
});

test("checkRecipient agrees with libphonenumber's isPossible, also for numbers that it decides without the library", () => {
  const digits = (max: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${max}}$`));
  const numbers = fc.oneof(
    digits(13).map((rest) => `+1${rest}`),
    digits(10).map((rest) => `+1500555${rest}`),
  );
  const property = fc.property(numbers, (text) => {
    if (parseAddress(text) === null) return;
    const isPossible = parsePhoneNumberFromString(text)?.isPossible() ?? false;
    assert.equal(checkRecipient(text).problem === null, isPossible, text);
  });
  fc.assert(property, { numRuns: runsOf(500) });
});

test("checkRecipient refuses numbers that cannot exist", () => {
  for (const text of ["+1500", "+12", "+999999999999999", "+150055501001", "+49123", "hello"]) {
    assert.equal(checkRecipient(text).address, null, text);
  }
  for (const text of ["+15005550100", "+15005550199", "+4915112345678", "+4402079460000", "+8613812345678"]) {
    assert.deepEqual(checkRecipient(text), { address: text, problem: null });
    assert.equal(checkRecipient(text).address, text, "the second answer is the first one, kept");
  }
  assert.equal(checkRecipient("ADA@example.com").address, "ada@example.com");
});
