/** iMessage end to end: the whole service over HTTP, with a BlueBubbles instance, against a fake Mac and its phones. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type MacStage, OWN, stageMacService } from "../support/mac-stage.ts";
import { until } from "../support/wait.ts";

const ANNA = "+15005551001";
const BEN = "+15005551002";
const CARL = "+15005551003";
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

/** A message that Anna received: its id here, and its guid on the Mac. */
async function delivered(stage: MacStage, more: Record<string, unknown> = {}) {
  const id = await stage.send(ANNA, more);
  await stage.reached(id, "delivered");
  const guid = stage.mac.sent.at(-1)?.guid ?? assert.fail("nothing was sent");
  return { id, guid };
}

for (const ingest of ["webhook", "socket"] as const) {
  test(`by ${ingest}: a message is sent once, delivered and read, with one event each`, async (t) => {
    const stage = await stageMacService(t, { ingest, habit: "reads" });
    const id = await stage.send(ANNA, { content: { text: "Привет 👋" } });
    const message = await stage.reached(id, "read");
    assert.deepEqual(
      stage.mac.sent.map(({ to, text, service }) => [to, text, service]),
      [[[ANNA], "Привет 👋", "iMessage"]],
    );
    assert.equal(message.channel, "imessage");
    assert.equal(message.providerMessageId, stage.mac.sent[0]?.guid);
    for (const type of ["message.queued", "message.sent", "message.delivered", "message.read"]) {
      assert.equal((await stage.events(type)).length, 1, type);
    }
    assert.equal(stage.mac.appleScripts, 0);
    // A second message goes to the thread, which now exists.
    await stage.reached(await stage.send(ANNA), "read");
    assert.equal(stage.mac.requests.filter((request) => request.endsWith("/chat/new")).length, 1);
  });

  test(`by ${ingest}: a contact's message arrives once, with its files, its effect and its reply`, async (t) => {
    const stage = await stageMacService(t, { ingest, habit: "delivers" });
    const { id, guid } = await delivered(stage);
    stage.mac.phone(ANNA).writes("Look", {
      attachments: [{ name: "dot.png", mimeType: "image/png", bytes: PNG, isOnDisk: false }],
      replyTo: guid,
      effectId: "com.apple.messages.effect.CKConfettiEffect",
    });
    const { data } = await stage.event("message.inbound");
    assert.deepEqual(
      [data.from, data.to, data.text, data.channel, data.parentMessageId],
      [ANNA, OWN, "Look", "imessage", id],
    );
    const [file] = data.attachments;
    assert.deepEqual([file.mimeType, file.filename, file.totalBytes], ["image/png", "dot.png", PNG.length]);
    assert.deepEqual(Buffer.from(await (await fetch(file.downloadUrl)).arrayBuffer()), PNG);
    assert.equal((await stage.ok("GET", `/v1/messages/${data.messageId}`)).effect, "confetti");
    stage.mac.repeats();
    stage.mac.phone(ANNA).writes("And more");
    await stage.event("message.inbound", ({ text }) => text === "And more");
    assert.equal((await stage.events("message.inbound")).length, 2);
  });

  test(`by ${ingest}: messages written while the service was down are reported when it is up again`, async (t) => {
    const stage = await stageMacService(t, { ingest });
    stage.mac.phone(ANNA).writes("Before");
    await stage.event("message.inbound");
    await stage.api.restart(async () => {
      stage.mac.phone(ANNA).writes("Meanwhile");
      stage.mac.phone(BEN).writes("Me too");
      return {};
    });
    await until(async () => (await stage.events("message.inbound")).length === 3);
    const texts = (await stage.events("message.inbound")).map(({ data }) => data.text);
    assert.deepEqual(texts.sort(), ["Before", "Me too", "Meanwhile"]);
  });
}

