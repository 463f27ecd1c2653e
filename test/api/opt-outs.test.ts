/** Opt-outs over HTTP: from the API and from a phone, and their effect on sending. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

let api: TestService;
/** The customer's default number. */
let number: string;
let contacts = 0;

before(async () => {
  api = await startTestService();
  number = (await api.ask("GET", "/v1/numbers")).data[0].phoneNumber;
});
after(() => api.stop());

/** A contact that has never been written to. */
function nextContact(): string {
  contacts += 1;
  return `+1500557${String(contacts).padStart(4, "0")}`;
}

const pathOf = (contact: string, own = number) => `/v1/opt-outs/${own}/${encodeURIComponent(contact)}`;
const send = (to: string, more = {}) =>
  api.ask("POST", "/v1/messages", { body: { to, content: { text: "Hi" }, ...more } });
const write = (contact: string, text: string, more = {}) =>
  api.ask("POST", `/v1/sandbox/phones/${contact}/messages`, { body: { text, ...more } });
const isListed = async (contact: string) => (await api.ask("GET", pathOf(contact))).status === 200;
const advance = (by: string) => api.ask("POST", "/v1/sandbox/clock", { body: { advance: by } });

test("PUT adds an opt-out once; DELETE removes it", async () => {
  const contact = nextContact();
  assert.deepEqual(
    [(await api.ask("GET", pathOf(contact))).error?.code, await isListed(contact)],
    ["NOT_FOUND", false],
  );
  const { status, data } = await api.ask("PUT", pathOf(contact));
  assert.equal(status, 200);
  const { createdAt, ...rest } = data;
  assert.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.deepEqual(rest, { number, contact, scope: "customer", source: "api", keyword: null });
  assert.deepEqual((await api.ask("PUT", pathOf(contact))).data, data);
  assert.deepEqual((await api.ask("GET", pathOf(contact))).data, data);
  const gone = await api.ask("DELETE", pathOf(contact));
  assert.deepEqual(gone.data, { id: `${number}/${contact}`, deleted: true });
  assert.equal((await api.ask("DELETE", pathOf(contact))).error?.code, "NOT_FOUND");
});

test("an opt-out is found, kept and removed by any form of the phone, and shows the form that it was made with", async () => {
  const [former, present] = ["+541123456789", "+5491123456789"];
  const { data } = await api.ask("PUT", pathOf(former));
  assert.equal(data.contact, former);
  assert.deepEqual((await api.ask("GET", pathOf(present))).data, data);
  assert.deepEqual((await api.ask("PUT", pathOf(present))).data, data);
  assert.equal((await send(present)).error?.code, "RECIPIENT_OPTED_OUT");
  assert.equal((await api.ask("DELETE", pathOf(present))).status, 200);
  assert.equal(await isListed(former), false);
});

/** The data of the newest events of a contact, oldest first. */
async function changesOf(contact: string): Promise<object[]> {
  const { data } = await api.ask("GET", "/v1/events?limit=100");
  const changes = data.events.filter((event: { type: string; data: { contact?: string } }) => {
    return event.type.startsWith("contact.opted_") && event.data.contact === contact;
  });
  return changes.reverse().map(({ type, data: changed }: { type: string; data: object }) => ({ type, ...changed }));
}

test("STOP holds for all numbers of the customer, present and future, and each change is one event", async () => {
  const contact = nextContact();
  await write(contact, "Stop!", { channel: "imessage" });
  await until(() => isListed(contact));
  await write(contact, "unsubscribe", { channel: "sms" });
  const { id: customerId } = (await api.ask("GET", "/v1/admin/customers", { key: api.adminKey })).data.customers[0];
  const later = "+15005550002";
  const body = { phoneNumber: later, provider: "sandbox" };
  const added = await api.ask("POST", `/v1/admin/customers/${customerId}/numbers`, { key: api.adminKey, body });
  assert.equal(added.status, 201);
  assert.equal((await send(contact, { from: later })).error?.code, "RECIPIENT_OPTED_OUT");
  const { data: record } = await api.ask("GET", pathOf(contact, later));
  const { createdAt: _, ...found } = record;
  assert.deepEqual(found, { number, contact, scope: "customer", source: "keyword", keyword: "STOP" });
  await write(contact, "Start", { channel: "sms", to: later });
  await until(async () => !(await isListed(contact)), { what: "START to the other number" });
  const shared = { contact, number, scope: "customer", source: "keyword", reason: null };
  assert.deepEqual(await changesOf(contact), [
    { type: "contact.opted_out", ...shared, keyword: "STOP", channel: "imessage" },
    { type: "contact.opted_in", ...shared, keyword: "START", channel: "sms" },
  ]);
  await api.ask("DELETE", `/v1/admin/customers/${customerId}/numbers/${added.data.id}`, { key: api.adminKey });
});

