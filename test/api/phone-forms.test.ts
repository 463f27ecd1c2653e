/** One phone in two written forms, over HTTP: one conversation, and sends to the form that the contact last wrote with. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

let api: TestService;
let phones = 0;

before(async () => {
  api = await startTestService();
});
after(() => api.stop());

/** The forms of a Mexican phone that nobody has written with. libphonenumber says that no number has the former one. */
function nextPhone(): { former: string; present: string } {
  phones += 1;
  const rest = `55${String(phones).padStart(8, "0")}`;
  return { former: `+521${rest}`, present: `+52${rest}` };
}

const send = (body: object, path = "/v1/messages") =>
  api.ask("POST", path, { body: { content: { text: "Hi" }, ...body } });
const write = (from: string, text = "Hola") =>
  api.ask("POST", `/v1/sandbox/phones/${from}/messages`, { body: { text } });
const newestReason = async (id: string): Promise<string> =>
  (await api.ask("GET", `/v1/messages/${id}`)).data.timeline[0].reason.split("; ").at(-1);
const WRITTEN = "the form that the contact last wrote with";

test("an answer goes to the form that the contact last wrote with, whichever form is named, and the timeline says why", async () => {
  const { former, present } = nextPhone();
  const { data: received } = await write(former);
  for (const named of [{ to: former }, { to: present }, { chatId: received.chatId }, { chatId: `SMS;-;${present}` }]) {
    const run = await send(named, "/v1/messages?dryRun=true");
    const { status, data } = await send(named);
    assert.deepEqual([status, data.to, run.data.to], [202, former, former], JSON.stringify(named));
    const { data: record } = await api.ask("GET", `/v1/messages/${data.id}`);
    assert.deepEqual([record.to, record.chatId], [former, received.chatId]);
    if (!("to" in named) || named.to === former) continue;
    assert.equal(await newestReason(data.id), `to ${former} (${WRITTEN})`);
    assert.equal(run.data.reason.split("; ").at(-1), `to ${former} (${WRITTEN})`);
  }
  const { data: again } = await write(present);
  assert.equal(again.chatId, received.chatId);
  const { data } = await send({ chatId: received.chatId });
  assert.equal(data.to, present);
  assert.equal(await newestReason(data.id), `to ${present} (${WRITTEN})`);
  assert.equal((await send({ to: former })).data.to, present);
  const { data: chat } = await api.ask("GET", `/v1/chats/${present}`);
  assert.deepEqual([chat.id, chat.participants], [received.chatId, [former]], "the first form is the thread's");
});

test("before the contact writes, a message goes to the form that it names, in one conversation", async () => {
  const [present, former] = ["+5491150000001", "+541150000001"];
  const first = await send({ to: former });
  const second = await send({ to: present });
  assert.deepEqual([first.data.to, second.data.to], [former, present]);
  const chats = await Promise.all(
    [first, second].map(async ({ data }) => (await api.ask("GET", `/v1/messages/${data.id}`)).data.chatId),
  );
  assert.equal(chats[0], chats[1]);
});

test("a form that no numbering plan has is possible where there is a conversation, and its number is refused elsewhere", async () => {
  const { former, present } = nextPhone();
  assert.equal((await send({ to: former })).error?.code, "INVALID_PHONE_NUMBER");
  assert.equal((await api.ask("GET", `/v1/capabilities/${former}`)).status, 400);
  await send({ to: present });
  const { status, data } = await send({ to: former });
  assert.deepEqual([status, data.to], [202, present], "nobody wrote from it");
  assert.equal(await newestReason(data.id), `to ${present} (the form of this conversation)`);
  assert.equal((await api.ask("GET", `/v1/capabilities/${former}`)).status, 200);
});

test("an idempotency key and the number of the newest conversation hold for both forms", async () => {
  const { former, present } = nextPhone();
  const [{ id: customerId }] = (await api.ask("GET", "/v1/admin/customers", { key: api.adminKey })).data.customers;
  const second = "+15550000078";
  const body = { phoneNumber: second, provider: "sandbox" };
  await api.ask("POST", `/v1/admin/customers/${customerId}/numbers`, { key: api.adminKey, body });
  await api.ask("POST", `/v1/sandbox/phones/${former}/messages`, { body: { text: "Hola", to: second } });
  const { data } = await send({ to: present });
  assert.deepEqual([data.from, data.to], [second, former]);
  const key = { idempotencyKey: `key-${former}` };
  const [one, other] = [await send({ to: present, ...key }), await send({ to: former, ...key })];
  assert.equal(one.data.id, other.data.id);
});

test("two forms that write for the first time at once have one conversation", async () => {
  const { former, present } = nextPhone();
  const written = await Promise.all([former, present, former, present].map((from) => write(from)));
  const chats = new Set(written.map(({ data }) => data.chatId));
  assert.equal(chats.size, 1);
  const { data } = await api.ask("GET", "/v1/chats");
  const theirs = data.chats.filter(({ participants }: { participants: string[] }) =>
    participants.some((one) => one === former || one === present),
  );
  assert.equal(theirs.length, 1);
});

