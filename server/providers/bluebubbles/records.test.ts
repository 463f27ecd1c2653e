/** Tests of parsing the Mac's JSON, whatever is missing, null or of another type. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  channelOfService,
  dataOf,
  isGroupChat,
  parseAttachment,
  parseChat,
  parseErrorBody,
  parseHandle,
  parseMessage,
  parseMessages,
  serviceOfGuid,
} from "./records.ts";

const MESSAGE = {
  originalROWID: 7,
  guid: "G-1",
  text: "Hi",
  handle: { address: "+15551230001", service: "iMessage", country: "us" },
  attachments: [{ guid: "A-1", mimeType: "image/png", transferName: "a.png", totalBytes: 5, width: 1 }, null, "x"],
  chats: [{ guid: "iMessage;-;+15551230001", style: 45, chatIdentifier: "+15551230001", participants: [{}] }],
  error: 22,
  dateCreated: 1_795_239_994_037,
  isFromMe: true,
  groupTitle: "",
  associatedMessageType: "0.0",
  unknown: { nested: true },
};

test("parseMessage reads every used field of a message, and ignores others", () => {
  const message = parseMessage(MESSAGE);
  assert.equal(message?.guid, "G-1");
  assert.deepEqual(message.handle, { address: "+15551230001", service: "iMessage" });
  assert.deepEqual(
    message.attachments.map(({ guid }) => guid),
    ["A-1"],
  );
  assert.deepEqual([message.chats[0]?.participants, message.chats[0]?.displayName], [[], null]);
  assert.deepEqual([message.error, message.dateCreated, message.isFromMe], [22, 1_795_239_994_037, true]);
  assert.ok(!("unknown" in message));
});

test("a message with only a guid has null, false, 0 and empty lists", () => {
  const message = parseMessage({ guid: "G" });
  assert.deepEqual([message?.text, message?.handle, message?.error, message?.isFromMe], [null, null, 0, false]);
  assert.deepEqual([message?.attachments, message?.chats, message?.itemType], [[], [], 0]);
});

test("a record without a guid or address is null", () => {
  for (const value of [null, undefined, 1, "x", [], {}, { guid: 5 }, { guid: null }]) {
    assert.equal(parseMessage(value), null);
    assert.equal(parseChat(value), null);
    assert.equal(parseAttachment(value), null);
    assert.equal(parseHandle(value), null);
  }
  assert.deepEqual(parseMessages({ guid: "G" }), []);
  assert.deepEqual(parseMessages([{ guid: "G" }, 1]).length, 1);
});

test("no value makes a parser throw", () => {
  const parsers = [parseMessage, parseChat, parseAttachment, parseHandle, dataOf, parseErrorBody, parseMessages];
  const odd = fc.anything({ withBigInt: true, withNullPrototype: true, maxDepth: 3 });
  fc.assert(
    fc.property(odd, fc.dictionary(fc.constantFrom(...Object.keys(MESSAGE)), odd), (value, changes) => {
      for (const parse of parsers) parse(value);
      for (const parse of parsers) parse({ ...MESSAGE, ...changes });
    }),
  );
});

test("dataOf returns a response's data, and parseErrorBody the error's type and message at either place", () => {
  assert.deepEqual(dataOf({ status: 200, data: [1], metadata: { total: 9 } }), [1]);
  assert.equal(dataOf({ status: 201, message: "No Data" }), null);
  const error = { type: "Database Error", message: "Chat does not exist!" };
  assert.deepEqual(parseErrorBody({ status: 404, message: "Not found", error }), error);
  assert.deepEqual(parseErrorBody({ message: "Oh" }), { type: null, message: "Oh" });
});

test("the service of a handle gives the channel; a guid names its service, except on macOS 26", () => {
  assert.deepEqual(["iMessage", "SMS", "RCS", "any", null].map(channelOfService), [
    "imessage",
    "sms",
    "rcs",
    null,
    null,
  ]);
  assert.deepEqual(["iMessage;-;+1", "SMS;-;+1", "any;-;+1", "nonsense"].map(serviceOfGuid), [
    "iMessage",
    "SMS",
    null,
    null,
  ]);
  assert.ok(isGroupChat({ style: 43, guid: "any;x" }));
  assert.ok(!isGroupChat({ style: 45, guid: "iMessage;+;chat1" }));
  assert.ok(isGroupChat({ style: null, guid: "iMessage;+;chat1" }));
});
