/** A thing that two customers share (a contact, a phone, a process, an idempotency key) carries nothing from one to the other. */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { openStream } from "../support/event-stream.ts";
import {
  CONTACT,
  FIRST_NUMBER,
  OPTED_OUT,
  OTHER_TEXT,
  PNG,
  SECOND_NUMBER,
  SECRET_TEXT,
  SHARED,
  startNeighbours,
} from "../support/neighbours.ts";
import type { Answered } from "../support/service.ts";
import { until } from "../support/wait.ts";

const neighbours = await startNeighbours();
const { api, first, other, ids, one, downloadUrl, otherKey, checkHidden } = neighbours;

after(() => api.stop());

const phone = (number: string) => `/v1/sandbox/phones/${number}`;

/** The `data` of a successful response that contains nothing of the first customer. */
function shown(line: string, answer: Answered, named = ""): Answered["data"] {
  assert.ok(answer.status < 300, `${line}: ${answer.status} ${JSON.stringify(answer.error)}`);
  checkHidden(line, answer, named);
  return answer.data;
}

function refused(line: string, answer: Answered, status: number, code: string, named = ""): void {
  assert.deepEqual([answer.status, answer.error?.code], [status, code], `${line}: ${JSON.stringify(answer.data)}`);
  checkHidden(line, answer, named);
}

test("a chat named by a contact's address is the customer's own, even if others write with the contact", async () => {
  const own = (await first("GET", `/v1/chats/${SHARED}`)).data;
  const chat = shown("the chat", await other("GET", `/v1/chats/${SHARED}`));
  assert.notEqual(chat.id, own.id);
  assert.equal(chat.from, SECOND_NUMBER);
  const { messages } = shown("its messages", await other("GET", `/v1/chats/${SHARED}/messages`));
  assert.deepEqual(
    messages.map(({ content }: { content: { text: string } }) => content.text),
    [OTHER_TEXT],
  );
  for (const path of [`/v1/chats/${CONTACT}`, `/v1/chats/${CONTACT}/messages`]) {
    refused(path, await other("GET", path), 404, "CONVERSATION_NOT_FOUND", CONTACT);
  }
  for (const address of [SHARED, CONTACT]) {
    const path = `/v1/chats/${address}?from=${encodeURIComponent(FIRST_NUMBER)}`;
    refused(path, await other("GET", path), 404, "CONVERSATION_NOT_FOUND", `${CONTACT} ${FIRST_NUMBER}`);
  }
  for (const [method, path] of [
    ["POST", "typing"],
    ["POST", "read"],
    ["POST", "unread"],
  ] as const) {
    const answer = await other(method, `/v1/chats/${SHARED}/${path}`, {});
    assert.equal(shown(path, answer)[path === "typing" ? "chatId" : "id"], chat.id);
  }
});

test("capabilities of an address come only from the customer's own lookups", async () => {
  await first("POST", `${phone(CONTACT)}/messages`, { text: SECRET_TEXT });
  assert.equal((await first("GET", `/v1/contacts/${CONTACT}/focus`)).status, 200);
  refused("focus", await other("GET", `/v1/contacts/${CONTACT}/focus`), 404, "NOT_FOUND", CONTACT);
  // Its phone is off iMessage for the first customer alone.
  await first("PUT", `${phone(SHARED)}/settings`, { imessage: false, latencyMs: 4711 });
  const settings = shown("settings", await other("GET", `${phone(SHARED)}/settings`));
  assert.deepEqual([settings.imessage, settings.latencyMs], [true, 0]);
  const [capable, facetime] = [`/v1/capabilities/${SHARED}`, `/v1/contacts/${SHARED}/facetime`];
  assert.equal((await first("GET", capable)).data.iMessage, false);
  assert.equal(shown(capable, await other("GET", capable)).iMessage, true);
  assert.equal((await first("GET", facetime)).data.available, false);
  assert.equal(shown(facetime, await other("GET", facetime)).available, true);
  await other("PUT", `${phone(SHARED)}/settings`, { online: false });
  assert.equal((await first("GET", `${phone(SHARED)}/settings`)).data.online, true);
  await first("PUT", `${phone(SHARED)}/settings`, { imessage: true, latencyMs: 0 });
  await other("PUT", `${phone(SHARED)}/settings`, { online: true });
});

