import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { parsePhoneNumberFromString } from "libphonenumber-js/min";
import { mayHaveForms } from "../../console/api/contact-book.ts";
import { runsOf } from "../../test/support/runs.ts";
import {
  distinctPhones,
  FORM_ROWS,
  formsOf,
  isSamePhone,
  peopleKey,
  phoneKey,
  samePhoneIn,
  subscriberForms,
  withoutPhones,
} from "./phone-forms.ts";

/** A number of each row, in the form of the present plan, and in the former one. */
const EXAMPLES: readonly [country: string, present: string, former: string][] = [
  ["Mexico", "+525512345678", "+5215512345678"],
  ["Argentina", "+5491123456789", "+541123456789"],
  ["Brazil", "+5511987654321", "+551187654321"],
  ["Benin", "+2290195123456", "+22995123456"],
  ["Ivory Coast, Moov", "+2250102123456", "+22502123456"],
  ["Ivory Coast, MTN", "+2250505123456", "+22505123456"],
  ["Ivory Coast, Orange", "+2250707123456", "+22507123456"],
  ["Ivory Coast, landline of Moov", "+2252120812345", "+22520812345"],
  ["Ivory Coast, landline of MTN", "+2252520012345", "+22520012345"],
  ["Ivory Coast, landline of Orange", "+2252720212345", "+22520212345"],
];

/** A number in one of the forms of the table, each row alike. */
const written = fc
  .constantFrom(...FORM_ROWS.flatMap((row) => [row.former, row.present].map((digits) => ({ ...row, digits }))))
  .chain(({ head, digits, rest }) => fc.stringMatching(new RegExp(`^${head}${digits}${rest}$`)));

for (const [country, present, former] of EXAMPLES) {
  test(`${country}: both forms of a number are one phone, and the present form is its key`, () => {
    assert.deepEqual(subscriberForms(present), [present, former]);
    assert.deepEqual(subscriberForms(former), [former, present]);
    assert.equal(phoneKey(former), present);
    assert.equal(phoneKey(present), present);
    assert.equal(parsePhoneNumberFromString(present)?.isPossible(), true);
  });
}

test("Brazil: a landline and the mobile that ends like it share an opt-out and nothing else", () => {
  const [landline, mobile] = ["+551133334444", "+5511933334444"];
  assert.deepEqual(formsOf(landline), [landline, mobile]);
  assert.deepEqual(formsOf(mobile), [mobile, landline]);
  assert.deepEqual(subscriberForms(landline), [landline]);
  assert.equal(isSamePhone(landline, mobile), false);
});

test("addresses that the table does not name have one form", () => {
  const others = [
    "+15005550100",
    "+4915112345678",
    "+52551234567",
    "+521155123456789",
    "+5491",
    "+558001234567",
    "+22912345678",
    "+22519999999",
    "+2250702123456",
    "MEXICO",
    "someone@example.com",
    "+525512345678@example.com",
    "chat_1",
    "",
  ];
  for (const address of others) {
    assert.deepEqual(formsOf(address), [address]);
    assert.equal(phoneKey(address), address);
  }
});

test("no address is in two rows, and its forms are each other's", () => {
  fc.assert(
    fc.property(written, (address) => {
      const rows = FORM_ROWS.filter(({ head, former, present, rest }) =>
        [former, present].some((digits) => new RegExp(`^${head}${digits}${rest}$`).test(address)),
      );
      assert.equal(rows.length, 1);
      const [, other = ""] = formsOf(address);
      assert.notEqual(other, address);
      assert.deepEqual(formsOf(other), [other, address]);
    }),
    { numRuns: runsOf(2_000) },
  );
});

test("all forms of one phone have one key, which is its own key and one of the forms", () => {
  fc.assert(
    fc.property(fc.oneof(written, fc.string(), fc.stringMatching(/^\+[1-9]\d{1,14}$/)), (address) => {
      const key = phoneKey(address);
      const forms = subscriberForms(address);
      assert.equal(phoneKey(key), key);
      assert.ok(forms.includes(key));
      for (const form of forms) assert.ok(isSamePhone(form, address));
      assert.ok(forms.every((form) => formsOf(address).includes(form)));
    }),
    { numRuns: runsOf(2_000) },
  );
});

test("the console asks the service about the contacts of just these countries", () => {
  for (const [country, present, former] of EXAMPLES) {
    assert.ok(mayHaveForms(present) && mayHaveForms(former), country);
  }
  assert.equal(mayHaveForms("+15005550100"), false);
});

test("lists of addresses compare phones: each counts once, in any form and order", () => {
  fc.assert(
    fc.property(fc.uniqueArray(written, { selector: phoneKey }), (phones) => {
      const others = phones.map((one) => subscriberForms(one).at(-1) ?? one);
      assert.equal(peopleKey(others.toReversed()), peopleKey(phones));
      assert.deepEqual(distinctPhones([...phones, ...others]), phones);
      assert.deepEqual(withoutPhones([...others, "+15005550100"], phones), ["+15005550100"]);
      for (const [index, one] of phones.entries()) assert.equal(samePhoneIn(others, one), others[index]);
    }),
    { numRuns: runsOf(200) },
  );
});
