/** Each refusal has a helpful message for each field, and no effect: sending, files, payments, groups. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { number, phone, SandboxStage } from "../support/sandbox.ts";
import { type Scenario, testRefusals } from "../support/scenarios.ts";

let stage: SandboxStage;
/** Ids of records that requests name. */
let one: Record<"sent" | "sms" | "deleted" | "thread" | "group" | "left" | "second", string>;
/** Address of the file server. */
let files: string;

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const MIB = 1_048_576;

const server = createServer((request, response) => {
  if (request.url === "/large.png") {
    response.writeHead(200, { "Content-Type": "image/png", "Content-Length": String(101 * MIB) });
    response.write(Buffer.from(PNG, "base64"));
    return;
  }
  response.setHeader("Content-Type", "image/png");
  response.end(request.url === "/lie.png" ? "<!doctype html><script>1</script>" : Buffer.from(PNG, "base64"));
});

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  files = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  stage = await SandboxStage.start({ TB_FETCH_ALLOW: "loopback" });
  const own = async (last4: string) => {
    const { id } = await stage.send(last4);
    await stage.reached(id, "delivered");
    return id as string;
  };
  const participants = [number("0131"), number("0132")];
  const [group, left] = [
    await stage.data("POST", "/v1/chats/groups", { participants }),
    await stage.data("POST", "/v1/chats/groups", { participants }),
  ];
  await stage.data("POST", `/v1/chats/${left.id}/leave`);
  const second = await stage.admin("POST", "/v1/admin/customers", { name: "Second" });
  one = {
    sent: await own("0100"),
    sms: await own("0102"),
    deleted: await own("0100"),
    thread: (await stage.data("GET", `/v1/chats/${number("0100")}`)).id,
    group: group.id,
    left: left.id,
    second: second.id,
  };
  await stage.deleted(one.deleted);
});

after(async () => {
  await stage.api.stop();
  server.closeAllConnections();
  server.close();
});

/** A send that is valid without `more`. */
function send(more: object, refusal: Omit<Scenario, "ask" | "body">): Scenario {
  return { ask: "POST /v1/messages", body: { to: number("0100"), content: { text: "Hello" }, ...more }, ...refusal };
}

/** A send with this one attachment. */
function attach(attachment: object, field: string, says: RegExp): Scenario {
  return send({ attachments: [attachment] }, { code: "VALIDATION_ERROR", paths: [`attachments[0].${field}`], says });
}

/** The refusal of a `from` that is not the customer's. */
const foreign = { code: "ADDRESS_NOT_AUTHORIZED", paths: ["from"], says: /GET \/v1\/numbers lists them/ } as const;

const field = (path: string, says: RegExp) => ({ code: "VALIDATION_ERROR", paths: [path], says }) as const;

