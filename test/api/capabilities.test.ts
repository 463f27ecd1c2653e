/** Availability of addresses over HTTP, as the sandbox's phones have it. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

let api: TestService;

before(async () => {
  api = await startTestService();
});
after(() => api.stop());

const ask = (path: string) => api.ask("GET", path);

test("capabilities return the channels of a phone, the recommended one, and the time of the last check", async () => {
  const { status, data } = await ask("/v1/capabilities/+15005550100");
  assert.equal(status, 200);
  const { lastChecked, ...rest } = data;
  assert.match(lastChecked, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.deepEqual(rest, {
    phoneNumber: "+15005550100",
    capabilities: { imessage: true, sms: true, facetime: true },
    iMessage: true,
    recommendedChannel: "imessage",
    cached: false,
    focused: false,
  });
  const again = await ask("/v1/capabilities/%2B15005550100");
  assert.deepEqual(again.data, { ...data, cached: true });
});

test("a phone without iMessage has the recommended channel sms", async () => {
  const { data } = await ask("/v1/capabilities/+15005550102");
  assert.deepEqual(data.capabilities, { imessage: false, sms: true, facetime: false });
  assert.deepEqual([data.iMessage, data.recommendedChannel], [false, "sms"]);
});

test("an e-mail address has no SMS, and is returned in its normal form", async () => {
  const { data } = await ask("/v1/capabilities/Ada@Example.com");
  assert.deepEqual([data.phoneNumber, data.capabilities.sms], ["ada@example.com", false]);
});

test("an invalid address is 400 INVALID_PHONE_NUMBER with its field", async () => {
  for (const path of ["/v1/capabilities/5005550100", "/v1/contacts/nobody/focus", "/v1/contacts/+0123/facetime"]) {
    const { status, error } = await ask(path);
    assert.deepEqual([status, error?.code, error?.details?.[0]?.path], [400, "INVALID_PHONE_NUMBER", "phone"], path);
  }
});

test("FaceTime availability has its own route", async () => {
  const { data } = await ask("/v1/contacts/+15005550101/facetime");
  assert.deepEqual(data, { phoneNumber: "+15005550101", available: true, cached: false });
  assert.equal((await ask("/v1/contacts/+15005550101/facetime")).data.cached, true);
});

test("a focus is shown only for contacts with messages in both directions; otherwise 404", async () => {
  const path = "/v1/contacts/+15005550110/focus";
  assert.equal((await ask(path)).error?.code, "NOT_FOUND");
  const body = { to: "+15005550110", content: { text: "Hello" } };
  assert.equal((await api.ask("POST", "/v1/messages", { body })).status, 202);
  // 0110 echoes each message.
  await until(async () => (await ask(path)).status === 200, { what: "a focus" });
  const { cached: _, ...rest } = (await ask(path)).data;
  assert.deepEqual(rest, { phoneNumber: "+15005550110", focused: false, focusActive: false });
});

test("a customer without a number gets what is known, not an error", async () => {
  const admin = (path: string, body: object) => api.ask("POST", path, { body, key: api.adminKey });
  const { data: customer } = await admin("/v1/admin/customers", { name: "Numberless" });
  const { data } = await admin("/v1/admin/keys", { name: "Numberless", customerId: customer.id });
  const response = await api.ask("GET", "/v1/capabilities/+15005550100", { key: data.key });
  assert.equal(response.status, 200);
  assert.deepEqual(response.data.capabilities, { imessage: false, sms: false, facetime: false });
  assert.equal(response.data.recommendedChannel, null);
  const facetime = await api.ask("GET", "/v1/contacts/+15005550100/facetime", { key: data.key });
  assert.equal(facetime.error?.code, "NO_DEFAULT_ADDRESS");
});
