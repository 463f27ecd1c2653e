/** Each refusal has a helpful message and no effect: actions on messages, contacts, streams, the sandbox. */

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { openStream } from "../support/event-stream.ts";
import { number, phone, SandboxStage } from "../support/sandbox.ts";
import { checkRefused, late, type Scenario, testRefusals } from "../support/scenarios.ts";

let stage: SandboxStage;
type Known =
  | "sent"
  | "sms"
  | "failed"
  | "scheduled"
  | "inbound"
  | "unsent"
  | "deleted"
  | "slow"
  | "thread"
  | "smsThread"
  | "left"
  | "contact"
  | "email"
  | "cancelled";
/** Ids of records that requests name. */
let one: Record<Known, string>;

before(async () => {
  stage = await SandboxStage.start();
  const own = async (last4: string, status = "delivered") => {
    const { id } = await stage.send(last4);
    await stage.reached(id, status);
    return id as string;
  };
  const made = async (path: string, body: object = {}): Promise<string> => (await stage.data("POST", path, body)).id;
  const [unsent, deleted] = [await own("0100"), await own("0100")];
  await stage.data("POST", `/v1/messages/${unsent}/unsend`);
  await stage.deleted(deleted);
  const left = await made("/v1/chats/groups", { participants: [number("0131"), number("0132")] });
  await stage.data("POST", `/v1/chats/${left}/leave`);
  const cancelled = await made("/v1/payments/request", { to: number("0113"), amount: 25 });
  await stage.data("POST", `/v1/payments/requests/${cancelled}/cancel`);
  await stage.send("0100", { idempotencyKey: "used" });
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  one = {
    ...{ unsent, deleted, left, cancelled },
    sent: await own("0100"),
    sms: await own("0102"),
    failed: await own("0105", "failed"),
    scheduled: (await stage.send("0100", { scheduledAt })).id,
    inbound: await made(`${phone("0100")}/messages`, { text: "Hi" }),
    slow: "",
    thread: (await stage.data("GET", `/v1/chats/${number("0100")}`)).id,
    smsThread: (await stage.data("GET", `/v1/chats/${number("0102")}`)).id,
    contact: await made("/v1/contacts", { phoneNumber: number("0160") }),
    email: await made("/v1/contacts", { email: "b@example.com" }),
  };
});

after(() => stage.api.stop());

const field = (path: string, says: RegExp) => ({ code: "VALIDATION_ERROR", paths: [path], says }) as const;

/** The same request about several messages, each with its refusal. */
function about(ask: (id: string) => Pick<Scenario, "ask" | "body">, what: string): Scenario[] {
  const refused = (known: Known, code: Scenario["code"], says: RegExp) => ({ ...ask(one[known]), code, says });
  const onlyImessage = new RegExp(`goes by sms; only an iMessage can be ${what}\\.`);
  const notYet = new RegExp(`a message can be ${what} once it was sent\\.`);
  return [
    refused("sms", "CHANNEL_NOT_SUPPORTED", onlyImessage),
    refused("failed", "CHANNEL_NOT_SUPPORTED", onlyImessage),
    refused("scheduled", "INVALID_STATUS", notYet),
    refused("slow", "INVALID_STATUS", notYet),
    refused("unsent", "ALREADY_UNSENT", /was unsent already\./),
    refused("deleted", "NOT_FOUND", /There is no message msg_/),
    ...["msg_none", "%00"].map(
      (id) => ({ ...ask(id), code: "NOT_FOUND", says: /There is (no message|nothing at this address)/ }) as const,
    ),
  ];
}

const theirs = (what: string) => new RegExp(`was written by a contact; only a message of yours can be ${what}\\.`);