testRefusals("a clear answer, and nothing comes of", () => stage, {
  "a number that another customer has": () => [
    {
      ask: `POST /v1/admin/customers/${one.second}/numbers`,
      key: stage.api.adminKey,
      body: { phoneNumber: "+15005550001", provider: "sandbox" },
      code: "NUMBER_TAKEN",
      paths: ["phoneNumber"],
      says: /^phoneNumber: \+15005550001 already belongs to a customer; remove it from that customer first\.$/,
    },
  ],
  "no recipient, two, or one that is none": () => [
    send({ to: undefined }, { code: "INVALID_RECIPIENT", paths: ["to"], says: /name the recipient/ }),
    send({ to: "" }, { code: "INVALID_RECIPIENT", paths: ["to"], says: /name the recipient/ }),
    send({ chatId: one.thread }, { code: "INVALID_RECIPIENT", paths: ["to", "chatId"], says: /give one recipient/ }),
    send({ to: "12345" }, { code: "INVALID_PHONE_NUMBER", paths: ["to"], says: /"12345".*E\.164.*\+15005550100/ }),
    send(
      { to: undefined, chatId: "chat_1", conversationId: "chat_1" },
      { code: "INVALID_RECIPIENT", paths: ["chatId", "conversationId"], says: /give one recipient/ },
    ),
    ...[{ chatId: "chat_none" }, { conversationId: "none" }, { chatId: "+15550109999" }].map((unknown) =>
      send({ to: undefined, ...unknown }, { code: "CONVERSATION_NOT_FOUND", says: /none|\+15550109999/ }),
    ),
    send({ to: undefined, chatId: one.left }, { code: "INVALID_STATUS", says: /has left this group/ }),
    ...[{}, { to: undefined, chatId: one.group }].map((whom) => send({ from: "+15005559999", ...whom }, foreign)),
    send(
      { to: undefined, chatId: one.group, routing: { preference: ["sms"] } },
      {
        code: "NO_CHANNEL_AVAILABLE",
        paths: ["routing.preference"],
        says: /names sms; from \+15005550001 to chat_\S+ there is imessage/,
      },
    ),
    send(
      { to: "a@example.com", routing: { preference: ["sms"] } },
      {
        code: "NO_CHANNEL_AVAILABLE",
        paths: ["routing.preference"],
        says: /from \+15005550001 to a@example\.com there is imessage/,
      },
    ),
  ],
  "several fields that are wrong": () => [
    send(
      { to: "abc", scheduledAt: "tomorrow", content: {}, callbackUrl: "http://10.0.0.1/" },
      {
        code: "VALIDATION_ERROR",
        paths: ["content.text", "callbackUrl", "scheduledAt", "to"],
        says: /^content\.text: .*and 3 more, see details/,
      },
    ),
    send(
      { to: "abc", scheduledAt: "2001-01-01T00:00:00Z" },
      { code: "SCHEDULED_IN_PAST", paths: ["scheduledAt", "to"], says: /is not in the future/ },
    ),
    send(
      { content: { mediaUrls: ["http://example.com/"] }, attachments: [{ type: "url" }, { type: "base64" }] },
      {
        code: "VALIDATION_ERROR",
        paths: ["content.mediaUrls[0]", "attachments[0].url", "attachments[1].data"],
        says: /and 2 more, see details/,
      },
    ),
  ],
  "a field that does not exist, metadata and a callback that cannot be kept": () => [
    send({ colour: 1 }, field("colour", /is unknown; known are to, chatId/)),
    send(
      { metadata: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`k${i}`, 1])) },
      field("metadata", /must have at most 50 fields/),
    ),
    send({ metadata: { a: "x".repeat(17_000) } }, field("metadata", /must be at most 16,384 bytes as JSON/)),
    send(
      { callbackUrl: "http://example.com/" },
      field("callbackUrl", /must start with https:\/\/; .*TB_WEBHOOK_ALLOW/),
    ),
    send(
      { callbackUrl: "https://10.0.0.1/" },
      field("callbackUrl", /leads to 10\.0\.0\.1, which is not a public address/),
    ),
  ],
  "nothing to say": () => [
    send({ content: {} }, field("content.text", /is required, and must not be empty/)),
    send({ content: undefined }, field("content.text", /is required, and must not be empty/)),
    send({ content: { text: "" } }, field("content.text", /is required, and must not be empty/)),
    send({ content: { text: "x".repeat(10_001) } }, field("content.text", /at most 10,000 characters/)),
    send({ content: { text: "a\u0000b" } }, field("content.text", /must not contain NUL/)),
    {
      ...send({}, field("content.text", /half a surrogate pair/)),
      body: '{"to":"a@b.co","content":{"text":"\\ud800"}}',
    },
  ],
  "an answer to a message of another conversation, to a deleted one, to none": () =>
    [one.sms, one.deleted, "msg_none"].map((replyTo) =>
      send({ replyTo }, { code: "REPLY_NOT_FOUND", paths: ["replyTo"], says: /no message \S+ in this conversation/ }),
    ),
  "mentions outside of the text": () => {
    const mention = (more: object) => ({ mentions: [{ address: number("0100"), start: 0, length: 5, ...more }] });
    return [
      send(mention({ length: 6 }), field("mentions[0]", /reaches from 0 to 6; the text has 5 UTF-16 units/)),
      send(mention({ start: 5, length: 1 }), field("mentions[0]", /the text has 5 UTF-16 units/)),
      send(mention({ start: -1 }), field("mentions[0].start", /must be 0 to 20,000; got -1/)),
      send(mention({ start: 0.5 }), field("mentions[0].start", /must be a whole number; got 0\.5/)),
      send(mention({ length: 0 }), field("mentions[0].length", /must be 1 to 20,000; got 0/)),
      send(mention({ address: "bob" }), field("mentions[0].address", /E\.164.*got "bob"/)),
    ];
  },
  "an effect that does not exist": () =>
    ["sparkles", "Slam", "", 1, null].map((effect) => send({ effect }, field("effect", /must be one of slam, loud/))),
  "a time that is none": () =>
    [
      ...["", "tomorrow", "2027-01-01", "2027-01-01T00:00:00", "2027-02-30T00:00:00Z", "2027-01-01T25:00:00Z"],
      ...[
        "2027-01-01T00:00:00+24:00",
        "20270101T000000Z",
        "2027-W01-1T00:00:00Z",
        "1798761600",
        " 2027-01-01T00:00:00Z",
      ],
    ].map((scheduledAt) =>
      send(
        { scheduledAt },
        {
          code: "INVALID_SCHEDULED_AT",
          paths: ["scheduledAt"],
          says: /^scheduledAt: ".*" is not an ISO 8601 instant with an offset or Z, such as 2026-01-31T09:30:00Z\.$/,
        },
      ),
    ),
  "a time of another type": () =>
    [1_798_761_600, 1_798_761_600_000, null, true, {}, []].map((scheduledAt) =>
      send({ scheduledAt }, field("scheduledAt", /must be a string, not /)),
    ),
  "a time that is over, or too far away": () => {
    const ahead = (ms: number) => new Date(Date.now() + ms).toISOString();
    const [past, far] = [/is not in the future; it is \d{4}-\d\d-\d\dT\S+Z now/, /is more than 30 days ahead/];
    return [
      ...["0000-01-01T00:00:00Z", "2020-01-01T00:00:00+14:00", ahead(-1), ahead(0)].map((scheduledAt) =>
        send({ scheduledAt }, { code: "SCHEDULED_IN_PAST", paths: ["scheduledAt"], says: past }),
      ),
      ...[ahead(30 * 86_400_000 + 60_000), "9999-12-31T23:59:59Z"].map((scheduledAt) =>
        send({ scheduledAt }, { code: "SCHEDULED_TOO_FAR", paths: ["scheduledAt"], says: far }),
      ),
    ];
  },
  "a file that lies about its type": () => {
    const text = Buffer.from("hello").toString("base64");
    return [
      attach({ type: "base64", data: PNG, mimeType: "image/jpeg" }, "mimeType", /the file is image\/png; correct it/),
      attach({ type: "base64", data: text, mimeType: "image/png" }, "mimeType", /the file is text\/plain; correct it/),
      attach(
        { type: "base64", data: PNG, isAudioMessage: true },
        "isAudioMessage",
        /the file is image\/png; only audio/,
      ),
      attach({ type: "url", url: `${files}/a`, mimeType: "text/html" }, "mimeType", /cannot be sent; images, video/),
      {
        ask: `POST ${phone("0100")}/messages`,
        body: { attachments: [{ type: "url", url: `${files}/lie.png`, mimeType: "image/png" }] },
        ...field("attachments[0].url", /is text\/html, which cannot be sent/),
      },
    ];
  },
  "media that are none, by the wrong channel, or given twice": () => {
    const media = (mediaUrls: string[], paths: string[], says: RegExp) =>
      send({ content: { mediaUrls } }, { code: "VALIDATION_ERROR", paths, says });
    const attachments = [{ type: "base64", data: PNG }];
    const unfit = (more: object, path: string, says: RegExp) =>
      send(more, { code: "CHANNEL_NOT_SUPPORTED", paths: [path], says });
    const routing = { preference: ["sms"] };
    const url = "https://example.com/";
    return [
      media([], ["content.mediaUrls"], /must not be empty/),
      media(Array(21).fill(url), ["content.mediaUrls"], /must have 1 to 20 items/),
      media(
        [url, "http://example.com/", "https://10.0.0.1/"],
        ["content.mediaUrls[1]", "content.mediaUrls[2]"],
        /must start with https:\/\/; .*TB_FETCH_ALLOW/,
      ),
      send(
        { content: { mediaUrl: url, mediaUrls: [url] } },
        field("content.mediaUrl", /is another name for content\.mediaUrls/),
      ),
      unfit({ attachments, routing: { ...routing, attachments: "require" } }, "attachments", /by SMS .* is require/),
      unfit({ content: { mediaUrls: [url] }, routing }, "content.mediaUrls[0]", /without a text nothing would be left/),
      send({ attachments, routing: { attachments: "link" } }, field("routing.attachments", /one of drop, require/)),
      send(
        { to: "a@example.com", attachments, routing },
        { code: "NO_CHANNEL_AVAILABLE", paths: ["routing.preference"], says: /to a@example\.com there is imessage/ },
      ),
    ];
  },
  "a file that is none": () => [
    attach({ type: "base64", data: "no!" }, "data", /must be base64/),
    attach({ type: "base64", data: PNG.slice(0, -1) }, "data", /must be base64 .* with its padding/),
    attach({ type: "base64", data: `${PNG.slice(0, 8)}\n${PNG.slice(8)}` }, "data", /without line breaks/),
    attach({ type: "base64", data: `data:image/png;base64,${PNG}` }, "data", /leave out what stands before the comma/),
    attach({ type: "base64", data: "" }, "data", /is empty/),
    attach({ type: "base64" }, "data", /is required with the type base64/),
    attach({ type: "base64", data: PNG, url: files }, "url", /must be left out/),
    attach({ type: "url" }, "url", /is required with the type url/),
    attach({ type: "url", url: "https://169.254.169.254/x" }, "url", /not a public address/),
    attach({ type: "url", url: "ftp://example.com/x" }, "url", /give an absolute URL such as https:/),
    attach({ type: "file", data: PNG }, "type", /must be one of url, base64; got "file"/),
  ],
  "too much": () => [
    send(
      { attachments: [{ type: "base64", data: "A".repeat(10 * MIB) }] },
      {
        code: "PAYLOAD_TOO_LARGE",
        says: /larger than the 10485760 bytes allowed here/,
      },
    ),
    send(
      { attachments: Array.from({ length: 21 }, () => ({ type: "base64", data: PNG })) },
      {
        ...field("attachments", /must have at most 20 items/),
      },
    ),
    { ask: "POST /v1/contacts", body: " ".repeat(262_145), code: "PAYLOAD_TOO_LARGE", says: /262144 bytes allowed/ },
  ],
  "a group of one, of 33, with somebody twice, with oneself": () => {
    const many = Array.from({ length: 33 }, (_, index) => `+1558${String(index).padStart(7, "0")}`);
    const [first, second] = [number("0120"), number("0121")];
    const group = (participants: unknown, refusal: Omit<Scenario, "ask" | "body">): Scenario => {
      return { ask: "POST /v1/chats/groups", body: { participants }, ...refusal };
    };
    return [
      ...[[first], many, []].map((people) => group(people, field("participants", /must have 2 to 32 items/))),
      group([first, second, first], field("participants[2]", /is there already, as participants\[0\]/)),
      group(["a@example.com", "A@Example.com"], field("participants[1]", /is there already, as participants\[0\]/)),
      group([first, "+15005550001"], field("participants[1]", /is your own number, which is in the group anyway/)),
      group([first, "bob"], { code: "INVALID_PHONE_NUMBER", paths: ["participants[1]"], says: /E\.164/ }),
      {
        ask: "POST /v1/chats/groups",
        body: { participants: [first, second], from: "+15005559999" },
        ...foreign,
      },
      {
        ask: "POST /v1/chats/groups",
        body: { participants: [first, second], name: "" },
        ...field("name", /must not be empty/),
      },
      group("everybody", field("participants", /must be a list, not the string "everybody"/)),
    ];
  },
  "people who cannot be brought into a group, or put out of it": () => {
    const path = `/v1/chats/${one.group}/participants`;
    const bring = (body: object, refusal: Omit<Scenario, "ask" | "body">) => ({
      ask: `POST ${path}`,
      body,
      ...refusal,
    });
    return [
      bring({}, field("participant", /is required/)),
      bring({ participant: "+15005550001" }, field("participant", /your own number, which is in the group already/)),
      bring({ participant: number("0133"), phoneNumber: number("0133") }, field("phoneNumber", /give one of the two/)),
      bring({ phoneNumber: "bob" }, { code: "INVALID_PHONE_NUMBER", paths: ["phoneNumber"], says: /E\.164/ }),
      bring({ participant: number("0102") }, { code: "PROVIDER_ERROR", says: /\+15005550102 is not on iMessage/ }),
      { ask: `DELETE ${path}/${number("0131")}`, code: "INVALID_STATUS", says: /leave it instead/ },
      { ask: `DELETE ${path}/${number("0139")}`, code: "NOT_FOUND", says: /\+15005550139 is not in chat_/ },
    ];
  },
});

