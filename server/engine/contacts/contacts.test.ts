/** Contacts under concurrency: an address belongs to one contact, whatever requests run at the same time. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type TestContext, testContext } from "../../../test/support/context.ts";
import type { ApiError } from "../../core/error.ts";
import type { CustomerId } from "../../core/id.ts";
import { contactList, findContactAddresses } from "../../store/contacts.ts";
import { countAll, FIRST_PAGE, readPage } from "../../store/list-windows.ts";
import type { EngineDeps } from "../engine-deps.ts";
import { createContact, createContacts, deleteContacts, ensureContact, updateContact } from "./contacts.ts";

let made: TestContext;
let deps: EngineDeps;
const ALL = { search: "", tag: undefined };

before(async () => {
  made = await testContext();
  deps = made.deps;
});
after(() => made.close());

const create = (phoneNumber: string) =>
  createContact(deps, made.customer.id, { idempotencyKey: null, body: { phoneNumber } });
const contactsOf = (id: CustomerId, filter = ALL) => contactList(deps.store.db, id, filter);
const count = () => countAll(contactsOf(made.customer.id));
const ownersOf = (...addresses: string[]) => findContactAddresses(deps.store.db, made.customer.id, addresses);
const refusals = (results: PromiseSettledResult<unknown>[]) =>
  results.flatMap((one) => (one.status === "rejected" ? [(one.reason as ApiError).code] : []));

test("concurrent requests create a contact with the same address once, and the others get CONTACT_DUPLICATE", async () => {
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => create("+15550100001")));
  assert.deepEqual(refusals(results), Array(19).fill("CONTACT_DUPLICATE"));
  assert.equal(await count(), 1);
});

test("concurrent ensureContact calls create one contact per address, and none if it exists", async () => {
  const addresses = ["+15550100002", "+15550100001", "Grace@Example.com", "grace@example.com"];
  const twice = [...addresses, ...addresses];
  await Promise.all(twice.map((address) => ensureContact(deps, made.customer.id, address)));
  assert.equal(await count(), 3);
  const found = await readPage(contactsOf(made.customer.id, { ...ALL, search: "grace" }), FIRST_PAGE, 9);
  const [grace] = found.records;
  assert.equal(grace?.email, "grace@example.com");
});

test("if two contacts change to the same address at once, one gets it and the other keeps its address", async () => {
  const { contact: one } = await create("+15550100003");
  const { contact: two } = await create("+15550100004");
  const change = (id: string) => updateContact(deps, made.customer.id, id, { phoneNumber: "+15550100005" });
  const results = await Promise.allSettled([change(one.id), change(two.id), change(one.id), change(two.id)]);
  assert.deepEqual(refusals(results), ["CONTACT_DUPLICATE", "CONTACT_DUPLICATE"]);
  const owners = await ownersOf("+15550100003", "+15550100004", "+15550100005");
  assert.equal(owners.length, 2, "what the winner had before is free");
  assert.equal(new Set(owners.map(({ contactId }) => contactId)).size, 2);
});

test("a contact that is deleted during an update leaves no address behind", async () => {
  for (let round = 0; round < 20; round += 1) {
    const { contact } = await create("+15550100006");
    await Promise.allSettled([
      updateContact(deps, made.customer.id, contact.id, { phoneNumber: "+15550100007" }),
      deleteContacts(deps, made.customer.id, [contact.id]),
    ]);
    assert.deepEqual(await ownersOf("+15550100006", "+15550100007"), []);
  }
});

test("concurrent bulk imports create every address once, and each counts the contacts that it created", async () => {
  const before = await count();
  const entries = Array.from({ length: 30 }, (_, index) => ({ fields: { phoneNumber: `+155501002${10 + index}` } }));
  const bulk = () => createContacts(deps, made.customer.id, { idempotencyKey: null, body: {}, entries });
  const bulks = await Promise.all([bulk(), bulk(), bulk()]);
  const created = bulks.map(({ made: { created } }) => created);
  assert.deepEqual(
    created.toSorted((left, right) => right - left),
    [30, 0, 0],
  );
  assert.equal((await count()) - before, 30);
});

test("a bulk import with a repeated idempotency key returns the first result", async () => {
  const entries = [{ fields: { phoneNumber: "+15550100300" } }, { error: "tags: must be a list" }, { fields: {} }];
  const bulk = () => createContacts(deps, made.customer.id, { idempotencyKey: "b", body: { n: 1 }, entries });
  const first = await bulk();
  assert.deepEqual([first.made.created, first.made.failed], [1, 2]);
  assert.deepEqual(await bulk(), { ...first, repeated: true });
});