for (const when of ["at first sight", "a second later"] as const) {
  test(`a number without iMessage, found out ${when}, falls back to SMS for that reason`, async (t) => {
    const stage = await stageMacService(t, { ingest: "webhook" });
    const phone = stage.mac.phone(ANNA);
    phone.isOnIMessage = false;
    phone.refusesAtOnce = when === "at first sight";
    // A lookup before a first message would find this out, so the Mac already has a conversation with Anna.
    stage.mac.knows(ANNA);
    const id = await stage.send(ANNA);
    await until(() => stage.mac.sent.length === 1);
    const { data } = await stage.event("message.fallback");
    assert.deepEqual([data.messageId, data.fallbackFrom, data.reason], [id, "imessage", "NOT_REACHABLE"]);
    const message = await stage.reached(id, "sent");
    assert.deepEqual([message.channel, message.fallbackTriggered], ["sms", true]);
    assert.deepEqual(
      stage.mac.sent.map(({ service, to }) => [service, to]),
      [["SMS", [ANNA]]],
    );
  });
}

test("files, effects, replies and mentions are sent as Messages has them", async (t) => {
  const stage = await stageMacService(t, { ingest: "webhook", habit: "delivers" });
  const first = await delivered(stage, {
    content: { text: "Slam" },
    effect: "slam",
    attachments: [{ type: "base64", data: PNG.toString("base64"), filename: "dot.png" }],
  });
  const files = stage.mac.sent.flatMap(({ attachments }) => attachments);
  assert.deepEqual(
    files.map(({ transferName, bytes }) => [transferName, Buffer.from(bytes).equals(PNG)]),
    [["dot.png", true]],
  );
  assert.ok(stage.mac.sent.some(({ effectId }) => effectId === "com.apple.MobileSMS.expressivesend.impact"));
  assert.ok(stage.mac.sent.some(({ text }) => text === "Slam"));
  await delivered(stage, {
    content: { text: "@Anna?" },
    replyTo: first.id,
    mentions: [{ address: ANNA, start: 0, length: 5 }],
  });
  const answer = stage.mac.sent.at(-1);
  const before = await stage.ok("GET", `/v1/messages/${first.id}`);
  assert.equal(answer?.replyTo, before.providerMessageId);
  assert.deepEqual(answer?.mentions, [ANNA]);
});

test("reactions are added and removed in both directions", async (t) => {
  const stage = await stageMacService(t, { ingest: "webhook", habit: "delivers" });
  const { id, guid } = await delivered(stage);
  for (const type of ["love", "-love"]) {
    await stage.ok("POST", `/v1/messages/${id}/reactions`, { type });
    assert.deepEqual(stage.mac.sent.at(-1)?.reaction, { type, target: guid });
  }
  stage.mac.phone(ANNA).reacts(guid, "laugh");
  const { data } = await stage.event("message.reaction");
  assert.deepEqual([data.messageId, data.reaction.type, data.from], [id, "laugh", ANNA]);
  stage.mac.phone(ANNA).reacts(guid, "-laugh");
  await stage.event("message.reaction", ({ reaction }) => reaction.type === "remove");
  assert.equal((await stage.events("message.inbound")).length, 0);
});

test("a message is edited and unsent, and a message that the Mac does not change is an error", async (t) => {
  const stage = await stageMacService(t, { ingest: "webhook", habit: "delivers" });
  const { id, guid } = await delivered(stage);
  const edited = await stage.ok("PUT", `/v1/messages/${id}`, { text: "Hello again" });
  assert.equal(edited.content.text, "Hello again");
  assert.equal(stage.mac.messages.find((row) => row.guid === guid)?.text, "Hello again");
  stage.mac.fault("revisionIgnored");
  const refused = await stage.api.ask("PUT", `/v1/messages/${id}`, { body: { text: "And again" } });
  assert.deepEqual([refused.status, refused.error?.code], [502, "EDIT_FAILED"]);
  await stage.ok("POST", `/v1/messages/${id}/unsend`);
  assert.deepEqual(stage.mac.messages.find((row) => row.guid === guid)?.retractedParts, [0]);
  assert.equal((await stage.reached(id, "unsent")).status, "unsent");
});

test("a contact edits and unsends a message", async (t) => {
  const stage = await stageMacService(t, { ingest: "webhook" });
  const guid = stage.mac.phone(ANNA).writes("Teh plan");
  const { data } = await stage.event("message.inbound");
  stage.mac.phone(ANNA).edits(guid, "The plan");
  await until(async () => (await stage.ok("GET", `/v1/messages/${data.messageId}`)).content.text === "The plan");
  stage.clock.jump(1_000);
  stage.mac.phone(ANNA).unsends(guid);
  await stage.event("message.unsent", ({ messageId }) => messageId === data.messageId);
  assert.equal((await stage.events("message.inbound")).length, 1);
});