testRefusals("a clear answer, and nothing comes of", () => stage, {
  "a reaction that is none": () => {
    const react = (body: object, path: string, says: RegExp): Scenario => {
      return { ask: `POST /v1/messages/${one.sent}/reactions`, body, ...field(path, says) };
    };
    return [
      react({}, "type", /is required/),
      react({ type: "clap" }, "type", /must be love, like, .* or one emoji, .*; got "clap"/),
      react({ type: "--love" }, "type", /must be love, like, .* or one emoji/),
      react({ type: "love", reaction: "like" }, "reaction", /differs from type/),
    ];
  },
  "an edit to no text, or to two": () => {
    const edit = (body: object, path: string, says: RegExp): Scenario => {
      return { ask: `PUT /v1/messages/${one.sent}`, body, ...field(path, says) };
    };
    return [
      edit({}, "text", /is required/),
      edit({ text: "" }, "text", /must not be empty/),
      edit({ content: {} }, "content.text", /is required/),
      edit({ text: "a", content: { text: "b" } }, "content.text", /differs from text/),
    ];
  },
  "cancelling what is not scheduled, retrying what has not failed": () => [
    ...([one.sent, one.failed, one.inbound, one.unsent] as const).map((id) => {
      const says = /not scheduled; only a scheduled message can be cancelled/;
      return { ask: `DELETE /v1/messages/${id}/schedule`, code: "NOT_SCHEDULED", says } as const;
    }),
    ...([one.sent, one.scheduled, one.inbound, one.unsent] as const).map((id) => {
      const says = /only a failed message, or one that was sent without its files, can be retried/;
      return { ask: `POST /v1/messages/${id}/retry`, code: "INVALID_STATUS", says } as const;
    }),
  ],
  "commands in a chat that does not exist": () =>
    ["chat_none", number("0198")].flatMap((id) =>
      COMMANDS.map(([method, path, body]) => {
        const says = new RegExp(`There is no conversation ${id.replace("+", "\\+")}\\.`);
        return { ask: `${method} /v1/chats/${id}${path}`, body, code: "CONVERSATION_NOT_FOUND", says } as const;
      }),
    ),
  "commands of groups in a conversation of two": () =>
    [one.thread, one.smsThread, number("0100")].flatMap((id) =>
      GROUP_COMMANDS.map(([method, path, body]) => {
        const says = /is a conversation with \+1500555010[02] alone; only a group can be /;
        return { ask: `${method} /v1/chats/${id}${path}`, body, code: "INVALID_STATUS", says } as const;
      }),
    ),
  "commands in a group that one has left": () =>
    COMMANDS.map(([method, path, body]) => {
      const ask = `${method} /v1/chats/${one.left}${path}`;
      return { ask, body, code: "INVALID_STATUS", says: /you have left this group/ } as const;
    }),
  "typing and reading over SMS": () => [
    ...(["read", "unread", "typing"] as const).map((what) => {
      const says = /goes over SMS, which has no (read state|typing indicator)\./;
      return { ask: `POST /v1/chats/${one.smsThread}/${what}`, code: "CHANNEL_NOT_SUPPORTED", says } as const;
    }),
    {
      ask: `POST /v1/chats/${one.thread}/typing`,
      body: { status: "maybe" },
      ...field("status", /must be one of start, stop; got "maybe"/),
    },
  ],
  "contacts without an address, with a bad one, with somebody else's": () => {
    const make = (body: object, paths: string[], says: RegExp): Scenario => {
      return { ask: "POST /v1/contacts", body, code: "VALIDATION_ERROR", paths, says };
    };
    const taken = {
      code: "CONTACT_DUPLICATE",
      paths: ["phoneNumber"],
      says: /already belongs to the contact con_\S+; change that contact/,
    } as const;
    return [
      make({ firstName: "x" }, ["phoneNumber", "email"], /needs a phoneNumber or an email/),
      make({ phoneNumber: "123" }, ["phoneNumber"], /E\.164.*got "123"/),
      make({ email: "nobody" }, ["email"], /must be an e-mail address; got "nobody"/),
      { ask: "POST /v1/contacts", body: { phoneNumber: number("0160") }, ...taken },
      { ask: `PUT /v1/contacts/${one.email}`, body: { phoneNumber: number("0160") }, ...taken },
      { ask: "GET /v1/contacts?offset=-1", ...field("offset", /must be 0 to 1,000,000; got -1/) },
      { ask: "GET /v1/contacts?cursor=x", ...field("cursor", /is unknown; known are limit, offset, search, tag/) },
    ];
  },
  "a phone that is the customer's own number": () => [
    { ask: `GET ${phone("0001")}/settings`, ...field("number", /is the phone itself/) },
    { ask: `POST ${phone("0001")}/typing`, body: { typing: true, to: number("0001") }, ...field("to", /phone itself/) },
  ],
  "paying or cancelling what is no longer pending": () => [
    {
      ask: `POST /v1/payments/requests/${one.cancelled}/cancel`,
      code: "INVALID_STATUS",
      says: /is cancelled; only a p/,
    },
    {
      ask: `POST ${phone("0113")}/payments`,
      body: { requestId: one.cancelled },
      code: "INVALID_STATUS",
      says: /only a pending request can be paid/,
    },
  ],
  "a stream or a list of events that do not exist": () => [
    {
      ask: "GET /v1/events?events=message.sennt",
      ...field("events", /has "message\.sennt"; known are \*, message\.q/),
    },
    { ask: "GET /v1/events?events=message.sent,", ...field("events", /has ""; known are/) },
    { ask: "GET /v1/events?type=message.sennt", ...field("type", /must be one of message\.queued/) },
    { ask: "GET /v1/events?events=*&type=message.sent", ...field("type", /cannot be used together with events/) },
    {
      ask: "GET /v1/events?events=*&cursor=x",
      ...field("cursor", /must be the nextCursor of an earlier answer/),
    },
    {
      ask: "GET /v1/events?after=evt_none",
      ...field("after", /is no event of this customer, or is no longer stored/),
    },
  ],
  "a feed of changes by a cursor that is none, or that comes from a list": () => {
    const feed = "GET /v1/messages?updatedAfter=2020-01-01T00:00:00Z";
    const ofList = Buffer.from(JSON.stringify("msg_1")).toString("base64url");
    return [
      { ask: `${feed}&cursor=x`, ...field("cursor", /must be the nextCursor of an earlier answer/) },
      { ask: `${feed}&cursor=${ofList}`, ...field("cursor", /must be the nextCursor of an earlier answer/) },
    ];
  },
  "a wait of no length, for no event": () => [
    ...["31", "-1"].map((seconds) => ({
      ask: `GET /v1/sandbox/wait?timeoutSeconds=${seconds}`,
      ...field("timeoutSeconds", new RegExp(`must be 0 to 30; got ${seconds}`)),
    })),
    ...["", "abc", "NaN", "1e999"].map((seconds) => ({
      ask: `GET /v1/sandbox/wait?timeoutSeconds=${seconds}`,
      ...field("timeoutSeconds", /must be a number, not the string/),
    })),
    { ask: "GET /v1/sandbox/wait?type=message.sennt", ...field("type", /must be one of/) },
    { ask: "GET /v1/sandbox/wait?after=evt_none", ...field("after", /is no event of this customer/) },
    { ask: "GET /v1/sandbox/wait?timeout=1", ...field("timeout", /is unknown; known are type/) },
  ],
  "a clock that would go back, nowhere, or too far": () => {
    const move = (body: object, says: RegExp) => ({ ask: "POST /v1/sandbox/clock", body, ...field("advance", says) });
    const duration = /must be a positive duration such as 30s, 5m, 2h or 1d: the clock only goes forward/;
    return [
      ...["-1s", "0s", "1", "soon", "11y", "1.5s", "1s 1s"].map((advance) => move({ advance }, duration)),
      ...[{}, { reset: false }, { advance: "1s", reset: true }].map((body) =>
        move(body, /give either advance, such as/),
      ),
      move({ advance: "36500d" }, /cannot take the clock more than ten years ahead/),
      move({ advance: 30 }, /must be a string, not a number/),
    ];
  },
  "an idempotency key of another request, of another route, or two of them": () => {
    const idempotencyKey = "used";
    const reused = {
      code: "IDEMPOTENCY_KEY_REUSED",
      says: /^The idempotency key used was used with another request; use a new key for a new request\.$/,
    } as const;
    const message = { to: number("0100"), content: { text: "other" } };
    return [
      { ask: "POST /v1/messages", body: { ...message, idempotencyKey }, ...reused },
      { ask: "POST /v1/payments/request", body: { to: number("0113"), amount: 25, idempotencyKey }, ...reused },
      { ask: "POST /v1/contacts", body: { phoneNumber: number("0161"), idempotencyKey }, ...reused },
      {
        ask: "POST /v1/chats/groups",
        body: { participants: [number("0131"), number("0132")] },
        headers: { "idempotency-key": idempotencyKey },
        ...reused,
      },
      { ask: `POST /v1/messages/${one.failed}/retry`, body: { idempotencyKey }, ...reused },
      { ask: `POST /v1/messages/${one.sent}/reactions`, body: { type: "love", idempotencyKey }, ...reused },
      { ask: `POST /v1/chats/${one.thread}/typing`, body: { idempotencyKey }, ...reused },
      { ask: `POST ${phone("0100")}/messages`, body: { text: "Hi", idempotencyKey }, ...reused },
      {
        ask: "POST /v1/messages",
        body: { ...message, idempotencyKey: "a" },
        headers: { "idempotency-key": "b" },
        ...field("idempotencyKey", /differs from the header Idempotency-Key; give one, or both alike/),
      },
    ];
  },
  "a sign-in whose body does not arrive": () =>
    late("POST /session", stage.api.url, '{"key":"tb_', /^The body did not arrive within 1 s\. Send it at once\.$/),
  "an address of a file that is none": () =>
    ["nonsense", "%c3%28", "a%2Fb"].map((token) => {
      const isReadable = token !== "%c3%28";
      const ask = `GET /v1/attachments/${token}`;
      if (isReadable) return { ask, code: "NOT_FOUND", says: /There is no file at this address/ } as const;
      return { ask, headers: { authorization: "" }, ...field("path", /% must be followed by two hex digits/) };
    }),
});

