/** Contacts over HTTP: one by one, in bulk, searched. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

const FIELDS = [
  ...["id", "firstName", "lastName", "phoneNumber", "email", "company", "tags", "metadata"],
  ...["lastContactedAt", "createdAt", "updatedAt"],
];

let api: TestService;
let numbers = 0;

before(async () => {
  api = await startTestService();
});
after(() => api.stop());

const post = (body: unknown, headers = {}) => api.ask("POST", "/v1/contacts", { body, headers });
const list = async (query: string) => (await api.ask("GET", `/v1/contacts?${query}`)).data;
const ids = (contacts: { id: string }[]) => contacts.map(({ id }) => id);

/** A phone number that no contact has yet. */
function nextNumber(): string {
  numbers += 1;
  return `+1500556${String(numbers).padStart(4, "0")}`;
}

test("creating a contact returns 201 and every field, null where there is no value", async () => {
  const phoneNumber = nextNumber();
  const { status, data } = await post({ phoneNumber });
  assert.equal(status, 201);
  assert.deepEqual(Object.keys(data).sort(), [...FIELDS].sort());
  assert.match(data.id, /^con_[0-9a-f-]{36}$/);
  const { id, createdAt, updatedAt, ...rest } = data;
  assert.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.equal(createdAt, updatedAt);
  const nothing = {
    firstName: null,
    lastName: null,
    email: null,
    company: null,
    metadata: null,
    lastContactedAt: null,
  };
  assert.deepEqual(rest, { ...nothing, phoneNumber, tags: [] });
  assert.deepEqual((await api.ask("GET", `/v1/contacts/${id}`)).data, data);
});

test("a contact needs a phone number or an e-mail address, and an error names every invalid field", async () => {
  for (const body of [{}, { firstName: "Ada" }, { phoneNumber: null, email: null }]) {
    const { status, error } = await post(body);
    assert.equal(status, 400);
    assert.deepEqual(
      error?.details?.map(({ path }) => path),
      ["phoneNumber", "email"],
    );
  }
  const bad = {
    firstName: "x".repeat(256),
    phoneNumber: "500 555 0100",
    email: "nobody",
    tags: ["", "a".repeat(65), "line\nbreak"],
    metadata: [],
    surname: "?",
  };
  const { error } = await post(bad);
  assert.equal(error?.code, "VALIDATION_ERROR");
  const paths = error?.details?.map(({ path }) => path).sort();
  assert.deepEqual(paths, [
    ...["email", "firstName", "metadata", "phoneNumber", "surname", "tags[0]", "tags[1]", "tags[2]"],
  ]);
  const tags = Array.from({ length: 51 }, (_, index) => `tag ${index}`);
  assert.equal((await post({ phoneNumber: nextNumber(), tags })).status, 400);
});

test("two contacts cannot share a phone number or e-mail address: 409 CONTACT_DUPLICATE", async () => {
  const phoneNumber = nextNumber();
  const first = await post({ phoneNumber, email: "One@Example.com" });
  assert.equal(first.data.email, "one@example.com");
  for (const body of [
    { phoneNumber },
    { email: "ONE@example.com" },
    { phoneNumber: nextNumber(), email: "one@example.com" },
  ]) {
    const { status, error } = await post(body);
    assert.equal(status, 409);
    assert.equal(error?.code, "CONTACT_DUPLICATE");
    assert.ok(error?.message.includes(first.data.id));
  }
  const other = await post({ phoneNumber: nextNumber() });
  const taken = await api.ask("PUT", `/v1/contacts/${other.data.id}`, { body: { email: "one@example.com" } });
  assert.equal(taken.error?.code, "CONTACT_DUPLICATE");
});

