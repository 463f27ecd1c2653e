import assert from "node:assert/strict";
import test from "node:test";
import type { Contact } from "../../sdk/wire.ts";
import { bookOf, contactAmong, nameOf } from "./contact-book.ts";

const NOBODY: Contact = {
  id: "con_0",
  firstName: null,
  lastName: null,
  phoneNumber: null,
  email: null,
  company: null,
  tags: [],
  metadata: null,
  lastContactedAt: null,
  createdAt: "2026-03-01T12:00:00.000Z",
  updatedAt: "2026-03-01T12:00:00.000Z",
};
const MAYA: Contact = { ...NOBODY, id: "con_1", firstName: "Maya", lastName: "Chen", phoneNumber: "+14155550142" };
const LINDEN: Contact = { ...NOBODY, id: "con_2", company: "Café Linden", email: "post@linden.example" };

test("a contact is found by its number and by its e-mail address", () => {
  const { byAddress } = bookOf({ contacts: [MAYA, { ...LINDEN, phoneNumber: "+16175550164" }], isWhole: true });
  assert.equal(byAddress.get("+14155550142")?.id, "con_1");
  assert.equal(byAddress.get("+16175550164")?.id, "con_2");
  assert.equal(byAddress.get("post@linden.example")?.id, "con_2");
  assert.equal(byAddress.get("+12125550187"), undefined);
});

test("a contact is called by its name, else by its company, else by nothing", () => {
  assert.equal(nameOf(MAYA), "Maya Chen");
  assert.equal(nameOf({ ...MAYA, lastName: null }), "Maya");
  assert.equal(nameOf(LINDEN), "Café Linden");
  assert.equal(nameOf({ firstName: "", lastName: null, company: null }), null);
});

test("a search finds the contacts that have every word in name, company or address", () => {
  const { search } = bookOf({ contacts: [MAYA, LINDEN], isWhole: true });
  const found = (text: string) => search(text).map(({ id }) => id);
  assert.deepEqual(found("chen may"), ["con_1"]);
  assert.deepEqual(found("0142"), ["con_1"]);
  assert.deepEqual(found("CAFÉ"), ["con_2"]);
  assert.deepEqual(found("maya linden"), []);
  assert.deepEqual(found(" "), []);
});

test("the contact of an address is found among what the service answers, in the other form of its phone too", () => {
  const [former, present] = ["+5215512345678", "+525512345678"];
  const ada: Contact = { ...NOBODY, phoneNumber: present };
  const longer: Contact = { ...NOBODY, phoneNumber: `${former}9` };
  assert.equal(contactAmong([longer, ada], former), ada);
  assert.equal(contactAmong([longer, ada], present), ada);
  assert.equal(contactAmong([longer], former), null);
  const other: Contact = { ...NOBODY, phoneNumber: "+15005550100" };
  assert.equal(contactAmong([other], "+25005550100"), null, "only the countries with two forms");
});