const GROUP_COMMANDS = [
  ["PUT", "/name", { name: "x" }],
  ["POST", "/participants", { participant: "+15005550101" }],
  ["DELETE", "/participants/+15005550100", undefined],
  ["POST", "/leave", {}],
] as const;
const COMMANDS = [
  ...GROUP_COMMANDS,
  ["POST", "/typing", { status: "start" }],
  ["POST", "/read", {}],
  ["POST", "/unread", {}],
] as const;

describe("a contact search takes its text literally", () => {
  const names = ["100 %", "a_b", "O'Brien", "back\\slash", "\u{1f600} Smile", 'double "quote"', "plain"];

  before(async () => {
    const contacts = names.map((firstName, index) => ({ firstName, phoneNumber: `+1557000${1000 + index}` }));
    await stage.data("POST", "/v1/contacts/bulk", { contacts });
  });

  for (const [search, found] of [
    ["%", "100 %"],
    ["_", "a_b"],
    ["'", "O'Brien"],
    ["\\", "back\\slash"],
    ["\u{1f600}", "\u{1f600} Smile"],
    ['"', 'double "quote"'],
    ["PLAIN", "plain"],
  ] as const) {
    test(search, async () => {
      const { contacts } = await stage.data("GET", `/v1/contacts?search=${encodeURIComponent(search)}`);
      assert.deepEqual(
        contacts.map(({ firstName }: { firstName: string }) => firstName),
        [found],
      );
    });
  }

  test("matches no SQL, pattern or half character", async () => {
    for (const search of ["' OR 1=1 --", "%%", "__", "\\%", "*", "[a-z]", "x'; DROP TABLE contacts; --"]) {
      const { contacts } = await stage.data("GET", `/v1/contacts?search=${encodeURIComponent(search)}`);
      assert.deepEqual(contacts, [], search);
    }
  });
});