test("PUT changes only the given fields; null clears a field, but one address must remain", async () => {
  const phoneNumber = nextNumber();
  const made = await post({ phoneNumber, firstName: "Ada", company: "Analytical", tags: ["vip"], metadata: { a: 1 } });
  const path = `/v1/contacts/${made.data.id}`;
  const put = async (body: unknown) => (await api.ask("PUT", path, { body })).data;
  const changed = await put({ lastName: "Lovelace", company: null, tags: ["a", "b", "a"] });
  const { updatedAt: _, ...rest } = changed;
  const { updatedAt: __, ...before } = made.data;
  assert.deepEqual(rest, { ...before, lastName: "Lovelace", company: null, tags: ["a", "b"] });
  assert.deepEqual(await put({}), changed, "a change of nothing is none");
  const none = await api.ask("PUT", path, { body: { phoneNumber: null } });
  assert.equal(none.status, 400);
  const moved = await put({ phoneNumber: null, email: "ada@example.com", metadata: null });
  assert.deepEqual([moved.phoneNumber, moved.email, moved.metadata], [null, "ada@example.com", null]);
  assert.equal((await post({ phoneNumber })).status, 201, "the number that it gave up is free");
});

test("deleting a contact frees its address; a second deletion is 404", async () => {
  const phoneNumber = nextNumber();
  const { data } = await post({ phoneNumber });
  const path = `/v1/contacts/${data.id}`;
  assert.deepEqual((await api.ask("DELETE", path)).data, { id: data.id, deleted: true });
  for (const method of ["GET", "PUT", "DELETE"]) {
    const { status, error } = await api.ask(method, path, method === "PUT" ? { body: { firstName: "x" } } : {});
    assert.deepEqual([status, error?.code], [404, "NOT_FOUND"]);
  }
  assert.equal((await post({ phoneNumber })).status, 201);
  for (const word of [phoneNumber, "con_nobody"]) {
    assert.equal((await api.ask("GET", `/v1/contacts/${word}`)).error?.code, "NOT_FOUND", "an id is an id");
  }
});

test("an idempotency key creates one contact; a repeat returns its current state", async () => {
  const body = { phoneNumber: nextNumber() };
  const headers = { "idempotency-key": "contact-1" };
  const first = await post(body, headers);
  await api.ask("PUT", `/v1/contacts/${first.data.id}`, { body: { firstName: "Later" } });
  const again = await post(body, headers);
  assert.deepEqual([again.status, again.data.id, again.data.firstName], [200, first.data.id, "Later"]);
  assert.equal((await post({ phoneNumber: nextNumber() }, headers)).error?.code, "IDEMPOTENCY_KEY_REUSED");
  await api.ask("DELETE", `/v1/contacts/${first.data.id}`);
  assert.equal((await post(body, headers)).error?.code, "NOT_FOUND", "nothing is made a second time");
});

test("the list pages by limit and offset, newest first, and returns the total", async () => {
  const made = [];
  for (let left = 5; left > 0; left -= 1) {
    made.unshift((await post({ phoneNumber: nextNumber(), tags: ["paged"] })).data.id);
  }
  const first = await list("tag=paged&limit=2");
  assert.deepEqual(ids(first.contacts), made.slice(0, 2));
  assert.deepEqual(first.pagination, { total: 5, limit: 2, offset: 0, hasMore: true });
  const last = await list("tag=paged&limit=2&offset=4");
  assert.deepEqual(ids(last.contacts), made.slice(4));
  assert.deepEqual(last.pagination, { total: 5, limit: 2, offset: 4, hasMore: false });
  assert.deepEqual((await list("tag=paged&offset=9")).contacts, []);
  for (const query of ["limit=0", "limit=101", "offset=-1", "offset=1.5", "cursor=x", "page=2"]) {
    assert.equal((await api.ask("GET", `/v1/contacts?${query}`)).status, 400, query);
  }
});

