/** Both request forms and all field aliases make the same new message; problems name the caller's own fields. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SendMessage } from "../../sdk/wire.ts";
import { parseAllowList } from "./address.ts";
import { newCarousel, newMessage, problemsOf, requestedFields } from "./new-message.ts";

const TO = "+15005550100";
const REQUESTER = { customerId: "cust_1", keyId: "key_1", correlationId: "cor_1" } as const;
const TEXT = { to: TO, content: { text: "Hello" } };
const PICTURE = "https://example.com/a.jpg";
const ALLOWED = { webhookAllow: parseAllowList(""), fetchAllow: parseAllowList("10.0.0.1") };

const fieldsOf = (body: SendMessage) => requestedFields(newMessage(REQUESTER, body));

describe("an alias or an omitted default makes the same message", () => {
  const SAME: [title: string, one: SendMessage, other: SendMessage][] = [
    [
      "conversationId and chatId",
      { conversationId: "chat_1", content: { text: "a" } },
      { chatId: "chat_1", content: { text: "a" } },
    ],
    ["an empty to and none", { ...TEXT, to: "", chatId: "chat_1" }, { chatId: "chat_1", content: { text: "Hello" } }],
    [
      "content.mediaUrl and content.mediaUrls of one",
      { to: TO, content: { mediaUrl: PICTURE } },
      { to: TO, content: { mediaUrls: [PICTURE] } },
    ],
    [
      "an empty text and none",
      { to: TO, content: { text: "", mediaUrl: PICTURE } },
      { to: TO, content: { mediaUrl: PICTURE } },
    ],
    ["empty lists and none", { ...TEXT, attachments: [], mentions: [] }, TEXT],
    ["createContact:false and none", { ...TEXT, createContact: false }, TEXT],
    [
      "isAudioMessage:false and none",
      { to: TO, attachments: [{ type: "url", url: PICTURE, isAudioMessage: false }] },
      { to: TO, attachments: [{ type: "url", url: PICTURE }] },
    ],
    ["the idempotency key left out", { ...TEXT, idempotencyKey: "k" }, TEXT],
  ];
  for (const [title, one, other] of SAME) {
    test(title, () => assert.deepEqual(fieldsOf(one), fieldsOf(other)));
  }

  test("every requested field is kept as it was given", () => {
    const body: SendMessage = { ...TEXT, effect: "slam", createContact: true, metadata: { a: null }, replyTo: "msg_1" };
    assert.deepEqual(fieldsOf(body), body);
  });

  test("a carousel is a message with the same media", () => {
    const mediaUrls = [PICTURE, PICTURE];
    const carousel = newCarousel(REQUESTER, { to: TO, text: "Look", mediaUrls, effect: "loud" });
    const same = fieldsOf({ to: TO, content: { text: "Look", mediaUrls }, effect: "loud" });
    assert.deepEqual(requestedFields(carousel), same);
  });
});

describe("problemsOf names every invalid field", () => {
  const PROBLEMS: [title: string, body: SendMessage, ...paths: string[]][] = [
    ["nothing", TEXT],
    ["media in place of a text", { to: TO, content: { text: "", mediaUrls: [PICTURE] } }],
    ["attachments in place of a text", { to: TO, attachments: [{ type: "url", url: PICTURE }] }],
    ["no content at all", { to: TO }, "content.text"],
    ["an empty text alone", { to: TO, content: { text: "" } }, "content.text"],
    [
      "media by http, of a private network, and of an address on the operator's allow list",
      { to: TO, content: { mediaUrls: ["http://example.com/a", "https://10.0.0.2/", "https://10.0.0.1/", PICTURE] } },
      "content.mediaUrls[0]",
      "content.mediaUrls[1]",
    ],
    [
      "an alias, by the name in the request",
      { to: TO, content: { mediaUrl: "https://user@example.com/a" } },
      "content.mediaUrl",
    ],
    [
      "a mention that starts after the text, and a mention that ends after it",
      {
        ...TEXT,
        mentions: [
          { address: TO, start: 0, length: 5 },
          { address: TO, start: 5, length: 1 },
          { address: TO, start: 4, length: 2 },
        ],
      },
      "mentions[1]",
      "mentions[2]",
    ],
    [
      "a problem of each kind",
      { to: TO, mentions: [{ address: TO, start: 0, length: 1 }], callbackUrl: "ftp://example.com" },
      "content.text",
      "mentions[0]",
      "callbackUrl",
    ],
  ];
  for (const [title, body, ...paths] of PROBLEMS) {
    test(title, () => {
      const found = problemsOf(newMessage(REQUESTER, body), ALLOWED);
      assert.deepEqual(
        found.map(({ path }) => path),
        paths,
      );
      for (const { path, message } of found) {
        if (path.startsWith("content.media")) assert.doesNotMatch(message, /WEBHOOK/);
      }
    });
  }

  test("invalid media of a carousel, by the carousel's own fields", () => {
    const carousel = newCarousel(REQUESTER, { to: TO, mediaUrls: [PICTURE, "http://example.com/b"] });
    assert.deepEqual(
      problemsOf(carousel, ALLOWED).map(({ path }) => path),
      ["mediaUrls[1]"],
    );
  });

  test("a mention counts in UTF-16 units", () => {
    const mention = (length: number) => ({ address: TO, start: 0, length });
    const found = (length: number) =>
      problemsOf(newMessage(REQUESTER, { to: TO, content: { text: "😀" }, mentions: [mention(length)] }), ALLOWED);
    assert.deepEqual([found(2).length, found(3).length], [0, 1]);
  });
});
