/** Chats over HTTP: threads, groups and their changes, typing. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { AnyEvent, Chat } from "../../sdk/wire.ts";
import { type Answered, startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

const ANN = "+15005550131";
const BOB = "+15005550132";
const CAT = "+15005550133";
const ECHO = "+15005550110";

let api: TestService;
/** The customer's number. */
let own: string;

before(async () => {
  api = await startTestService();
  own = (await ask("GET", "/v1/numbers")).data[0].phoneNumber;
});

after(() => api.stop());

function ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answered> {
  return api.ask(method, path, { headers, ...(body === undefined ? {} : { body }) });
}

function refused(answer: Answered, status: number, code: string, path?: string): void {
  assert.deepEqual([answer.status, answer.error?.code], [status, code], JSON.stringify(answer.error ?? answer.data));
  if (path !== undefined) assert.equal(answer.error?.details?.[0]?.path, path);
}

async function makeGroup(body: object = {}): Promise<Chat> {
  const answer = await ask("POST", "/v1/chats/groups", { participants: [ANN, BOB], ...body });
  assert.equal(answer.status, 201, JSON.stringify(answer.error));
  return answer.data;
}

/** Events of a chat so far, oldest first. */
async function eventsOf(chatId: string): Promise<AnyEvent[]> {
  const { data } = await ask("GET", "/v1/events?limit=100");
  return data.events.filter((event: AnyEvent) => event.data.chatId === chatId).toReversed();
}

async function send(to: object, text = "Hello"): Promise<string> {
  const answer = await ask("POST", "/v1/messages", { ...to, content: { text } });
  assert.equal(answer.status, 202, JSON.stringify(answer.error));
  return answer.data.id;
}

const threadWith = (address: string) => `/v1/chats/${encodeURIComponent(address)}`;

describe("a one-to-one thread", () => {
  test("is created by its first message, is found by id or address, and holds both directions", async () => {
    refused(await ask("GET", threadWith(ECHO)), 404, "CONVERSATION_NOT_FOUND");
    const id = await send({ to: ECHO }, "Ping");
    const { data: chat } = await ask("GET", threadWith(ECHO));
    assert.deepEqual(chat, {
      id: chat.id,
      guid: chat.id,
      chatId: chat.id,
      conversationId: chat.id,
      name: null,
      participants: [ECHO],
      isGroup: false,
      from: own,
      channel: "imessage",
      lastMessageAt: (await ask("GET", `/v1/messages/${id}`)).data.createdAt,
      createdAt: chat.createdAt,
      updatedAt: chat.updatedAt,
    });
    const messages = await until(
      async () => {
        const { data } = await ask("GET", `${threadWith(ECHO)}/messages`);
        return data.messages.length === 2 && data.messages;
      },
      { what: "the echo" },
    );
    assert.deepEqual(
      messages.map(({ direction, chatId, content }: { direction: string; chatId: string; content: object }) => [
        direction,
        chatId,
        content,
      ]),
      [
        ["inbound", chat.id, { text: "You said: Ping", mediaUrls: [] }],
        ["outbound", chat.id, { text: "Ping", mediaUrls: [] }],
      ],
    );
    const { data: byId } = await ask("GET", `/v1/chats/${chat.id}`);
    assert.equal(byId.lastMessageAt, messages[0].createdAt);
    await send({ chatId: chat.id }, "Again");
    assert.equal((await ask("GET", `/v1/chats/${chat.id}/messages`)).data.messages.length >= 3, true);
  });

  test("is also found by iMessage;-;address and SMS;-;address, encoded or not, at every route that takes an address", async () => {
    const to = "+15005550136";
    await send({ to });
    const { data: chat } = await ask("GET", threadWith(to));
    for (const name of [`iMessage;-;${to}`, `SMS;-;${to}`, `imessage;-;${to}`]) {
      for (const written of [name, encodeURIComponent(name)]) {
        assert.equal((await ask("GET", `/v1/chats/${written}`)).data?.id, chat.id, written);
        const { messages } = (await ask("GET", `/v1/chats/${written}/messages`)).data;
        assert.equal(messages[0].chatId, chat.id);
      }
      const path = threadWith(name);
      for (const mark of ["read", "unread"]) assert.equal((await ask("POST", `${path}/${mark}`)).data.id, chat.id);
      assert.equal((await ask("POST", `${path}/typing`, { status: "stop" })).data.chatId, chat.id);
      const changes = [
        ["PUT", "/name", { name: "Trip" }],
        ["POST", "/participants", { participant: BOB }],
        ["DELETE", `/participants/${to}`],
        ["POST", "/leave"],
      ] as const;
      for (const [method, more, body] of changes) {
        refused(await ask(method, `${path}${more}`, body), 400, "INVALID_STATUS");
      }
      assert.equal((await ask("GET", `${path}?from=${encodeURIComponent(own)}`)).data.id, chat.id);
      refused(await ask("GET", `${path}?from=%2B15005550078`), 404, "CONVERSATION_NOT_FOUND");
    }
    await send({ to: "Anna@Example.com" });
    assert.deepEqual((await ask("GET", threadWith("iMessage;-;ANNA@example.com"))).data.participants, [
      "anna@example.com",
    ]);
  });

  test("is the newest of several with one address, unless `from` selects another", async () => {
    const { data: customers } = await api.ask("GET", "/v1/admin/customers", { key: api.adminKey });
    const [customer] = customers.customers;
    const second = "+15005550077";
    const body = { phoneNumber: second, provider: "sandbox" };
    await api.ask("POST", `/v1/admin/customers/${customer.id}/numbers`, { key: api.adminKey, body });
    await send({ to: CAT });
    await send({ to: CAT, from: second });
    assert.equal((await ask("GET", `/v1/chats/${CAT}`)).data.from, second);
    assert.equal((await ask("GET", `/v1/chats/${CAT}?from=${own}`)).data.from, own);
    refused(await ask("GET", `/v1/chats/${CAT}?from=%2B15005550078`), 404, "CONVERSATION_NOT_FOUND");
  });

  test("lists its messages newest first, page by page, without deleted ones", async () => {
    const to = "+15005550135";
    const ids: string[] = [];
    for (const text of ["1", "2", "3", "4"]) ids.unshift(await send({ to }, text));
    const [gone = ""] = ids.splice(1, 1);
    await until(async () => (await ask("DELETE", `/v1/messages/${gone}`)).status === 200);
    const seen: string[] = [];
    for (let cursor = ""; ; ) {
      const { data } = await ask("GET", `/v1/chats/${to}/messages?limit=2${cursor}`);
      seen.push(...data.messages.map(({ id }: { id: string }) => id));
      if (!data.pagination.hasMore) break;
      cursor = `&cursor=${data.pagination.nextCursor}`;
    }
    assert.deepEqual(seen, ids);
  });
});