test("a search takes `%`, `_`, `\\`, `'`, `!` and quotes literally", async () => {
  const odd = ["100% wool", "under_score", "back\\slash", "O'Brien", "wow!", 'the "best"', "a%b_c"];
  const made = new Map<string, string>();
  for (const company of odd) made.set(company, (await post({ phoneNumber: nextNumber(), company })).data.id);
  const found = async (search: string) => ids((await list(`search=${encodeURIComponent(search)}`)).contacts);
  for (const [company, id] of made) assert.deepEqual(await found(company.toUpperCase()), [id], company);
  assert.deepEqual((await found("%")).length, 2);
  assert.deepEqual((await found("_")).length, 2);
  for (const nothing of ["\\%", "1__%", "' or 1=1 --", "100%wool", "!%"]) assert.deepEqual(await found(nothing), []);
});

test("a search matches names, addresses and company, in any case and script; a tag matches exactly", async () => {
  const phoneNumber = nextNumber();
  const person = { firstName: "Zoë", lastName: "ΩMÉGA", email: "Zoe.O@Example.org", company: "Größe AG", phoneNumber };
  const { data } = await post({ ...person, tags: ['q"z', "VIP", ",", "x,y"] });
  for (const search of ["zoË ω", "ωmég", "zoe.o@EXAMPLE", "GRÖSSE", phoneNumber, phoneNumber.slice(1)]) {
    assert.deepEqual(ids((await list(`search=${encodeURIComponent(search)}`)).contacts), [data.id], search);
  }
  assert.deepEqual(ids((await list(`search=${phoneNumber}`)).contacts), [data.id], "a plus that became a space");
  assert.deepEqual((await list("search=VIP")).contacts, []);
  for (const tag of ['q"z', "VIP", ",", "x,y"]) {
    assert.deepEqual(ids((await list(`tag=${encodeURIComponent(tag)}`)).contacts), [data.id], tag);
  }
  for (const tag of ["vip", "VI", "q", 'q"', "x", "%"]) {
    assert.deepEqual((await list(`tag=${encodeURIComponent(tag)}`)).contacts, [], tag);
  }
  assert.deepEqual((await list("tag=VIP&search=nobody")).contacts, []);
});

test("a bulk request creates each valid contact; an invalid one has its reason and stops no other", async () => {
  const taken = nextNumber();
  await post({ phoneNumber: taken });
  const [one, two] = [nextNumber(), nextNumber()];
  const contacts = [
    { phoneNumber: one, tags: ["bulk"] },
    { phoneNumber: taken },
    { firstName: "Nobody" },
    "nothing of the kind",
    { email: "not an address" },
    { phoneNumber: one },
    { phoneNumber: two, unknown: 1 },
    { phoneNumber: two, tags: ["bulk"] },
  ];
  const { status, data } = await api.ask("POST", "/v1/contacts/bulk", { body: { contacts } });
  assert.equal(status, 201);
  assert.deepEqual([data.created, data.failed], [2, 6]);
  assert.deepEqual(
    data.errors.map(({ index }: { index: number }) => index),
    [1, 2, 3, 4, 5, 6],
  );
  for (const { error } of data.errors) assert.ok(typeof error === "string" && error.length > 10);
  const found = await list("tag=bulk");
  assert.deepEqual(
    found.contacts.map(({ phoneNumber }: { phoneNumber: string }) => phoneNumber),
    [two, one],
  );
  const none = await api.ask("POST", "/v1/contacts/bulk", { body: { contacts: [{}] } });
  assert.deepEqual([none.status, none.data.created, none.data.failed], [200, 0, 1]);
});

test("a bulk request takes 1 to 100 contacts, and creates them once for an idempotency key", async () => {
  const bulk = (contacts: unknown, headers = {}) =>
    api.ask("POST", "/v1/contacts/bulk", { body: { contacts }, headers });
  for (const contacts of [[], Array.from({ length: 101 }, () => ({})), {}, null]) {
    assert.equal((await bulk(contacts)).status, 400);
  }
  const contacts = Array.from({ length: 100 }, () => ({ phoneNumber: nextNumber() }));
  const headers = { "idempotency-key": "bulk-1" };
  const first = await bulk(contacts, headers);
  assert.deepEqual([first.status, first.data], [201, { created: 100, failed: 0, errors: [] }]);
  const again = await bulk(contacts, headers);
  assert.deepEqual([again.status, again.data], [200, first.data]);
});