test("a thread is marked read and unread, and typing is shown, and never stopped by the call that begins it", async (t) => {
  const stage = await stageMacService(t, { ingest: "webhook", habit: "delivers" });
  await delivered(stage);
  const [{ guid = "" } = {}] = stage.mac.chats;
  await stage.ok("POST", `/v1/chats/${encodeURIComponent(ANNA)}/read`);
  assert.equal(stage.mac.read.get(guid), true);
  await stage.ok("POST", `/v1/chats/${encodeURIComponent(ANNA)}/unread`);
  assert.equal(stage.mac.read.get(guid), false);
  await stage.ok("POST", `/v1/chats/${encodeURIComponent(ANNA)}/typing`, { status: "start" });
  assert.ok(stage.mac.typing.has(guid));
  await stage.ok("POST", `/v1/chats/${encodeURIComponent(ANNA)}/typing`, { status: "stop" });
  assert.ok(!stage.mac.requests.some((request) => /^DELETE .*\/typing$/.test(request)));
  stage.mac.phone(ANNA).types(true);
  const { data } = await stage.event("typing.indicator", ({ typing }) => typing);
  assert.deepEqual([data.from, data.to], [ANNA, OWN]);
  stage.mac.phone(ANNA).types(false);
  await stage.event("typing.indicator", ({ typing }) => !typing);
});

test("a group is created with its first message, renamed, extended and left", async (t) => {
  const stage = await stageMacService(t, { ingest: "webhook", habit: "delivers" });
  const { mac } = stage;
  const chat = await stage.ok("POST", "/v1/chats/groups", { name: "The trip", participants: [ANNA, BEN], from: OWN });
  const id = (await stage.ok("POST", "/v1/messages", { chatId: chat.id, content: { text: "Who is in?" } })).id;
  await until(() => mac.sent.length === 1);
  assert.deepEqual([...(mac.sent[0]?.to ?? [])].sort(), [ANNA, BEN]);
  await stage.reached(id, "delivered");
  const group = mac.chats.find(({ style }) => style === 43) ?? assert.fail("there is no group on the Mac");
  await until(() => group.displayName === "The trip", { what: "its name" });
  mac.phone(ANNA).writes("Me!", { group });
  const { data } = await stage.event("message.inbound");
  const [first] = (await stage.ok("GET", `/v1/chats/${chat.id}/messages`)).messages;
  assert.equal(first.id, data.messageId, "it is in another chat");
  assert.equal((await stage.ok("GET", "/v1/chats")).chats.length, 1);
  assert.equal((await stage.ok("PUT", `/v1/chats/${chat.id}/name`, { name: "The voyage" })).name, "The voyage");
  assert.equal(group.displayName, "The voyage");
  await stage.ok("POST", `/v1/chats/${chat.id}/participants`, { participant: CARL });
  assert.deepEqual(group.participants.map(({ address }) => address).sort(), [ANNA, BEN, CARL]);
  await stage.ok("DELETE", `/v1/chats/${chat.id}/participants/${encodeURIComponent(CARL)}`);
  assert.deepEqual(group.participants.map(({ address }) => address).sort(), [ANNA, BEN]);
  mac.phone(BEN).adds(group, CARL);
  await stage.event("chat.participant.added", ({ participant, actor }) => participant === CARL && actor === BEN);
  mac.phone(BEN).renames(group, "Summer");
  await stage.event("chat.title.changed", ({ title, actor }) => title === "Summer" && actor === BEN);
  mac.phone(CARL).leaves(group);
  await stage.event("chat.participant.left", ({ participant }) => participant === CARL);
  await stage.ok("POST", `/v1/chats/${chat.id}/leave`);
  assert.ok(mac.helperCalls.some(({ action }) => action === "leave-chat"));
});