describe("a group", () => {
  test("is created with 201, and can be read", async () => {
    const chat = await makeGroup({ name: "Trip", participants: [ANN, "Bob@Example.com"] });
    assert.deepEqual(chat, {
      ...chat,
      id: chat.guid,
      chatId: chat.guid,
      conversationId: chat.guid,
      name: "Trip",
      participants: [ANN, "bob@example.com"],
      isGroup: true,
      from: own,
      channel: "imessage",
      lastMessageAt: null,
    });
    assert.match(chat.id, /^chat_/);
    assert.deepEqual((await ask("GET", `/v1/chats/${chat.id}`)).data, chat);
    const { data } = await ask("GET", "/v1/chats?limit=1");
    assert.deepEqual(data.chats, [chat]);
    assert.equal(data.pagination.hasMore, true);
    const next = await ask("GET", `/v1/chats?limit=1&cursor=${data.pagination.nextCursor}`);
    assert.notEqual(next.data.chats[0].id, chat.id);
  });

  test("delivers messages that are sent to its chatId", async () => {
    const chat = await makeGroup();
    const id = await send({ chatId: chat.id });
    await until(async () => (await ask("GET", `/v1/messages/${id}`)).data.status === "delivered");
    const { data } = await ask("GET", `/v1/chats/${chat.id}/messages`);
    assert.deepEqual(
      data.messages.map((one: { id: string }) => one.id),
      [id],
    );
  });

  test("returns the chat after each change, and each change is one event", async () => {
    const { id } = await makeGroup({ name: "Trip" });
    const path = `/v1/chats/${id}`;
    const headers = { "X-Correlation-Id": `cor_${"a".repeat(32)}` };
    assert.equal((await ask("PUT", `${path}/name`, { name: "Work" }, headers)).data.name, "Work");
    const added = await ask("POST", `${path}/participants`, { participant: CAT });
    assert.deepEqual([added.status, added.data.participants], [200, [ANN, BOB, CAT]]);
    const synonym = await ask("POST", `${path}/participants`, { phoneNumber: CAT });
    assert.deepEqual([synonym.status, synonym.data.participants], [200, [ANN, BOB, CAT]]);
    const removed = await ask("DELETE", `${path}/participants/${encodeURIComponent(ANN)}`);
    assert.deepEqual([removed.status, removed.data.participants], [200, [BOB, CAT]]);
    assert.equal((await ask("POST", `${path}/leave`)).data.id, id);
    const emitted = await eventsOf(id);
    const data = { chatId: id, actor: own, to: own, channel: "imessage" };
    assert.deepEqual(
      emitted.map((event) => [event.type, event.data]),
      [
        ["chat.title.changed", { ...data, title: "Work" }],
        ["chat.participant.added", { ...data, participant: CAT }],
        ["chat.participant.left", { ...data, participant: ANN }],
        ["chat.participant.left", { ...data, participant: own }],
      ],
    );
  });

  test("has 2 to 32 participants", async () => {
    const { id } = await makeGroup();
    refused(await ask("DELETE", `/v1/chats/${id}/participants/${ANN}`), 400, "INVALID_STATUS");
    refused(await ask("DELETE", `/v1/chats/${id}/participants/${CAT}`), 404, "NOT_FOUND");
    const participants = Array.from({ length: 32 }, (_, index) => `+1500556${String(index).padStart(4, "0")}`);
    const { id: full } = await makeGroup({ participants });
    refused(
      await ask("POST", `/v1/chats/${full}/participants`, { participant: CAT }),
      400,
      "VALIDATION_ERROR",
      "participant",
    );
  });

  test("refuses to add a contact who opted out of the number: 403 RECIPIENT_OPTED_OUT", async () => {
    const dan = "+15005550134";
    const { id } = await makeGroup();
    assert.equal((await ask("PUT", `/v1/opt-outs/${own}/${dan}`)).status, 200);
    const group = await ask("POST", "/v1/chats/groups", { participants: [ANN, dan] });
    refused(group, 403, "RECIPIENT_OPTED_OUT", "participants[1]");
    const added = await ask("POST", `/v1/chats/${id}/participants`, { participant: dan });
    refused(added, 403, "RECIPIENT_OPTED_OUT", "participant");
  });

  test("is created once for an idempotency key; a repeat returns 200 with its current state", async () => {
    const headers = { "Idempotency-Key": "group-1" };
    const body = { participants: [ANN, BOB], name: "Once" };
    const [one, two] = await Promise.all([1, 2].map(() => ask("POST", "/v1/chats/groups", body, headers)));
    assert.deepEqual([one?.status, two?.status].toSorted(), [200, 201]);
    await ask("PUT", `/v1/chats/${one?.data.id}/name`, { name: "Later" });
    const again = await ask("POST", "/v1/chats/groups", body, headers);
    assert.deepEqual([again.status, again.data.id, again.data.name], [200, one?.data.id, "Later"]);
    refused(
      await ask("POST", "/v1/chats/groups", { participants: [ANN, CAT] }, headers),
      409,
      "IDEMPOTENCY_KEY_REUSED",
    );
    const key = { idempotencyKey: "leave-1" };
    const path = `/v1/chats/${one?.data.id}/leave`;
    assert.deepEqual([(await ask("POST", path, key)).status, (await ask("POST", path, key)).status], [200, 200]);
    refused(await ask("POST", path), 400, "INVALID_STATUS");
  });
});

