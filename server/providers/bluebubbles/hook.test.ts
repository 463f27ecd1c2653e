/** Tests of the Mac's webhook: its registration, and what a stranger's request can do. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { ANNA, BEN, type MacProviderStage, OWN, stageMacProvider } from "../../../test/support/mac-provider.ts";
import { HOOK_EVENTS } from "./hook.ts";

const MINUTE = 60_000;
const PAYMENT = "com.apple.PassbookUIService.PeerPaymentMessagesExtension";

/** Queries the Mac directly, as an operator would. */
async function ask(stage: MacProviderStage, method: string, path: string, body?: unknown): Promise<void> {
  const url = `${stage.mac.url}/api/v1/${path}?password=${encodeURIComponent(stage.mac.password)}`;
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method, ...(body === undefined ? {} : { headers, body: JSON.stringify(body) }) });
  assert.equal(response.status, 200, path);
}

function registered(stage: MacProviderStage) {
  return stage.mac.webhooks.map(({ url, events }) => ({ url, events }));
}

function wanted(stage: MacProviderStage) {
  return [{ url: `${stage.hookUrl}/mac`, events: HOOK_EVENTS }];
}

it("is registered once, with our events and never with `*`", async (t) => {
  const stage = await stageMacProvider(t);
  assert.deepEqual(registered(stage), wanted(stage));
  assert.ok(!HOOK_EVENTS.includes("*"));
  await stage.pass(5 * MINUTE);
  await stage.stop();
  await stage.start();
  assert.deepEqual(registered(stage), wanted(stage));
  const asked = stage.mac.requests.filter((request) => request === "POST /api/v1/webhook");
  assert.equal(asked.length, 1);
});

it("replaces a registration with other events, and those of our earlier addresses; others stay", async (t) => {
  const stage = await stageMacProvider(t, { starts: false });
  const stranger = { url: "http://127.0.0.1:9/hooks/inst_other/token/mac", events: ["new-message"] };
  for (const url of [`${stage.hookUrl}/mac`, "http://former.example/hooks/inst_mac/old/mac"]) {
    await ask(stage, "POST", "webhook", { url, events: ["new-message", "typing-indicator"] });
  }
  await ask(stage, "POST", "webhook", stranger);
  await stage.start();
  assert.deepEqual(registered(stage), [stranger, ...wanted(stage)]);
});

it("is registered again within a minute after it was removed", async (t) => {
  const stage = await stageMacProvider(t);
  await ask(stage, "DELETE", `webhook/${stage.mac.webhooks[0]?.id}`);
  await stage.pass(MINUTE);
  assert.deepEqual(registered(stage), wanted(stage));
});

it("is removed in socket mode", async (t) => {
  const stage = await stageMacProvider(t);
  await stage.stop();
  stage.ingest = "socket";
  await stage.start();
  assert.deepEqual(registered(stage), []);
});

it("responds with 404 on every path in socket mode", async (t) => {
  const stage = await stageMacProvider(t, { ingest: "socket" });
  stage.mac.knows(ANNA);
  const data = { uuid: "CALL", status_id: 4, address: ANNA };
  assert.equal(await stage.post({ type: "ft-call-status-changed", data }), 404);
  const typing = { display: true, guid: `iMessage;-;${ANNA}` };
  assert.equal(await stage.post({ type: "typing-indicator", data: typing }), 404);
  assert.deepEqual(stage.signals, []);
});

it("explains in the instance's health why it cannot be registered, as long as it cannot", async (t) => {
  const stage = await stageMacProvider(t, { starts: false });
  // BlueBubbles rejects this URL.
  stage.hookAddress = "gopher://127.0.0.1/hooks/inst_mac/token";
  await stage.start();
  const health = await stage.provider.health();
  assert.equal(health.status, "degraded");
  assert.match((health.warnings ?? []).join(" "), /sends no events.*400/);
  stage.hookAddress = null;
  await stage.pass(MINUTE);
  assert.equal((await stage.provider.health()).status, "healthy");
});

it("explains that the Mac cannot reach a loopback address of another machine", async (t) => {
  const stage = await stageMacProvider(t, { starts: false });
  stage.hookAddress = "http://localhost:8080/hooks/inst_mac/token";
  stage.url = stage.mac.url.replace("127.0.0.1", "0.0.0.0");
  await stage.start();
  assert.match(((await stage.provider.health()).warnings ?? []).join(" "), /TB_PUBLIC_URL/);
  assert.deepEqual(registered(stage), []);
});

it("warns of an address that Apple removed once the account no longer lists it, and masks the address", async (t) => {
  const stage = await stageMacProvider(t);
  await stage.post({ type: "imessage-aliases-removed", data: { aliases: [OWN, "other@example.com"] } });
  await stage.pass(10 * MINUTE);
  assert.equal((await stage.provider.health()).status, "healthy");
  stage.mac.fault("addressTaken");
  await stage.pass(10 * MINUTE);
  const { status, warnings = [] } = await stage.provider.health();
  assert.equal(status, "degraded");
  assert.deepEqual(warnings, ["Apple removed …0001 from the account of this Mac: sign in with it again in Messages."]);
});