describe("a shared phone gives no customer access to another customer's records", () => {
  const cases: [name: string, path: string, body: object, status: number, code: string][] = [
    ["number", "messages", { text: "Hi", to: FIRST_NUMBER }, 403, "ADDRESS_NOT_AUTHORIZED"],
    ["message that was sent, by an answer", "messages", { text: "Hi", replyTo: one.delivered }, 404, "REPLY_NOT_FOUND"],
    ["message that came, by an answer", "messages", { text: "Hi", replyTo: one.inbound }, 404, "REPLY_NOT_FOUND"],
    ["number, typing", "typing", { typing: true, to: FIRST_NUMBER }, 403, "ADDRESS_NOT_AUTHORIZED"],
    ["message, by a reaction", "reactions", { messageId: one.delivered, type: "love" }, 404, "NOT_FOUND"],
    ["inbound message, by a reaction", "reactions", { messageId: one.inbound, type: "-love" }, 404, "NOT_FOUND"],
    ["message, by keeping it", "audio-kept", { messageId: one.delivered }, 404, "NOT_FOUND"],
    ["group, by a message", "messages", { text: "Hi", chatId: one.group }, 404, "CONVERSATION_NOT_FOUND"],
    ["group, by its photo", "group-photo", { chatId: one.group }, 404, "CONVERSATION_NOT_FOUND"],
    ["payment request", "payments", { requestId: one.pending }, 404, "NOT_FOUND"],
    ["number, by a payment", "payments", { amount: 25, to: FIRST_NUMBER }, 403, "ADDRESS_NOT_AUTHORIZED"],
    ["number, by a call", "calls", { action: "ring", to: FIRST_NUMBER }, 403, "ADDRESS_NOT_AUTHORIZED"],
    ["call, by answering", "calls", { action: "answer" }, 400, "INVALID_STATUS"],
    ["call, by hanging up", "calls", { action: "hangup" }, 400, "INVALID_STATUS"],
  ];
  for (const [name, what, body, status, code] of cases) {
    test(name, async () => {
      const before = await viewOfFirst();
      const named = `${CONTACT} ${JSON.stringify(body)} ${FIRST_NUMBER}`;
      const answer = await other("POST", `${phone(CONTACT)}/${what}`, body);
      refused(name, answer, status, code, named);
      assert.deepEqual(await viewOfFirst(), before);
    });
  }
});

test("a phone that types to a customer types only in that customer's thread", async () => {
  const before = await viewOfFirst();
  const { chatId } = shown("typing", await other("POST", `${phone(CONTACT)}/typing`, { typing: true }));
  assert.notEqual(chatId, one.thread);
  assert.equal((await other("GET", `/v1/chats/${chatId}`)).data.from, SECOND_NUMBER);
  assert.deepEqual(await viewOfFirst(), before);
});

/** Everything that the first customer reads of itself. */
async function viewOfFirst(): Promise<unknown[]> {
  const paths = ["messages", "chats", "payments/requests", "facetime/calls", "events", "contacts", "opt-outs"];
  const view: unknown[] = [];
  for (const path of paths) view.push((await first("GET", `/v1/${path}?limit=100`)).data);
  return view;
}

test("a contact's payment to one customer does not pay another customer's request", async () => {
  await other("POST", "/v1/messages", { to: CONTACT, content: { text: OTHER_TEXT } });
  shown("the payment", await other("POST", `${phone(CONTACT)}/payments`, { amount: 25 }), CONTACT);
  assert.equal((await first("GET", `/v1/payments/requests/${one.pending}`)).data.status, "pending");
});

test("a contact who writes STOP to one customer still gets messages of the other", async () => {
  await other("POST", `${phone(SHARED)}/messages`, { text: "STOP" });
  const send = { to: SHARED, content: { text: "Hello" } };
  refused("a send", await other("POST", "/v1/messages", send), 403, "RECIPIENT_OPTED_OUT");
  assert.equal((await first("POST", "/v1/messages", send)).status, 202);
  const path = `/v1/opt-outs/${SECOND_NUMBER}/${SHARED}`;
  assert.equal((await first("GET", path)).status, 404);
  assert.equal((await first("DELETE", path)).status, 404);
  refused("theirs", await other("DELETE", `/v1/opt-outs/${FIRST_NUMBER}/${OPTED_OUT}`), 404, "NOT_FOUND", FIRST_NUMBER);
  assert.equal((await first("GET", `/v1/opt-outs/${FIRST_NUMBER}/${OPTED_OUT}`)).status, 200);
  assert.equal((await other("DELETE", `${path}?reason=asked`)).status, 200);
});

test("the link of a file opens it; no other token and no key does", async () => {
  const open = async (url: string, key: string | null = null) => {
    const response = await fetch(url, { headers: key === null ? {} : { authorization: `Bearer ${key}` } });
    return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
  };
  for (const key of [null, otherKey, api.key, api.adminKey]) {
    const { status, bytes } = await open(downloadUrl, key);
    assert.deepEqual([status, bytes.toString("base64")], [200, PNG]);
  }
  const attachments = [{ type: "base64", data: PNG }];
  const sent = await other("POST", "/v1/messages", { to: SHARED, content: { text: OTHER_TEXT }, attachments });
  const own: string = (await other("GET", `/v1/messages/${sent.data.id}`)).data.attachments[0].downloadUrl;
  const token = (url: string) => url.split("/").at(-1) ?? "";
  // The id of the first's file under the signature of the second's.
  const mixed = token(downloadUrl).slice(0, 29) + token(own).slice(29);
  for (const forged of [mixed, ids.attachment[0] ?? "", `${token(downloadUrl)}A`, token(downloadUrl).slice(0, -1)]) {
    for (const key of [null, otherKey]) {
      const { status, bytes } = await open(downloadUrl.replace(token(downloadUrl), forged), key);
      assert.deepEqual([status, bytes.includes(Buffer.from(PNG, "base64"))], [404, false], forged);
    }
  }
});

