/** The sandbox's inbox shows no text and no address of an erased contact, whichever process has erased it. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { InboxRequest } from "../../sdk/wire.ts";
import { makeEvent } from "../../server/core/event.ts";
import { signatureHeaders } from "../../server/core/signature.ts";
import { startAdminApi } from "../support/admin-api.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

const TO = "+15005557001";
const OTHER = "+15005550101";
const INBOX = "/v1/sandbox/inbox";

let api: TestService;
before(async () => {
  api = await startTestService({ TB_SANDBOX_INBOX: "on" });
});
after(() => api.stop());

async function ask(method: string, path: string, body?: object) {
  const { status, data, error } = await api.ask(method, path, body === undefined ? {} : { body });
  assert.ok(status < 300, `${method} ${path}: ${JSON.stringify(error)}`);
  return data;
}

const inbox = async (): Promise<InboxRequest[]> => (await ask("GET", INBOX)).requests;

/** Writes with somebody in both directions, and waits until the inbox has all of it. */
async function writeWith(to: string, words: string): Promise<void> {
  const { id } = await ask("POST", "/v1/messages", { to, content: { text: `${words} there` } });
  await ask("POST", `/v1/sandbox/phones/${to}/messages`, { text: `${words} back` });
  await ask("POST", `/v1/sandbox/phones/${to}/typing`, { typing: true });
  const signs = [`${words} back`, `"message.delivered"`, `"typing.indicator"`].map((sign) => [sign, to] as const);
  await until(async () => {
    const bodies = (await inbox()).map(({ body }) => body);
    return signs.every((sign) => bodies.some((body) => sign.every((part) => body.includes(part))));
  });
  await until(async () => (await ask("GET", `/v1/messages/${id}`)).status !== "queued");
}

test("the inbox shows the events of an erased contact without its texts and address, and all others byte for byte", async () => {
  const contact = await ask("POST", "/v1/contacts", { phoneNumber: TO });
  await writeWith(OTHER, "Somebody else");
  await writeWith(TO, "Zanzibar");
  // The oldest first, since further events may arrive.
  const before = (await inbox()).toReversed();
  const isAbout = ({ body }: InboxRequest) => body.includes(TO) || body.includes("Zanzibar");
  assert.ok(before.filter(isAbout).length >= 5);
  const erase = () => ask("DELETE", `/v1/contacts/${contact.id}?erase=true`);
  await until(async () => (await erase()).erasedAt !== null, { limitMs: 60_000 });
  const shown = (await inbox()).toReversed();
  assert.deepEqual(shown.filter(isAbout), []);
  for (const [index, request] of before.entries()) {
    if (!isAbout(request)) assert.deepEqual(shown[index], request);
    else assert.deepEqual({ ...shown[index], body: "" }, { ...request, body: "" });
  }
  const erased = shown.filter(
    ({ body }) => JSON.parse(body).data.to === "erased" || JSON.parse(body).data.from === "erased",
  );
  assert.ok(erased.length >= 4, "the events stay, in valid envelopes");
});

test("the inbox drops what another process erased when it is read, and keeps what is no event of the customer", async (t) => {
  const admin = await startAdminApi(t);
  const { store, newId, clock } = admin.deps;
  const { id: customerId } = await admin.data("POST /v1/admin/customers", { body: { name: "Acme" } }, 201);
  const { key } = await admin.makeKey({ customerId });
  const read = () => admin.data(`GET ${INBOX}`, { key });
  const { url, secret } = await read();
  const deliver = async (eventId: string, body: string, by = secret) => {
    const sentAtSeconds = Math.floor(clock.real() / 1_000);
    const headers = signatureHeaders({ eventId, body, secret: by, previousSecret: null, sentAtSeconds });
    await (await fetch(url, { method: "POST", headers, body })).text();
  };
  const eventOf = (text: string) => {
    const about = { type: "message.sent", messageId: null, sequence: 0, correlationId: "cor_1" } as const;
    return makeEvent({ id: newId("evt"), customerId, createdAt: clock.now(), ...about }, { to: TO, text });
  };
  const [first, second] = [eventOf("Zanzibar"), eventOf("Zanzibar too")];
  for (const event of [first, second]) {
    assert.equal((await store.commit([{ op: "insert", table: "events", record: event }])).result, "ok");
    await deliver(event.id, event.bytes);
  }
  await deliver(first.id, makeEvent(first, { to: TO, text: "Zanzibar, otherwise" }).bytes, "another secret");
  await deliver(second.id, makeEvent(second, { to: TO, text: "A forged body" }).bytes, "another secret");
  await deliver(newId("evt"), "no event");
  const bodies = async () => (await read()).requests.map(({ body }: InboxRequest) => body).reverse();
  const before = await bodies();
  const { bytes } = makeEvent(first, { to: "erased", text: null });
  await store.commit([{ op: "rewrite", eventId: first.id, bytes }]);
  const expected = before.with(0, bytes).with(2, bytes);
  assert.deepEqual(await bodies(), expected);
  await store.commit([{ op: "delete", table: "events", where: { id: first.id } }]);
  assert.deepEqual(await bodies(), expected, "the former body is not in memory any more");
});