it("responds with 200 to any body, and with 404 on any other path", async (t) => {
  const stage = await stageMacProvider(t);
  const odd = [
    "",
    "{",
    "null",
    "[]",
    "7",
    '"x"',
    "{}",
    '{"type":7}',
    '{"type":"new-message"}',
    '{"type":"server-update"}',
  ];
  const rows = [
    null,
    7,
    "x",
    [],
    {},
    { guid: 7 },
    { guid: "G" },
    { guid: "G", handle: 7, chats: {}, attachments: "x" },
  ];
  for (const body of [...odd, ...rows.map((data) => ({ type: "new-message", data }))]) {
    assert.equal(await stage.post(body), 200, JSON.stringify(body));
  }
  for (const type of ["typing-indicator", "incoming-facetime", "ft-call-status-changed", "imessage-aliases-removed"]) {
    for (const data of [null, 7, "{", "[]", {}, { guid: "x" }, { display: true, guid: "iMessage;+;chat1" }]) {
      assert.equal(await stage.post({ type, data }), 200, type);
    }
  }
  for (const path of ["", "/", "/mac/", "/macs", "/mac/x"]) assert.equal(await stage.post({}, path), 404, path);
  await stage.pass(1_000);
  assert.deepEqual(stage.signals, []);
});

it("believes nothing in a notification: the row is read from the Mac, and a missing row is not reported", async (t) => {
  const stage = await stageMacProvider(t);
  const guid = stage.mac.phone(ANNA).writes("just a text");
  await stage.idle();
  const forged = {
    guid: "8D0E8A9C-0000-4000-8000-000000000002",
    isFromMe: false,
    text: "Sent $500 with Apple Cash.",
    dateCreated: stage.clock.real(),
    balloonBundleId: PAYMENT,
    handle: { address: ANNA, service: "iMessage" },
    chats: [{ guid: `iMessage;-;${ANNA}`, style: 45, lastAddressedHandle: OWN }],
  };
  await stage.post({ type: "new-message", data: forged });
  await stage.post({ type: "new-message", data: { ...forged, guid } });
  await stage.pass(MINUTE);
  assert.deepEqual(
    stage.of("inbound").map(({ reference, text, payment }) => ({ reference, text, payment })),
    [{ reference: guid, text: "just a text", payment: null }],
  );
});

it("reads the whole message if the event's row lacks parts", async (t) => {
  const stage = await stageMacProvider(t);
  stage.mac.fault("eventsLost");
  const anna = stage.mac.phone(ANNA);
  const group = anna.makesGroup("Trip", ["+15550100002"]);
  const guid = anna.writes("Hi all", { group });
  // An `updated-message` has no chats: by itself it would look like a message to us.
  await stage.post({ type: "updated-message", data: { guid, isFromMe: false, text: "Hi all" } });
  assert.deepEqual(
    stage.of("inbound").map(({ group: reported }) => reported?.reference),
    [group.guid],
  );
});

it("looks again at an empty row, and reports it empty in the end", async (t) => {
  const stage = await stageMacProvider(t);
  stage.mac.fault("eventsLost");
  const anna = stage.mac.phone(ANNA);
  const full = anna.writes("Hi");
  const empty = anna.writes(null);
  const row = stage.mac.messages.find(({ guid }) => guid === full) ?? assert.fail();
  row.text = null;
  for (const guid of [full, empty]) await stage.post({ type: "new-message", data: { guid } });
  assert.deepEqual(stage.of("inbound"), []);
  row.text = "Hi";
  await stage.pass(1_000);
  assert.deepEqual(
    stage.of("inbound").map(({ text }) => text),
    ["Hi"],
  );
  await stage.pass(10_000);
  assert.deepEqual(
    stage.of("inbound").map(({ text }) => text),
    ["Hi", null],
  );
});

it("waits for the participants of a group before it reports a message", async (t) => {
  const stage = await stageMacProvider(t);
  const anna = stage.mac.phone(ANNA);
  const group = anna.makesGroup("Trip", ["+15550100002"]);
  stage.mac.fault("serverError", { times: 2 });
  anna.writes("Hi all", { group });
  await stage.idle();
  assert.deepEqual(stage.signals, []);
  await stage.pass(10_000);
  assert.equal(stage.of("inbound")[0]?.group?.participants.length, 2);
});

it("takes the text of a reaction without text from the message reacted to", async (t) => {
  const stage = await stageMacProvider(t);
  const target = await stage.send("Lunch?");
  stage.mac.fault("eventsLost");
  const guid = stage.mac.phone(ANNA).reacts(target, "question");
  const row = stage.mac.messages.find((message) => message.guid === guid) ?? assert.fail();
  row.text = null;
  await stage.post({ type: "new-message", data: { guid } });
  const [{ content, type, emoji } = { content: "", type: "", emoji: "" }] = stage.of("reaction");
  assert.deepEqual([content, type, emoji], ["Questioned “Lunch?”", "question", undefined]);
});