/** Invalid amounts, as a client may write them. */
const NO_AMOUNTS: readonly unknown[] = [
  ...[0, -1, 0.001, 25.001, 0.1 + 0.2, 1e-7, 999_999.999, 1_000_000, 1e21, null, true, [], {}],
  ...["", " 25", "25 ", "$25", "25,00", "1,000.00", "1.", ".5", "00.50", "25.000", "-25", "+25", "1e2", "0x10", "NaN"],
  ...["Infinity", "٢٥", "２５", "25.00 USD", "0.00"],
];

testRefusals("a clear answer, and nothing comes of", () => stage, {
  "an amount that is none": () => [
    ...NO_AMOUNTS.map((amount) => ({
      ask: "POST /v1/payments/request",
      body: { to: number("0113"), amount },
      ...field("amount", /must be (0\.01 to 999,999\.99|a number or a string)/),
    })),
    { ask: "POST /v1/payments/request", body: { to: number("0113") }, ...field("amount", /is required/) },
    {
      ask: "POST /v1/payments/request",
      body: `{"to":"${number("0113")}","amount":1e400}`,
      ...field("amount", /write it as a string; got 1e400$/),
    },
    { ask: `POST ${phone("0113")}/payments`, body: { amount: -1 }, ...field("amount", /must be 0\.01 to 999,999\.99/) },
    { ask: `POST ${phone("0113")}/payments`, body: {}, ...field("amount", /is required where no requestId is given/) },
  ],
  "another currency, no time to pay, a note that is too long": () => {
    const ask = (more: object, path: string, says: RegExp): Scenario => {
      const body = { to: number("0113"), amount: 25, ...more };
      return { ask: "POST /v1/payments/request", body, ...field(path, says) };
    };
    return [
      ask({ currency: "EUR" }, "currency", /must be "USD"; got "EUR"/),
      ask({ expiresInSeconds: 0 }, "expiresInSeconds", /must be 1 to 31,536,000; got 0/),
      ask({ expiresInSeconds: 31_536_001 }, "expiresInSeconds", /must be 1 to 31,536,000; got 31,?536,?001/),
      ask({ to: undefined }, "to", /is required/),
      ask({ callbackUrl: "https://10.0.0.1/" }, "callbackUrl", /is not a public address/),
      ask({ memo: "x" }, "memo", /is unknown; known are/),
      ask({ note: "x".repeat(501) }, "note", /at most 500 characters/),
    ];
  },
});

describe("a fetched file is checked when it is fetched, and the message's error says what is wrong with", () => {
  const cases: [name: string, attachment: object, reason: RegExp][] = [
    ["a file that lies about its type", { url: "/lie.png" }, /attachments\[0\].*\/lie\.png .*text\/html/],
    ["a file of another type than said", { url: "/dot.png", mimeType: "image/gif" }, /image\/gif.*image\/png/],
    ["a file that is too large", { url: "/large.png" }, /is larger than 100 MiB/],
  ];
  for (const [name, attachment, reason] of cases) {
    test(name, async () => {
      const { url, ...more } = attachment as { url: string };
      const attachments = [{ type: "url", url: files + url, ...more }];
      const { id } = await stage.send("0100", { attachments });
      const { errorCode, errorMessage, providerErrorCode } = await stage.reached(id, "failed");
      assert.deepEqual([errorCode, providerErrorCode], ["REJECTED", "MEDIA_REFUSED"]);
      assert.match(errorMessage, reason);
    });
  }
});
