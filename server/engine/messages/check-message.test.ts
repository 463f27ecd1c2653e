/** The recipient and chat of a new message, its refusals, and the operations that accept it. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SendMessage } from "../../../sdk/wire.ts";
import { commitAll, type TestContext } from "../../../test/support/context.ts";
import { inbound } from "../../../test/support/provider.ts";
import { CORRELATION, chats, groupFor, openContext, send, TO } from "../../../test/support/sending.ts";
import { newMessage } from "../../core/new-message.ts";
import { listEventsOfMessage } from "../../store/events.ts";
import { findMessage } from "../../store/messages.ts";
import { apply } from "../apply.ts";
import { invalidateOptOuts } from "../contacts/opt-outs.ts";
import { checkMessage } from "./accept.ts";

const PICTURE = "https://example.com/a.jpg";

describe("a message to a chat", () => {
  test("goes to the contact of a thread, named by chatId, conversationId or address", async (t) => {
    const made = await openContext(t);
    const { chatId } = await send(made, { to: TO });
    assert.ok(chatId !== null);
    for (const body of [{ chatId }, { conversationId: chatId }, { chatId: TO }]) {
      const message = await send(made, body);
      assert.deepEqual([message.to, message.from, message.chatId], [TO, made.number.address, chatId]);
      assert.deepEqual(message.channelsLeft, ["sms"]);
    }
    assert.equal((await send(made, { chatId, from: made.number.address })).chatId, chatId);
  });

  test("goes to a group on the group's channel, without a fallback channel", async (t) => {
    const made = await openContext(t);
    const group = await groupFor(made);
    const message = await send(made, { chatId: group.id });
    assert.deepEqual([message.to, message.chatId, message.channel], [group.id, group.id, "imessage"]);
    assert.deepEqual(message.channelsLeft, []);
    const sms = await groupFor(made, { channel: "sms" });
    assert.equal((await send(made, { chatId: sms.id })).channel, "sms");
  });

  test("to an alphanumeric sender, or to its chat, is INVALID_PHONE_NUMBER, and says that no answer reaches it", async (t) => {
    const made = await openContext(t);
    await apply(made.deps, made.instance.id, inbound({ from: "MyBank", channel: "sms" }));
    const [chat] = await chats(made);
    assert.equal(chat?.contact, "MyBank");
    for (const body of [{ to: "MyBank" }, { chatId: chat.id }]) {
      const message = /"MyBank".*: alphanumeric senders can write and cannot be answered\.$/;
      await assert.rejects(send(made, body), { code: "INVALID_PHONE_NUMBER", message });
    }
  });

  const REFUSED: [title: string, code: string, body: (made: TestContext) => Promise<SendMessage>][] = [
    [
      "another customer's group",
      "CONVERSATION_NOT_FOUND",
      async (made) => ({ chatId: (await groupFor(made, {}, await made.addTenant("Other"))).id }),
    ],
    [
      "from another number of the customer",
      "VALIDATION_ERROR",
      async (made) => {
        const own = { ...made.number, id: made.deps.newId("num"), address: "+15550000099", isDefault: false };
        await commitAll(made.deps, [{ op: "insert", table: "numbers", record: own }]);
        made.deps.configCache.clear();
        return { chatId: (await groupFor(made)).id, from: own.address };
      },
    ],
    [
      "whose number the customer has no more",
      "ADDRESS_NOT_AUTHORIZED",
      async (made) => ({ chatId: (await groupFor(made, { from: "+15550000097" })).id }),
    ],
    [
      "of SMS with an attachment",
      "CHANNEL_NOT_SUPPORTED",
      async (made) => ({
        chatId: (await groupFor(made, { channel: "sms" })).id,
        attachments: [{ type: "url", url: PICTURE }],
      }),
    ],
  ];
  for (const [title, code, bodyOf] of REFUSED) {
    test(`${title}: ${code}`, async (t) => {
      const made = await openContext(t);
      await assert.rejects(send(made, await bodyOf(made)), { code });
    });
  }
});

describe("files", () => {
  const TYPES: [title: string, body: SendMessage, type: string, left: string[]][] = [
    ["one address of media is a media message", { content: { mediaUrl: PICTURE } }, "media", []],
    ["with a text by SMS too", { content: { text: "Look", mediaUrl: PICTURE } }, "media", ["sms"]],
    ["two are a carousel", { content: { text: "Look", mediaUrls: [PICTURE, PICTURE] } }, "carousel", ["sms"]],
    [
      "an attachment without a text goes by iMessage alone",
      { attachments: [{ type: "url", url: PICTURE }] },
      "media",
      [],
    ],
    [
      "with media it stays what the media make it",
      { content: { mediaUrls: [PICTURE, PICTURE] }, attachments: [{ type: "url", url: PICTURE }] },
      "carousel",
      [],
    ],
    ["an effect and nothing else is a text", { effect: "slam" }, "text", ["sms"]],
  ];
  for (const [title, body, type, left] of TYPES) {
    test(title, async (t) => {
      const message = await send(await openContext(t), { to: TO, ...body });
      assert.deepEqual([message.messageType, message.channelsLeft], [type, left]);
    });
  }

  test("the bytes of an attachment are committed together with its message", async (t) => {
    const made = await openContext(t);
    const data = Buffer.from("BEGIN:VCARD\nFN:A\nEND:VCARD\n").toString("base64");
    const attachments: SendMessage["attachments"] = [{ type: "base64", data, filename: "a.vcf" }];
    const message = await send(made, { to: TO, attachments });
    assert.deepEqual(
      message.attachments.map(({ filename, mimeType, totalBytes }) => [filename, mimeType, totalBytes]),
      [["a.vcf", "text/vcard", 27]],
    );
    const contents = await made.deps.store.db.selectFrom("contents").selectAll().execute();
    assert.deepEqual(
      contents.map(({ id, message_id, customer_id }) => [id, message_id, customer_id]),
      [[message.attachments[0]?.guid, message.id, made.customer.id]],
    );
  });
});

describe("replyTo", () => {
  test("accepts a message of the same conversation, in either direction", async (t) => {
    const made = await openContext(t);
    const first = await send(made, { to: TO });
    const inbound = {
      ...first,
      id: made.deps.newId("msg"),
      direction: "inbound",
      from: TO,
      to: first.from,
    } as const;
    await commitAll(made.deps, [{ op: "insert", table: "messages", record: inbound }]);
    for (const replyTo of [first.id, inbound.id]) {
      assert.equal((await send(made, { to: TO, replyTo })).replyTo, replyTo);
    }
  });
});

describe("opt-outs", () => {
  test("a contact that opted out of a number gets no message from it, but from another number and in a group", async (t) => {
    const made = await openContext(t);
    const other = await made.addTenant("Other");
    const { id: customerId } = made.customer;
    const record = { customerId, number: made.number.address, contact: TO, scope: "number" } as const;
    const transaction = [
      { op: "put", table: "optOuts", record: { ...record, source: "api", keyword: null, createdAt: 1 } },
    ] as const;
    await commitAll(made.deps, transaction);
    invalidateOptOuts(made.deps, transaction);
    await assert.rejects(send(made, { to: TO }), { code: "RECIPIENT_OPTED_OUT" });
    assert.deepEqual(await chats(made), [], "nothing of it is kept");
    assert.equal((await send(made, { to: TO }, other)).status, "queued");
    assert.equal((await send(made, { chatId: (await groupFor(made)).id })).status, "queued");
  });
});

describe("createContact", () => {
  const contacts = async ({ deps }: TestContext) =>
    (await deps.store.db.selectFrom("contact_addresses").select("address").execute()).map(({ address }) => address);

  test("creates a contact for the recipient once, and is ignored for a group", async (t) => {
    const made = await openContext(t);
    await send(made, { to: TO, createContact: true });
    await send(made, { to: TO, createContact: true });
    await send(made, { chatId: (await groupFor(made)).id, createContact: true });
    await send(made, { to: "+15550100002" });
    assert.deepEqual(await contacts(made), [TO]);
  });

  test("creates no contact if the message is refused", async (t) => {
    const made = await openContext(t);
    await assert.rejects(send(made, { to: TO, createContact: true, replyTo: "msg_1" }), { code: "REPLY_NOT_FOUND" });
    assert.deepEqual(await contacts(made), []);
  });
});

test("a message has every field of its request", async (t) => {
  const made = await openContext(t);
  const message = await send(made, {
    to: TO,
    content: { text: "Hello you", mediaUrls: [PICTURE] },
    effect: "confetti",
    mentions: [{ address: "A@Example.com", start: 6, length: 3 }],
    metadata: { a: 1 },
    externalMessageId: "e",
    routing: { preference: ["imessage"], fallback: false, fallbackAfterSeconds: 20 },
  });
  const { text, mediaUrls, effect, mentions, metadata, externalMessageId } = message;
  assert.deepEqual(
    { text, mediaUrls, effect, metadata, externalMessageId },
    {
      text: "Hello you",
      mediaUrls: [PICTURE],
      effect: "confetti",
      metadata: { a: 1 },
      externalMessageId: "e",
    },
  );
  assert.deepEqual(mentions, [{ address: "a@example.com", start: 6, length: 3 }]);
  assert.deepEqual([message.fallback, message.fallbackAfterMs, message.channelsLeft], [false, 20_000, []]);
});

test("a mention by the other form of a phone names the form that the message goes to", async (t) => {
  const made = await openContext(t);
  const [to, other] = ["+5491123456789", "+541123456789"];
  const place = { start: 0, length: 2 };
  const { mentions } = await send(made, {
    to,
    content: { text: "Hi you" },
    mentions: [
      { ...place, address: other },
      { address: TO, start: 3, length: 3 },
    ],
  });
  assert.deepEqual(
    mentions.map(({ address }) => address),
    [to, TO],
  );
});

test("checkMessage commits nothing and uses the given id and payment; its operations, once committed, queue the message", async (t) => {
  const made = await openContext(t);
  const messageId = made.deps.newId("msg");
  const payment = { id: made.deps.newId("pay"), amountCents: 2_500 };
  const requester = { customerId: made.customer.id, keyId: made.apiKey.id, correlationId: CORRELATION };
  const wanted = newMessage(requester, { to: TO, content: { text: "Pay me" } });
  const checked = await checkMessage(made.deps, { ...wanted, messageId, payment });
  assert.deepEqual(
    [await chats(made), await findMessage(made.deps.store.db, messageId), made.woken.messages],
    [[], null, []],
  );
  await commitAll(made.deps, checked.operations);
  checked.committed();
  assert.deepEqual((await findMessage(made.deps.store.db, messageId))?.payment, payment);
  assert.equal((await listEventsOfMessage(made.deps.store.db, messageId)).length, 1);
  assert.deepEqual([made.woken.messages, made.observed.accepted], [[made.instance.id], 1]);
});