test("an opt-out by the contact is removed for a reason only, which its event shows", async () => {
  const contact = nextContact();
  await write(contact, "STOP");
  await until(() => isListed(contact));
  const refused = await api.ask("DELETE", pathOf(contact));
  assert.deepEqual([refused.status, refused.error?.details?.[0]?.path], [400, "reason"]);
  for (const reason of ["", "x".repeat(256)]) {
    assert.equal((await api.ask("DELETE", `${pathOf(contact)}?reason=${reason}`)).status, 400);
  }
  assert.ok(await isListed(contact));
  assert.equal((await api.ask("DELETE", `${pathOf(contact)}?reason=asked%20by%20phone`)).status, 200);
  const [, ended] = await changesOf(contact);
  const shared = { contact, number, scope: "customer", keyword: null, channel: null };
  assert.deepEqual(ended, { type: "contact.opted_in", ...shared, source: "api", reason: "asked by phone" });
});

test("the settings answer the whole and change what they name; their words count", async () => {
  const path = "/v1/opt-outs/settings";
  const put = (body: object) => api.ask("PUT", path, { body });
  const first = { scope: "customer", keywords: [], resume: ["START", "UNSTOP"], confirmation: null, help: null };
  assert.deepEqual((await api.ask("GET", path)).data, first);
  const changed = { ...first, keywords: ["Basta"], resume: ["Sí", "yes"] };
  assert.deepEqual((await put({ keywords: ["Basta"], resume: ["Sí", "yes"] })).data, changed);
  const contact = nextContact();
  await write(contact, "¡BASTA!");
  await until(() => isListed(contact), { what: "the customer's own word" });
  assert.equal((await api.ask("GET", pathOf(contact))).data.keyword, "Basta");
  await write(contact, "START");
  await write(contact, "si");
  await until(async () => !(await isListed(contact)), { what: "the customer's own word to begin again" });
  assert.deepEqual((await put({ scope: "number" })).data, { ...changed, scope: "number" });
  for (const [body, at] of [
    [{ resume: ["stop"] }, "resume[0]"],
    [{ resume: ["go", "b.a.s.t.a"] }, "resume[1]"],
    [{ keywords: ["YES"] }, "keywords[0]"],
    [{ keywords: ["..."] }, "keywords[0]"],
    [{ keywords: ["x".repeat(33)] }, "keywords[0]"],
    [{ keywords: Array.from({ length: 51 }, (_, index) => `w${index}`) }, "keywords"],
    [{ resume: [] }, "resume"],
    [{ confirmation: "" }, "confirmation"],
    [{ help: "x".repeat(321) }, "help"],
    [{ scope: "all" }, "scope"],
    [{ words: [] }, "words"],
  ] as const) {
    const { status, error } = await put(body);
    assert.deepEqual([status, error?.details?.[0]?.path], [400, at], JSON.stringify(body));
  }
  assert.deepEqual((await put(first)).data, first);
});

test("a message to a contact who opted out is 403 RECIPIENT_OPTED_OUT; other recipients are not affected", async () => {
  const contact = nextContact();
  await send(contact);
  await api.ask("PUT", pathOf(contact));
  const { status, error } = await send(contact);
  assert.deepEqual([status, error?.code, error?.details?.[0]?.path], [403, "RECIPIENT_OPTED_OUT", "to"]);
  assert.equal((await send(nextContact())).status, 202);
  await api.ask("DELETE", pathOf(contact));
  assert.equal((await send(contact)).status, 202);
});

test("an e-mail address is the same contact in any case", async () => {
  await api.ask("PUT", pathOf("Ada@Example.com"));
  assert.ok(await isListed("ada@example.COM"));
  assert.equal((await send("ADA@example.com")).error?.code, "RECIPIENT_OPTED_OUT");
});

test("STOP from a phone ends messages from that number, START begins them again", async () => {
  const contact = nextContact();
  await send(contact);
  for (const channel of ["sms", "imessage"]) {
    await write(contact, "stop by later", { channel });
    assert.equal(await isListed(contact), false);
    await write(contact, " Stop \n", { channel });
    await until(() => isListed(contact), { what: `STOP over ${channel}` });
    const { data } = await api.ask("GET", pathOf(contact));
    assert.deepEqual([data.source, data.keyword], ["keyword", "STOP"]);
    assert.equal((await send(contact)).error?.code, "RECIPIENT_OPTED_OUT");
    await write(contact, "start", { channel });
    await until(async () => !(await isListed(contact)), { what: `START over ${channel}` });
    assert.equal((await send(contact)).status, 202);
  }
});

