/** Contacts: their fields, and what finds them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { addressesOf, changeFields, NO_FIELDS, searchTextOf } from "./contact.ts";
import { searchForm } from "./search.ts";

test("a change of a contact keeps the fields that it does not name, clears null and empty names, and removes repeated tags", () => {
  const before = changeFields(NO_FIELDS, { firstName: "Ada", phoneNumber: "+15550001111", tags: ["a", "b", "a"] });
  assert.deepEqual(before.tags, ["a", "b"]);
  const after = changeFields(before, { firstName: "", email: "Ada@Example.COM", company: undefined });
  assert.deepEqual(after, { ...NO_FIELDS, phoneNumber: "+15550001111", email: "ada@example.com", tags: ["a", "b"] });
  assert.deepEqual(addressesOf(after), ["+15550001111", "ada@example.com"]);
  assert.deepEqual(addressesOf(changeFields(after, { phoneNumber: null })), ["ada@example.com"]);
});

test("a change of a contact ignores properties that are not fields of a contact", () => {
  const whole = { ...NO_FIELDS, id: "con_1", version: 3, email: "a@example.com" };
  assert.deepEqual(Object.keys(changeFields(whole, whole)).sort(), Object.keys(NO_FIELDS).sort());
});

test("a search matches whole names, and ignores case in every script", () => {
  const text = (name: string) => searchTextOf({ ...NO_FIELDS, firstName: name, lastName: "Ωdegård", company: "ΟΔΟΣ" });
  const finds = (name: string, search: string) => text(name).includes(searchForm(search));
  assert.ok(finds("Éva", "éVA Ωde"));
  assert.ok(finds("E\u0301va", "éva"), "combined and composed characters are the same");
  assert.ok(finds("Straße", "STRASSE"));
  assert.ok(finds("Strasse", "straße"));
  assert.ok(finds("İstanbul", "istanbul"));
  assert.ok(finds("x", "οδο") && finds("x", "οδος") && finds("x", "οδοσ"), "a sigma is a sigma wherever it stands");
  assert.ok(!finds("Eva", "éva"), "an accent is a difference");
});

test("the search text of a contact with only an address is that address", () => {
  assert.equal(searchTextOf({ ...NO_FIELDS, phoneNumber: "+15550001111" }), "+15550001111");
});