test("an unknown Last-Event-ID starts at the oldest event, after a comment that says so", async () => {
  for (const id of ["nonsense", "msg_none", "'", "0", "x".repeat(500), one.sent]) {
    const stream = await openStream(stage.api.url, { key: stage.api.key, headers: { "last-event-id": id } });
    assert.deepEqual([stream.status, stream.comments[0]], [200, ": gap"], id);
    stream.drop();
  }
});

test("once a provider reaches real people, the clock is locked and its customer has no sandbox", async () => {
  const { adminKey } = stage.api;
  const config = { url: "http://127.0.0.1:9", password: "a secret", ingest: "webhook" };
  const { data } = await stage.api.ask("GET", "/v1/admin/customers", { key: adminKey });
  const real = await stage.admin("POST", "/v1/admin/instances", { name: "Real", provider: "bluebubbles", config });
  const locked: Scenario = {
    ask: "POST /v1/sandbox/clock",
    body: { advance: "1s" },
    code: "CLOCK_LOCKED",
    says: /The clock cannot be moved while a provider is connected that reaches people\./,
  };
  await checkRefused(stage, locked);
  const path = `/v1/admin/customers/${data.customers[0].id}/numbers`;
  const added = await stage.admin("POST", path, {
    phoneNumber: "+15005550055",
    provider: "bluebubbles",
    instanceId: real.id,
  });
  const asks: [ask: string, body?: object][] = [
    ["GET /v1/sandbox/clock"],
    ["POST /v1/sandbox/clock", { advance: "1s" }],
    ["POST /v1/sandbox/reset", {}],
    ["GET /v1/sandbox/inbox"],
    ["DELETE /v1/sandbox/inbox"],
    ["PUT /v1/sandbox/inbox/behaviour", { status: 200 }],
    ["GET /v1/sandbox/wait?timeoutSeconds=0"],
    [`POST ${phone("0100")}/messages`, { text: "Hi" }],
    [`POST ${phone("0100")}/typing`, { typing: true }],
    [`POST ${phone("0100")}/reactions`, { messageId: one.sent, type: "love" }],
    [`POST ${phone("0100")}/payments`, { amount: 25 }],
    [`POST ${phone("0100")}/calls`, { action: "ring" }],
    [`GET ${phone("0100")}/settings`],
    [`PUT ${phone("0100")}/settings`, { online: true }],
  ];
  for (const [ask, body] of asks) {
    await checkRefused(stage, { ask, body, code: "NOT_FOUND", says: /^The sandbox is only for customers/ });
  }
  await checkRefused(stage, {
    ask: `DELETE /v1/admin/instances/${real.id}`,
    key: adminKey,
    code: "INVALID_STATUS",
    says: /has the number \+15005550055; remove its numbers from their customers first/,
  });
  await stage.data("DELETE", `${path}/${added.id}`, undefined, adminKey);
  await stage.data("DELETE", `/v1/admin/instances/${real.id}`, undefined, adminKey);
  assert.equal((await stage.api.ask("POST", "/v1/sandbox/clock", { body: { advance: "1s" } })).status, 200);
});

