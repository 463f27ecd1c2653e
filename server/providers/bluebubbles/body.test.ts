/** Tests of the request bodies: their form, parts and file names. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { EFFECTS } from "../../../sdk/wire.ts";
import { outboundMessage } from "../../../test/support/outbound.ts";
import type { MessageId } from "../../core/id.ts";
import { audioFields, filenameOf, fileParts, isVoice, newChatBody, partsBody, textBody, textParts } from "./body.ts";
import { effectId, effectOfId } from "./effects.ts";

const CHAT = "iMessage;-;+15551230001";

function message(more = {}) {
  return outboundMessage({ messageId: "msg_a" as MessageId, to: "+15551230001", attempt: 3, ...more });
}

test("every body uses the Private API and names its attempt", () => {
  const bodies = [
    textBody(message(), CHAT),
    newChatBody(message(), ["+15551230001"]),
    partsBody(message(), CHAT, []),
    audioFields(message(), CHAT, "a.caf"),
  ];
  for (const body of bodies) {
    const { method, tempGuid } = body as { method?: unknown; tempGuid?: unknown };
    assert.deepEqual([method, tempGuid], ["private-api", "msg_a-3"]);
  }
});

test("effect and reply are present only if the message has them", () => {
  assert.deepEqual(textBody(message(), CHAT), {
    tempGuid: "msg_a-3",
    method: "private-api",
    chatGuid: CHAT,
    message: "Hello",
  });
  assert.deepEqual(textBody(message({ effect: "echo", replyTo: "G-1" }), CHAT), {
    tempGuid: "msg_a-3",
    method: "private-api",
    effectId: "com.apple.messages.effect.CKEchoEffect",
    selectedMessageGuid: "G-1",
    partIndex: 0,
    chatGuid: CHAT,
    message: "Hello",
  });
  const begun = newChatBody(message({ replyTo: "G-1", channel: "sms" }), ["+1"]);
  assert.deepEqual(begun, {
    tempGuid: "msg_a-3",
    method: "private-api",
    addresses: ["+1"],
    service: "SMS",
    message: "Hello",
  });
});

test("every effect maps to Apple's identifier and back", () => {
  for (const effect of EFFECTS) {
    assert.match(effectId(effect), /^com\.apple\.(MobileSMS\.expressivesend\.|messages\.effect\.CK)\w+$/);
    assert.equal(effectOfId(effectId(effect)), effect);
  }
  assert.equal(new Set(EFFECTS.map(effectId)).size, EFFECTS.length);
  assert.equal(effectOfId("com.apple.messages.effect.CKShootingStarEffect"), null);
  assert.equal(effectOfId(null), null);
});

test("mentions split a text into parts of one bubble without losing a letter", () => {
  const text = "🎉 Ann and Bob!";
  const mentions = [
    { address: "b@x.example", start: 11, length: 3 },
    { address: "+1", start: 3, length: 3 },
  ];
  const parts = textParts(text, mentions);
  assert.deepEqual(parts, [
    { partIndex: 0, text: "🎉 " },
    { partIndex: 0, text: "Ann", mention: "+1" },
    { partIndex: 0, text: " and " },
    { partIndex: 0, text: "Bob", mention: "b@x.example" },
    { partIndex: 0, text: "!" },
  ]);
  assert.equal(parts.map((part) => part.text).join(""), text);
});

test("mentions that overlap or lie outside the text are left out, and the text stays complete", () => {
  const outside = [
    { address: "+1", start: 0, length: 3 },
    { address: "+2", start: 2, length: 3 },
    { address: "+3", start: 4, length: 9 },
    { address: "+4", start: 90, length: 1 },
    { address: "+5", start: 4, length: 0 },
  ];
  const parts = textParts("Ann!?", outside);
  assert.deepEqual(
    parts.map(({ text, mention }) => [text, mention]),
    [
      ["Ann", "+1"],
      ["!?", undefined],
    ],
  );
  assert.deepEqual(textParts("", []), []);
});

test("files follow the text as parts of their own, or begin a message without text", () => {
  const files = [
    { path: "u/1", name: "a" },
    { path: "u/2", name: "b" },
  ];
  assert.deepEqual(
    fileParts(files, true).map(({ partIndex }) => partIndex),
    [1, 2],
  );
  assert.deepEqual(
    fileParts(files, false).map(({ partIndex }) => partIndex),
    [0, 1],
  );
});

test("a file name has no path, is visible, and keeps its extension", () => {
  const cases: [string, string][] = [
    ["cat.png", "cat.png"],
    ["../../etc/passwd", "_.._etc_passwd"],
    ["a\u0000b\nc.txt", "a_b_c.txt"],
    ["..", "file"],
    ["", "file"],
    ["C:\\temp\\x.doc", "C__temp_x.doc"],
    ["写真.heic", "写真.heic"],
    [`${"x".repeat(300)}.jpeg`, `${"x".repeat(115)}.jpeg`],
  ];
  for (const [filename, name] of cases) assert.equal(filenameOf({ filename }), name, filename);
});

test("a voice message is one file and no text", () => {
  const voice = { mimeType: "audio/mpeg", filename: "a.mp3", bytes: new Uint8Array(1), isAudioMessage: true };
  assert.ok(isVoice({ text: "", attachments: [voice] }));
  assert.ok(!isVoice({ text: "Listen", attachments: [voice] }));
  assert.ok(!isVoice({ text: "", attachments: [voice, voice] }));
  assert.ok(!isVoice({ text: "", attachments: [{ ...voice, isAudioMessage: false }] }));
});
