/** Tests the fake Mac against known facts of BlueBubbles 1.9.9, so that the provider meets each of them in its tests. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { io } from "socket.io-client";
import { until } from "../wait.ts";
import { type Mac, type MacOptions, startMac } from "./mac.ts";

const ANNA = "+15550100001";
const ANNA_GUID = `iMessage;-;${ANNA}`;

interface Reply {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses field by field.
  body: any;
}

async function macOf(t: TestContext, options: MacOptions = {}): Promise<Mac> {
  const mac = await startMac(options);
  t.after(() => mac.stop());
  return mac;
}

async function ask(mac: Mac, method: string, path: string, body?: unknown): Promise<Reply> {
  const url = new URL(`${mac.url}/api/v1/${path}`);
  if (!url.searchParams.has("password")) url.searchParams.set("password", mac.password);
  const response = await fetch(url, {
    method,
    ...(body === undefined
      ? {}
      : {
          headers: body instanceof FormData ? {} : { "content-type": "application/json" },
          body: body instanceof FormData || typeof body === "string" ? body : JSON.stringify(body),
        }),
  });
  const text = await response.text();
  const isJson = (response.headers.get("content-type") ?? "").startsWith("application/json");
  return { status: response.status, body: isJson ? JSON.parse(text) : text };
}

function text(message: string, more: object = {}) {
  return { chatGuid: ANNA_GUID, message, method: "private-api", ...more };
}

/** A receiver that keeps webhooks in order of arrival. */
async function hookOf(t: TestContext, mac: Mac, events: string[] = ["*"]) {
  const came: { type: string; data: { guid?: string; tempGuid?: string; chats?: unknown[] } }[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    came.push(JSON.parse(Buffer.concat(parts).toString("utf8")));
    response.writeHead(500).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  await ask(mac, "POST", "webhook", { url, events });
  return { url, came };
}

test("the password is checked after the route, and a right password does not excuse a wrong guid", async (t) => {
  const mac = await macOf(t);
  const status = async (path: string, method = "GET") => (await fetch(`${mac.url}${path}`, { method })).status;
  const right = encodeURIComponent(mac.password);
  assert.equal(await status("/"), 200);
  assert.equal(await status("/api/v1/ping"), 401);
  assert.equal(await status(`/api/v1/ping?token=${right}`), 200);
  assert.equal(await status(`/api/v1/ping?guid=no&password=${right}`), 401);
  assert.equal(await status("/api/v1/nope"), 404);
  assert.equal(await status("/api/v1/ping", "PUT"), 405);
  assert.equal((await ask(mac, "GET", "nope")).body, "Not Found");
  const broken = await fetch(`${mac.url}/api/v1/message/text?password=${right}`, { method: "POST", body: "{x" });
  assert.equal(broken.status, 500);
});

test("a send needs an existing chat; chat/new creates it, and its message is emitted once and without tempGuid", async (t) => {
  const mac = await macOf(t);
  const { came } = await hookOf(t, mac);
  const refused = await ask(mac, "POST", "message/text", text("Hi", { tempGuid: "t-1" }));
  assert.equal(refused.body.error.message, "Chat does not exist in IMChatRegistry!");
  const made = await ask(mac, "POST", "chat/new", {
    addresses: ["+1 (555) 010-0001"],
    message: "Hi",
    method: "private-api",
    tempGuid: "t-1",
  });
  assert.equal(made.body.data.guid, ANNA_GUID);
  assert.equal(made.body.data.messages[0].tempGuid, "t-1");
  assert.equal((await ask(mac, "POST", "message/text", text("Again", { tempGuid: "t-2" }))).status, 200);
  await until(() => came.length === 3);
  await mac.idle();
  assert.deepEqual(came.map(({ data }) => data.tempGuid ?? "none").sort(), ["none", "none", "t-2"]);
  assert.deepEqual(
    mac.sent.map((sent) => sent.text),
    ["Hi", "Again"],
  );
});

test("an error at once is a 500 without the guid; a late error is in the row alone", async (t) => {
  const mac = await macOf(t);
  const { came } = await hookOf(t, mac);
  mac.knows(ANNA);
  mac.fault("errorAtOnce");
  const atOnce = await ask(mac, "POST", "message/text", text("one", { tempGuid: "t-1" }));
  assert.equal(atOnce.status, 500);
  assert.equal(atOnce.body.data, undefined);
  mac.phone(ANNA).isOnIMessage = false;
  const later = await ask(mac, "POST", "message/text", text("two", { tempGuid: "t-2" }));
  assert.equal(later.body.data.error, 0);
  await mac.advance(1_000);
  await mac.idle();
  assert.equal((await ask(mac, "GET", `message/${later.body.data.guid}`)).body.data.error, 22);
  const errors = await ask(mac, "POST", "message/query", {
    where: [
      { statement: "message.error != :e", args: { e: 0 } },
      { statement: "message.is_from_me = :m", args: { m: 1 } },
    ],
  });
  assert.equal(errors.body.metadata.total, 2);
  assert.equal(came.length, 4);
  assert.ok(came.every(({ type }) => type === "new-message"));
  assert.equal(mac.sent.length, 0);
});

test("a tempGuid is refused only while its send is under way", async (t) => {
  const mac = await macOf(t);
  mac.knows(ANNA);
  mac.fault("answerTimesOut");
  const first = ask(mac, "POST", "message/text", text("one", { tempGuid: "t" }));
  await until(() => mac.sent.length === 1);
  const second = await ask(mac, "POST", "message/text", text("one", { tempGuid: "t" }));
  assert.equal(second.body.error.message, "Message is already queued to be sent! (Temp GUID: t)");
  await mac.advance(120_000);
  assert.equal((await first).body.error.message, "Transaction timeout");
  assert.equal((await ask(mac, "POST", "message/text", text("one", { tempGuid: "t" }))).status, 200);
  assert.equal(mac.sent.length, 2);
});

test("the events of two equal texts can carry each other's tempGuid, and their responses do not", async (t) => {
  const mac = await macOf(t);
  const { came } = await hookOf(t, mac);
  mac.knows(ANNA);
  mac.fault("tempGuidsSwapped");
  const one = await ask(mac, "POST", "message/text", text("same", { tempGuid: "t-1" }));
  const two = await ask(mac, "POST", "message/text", text("same", { tempGuid: "t-2" }));
  await until(() => came.length === 4);
  const guidOf = (tempGuid: string) => came.find(({ data }) => data.tempGuid === tempGuid)?.data.guid;
  assert.equal(guidOf("t-1"), two.body.data.guid);
  assert.equal(guidOf("t-2"), one.body.data.guid);
});

test("an update comes without its chat, and after an hour as a new message", async (t) => {
  const mac = await macOf(t);
  const { came } = await hookOf(t, mac);
  mac.knows(ANNA);
  await ask(mac, "POST", "message/text", text("Hi"));
  mac.phone(ANNA).delivers();
  await until(() => came.length === 2);
  await mac.advance(3_600_001);
  mac.phone(ANNA).reads();
  await until(() => came.length === 3);
  const kinds = came.map(({ type, data }) => [type, data.chats !== undefined]);
  assert.deepEqual(kinds, [
    ["new-message", true],
    ["updated-message", false],
    ["new-message", true],
  ]);
});

test("a known webhook address keeps its old events, and a repeated event is posted once", async (t) => {
  const mac = await macOf(t);
  const { url, came } = await hookOf(t, mac, ["typing-indicator"]);
  assert.deepEqual((await ask(mac, "POST", "webhook", { url, events: ["*"] })).body.data.events, ["typing-indicator"]);
  assert.equal((await ask(mac, "POST", "webhook", { url, events: ["message"] })).status, 400);
  assert.equal((await ask(mac, "GET", "webhook?id=1")).status, 500);
  mac.phone(ANNA).writes("Hi");
  mac.phone(ANNA).types(true);
  mac.phone(ANNA).types(true);
  await until(() => came.length === 1);
  await mac.idle();
  assert.deepEqual(came, [{ type: "typing-indicator", data: { display: true, guid: ANNA_GUID } }]);
  assert.equal((await ask(mac, "DELETE", `webhook/${mac.webhooks[0]?.id}`)).status, 200);
  assert.equal((await ask(mac, "DELETE", "webhook/99")).status, 404);
});

test("a query accepts known statements, and returns SQLite's error for others", async (t) => {
  const mac = await macOf(t);
  mac.knows(ANNA);
  const { guid } = (await ask(mac, "POST", "message/text", text("Hi"))).body.data;
  mac.phone(ANNA).delivers();
  mac.phone(ANNA).writes("Hi back");
  const found = async (statement: string, args: object, more: object = {}) => {
    const { status, body } = await ask(mac, "POST", "message/query", { where: [{ statement, args }], ...more });
    return status === 200 ? body.metadata.total : body.error.message;
  };
  assert.equal(await found("message.guid IN (:...guids)", { guids: [guid] }), 1);
  assert.equal(await found("message.ROWID > :r", { r: 1 }), 1);
  assert.equal(await found("message.service = :s", { s: "iMessage" }), 2);
  assert.equal(await found("chat.chat_identifier = :c", { c: ANNA }, { with: ["chat"] }), 2);
  assert.match(await found("chat.chat_identifier = :c", { c: ANNA }), /no such column/);
  const since = (mac.clock.now() - 1_000 - 978_307_200_000) * 1_000_000;
  assert.equal(await found("(message.date_delivered >= :d OR message.date_read >= :d)", { d: since }), 1);
  assert.match(await found("message.nope = 1", {}), /no such column: message.nope/);
  assert.equal((await ask(mac, "POST", "message/query", { limit: 1_001 })).status, 400);
  assert.equal((await ask(mac, "POST", "message/query", { sort: "asc" })).status, 400);
  assert.equal((await ask(mac, "POST", "handle/query", { address: ANNA })).status, 500);
});

test("without the helper the private API fails, and the other routes work", async (t) => {
  const mac = await macOf(t);
  mac.knows(ANNA);
  const back = mac.fault("helperGone");
  const { body } = await ask(mac, "POST", "message/text", text("Hi"));
  assert.equal(body.error.message, "iMessage Private API Helper is not connected!");
  assert.equal((await ask(mac, "GET", "server/info")).body.data.helper_connected, false);
  assert.equal((await ask(mac, "GET", `handle/availability/imessage?address=%2B15550100001`)).status, 500);
  back();
  assert.equal((await ask(mac, "POST", "message/text", text("Hi"))).status, 200);
});

test("a file is uploaded, sent as a part and downloaded; a file that Messages has not fetched is a 500 until it is forced", async (t) => {
  const mac = await macOf(t);
  mac.knows(ANNA);
  const form = new FormData();
  form.set("attachment", new File([new Uint8Array([1, 2, 3])], "a.png", { type: "image/png" }));
  const { path } = (await ask(mac, "POST", "attachment/upload", form)).body.data;
  const parts = [
    { partIndex: 0, text: "Look" },
    { partIndex: 1, attachment: path, name: "a.png" },
  ];
  assert.equal((await ask(mac, "POST", "message/multipart", { chatGuid: ANNA_GUID, parts })).status, 200);
  assert.deepEqual([...(mac.sent[0]?.attachments[0]?.bytes ?? [])], [1, 2, 3]);
  mac.phone(ANNA).writes(null, {
    attachments: [{ name: "b.png", mimeType: "image/png", bytes: new Uint8Array([4]), isOnDisk: false }],
  });
  const guid = mac.messages.at(-1)?.attachments[0]?.guid;
  assert.match(
    (await ask(mac, "GET", `attachment/${guid}/download?original=true`)).body.error.message,
    /does not exist in disk/,
  );
  assert.equal((await ask(mac, "GET", `attachment/${guid}/download/force?original=true`)).body, "\u0004");
  assert.equal((await ask(mac, "GET", "attachment/NOPE/download")).status, 500);
  assert.equal((await ask(mac, "GET", "attachment/NOPE/download?force=false")).status, 404);
});

test("in 1.9.9 the end of typing begins it, and a send ends it", async (t) => {
  const mac = await macOf(t);
  mac.knows(ANNA);
  const path = `chat/${encodeURIComponent(ANNA_GUID)}/typing`;
  await ask(mac, "DELETE", path);
  assert.deepEqual([...mac.typing], [ANNA_GUID]);
  await ask(mac, "POST", "message/text", text("Hi"));
  assert.equal(mac.typing.size, 0);
  const newer = await macOf(t, { release: { version: "development", macOs: 26 } });
  assert.equal(newer.knows(ANNA), `any;-;${ANNA}`);
  await ask(newer, "DELETE", path);
  assert.equal(newer.typing.size, 0);
});

test("a call is emitted as text inside of JSON, or with its uuid, by setting", async (t) => {
  const old = await macOf(t);
  old.phone(ANNA).rings();
  assert.equal(typeof old.emittedEvents[0]?.data, "string");
  assert.equal(old.emittedEvents.length, 2);
  const mac = await macOf(t, { facetimeCalling: true });
  const uuid = mac.phone(ANNA).rings();
  mac.phone(ANNA).hangsUp(uuid);
  assert.deepEqual(
    mac.emittedEvents.map(({ data }) => (data as { status: string }).status),
    ["incoming", "disconnected"],
  );
  assert.equal((await ask(mac, "POST", `facetime/leave/${uuid}`)).status, 201);
});

test("a socket with the password receives the whole message, and a socket without it is closed", async (t) => {
  const mac = await macOf(t);
  const socket = io(mac.url, { query: { password: mac.password }, reconnection: false });
  const stranger = io(mac.url, { query: { password: "no" }, reconnection: false, forceNew: true });
  t.after(() => {
    socket.close();
    stranger.close();
  });
  const came: { payloadData: unknown[]; chats: unknown[] }[] = [];
  socket.on("new-message", (data) => came.push(data));
  await until(() => socket.connected && !stranger.connected && mac.socketCount === 1);
  mac.phone(ANNA).pays(2_500);
  await until(() => came.length === 1);
  const { guid } = mac.messages[0] ?? assert.fail();
  const full = (await ask(mac, "GET", `message/${guid}?with=chats,payload-data`)).body.data;
  assert.deepEqual(came[0]?.payloadData, full.payloadData);
  const emitted = mac.emittedEvents[0]?.data as { payloadData: unknown } | undefined;
  assert.equal(emitted?.payloadData, null);
});

test("a sleeping Mac does not respond until it wakes, and then handles what it had read; an unreachable Mac reports its return", async (t) => {
  const mac = await macOf(t);
  const { came } = await hookOf(t, mac);
  mac.knows(ANNA);
  const wake = mac.fault("asleep");
  const asked = ask(mac, "POST", "message/text", text("Hi"));
  await until(() => mac.requests.some((request) => request.endsWith("message/text")));
  mac.phone(ANNA).writes("Are you there?");
  await mac.idle();
  assert.equal(mac.sent.length, 0);
  wake();
  assert.equal((await asked).status, 200);
  const back = mac.fault("unreachable");
  await assert.rejects(ask(mac, "GET", "ping"));
  mac.phone(ANNA).writes("Hello?");
  back();
  await until(() => came.some(({ type }) => type === "hello-world"));
  assert.equal((await ask(mac, "GET", "ping")).status, 200);
  assert.ok(came.every(({ type, data }) => type === "hello-world" || data.guid === mac.sent[0]?.guid));
  assert.equal(mac.messages.length, 3);
});

test("commands to the helper are counted by the second, and wait for each other if so configured", async (t) => {
  const mac = await macOf(t, { helperWaits: true });
  mac.knows(ANNA);
  const all = [1, 2, 3, 4, 5, 6, 7].map((number) => ask(mac, "POST", "message/text", text(`${number}`)));
  await mac.idle();
  await mac.advance(2_000);
  await Promise.all(all);
  assert.equal(mac.sent.length, 7);
  assert.equal(mac.busiestSecond, 5);
});