test("a bulk deletion takes 1 to 100 ids, deletes those that exist, and returns their count", async () => {
  const made = [];
  for (let left = 3; left > 0; left -= 1) made.push((await post({ phoneNumber: nextNumber() })).data.id);
  const remove = (body: unknown) => api.ask("DELETE", "/v1/contacts/bulk", { body });
  assert.deepEqual((await remove({ ids: [made[0], made[0], made[1], "con_nobody"] })).data, { deleted: 2 });
  assert.deepEqual((await remove({ ids: [...made] })).data, { deleted: 1 });
  for (const body of [undefined, {}, { ids: [] }, { ids: Array(101).fill("con_1") }, { ids: [1] }, { all: true }]) {
    assert.equal((await remove(body)).status, 400);
  }
});

test("lastContactedAt is the time of the newest message to one of its addresses, except cancelled ones", async () => {
  const phoneNumber = nextNumber();
  const { data } = await post({ phoneNumber, email: "last@example.com" });
  const lastContactedAt = async () => (await api.ask("GET", `/v1/contacts/${data.id}`)).data.lastContactedAt;
  const send = async (to: string, more = {}) =>
    (await api.ask("POST", "/v1/messages", { body: { to, content: { text: "Hi" }, ...more } })).data;
  assert.equal(await lastContactedAt(), null);
  const later = await send(phoneNumber, { scheduledAt: new Date(Date.now() + 3_600_000).toISOString() });
  assert.equal(await lastContactedAt(), null, "what is only scheduled has reached nobody");
  await api.ask("DELETE", `/v1/messages/${later.id}/schedule`);
  assert.equal(await lastContactedAt(), null);
  for (const to of [phoneNumber, "last@example.com"]) {
    const { id } = await send(to);
    const { sentAt } = await until(async () => {
      const { data: message } = await api.ask("GET", `/v1/messages/${id}`);
      return message.sentAt !== null && message;
    });
    assert.equal(await lastContactedAt(), sentAt);
    assert.equal((await list("search=last@example.com")).contacts[0].lastContactedAt, sentAt);
  }
});

test("createContact creates a contact for the recipient, once", async () => {
  const to = nextNumber();
  const body = { to, content: { text: "Hi" }, createContact: true };
  await Promise.all([1, 2, 3].map(() => api.ask("POST", "/v1/messages", { body })));
  const { contacts } = await list(`search=${encodeURIComponent(to)}`);
  assert.equal(contacts.length, 1);
  assert.equal(contacts[0].phoneNumber, to);
});

test("another customer's contacts are invisible, and may have the same addresses", async () => {
  const admin = (path: string, body: object) => api.ask("POST", path, { body, key: api.adminKey });
  const { data: customer } = await admin("/v1/admin/customers", { name: "Other" });
  const { data: other } = await admin("/v1/admin/keys", { name: "Other", customerId: customer.id });
  const phoneNumber = nextNumber();
  const { data: mine } = await post({ phoneNumber });
  const key = other.key;
  const theirs = await api.ask("POST", "/v1/contacts", { key, body: { phoneNumber } });
  assert.equal(theirs.status, 201);
  assert.equal((await api.ask("GET", `/v1/contacts/${mine.id}`, { key })).status, 404);
  assert.equal((await api.ask("PUT", `/v1/contacts/${mine.id}`, { key, body: { firstName: "x" } })).status, 404);
  assert.equal((await api.ask("DELETE", `/v1/contacts/${mine.id}`, { key })).status, 404);
  const bulk = await api.ask("DELETE", "/v1/contacts/bulk", { key, body: { ids: [mine.id] } });
  assert.deepEqual(bulk.data, { deleted: 0 });
  assert.equal((await api.ask("GET", "/v1/contacts", { key })).data.pagination.total, 1);
});