test("a second group of the same people is the first: 200, with its name, and the phone's group stays unchanged", async (t) => {
  const stage = await stageMacService(t, { ingest: "webhook", habit: "delivers" });
  const { mac, api } = stage;
  const ask = (name: string, participants: string[], idempotencyKey?: string) =>
    api.ask("POST", "/v1/chats/groups", {
      body: { name, participants, from: OWN, ...(idempotencyKey && { idempotencyKey }) },
    });
  const [one, other] = await Promise.all([ask("Trip", [ANNA, BEN]), ask("Feud", [BEN, ANNA])]);
  assert.deepEqual([one.status, other.status].sort(), [200, 201]);
  assert.equal(one.data.id, other.data.id);
  const { id, name } = one.data;
  await stage.reached(await stage.send(id), "delivered");
  const group = mac.chats.find(({ style }) => style === 43) ?? assert.fail("there is no group on the Mac");
  await until(() => group.displayName === name, { what: "its name" });
  for (const key of [undefined, "k-1", "k-1"]) {
    const again = await ask("Coup", [BEN, ANNA], key);
    assert.deepEqual([again.status, again.data.id, again.data.name], [200, id, name]);
  }
  await stage.reached(await stage.send(id), "delivered");
  await stage.idle();
  assert.equal(group.displayName, name);
  assert.equal(mac.chats.filter(({ style }) => style === 43).length, 1);
  const more = await ask("Crew", [ANNA, BEN, CARL]);
  assert.deepEqual([more.status, more.data.name], [201, "Crew"]);
  await stage.ok("POST", `/v1/chats/${id}/leave`);
  assert.equal((await ask("Again", [ANNA, BEN])).status, 201);
});

test("a group that already has a name on the phone keeps it at its first message from here", async (t) => {
  const stage = await stageMacService(t, { ingest: "webhook", habit: "delivers" });
  const group = stage.mac.phone(ANNA).makesGroup("The old crew", [BEN]);
  const chat = await stage.ok("POST", "/v1/chats/groups", { name: "The trip", participants: [ANNA, BEN], from: OWN });
  await stage.reached(await stage.send(chat.id), "delivered");
  await until(async () => (await stage.ok("GET", `/v1/chats/${chat.id}`)).name === "The old crew");
  assert.equal(group.displayName, "The old crew");
});

test("Focus is read from the Mac, for contacts with messages in both directions", async (t) => {
  const stage = await stageMacService(t, { ingest: "webhook", habit: "delivers" });
  const path = `/v1/contacts/${encodeURIComponent(ANNA)}/focus`;
  await delivered(stage);
  assert.equal((await stage.api.ask("GET", path)).status, 404, "she has not answered");
  stage.mac.phone(ANNA).focus = "silenced";
  stage.mac.phone(ANNA).writes("Hi");
  await stage.event("message.inbound");
  const asked = { phoneNumber: ANNA, focused: true, focusActive: true };
  assert.deepEqual(await stage.ok("GET", path), { ...asked, cached: false });
  assert.deepEqual(await stage.ok("GET", path), { ...asked, cached: true });
  stage.clock.jump(61_000);
  stage.mac.phone(ANNA).focus = "unknown";
  const unknown = { phoneNumber: ANNA, focused: false, focusActive: false, cached: false };
  assert.deepEqual(await stage.ok("GET", path), unknown);
});

test("availability is read from the Mac, and a negative answer is checked again", async (t) => {
  const stage = await stageMacService(t, { ingest: "webhook" });
  stage.mac.fault("availabilityFalse");
  const anna = await stage.ok("GET", `/v1/capabilities/${encodeURIComponent(ANNA)}`);
  assert.deepEqual(anna.capabilities, { imessage: true, sms: true, facetime: true });
  assert.equal(anna.recommendedChannel, "imessage");
  Object.assign(stage.mac.phone(BEN), { isOnIMessage: false, hasFaceTime: false });
  const ben = await stage.ok("GET", `/v1/capabilities/${encodeURIComponent(BEN)}`);
  assert.deepEqual(ben.capabilities, { imessage: false, sms: true, facetime: false });
  const { available } = await stage.ok("GET", `/v1/contacts/${encodeURIComponent(BEN)}/facetime`);
  assert.equal(available, false);
});