test("two forms of a phone are one contact: created at once, one is 409 CONTACT_DUPLICATE, and a search finds it by both", async () => {
  const { former, present } = nextPhone();
  const create = (phoneNumber: string) => api.ask("POST", "/v1/contacts", { body: { phoneNumber } });
  const made = await Promise.all([create(former), create(present)]);
  assert.deepEqual(made.map(({ status }) => status).toSorted(), [201, 409]);
  const refused = made.find(({ status }) => status === 409);
  assert.equal(refused?.error?.code, "CONTACT_DUPLICATE");
  const contact = made.find(({ status }) => status === 201)?.data;
  const bulk = await api.ask("POST", "/v1/contacts/bulk", {
    body: { contacts: [{ phoneNumber: former }, { phoneNumber: present }] },
  });
  assert.deepEqual([bulk.data.created, bulk.data.failed], [0, 2]);
  for (const form of [former, present]) {
    const { data } = await api.ask("GET", `/v1/contacts?search=${encodeURIComponent(form)}`);
    assert.deepEqual(
      data.contacts.map(({ id }: { id: string }) => id),
      [contact.id],
    );
  }
  await write(former);
  await send({ to: present, createContact: true });
  const { data: seen } = await api.ask("GET", `/v1/contacts/${contact.id}`);
  assert.notEqual(seen.lastContactedAt, null);
  const changed = await api.ask("PUT", `/v1/contacts/${contact.id}`, {
    body: { phoneNumber: contact.phoneNumber === former ? present : former },
  });
  assert.equal(changed.status, 200);
  assert.equal((await create(former)).status, 409);
  assert.equal((await api.ask("DELETE", `/v1/contacts/${contact.id}`)).status, 200);
  assert.equal((await create(former)).status, 201);
});

test("capabilities and focus of a phone count its messages in both forms", async () => {
  const { former, present } = nextPhone();
  await write(former);
  await send({ to: former });
  for (const form of [former, present]) {
    const { status, data } = await api.ask("GET", `/v1/capabilities/${form}`);
    assert.deepEqual([status, data.iMessage], [200, true]);
  }
});

test("lists of messages filter by a phone in any form", async () => {
  const { former, present } = nextPhone();
  const { data: received } = await write(former);
  const { data: sent } = await send({ to: present });
  await write(present);
  const { data: again } = await send({ to: former });
  assert.deepEqual([sent.to, again.to], [former, present]);
  for (const form of [former, present]) {
    const listed = async (query: string) => {
      const { data } = await api.ask("GET", `/v1/messages?${query}=${encodeURIComponent(form)}`);
      return data.messages.map(({ id }: { id: string }) => id);
    };
    assert.deepEqual(await listed("to"), [again.id, sent.id]);
    assert.equal((await listed("from")).length, 2);
    assert.equal((await listed("direction=inbound&from")).at(-1), received.id);
  }
});

test("a payment in the other form of the phone pays the request", async () => {
  const { former, present } = nextPhone();
  const { data: request } = await api.ask("POST", "/v1/payments/request", { body: { to: present, amount: 5 } });
  const paid = await api.ask("POST", `/v1/sandbox/phones/${former}/payments`, { body: { amount: 5 } });
  assert.equal(paid.status, 200, JSON.stringify(paid.error));
  const { data } = await api.ask("GET", `/v1/payments/requests/${request.id}`);
  assert.equal(data.status, "paid");
});

test("the erasure of a contact erases what was written with every form of its phone", async () => {
  const { former, present } = nextPhone();
  const { data: contact } = await api.ask("POST", "/v1/contacts", { body: { phoneNumber: present } });
  const written = [(await write(former)).data.id, (await write(present)).data.id];
  const erase = () => api.ask("DELETE", `/v1/contacts/${contact.id}?erase=true`);
  assert.equal((await erase()).status, 200);
  await until(async () => (await erase()).data.erasedAt !== null, { what: "the end of the erasure" });
  for (const form of [former, present]) assert.equal((await api.ask("GET", `/v1/chats/${form}`)).status, 404);
  for (const id of written) assert.equal((await api.ask("GET", `/v1/messages/${id}`)).error?.code, "NOT_FOUND");
  const { data } = await api.ask("GET", `/v1/messages?from=${encodeURIComponent(former)}`);
  assert.deepEqual(data.messages, []);
});

test("a phone of the sandbox may act in the other form of its number", async () => {
  const { former, present } = nextPhone();
  const { data: received } = await write(former);
  const { status } = await api.ask("POST", `/v1/sandbox/phones/${present}/messages`, {
    body: { text: "Again", replyTo: received.id },
  });
  assert.equal(status, 200);
});

test("members of groups are compared by phone: a number that wrote is possible, and the other form is the same member", async () => {
  const { former, present } = nextPhone();
  await write(former);
  const { status, data: group } = await api.ask("POST", "/v1/chats/groups", {
    body: { participants: ["+15005550131", "+15005550132", former] },
  });
  assert.deepEqual([status, group.participants.at(-1)], [201, former]);
  const path = `/v1/chats/${group.id}`;
  const added = await api.ask("POST", `${path}/participants`, { body: { participant: present } });
  assert.deepEqual(added.data.participants, group.participants);
  const removed = await api.ask("DELETE", `${path}/participants/${present}`);
  assert.deepEqual(removed.data.participants, ["+15005550131", "+15005550132"]);
});
