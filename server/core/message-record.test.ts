/** The public forms of a message: the fields that only one direction has. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { message } from "../../test/support/lifecycle.ts";
import { acceptedRecord, inboundEventData, messageEventData, messageRecord } from "./message-record.ts";

const link = (token: string) => `https://tb.example/v1/attachments/${token}`;

const RECEIVED = message({ direction: "inbound", status: "received", providerMessageId: "in-1" });

test("events of an outbound message carry providerMessageId once it is known", () => {
  assert.ok(!("providerMessageId" in messageEventData(message(), link)));
  const taken = message({ status: "sent", providerMessageId: "ref-1" });
  assert.partialDeepStrictEqual(messageEventData(taken, link), { status: "sent", providerMessageId: "ref-1" });
});

test("events of an inbound message carry no status and no providerMessageId", () => {
  for (const status of ["received", "unsent"] as const) {
    const data = messageEventData({ ...RECEIVED, status }, link);
    assert.deepEqual([Object.hasOwn(data, "status"), Object.hasOwn(data, "providerMessageId")], [false, false]);
  }
});

test("message.inbound always carries attachments and parentMessageId, empty or null if it has none", () => {
  const bare = inboundEventData(RECEIVED, { isGroup: false, textTruncated: false }, link);
  assert.deepEqual([bare.attachments, bare.parentMessageId], [[], null]);
  const answer = inboundEventData(
    { ...RECEIVED, parentMessageId: "msg_0" },
    { isGroup: false, textTruncated: false },
    link,
  );
  assert.equal(answer.parentMessageId, "msg_0");
});

test("the record of an inbound message has the status received, and an inbound message has no 202 response", () => {
  assert.partialDeepStrictEqual(messageRecord(RECEIVED, link), { status: "received", providerMessageId: "in-1" });
  assert.throws(() => acceptedRecord(RECEIVED));
});