describe("read, unread and typing", () => {
  test("return the chat, or the typing state; typing without a body starts it", async () => {
    await send({ to: BOB });
    const { data: chat } = await ask("GET", threadWith(BOB));
    for (const state of ["read", "unread"]) {
      const { status, data } = await ask("POST", `${threadWith(BOB)}/${state}`);
      assert.deepEqual([status, data.id], [200, chat.id]);
    }
    const path = `/v1/chats/${chat.id}/typing`;
    assert.deepEqual((await ask("POST", path)).data, { chatId: chat.id, status: "start" });
    assert.deepEqual((await ask("POST", path, { status: "stop" })).data, { chatId: chat.id, status: "stop" });
    refused(await ask("POST", path, { status: "later" }), 400, "VALIDATION_ERROR", "status");
    for (const [round, status] of [200, 200].entries()) {
      const answer = await ask("POST", path, { status: "start", idempotencyKey: "typing-1" });
      assert.deepEqual([answer.status, answer.data.status], [status, "start"], `round ${round}`);
    }
  });

  test("a contact's typing is one event at its start and one at its end, before the message", async () => {
    const to = ECHO;
    await send({ to }, "Type");
    const { data: chat } = await ask("GET", threadWith(to));
    const typed = await until(
      async () => {
        const found = (await eventsOf(chat.id)).filter(({ type }) => type === "typing.indicator");
        return found.length >= 2 ? found : null;
      },
      { what: "typing" },
    );
    assert.deepEqual(
      (typed ?? []).slice(0, 2).map(({ data }) => data),
      [
        { chatId: chat.id, chatGuid: chat.id, from: to, to: own, channel: "imessage", typing: true },
        { chatId: chat.id, chatGuid: chat.id, from: to, to: own, channel: "imessage", typing: false },
      ],
    );
  });
});

test("an unknown or invalid chat id is 404 CONVERSATION_NOT_FOUND at every route", async () => {
  const asked = [
    ["GET", ""],
    ["GET", "/messages"],
    ["PUT", "/name", { name: "x" }],
    ["POST", "/participants", {}],
    ["DELETE", `/participants/${ANN}`],
    ["POST", "/leave"],
    ["POST", "/read"],
    ["POST", "/unread"],
    ["POST", "/typing"],
  ] as const;
  for (const id of [
    "chat_01890000-0000-7000-8000-000000000000",
    "+15005550198",
    "iMessage;-;%2B15005550198",
    "SMS;-;nothing",
    "nothing",
    "'%20or%201=1",
  ]) {
    for (const [method, path, body] of asked) {
      refused(await ask(method, `/v1/chats/${id}${path}`, body), 404, "CONVERSATION_NOT_FOUND");
    }
  }
});
