/** The sender of a message without `from`: the number of the newest conversation, else the default number. */

import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

const SECOND = "+15550000077";
const EMAIL = "sales@example.com";
const IMAGES = { mediaUrls: ["https://example.com/1.png", "https://example.com/2.png"] };

let api: TestService;
let first: string;
let customerId: string;
let recipients = 0;
let to: string;

const admin = (method: string, path: string, body?: object) =>
  api.ask(method, path, { key: api.adminKey, ...(body === undefined ? {} : { body }) });
const send = (body: object, path = "/v1/messages") =>
  api.ask("POST", path, { body: { content: { text: "Hi" }, ...body } });
const rehearse = (body: object) => send(body, "/v1/messages?dryRun=true");
const addNumber = async (body: object): Promise<string> =>
  (await admin("POST", `/v1/admin/customers/${customerId}/numbers`, { provider: "sandbox", ...body })).data.id;
const sticky = (from: string) => `from ${from} (newest conversation with this recipient)`;
const byDefault = () => `from ${first} (default number)`;

before(async () => {
  api = await startTestService();
  first = (await api.ask("GET", "/v1/numbers")).data[0].phoneNumber;
  customerId = (await admin("GET", "/v1/admin/customers")).data.customers[0].id;
  await addNumber({ phoneNumber: SECOND });
});
test.after(() => api.stop());
beforeEach(() => {
  recipients += 1;
  to = `+15005553${String(recipients).padStart(3, "0")}`;
});

/** The sender of a message sent now, and the reason, from a dry run. */
async function wouldComeFrom(body: object = {}): Promise<[from: string, why: string]> {
  const { data } = await rehearse({ to, ...body });
  return [data.from, data.reason.split("; ").at(-1)];
}

test("the first message to a recipient goes from the default number, and the timeline says so", async () => {
  const { data } = await send({ to });
  const { timeline } = (await api.ask("GET", `/v1/messages/${data.id}`)).data;
  assert.equal(data.from, first);
  assert.equal(timeline[0].reason.split("; ").at(-1), byDefault());
});

test("later messages go from the number of the newest conversation, and timeline and dry run say so", async () => {
  await send({ to, from: SECOND });
  assert.deepEqual(await wouldComeFrom(), [SECOND, sticky(SECOND)]);
  const { data } = await send({ to });
  const { timeline } = (await api.ask("GET", `/v1/messages/${data.id}`)).data;
  assert.equal(data.from, SECOND);
  assert.equal(timeline[0].reason.split("; ").at(-1), sticky(SECOND));
  await send({ to, from: first });
  assert.deepEqual(await wouldComeFrom(), [first, sticky(first)]);
});

test("a given `from` is the sender, without a reason in the timeline", async () => {
  const { data } = await send({ to, from: SECOND });
  const { timeline } = (await api.ask("GET", `/v1/messages/${data.id}`)).data;
  assert.doesNotMatch(timeline[0].reason, /from/);
});

test("a contact's reply makes its conversation the newest", async () => {
  await send({ to, from: SECOND });
  await send({ to, from: first });
  assert.deepEqual(await wouldComeFrom(), [first, sticky(first)]);
  const received = await api.ask("POST", `/v1/sandbox/phones/${to}/messages`, { body: { text: "Hello?", to: SECOND } });
  assert.equal(received.status, 200);
  assert.deepEqual(await wouldComeFrom(), [SECOND, sticky(SECOND)]);
});

test("carousels and payment requests go from that number too", async () => {
  await send({ to, from: SECOND });
  const carousel = await api.ask("POST", "/v1/messages/carousel", { body: { to, ...IMAGES } });
  const payment = await api.ask("POST", "/v1/payments/request", { body: { to, amount: 5 } });
  assert.deepEqual([carousel.data.from, payment.data.from], [SECOND, SECOND]);
});

test("a scheduled message does not count as conversation yet", async () => {
  await send({ to, from: SECOND, scheduledAt: new Date(Date.now() + 60_000).toISOString() });
  assert.deepEqual(await wouldComeFrom(), [first, byDefault()]);
});

test("a scheduled message that became due makes its conversation the newest", async () => {
  await send({ to, from: first });
  const scheduledAt = new Date(Date.now() + 1_000).toISOString();
  const { data } = await send({ to, from: SECOND, scheduledAt });
  assert.deepEqual(await wouldComeFrom(), [first, sticky(first)]);
  await api.ask("POST", "/v1/sandbox/clock", { body: { advance: "2s" }, key: api.key });
  await until(async () => (await api.ask("GET", `/v1/messages/${data.id}`)).data.status === "delivered");
  assert.deepEqual(await wouldComeFrom(), [SECOND, sticky(SECOND)]);
});

test("a number without a possible channel for the message is skipped", async () => {
  await addNumber({ email: EMAIL });
  await send({ to, from: SECOND });
  await send({ to, from: EMAIL });
  assert.deepEqual(await wouldComeFrom(), [EMAIL, sticky(EMAIL)]);
  assert.deepEqual(await wouldComeFrom({ routing: { preference: ["sms"] } }), [SECOND, sticky(SECOND)]);
});

test("an opt-out from the conversation's number is not bypassed by another number", async () => {
  await send({ to, from: SECOND });
  await api.ask("PUT", `/v1/opt-outs/${SECOND}/${to}`);
  const { status, error } = await send({ to });
  assert.deepEqual([status, error?.code], [403, "RECIPIENT_OPTED_OUT"]);
});

test("the sender is the same after a restart, and a deleted number is skipped", async () => {
  const third = "+15550000078";
  const id = await addNumber({ phoneNumber: third });
  await send({ to, from: SECOND });
  await send({ to, from: third });
  await api.restart();
  assert.deepEqual(await wouldComeFrom(), [third, sticky(third)]);
  await admin("DELETE", `/v1/admin/customers/${customerId}/numbers/${id}`);
  assert.deepEqual(await wouldComeFrom(), [SECOND, sticky(SECOND)]);
});

test("a repeat by Idempotency-Key returns the first message, even if another conversation is the newest now", async () => {
  const ask = () =>
    api.ask("POST", "/v1/messages", { body: { to, content: { text: "Once" } }, headers: { "idempotency-key": "k" } });
  const before = await ask();
  await send({ to, from: SECOND });
  const again = await ask();
  assert.deepEqual([again.status, again.data.id, again.data.from], [200, before.data.id, first]);
});