describe("while a message is under way", () => {
  // 0109 takes five seconds to accept a message: each of these tests has one of its own.
  beforeEach(async () => {
    one.slow = (await stage.send("0109")).id;
    await stage.reached(one.slow, "pending");
  });

  testRefusals("a clear answer, and nothing comes of", () => stage, {
    "a reaction over SMS, too early, too late, to nothing": () =>
      about((id) => ({ ask: `POST /v1/messages/${id}/reactions`, body: { type: "love" } }), "reacted to"),
    "an edit over SMS, too early, after unsend, of nothing, of somebody else's": () => [
      ...about((id) => ({ ask: `PUT /v1/messages/${id}`, body: { text: "x" } }), "edited"),
      { ask: `PUT /v1/messages/${one.inbound}`, body: { text: "x" }, code: "INVALID_STATUS", says: theirs("edited") },
    ],
    "an unsend over SMS, too early, twice, of nothing, of somebody else's": () => [
      ...about((id) => ({ ask: `POST /v1/messages/${id}/unsend`, body: {} }), "unsent"),
      { ask: `POST /v1/messages/${one.inbound}/unsend`, code: "INVALID_STATUS", says: theirs("unsent") },
    ],
    "deleting what is under way, what is gone, what never was": () => [
      { ask: `DELETE /v1/messages/${one.slow}`, code: "INVALID_STATUS", says: /it can be deleted once it was sent/ },
      { ask: `DELETE /v1/messages/${one.deleted}`, code: "ALREADY_DELETED", says: /is deleted already/ },
      { ask: "DELETE /v1/messages/msg_none", code: "NOT_FOUND", says: /There is no message msg_none/ },
    ],
  });
});
