/** The whole service with Twilio as its only channel: from a request to the receipt, and from a contact to an event. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { OWN, twilioService } from "../support/twilio/service.ts";
import { until } from "../support/wait.ts";

const TO = "+15550100001";
/** One pixel. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

test("a message is sent by SMS and delivered, with its segments and Twilio's SID", async (t) => {
  const { fake, admin, instanceId, hookUrl, service, send, becomes, events } = await twilioService(t);
  const { data: instance } = await admin("GET", `/v1/admin/instances/${instanceId}`);
  assert.deepEqual([instance.health, instance.warnings], ["healthy", []]);
  assert.equal(instance.hookUrl, hookUrl);
  assert.ok(hookUrl.startsWith(`${service.url}/hooks/${instanceId}/`));
  assert.deepEqual(instance.config, { accountSid: fake.accountSid, baseUrl: fake.url });
  const id = await send(TO, "Grüße");
  const message = await becomes(id, "delivered");
  const [taken] = fake.taken({ to: TO });
  assert.deepEqual([message.channel, message.providerMessageId, message.segments], ["sms", taken?.sid, 1]);
  assert.deepEqual([taken?.from, taken?.body], [OWN, "Grüße"]);
  assert.deepEqual(await events(id), ["message.queued", "message.sent", "message.delivered"]);
});

test("an inbound message with a picture is one event, however often Twilio reports it", async (t) => {
  const { fake, hookUrl, ask, service } = await twilioService(t);
  const bytes = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
  fake.files.set("ME1", bytes);
  const url = `${fake.url}/2010-04-01/Accounts/${fake.accountSid}/Messages/MM1/Media/ME1`;
  const media = [{ url, type: "image/png" }];
  const called = await fake.write(`${hookUrl}/inbound`, { from: TO, to: OWN, body: "Look", media });
  assert.deepEqual([called.status, called.type, called.body], [200, "text/xml", "<Response/>"]);
  await fake.call(called.url, called.parameters);
  await fake.write(hookUrl, { from: TO, to: "+15550009999", body: "Nobody's number" });
  const { data } = await ask("GET", "/v1/events?type=message.inbound");
  assert.equal(data.events.length, 1);
  const [event] = data.events;
  assert.deepEqual([event.data.from, event.data.to, event.data.text, event.data.channel], [TO, OWN, "Look", "sms"]);
  const [file] = event.data.attachments;
  assert.ok(file.downloadUrl.startsWith(service.url));
  const fetched = await fetch(file.downloadUrl);
  assert.deepEqual([fetched.status, Buffer.from(await fetched.arrayBuffer())], [200, bytes]);
  assert.equal(fake.fileHeaders[0]?.authorization, undefined);
});

test("a picture is sent by the URL that its sender gave", async (t) => {
  const { fake, ask, becomes } = await twilioService(t, { TB_FETCH_ALLOW: "loopback" });
  fake.files.set("picture.png", Buffer.from(PNG, "base64"));
  const mediaUrls = [fake.urlOf("picture.png"), `${fake.urlOf("picture.png")}?again`];
  fake.files.set("picture.png?again", Buffer.from(PNG, "base64"));
  const { data } = await ask("POST", "/v1/messages", { to: TO, content: { text: "Look", mediaUrls } });
  await becomes(data.id, "delivered");
  assert.deepEqual(fake.taken({ to: TO })[0]?.media, mediaUrls);
});

test("a contact who opted out at Twilio gets no message until they opt in again", async (t) => {
  const { fake, hookUrl, ask, send, becomes } = await twilioService(t);
  await fake.write(hookUrl, { from: TO, to: OWN, body: "Pare", more: { OptOutType: "STOP" } });
  const refused = await ask("POST", "/v1/messages", { to: TO, content: { text: "Hi" } });
  assert.deepEqual([refused.status, refused.error?.code], [403, "RECIPIENT_OPTED_OUT"]);
  const { data } = await ask("GET", "/v1/opt-outs");
  const entries = data.optOuts.map((one: Record<string, string>) => [one.number, one.contact, one.source, one.keyword]);
  assert.deepEqual(entries, [[OWN, TO, "provider", "Pare"]]);
  await fake.write(hookUrl, { from: TO, to: OWN, body: "Encore", more: { OptOutType: "START" } });
  await becomes(await send(TO, "Welcome back"), "delivered");
  const other = "+15550100002";
  fake.behaviours.set(other, { refuse: { status: 400, body: { code: 21610, message: "stopped" } } });
  const failed = await becomes(await send(other, "Hi"), "failed");
  assert.equal(failed.providerErrorCode, "21610");
  await until(async () => (await ask("POST", "/v1/messages", { to: other, content: { text: "x" } })).status === 403);
});

test("a failure that Twilio reports ends the message with its code", async (t) => {
  const { fake, send, becomes, events } = await twilioService(t);
  fake.behaviours.set(TO, { statuses: ["sent", { status: "undelivered", errorCode: 30006 }] });
  const id = await send(TO, "Hi");
  const { errorCode, errorMessage, providerErrorCode } = await becomes(id, "failed");
  assert.equal(errorCode, "SMS_SEND_FAILED");
  assert.equal(providerErrorCode, "30006");
  assert.match(errorMessage, /landline/);
  assert.deepEqual(await events(id), ["message.queued", "message.sent", "message.failed"]);
});

test("a lost response is reconciled by the callback, or by the list: one message, one of each event", async (t) => {
  const { fake, send, becomes, events } = await twilioService(t);
  const [calls, silent, later] = [TO, "+15550100002", "+15550100003"];
  fake.behaviours.set(calls, { answer: "lost" });
  fake.behaviours.set(silent, { answer: "lost", callbacks: false });
  fake.behaviours.set(later, { answer: "error", statuses: ["delivered"], stepMs: 12_000 });
  const ids = await Promise.all([send(calls, "a"), send(silent, "b"), send(later, "c")]);
  const [byCallback = "", byList = "", byBoth = ""] = ids;
  await becomes(byCallback, "delivered");
  const listed = await becomes(byList, "delivered", 40_000);
  assert.equal(listed.providerMessageId, fake.taken({ to: silent })[0]?.sid);
  const reconciled = await becomes(byBoth, "sent", 40_000);
  assert.equal(reconciled.providerMessageId, fake.taken({ to: later })[0]?.sid);
  await becomes(byBoth, "delivered", 40_000);
  for (const to of [calls, silent, later]) assert.equal(fake.taken({ to }).length, 1);
  for (const id of ids) {
    assert.deepEqual(await events(id), ["message.queued", "message.sent", "message.delivered"]);
  }
});

test("refused credentials fail no message: messages wait, health says why, and new settings send them in order", async (t) => {
  const { fake, admin, instanceId, send, becomes, ask } = await twilioService(t);
  await becomes(await send(TO, "before"), "delivered");
  await admin("PATCH", `/v1/admin/instances/${instanceId}`, { config: { authToken: "wrong" } });
  const ids: string[] = [];
  for (const text of ["1", "2", "3"]) ids.push(await send(TO, text));
  const instance = await until(async () => {
    const { data } = await admin("GET", `/v1/admin/instances/${instanceId}`);
    return data.health === "unhealthy" ? data : null;
  });
  assert.match(instance.warnings[0], /accountSid and authToken/);
  for (const id of ids) {
    const { data } = await ask("GET", `/v1/messages/${id}`);
    assert.ok(data.status === "queued" || data.status === "pending", data.status);
  }
  await admin("PATCH", `/v1/admin/instances/${instanceId}`, { config: { authToken: fake.authToken } });
  for (const id of ids) await becomes(id, "delivered", 30_000);
  assert.deepEqual(
    fake.taken({ to: TO }).map(({ body }) => body),
    ["before", "1", "2", "3"],
  );
});

test("a reply to a number that sends through Twilio only by a route is fetched if no hook delivered it", async (t) => {
  const { service, fake, instanceId, admin, ask } = await twilioService(t);
  const onMac = "+15550000002";
  const config = { url: "http://127.0.0.1:9", password: "secret", ingest: "socket" };
  const mac = (await admin("POST", "/v1/admin/instances", { name: "Mac", provider: "bluebubbles", config })).data;
  const { customers } = (await admin("GET", "/v1/admin/customers")).data;
  const customer = customers.find(({ name }: { name: string }) => name === "Customer");
  const number = { phoneNumber: onMac, provider: "bluebubbles", instanceId: mac.id };
  await admin("POST", `/v1/admin/customers/${customer.id}/numbers`, number);
  await admin("PUT", `/v1/admin/customers/${customer.id}/routes`, [{ prefix: "+", instanceId }]);
  const isAskedFor = () => fake.asked.some(({ query }) => query.get("To") === onMac);
  await until(isAskedFor, { what: "the first look at the routed number" });
  await service.restart(async () => {
    fake.arrive({ from: "+15551230001", to: onMac, body: "Are you there?", createdAt: Date.now() });
    return {};
  });
  const inbound = await until(
    async () => (await ask("GET", "/v1/messages?direction=inbound")).data.messages[0] ?? null,
    { what: "the reply" },
  );
  assert.deepEqual([inbound.to, inbound.content.text], [onMac, "Are you there?"]);
});