test("a stream has only its customer's events, even with another customer's Last-Event-ID", async () => {
  const headers = { "last-event-id": ids.event.at(-1) ?? "" };
  const streams = await Promise.all([
    openStream(api.url, { key: otherKey }),
    openStream(api.url, { key: otherKey, headers }),
    openStream(api.url, { key: otherKey, headers, path: `/v1/events?events=*&messageId=${one.delivered}` }),
  ]);
  const [live, resumed, foreign] = streams;
  const secret = (await first("POST", "/v1/messages", { to: CONTACT, content: { text: SECRET_TEXT } })).data.id;
  await until(async () => (await first("GET", `/v1/messages/${secret}`)).data.status === "delivered");
  const mine = (await other("POST", "/v1/messages", { to: SHARED, content: { text: OTHER_TEXT } })).data.id;
  const hasMine = ({ frames }: (typeof streams)[number]) =>
    frames.some(({ type, event }) => type === "message.delivered" && event.data.messageId === mine);
  await until(() => hasMine(live) && hasMine(resumed), { what: "the second customer's own events" });
  for (const stream of streams) {
    checkHidden("a stream", { data: stream.text, error: undefined }, `${one.delivered} ${CONTACT}`);
    stream.drop();
  }
  assert.ok(!streams.some(({ text }) => text.includes(secret)));
  // For this customer an unknown id is the same as an expired one.
  assert.deepEqual([live.comments.includes(": gap"), resumed.comments.includes(": gap")], [false, true]);
  assert.deepEqual(foreign.frames, []);
});

test("waiting for another customer's event times out", async () => {
  for (const query of [`messageId=${one.delivered}`, `messageId=${one.inbound}&type=message.inbound`]) {
    const answer = await other("GET", `/v1/sandbox/wait?timeoutSeconds=0&${query}`);
    assert.deepEqual([answer.status, answer.data], [200, null]);
  }
  const after = await other("GET", `/v1/sandbox/wait?timeoutSeconds=0&after=${ids.event[0]}`);
  refused("after", after, 400, "VALIDATION_ERROR", ids.event[0]);
});

describe("an idempotency key is scoped to its customer: the same key of another customer creates another record, at", () => {
  const requests: [path: string, body: object][] = [
    ["/v1/messages", { to: SHARED, content: { text: "Hello" } }],
    [
      "/v1/messages/carousel",
      { to: SHARED, mediaUrls: ["https://a.example.org/1.png", "https://a.example.org/2.png"] },
    ],
    ["/v1/chats/groups", { participants: ["+15005550151", "+15005550152"] }],
    ["/v1/contacts", { phoneNumber: "+15005550153" }],
    ["/v1/payments/request", { to: SHARED, amount: "12.50" }],
    [`${phone(SHARED)}/messages`, { text: "Hello" }],
  ];
  for (const [path, body] of requests) {
    test(path, async () => {
      const asked = { ...body, idempotencyKey: `shared ${path}` };
      const answers = [await first("POST", path, asked), await other("POST", path, asked)];
      assert.equal(answers[0]?.status, answers[1]?.status);
      assert.notEqual(answers[0]?.data.id, answers[1]?.data.id);
      const again = await other("POST", path, asked);
      assert.deepEqual([again.status, again.data.id], [200, answers[1]?.data.id]);
    });
  }
});

test("a reset deletes every record of one customer, and none of another's", async () => {
  await until(async () => (await first("GET", "/v1/webhooks/deliveries?status=pending")).data !== null);
  const before = await viewOfFirst();
  const records = await Promise.all(
    [
      `/v1/messages/${one.delivered}`,
      `/v1/chats/${one.group}`,
      `/v1/chats/${SHARED}`,
      `/v1/payments/requests/${one.pending}`,
      `/v1/contacts/${ids.contact[0]}`,
      `/v1/webhooks/deliveries/${ids.delivery[0]}`,
    ].map(async (path) => [path, (await first("GET", path)).status]),
  );
  assert.equal((await other("POST", "/v1/sandbox/reset", {})).status, 200);
  for (const [path, status] of records)
    assert.deepEqual([path, (await first("GET", String(path))).status], [path, status]);
  assert.deepEqual(
    records.map(([, status]) => status),
    records.map(() => 200),
  );
  assert.deepEqual(await viewOfFirst(), before);
  for (const path of ["messages", "chats", "events", "contacts", "payments/requests", "facetime/calls"]) {
    const { data } = await other("GET", `/v1/${path}`);
    assert.deepEqual(Object.values(data).find(Array.isArray), [], path);
  }
  const { status } = await fetch(downloadUrl);
  assert.equal(status, 200);
});