test("a scheduled message to a contact who opted out in the meantime fails with RECIPIENT_OPTED_OUT when due", async () => {
  const contact = nextContact();
  const { data: clock } = await api.ask("GET", "/v1/sandbox/clock");
  const scheduledAt = new Date(Date.parse(clock.now) + 3_600_000).toISOString();
  const { data: message } = await send(contact, { scheduledAt });
  await write(contact, "STOP");
  await until(() => isListed(contact));
  await advance("61m");
  const read = async () => (await api.ask("GET", `/v1/messages/${message.id}`)).data;
  const failed = await until(async () => {
    const record = await read();
    return record.status === "failed" && record;
  });
  assert.equal(failed.errorCode, "RECIPIENT_OPTED_OUT");
  assert.equal(failed.sentAt, null);
});

test("the list pages newest first, and is filtered by number", async () => {
  const made = [];
  for (let left = 5; left > 0; left -= 1) {
    const contact = nextContact();
    made.unshift((await api.ask("PUT", pathOf(contact))).data);
    await advance("1s");
  }
  const list = async (query: string) => (await api.ask("GET", `/v1/opt-outs?${query}`)).data;
  const first = await list("limit=2");
  assert.deepEqual(first.optOuts, made.slice(0, 2));
  const second = await list(`limit=3&cursor=${first.pagination.nextCursor}`);
  assert.deepEqual(second.optOuts, made.slice(2));
  assert.equal((await list(`limit=5&number=${number}`)).optOuts.length, 5, "a plus that became a space");
  assert.deepEqual(await list("number=%2B15005559999"), {
    optOuts: [],
    pagination: { hasMore: false, nextCursor: null },
  });
  for (const query of ["cursor=x", "number=5", "limit=0", `cursor=${btoa("{}")}`]) {
    assert.equal((await api.ask("GET", `/v1/opt-outs?${query}`)).status, 400, query);
  }
});

test("an invalid address is a 400, and a number that is not the customer's is a 404", async () => {
  assert.equal((await api.ask("PUT", pathOf("5005550100"))).error?.code, "INVALID_PHONE_NUMBER");
  for (const method of ["GET", "PUT", "DELETE"]) {
    assert.equal((await api.ask(method, pathOf(nextContact(), "+15005559999"))).error?.code, "NOT_FOUND");
    assert.equal((await api.ask(method, pathOf(nextContact(), "nothing"))).error?.code, "NOT_FOUND");
  }
});

test("a number that moves to another customer keeps its opt-outs, but the new customer cannot list them", async () => {
  const admin = (method: string, path: string, body?: object) =>
    api.ask(method, path, { key: api.adminKey, ...(body === undefined ? {} : { body }) });
  const join = async (name: string) => {
    const { data: customer } = await admin("POST", "/v1/admin/customers", { name });
    const { data: key } = await admin("POST", "/v1/admin/keys", { name, customerId: customer.id });
    return { id: customer.id, key: key.key };
  };
  const [one, two] = [await join("One"), await join("Two")];
  const moving = "+15005560001";
  const give = async (to: string) =>
    (await admin("POST", `/v1/admin/customers/${to}/numbers`, { phoneNumber: moving, provider: "sandbox" })).data.id;
  const take = (from: string, id: string) => admin("DELETE", `/v1/admin/customers/${from}/numbers/${id}`);
  const contact = nextContact();
  const numberId = await give(one.id);
  assert.equal((await api.ask("PUT", pathOf(contact, moving), { key: two.key })).status, 404);
  await api.ask("PUT", pathOf(contact, moving), { key: one.key });
  await take(one.id, numberId);
  assert.equal((await api.ask("GET", pathOf(contact, moving), { key: one.key })).status, 404);
  await give(two.id);
  const sendAs = (key: string) =>
    api.ask("POST", "/v1/messages", { key, body: { to: contact, content: { text: "Hi" } } });
  assert.equal((await sendAs(two.key)).error?.code, "RECIPIENT_OPTED_OUT");
  assert.deepEqual((await api.ask("GET", "/v1/opt-outs", { key: two.key })).data.optOuts, []);
  assert.equal(
    (await api.ask("GET", pathOf(contact, moving), { key: two.key })).status,
    200,
    "asked one by one, it says why",
  );
  await api.ask("DELETE", pathOf(contact, moving), { key: two.key });
  assert.equal((await sendAs(two.key)).status, 202);
});