for (const facetimeCalling of [true, false]) {
  const form = facetimeCalling ? "with its name and its end" : "as no more than that it rings";
  test(`a FaceTime call reported ${form} is one call`, async (t) => {
    const stage = await stageMacService(t, { ingest: "webhook", facetimeCalling });
    const uuid = stage.mac.phone(ANNA).rings();
    const { data } = await stage.event("facetime.incoming");
    assert.deepEqual([data.from, data.to, data.isOutgoing, data.status], [ANNA, OWN, false, "incoming"]);
    if (facetimeCalling) stage.mac.phone(ANNA).hangsUp(uuid);
    // In the other form no event reports the end: the call ends when it stops ringing.
    else stage.clock.jump(120_000);
    const end = await stage.event("facetime.status_changed");
    assert.equal(end.data.callId, data.callId);
    assert.match(end.data.status, /^(missed|disconnected)$/);
    assert.equal((await stage.events("facetime.incoming")).length, 1);
    assert.equal((await stage.ok("GET", "/v1/facetime/calls")).calls.length, 1);
  });
}

test("Apple Cash of that amount from the contact pays a request; a request of the contact does not", async (t) => {
  const stage = await stageMacService(t, { ingest: "webhook", habit: "delivers" });
  const request = await stage.ok("POST", "/v1/payments/request", { to: ANNA, from: OWN, amount: "25.50" });
  await stage.reached(request.messageId, "delivered");
  stage.mac.phone(ANNA).pays(2_550, { kind: "request" });
  stage.mac.phone(ANNA).pays(2_500);
  stage.mac.phone(ANNA).writes("sent you $25.50");
  await until(async () => (await stage.events("message.inbound")).length === 3);
  assert.equal((await stage.ok("GET", `/v1/payments/requests/${request.id}`)).status, "pending");
  stage.mac.phone(ANNA).pays(2_550);
  const { data } = await stage.event("payment.request.paid");
  assert.deepEqual([data.id, data.status, data.paidBy.evidence], [request.id, "paid", "apple_cash"]);
});

for (const isThere of [true, false]) {
  test(`a deleted instance removes its webhook from the Mac, ${isThere ? "and no other's" : "and says so if the Mac is gone"}`, async (t) => {
    const stage = await stageMacService(t, { ingest: "webhook" });
    const { mac, api, instanceId } = stage;
    const body = JSON.stringify({ url: "http://192.0.2.1/somebody-elses", events: ["new-message"] });
    const headers = { "content-type": "application/json" };
    await fetch(`${mac.url}/api/v1/webhook?password=${encodeURIComponent(mac.password)}`, {
      method: "POST",
      headers,
      body,
    });
    const [customer] = (await api.ask("GET", "/v1/admin/customers", { key: api.adminKey })).data.customers;
    const { data } = await api.ask("GET", `/v1/admin/customers/${customer.id}`, { key: api.adminKey });
    const number = data.numbers.find(({ phoneNumber }: { phoneNumber: string }) => phoneNumber === OWN);
    await api.ask("DELETE", `/v1/admin/customers/${customer.id}/numbers/${number.id}`, { key: api.adminKey });
    if (!isThere) mac.fault("unreachable");
    const deleted = await api.ask("DELETE", `/v1/admin/instances/${instanceId}`, { key: api.adminKey });
    assert.deepEqual([deleted.status, deleted.data], [200, { id: instanceId, deleted: true }]);
    assert.deepEqual(
      mac.webhooks.map(({ url }) => url.replace(/.*\/hooks.*/, "ours")),
      isThere ? ["http://192.0.2.1/somebody-elses"] : ["ours", "http://192.0.2.1/somebody-elses"],
    );
  });
}

test("a Mac without its helper is unhealthy with a reason, messages wait for it, and are sent once when it is back", async (t) => {
  const stage = await stageMacService(t, { ingest: "webhook", habit: "delivers" });
  const back = stage.mac.fault("helperGone");
  const id = await stage.send(ANNA);
  stage.clock.jump(60_000);
  const { healthMessage, warnings } = await stage.health("unhealthy");
  assert.match(JSON.stringify([healthMessage, warnings]), /helper/i);
  await stage.reached(id, "queued");
  back();
  stage.clock.jump(60_000);
  await stage.reached(id, "delivered");
  assert.equal(stage.mac.sent.length, 1);
});