it("finds which of several numbers a message arrived at, from the Mac's conversation", async (t) => {
  const numbers = [
    { address: "+15550000009", customerId: "cust_9", isDefault: true },
    { address: OWN, customerId: "cust_1", isDefault: true },
  ] as const;
  const stage = await stageMacProvider(t, { numbers });
  const anna = stage.mac.phone(ANNA);
  anna.writes("Hi");
  anna.types(true);
  anna.rings();
  await stage.idle();
  assert.deepEqual(
    stage.signals.map((signal) => ("to" in signal ? `${signal.kind} ${signal.to}` : signal.kind)).toSorted(),
    [`call ${OWN}`, `inbound ${OWN}`, `typing ${OWN}`],
  );
});

it("reports nothing if it cannot tell which of two customers a message is for", async (t) => {
  const numbers = [
    { address: "+15550000008", customerId: "cust_8", isDefault: true },
    { address: "+15550000009", customerId: "cust_9", isDefault: true },
  ] as const;
  const stage = await stageMacProvider(t, { numbers });
  stage.mac.phone(ANNA).writes("Hi");
  await stage.pass(MINUTE);
  assert.deepEqual(stage.signals, []);
  assert.equal(stage.faults.length, 1);
});

it("moves no message of ours into another conversation, whatever is posted", async (t) => {
  const stage = await stageMacProvider(t);
  const theirs = stage.mac.knows(BEN);
  const group = stage.mac.phone(BEN).makesGroup("Theirs", ["+15550100003"]);
  const handle = { address: BEN, service: "iMessage" };
  const people = [ANNA, "+15550100004"];
  const posted = [
    { guid: `SMS;-;${ANNA}`, style: 45, chatIdentifier: ANNA },
    { guid: theirs, style: 45, chatIdentifier: ANNA },
    { guid: group.guid, style: 43, participants: people.map((address) => ({ address })) },
  ];
  for (const [index, chat] of posted.entries()) {
    const data = { guid: `FORGED-${index}`, isFromMe: false, text: "Hi", handle, chats: [chat] };
    await stage.post({ type: "new-message", data });
    await stage.post({ type: "new-message", data: { ...data, guid: `FORGED-OWN-${index}`, isFromMe: true } });
  }
  stage.mac.knows(ANNA);
  await stage.send("for Anna alone", ANNA);
  assert.deepEqual([stage.mac.sent.at(-1)?.to, stage.mac.sent.at(-1)?.service], [[ANNA], "iMessage"]);
  const chat = { chatId: "chat_1", customerId: "cust_1", from: OWN, channel: "imessage", contact: null } as const;
  await stage.send("for the two", "chat_1", { group: { ...chat, reference: null, participants: people } });
  assert.deepEqual(stage.mac.sent.at(-1)?.to, people);
});

it("queries the Mac no more often when it is called a thousand times a second", async (t) => {
  const stage = await stageMacProvider(t);
  await stage.pass(MINUTE);
  const before = stage.mac.requests.length;
  for (let second = 0; second < 10; second += 1) {
    for (let call = 0; call < 20; call += 1) await stage.post({ type: "hello-world", data: null });
    await stage.pass(1_000);
  }
  const asked = stage.mac.requests.slice(before);
  assert.ok(asked.length <= 30, `${asked.length} requests in ten seconds`);
  stage.mac.fault("eventsLost");
  stage.mac.phone(ANNA).writes("Hi");
  await stage.post({ type: "hello-world", data: null });
  await stage.pass(5_000);
  assert.equal(stage.of("inbound").length, 1);
});

it("checks a Mac that is down once a second at most, however often it is called", async (t) => {
  const stage = await stageMacProvider(t);
  stage.mac.fault("helperGone");
  await stage.pass(5 * MINUTE);
  const checks = () => stage.mac.requests.filter((line) => line.endsWith("/server/info")).length;
  const before = checks();
  for (let second = 0; second < 10; second += 1) {
    for (const type of ["hello-world", "typing-indicator", "invented"]) await stage.post({ type, data: null });
    await stage.pass(1_000);
  }
  const count = checks() - before;
  // The ordinary checks, 2 s apart by then, go on.
  assert.ok(count >= 10 && count <= 16, `${count} checks in ten seconds`);
});

it("believes no posted failure of our messages: the Mac's row decides", async (t) => {
  const stage = await stageMacProvider(t);
  const guid = await stage.send("Hello");
  await stage.pass(1_000);
  const posted = { guid, isFromMe: true, text: "Hello", error: 22, dateCreated: stage.clock.real(), chats: [] };
  await stage.post({ type: "message-send-error", data: posted });
  await stage.pass(30_000);
  assert.deepEqual(stage.receiptsOf(guid), ["sent"]);
  const row = stage.mac.messages.find((message) => message.guid === guid);
  assert.ok(row !== undefined);
  row.error = 22;
  await stage.post({ type: "message-send-error", data: posted });
  assert.deepEqual(stage.receiptsOf(guid), ["sent", "failed"]);
});
