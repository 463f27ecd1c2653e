/** The bytes of an event come back from its row as they were, whatever they are, since they are signed. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ANY_CHARACTER } from "../../test/support/any-character.ts";
import { makeEvent } from "../core/event.ts";
import { packEnvelope, unpackEnvelope } from "./packed-envelope.ts";

const COLUMNS = {
  id: "evt_01a205b8-7dd6-732a-bb2c-56fcb9c551cb",
  type: "message.delivered",
  messageId: "msg_01a205b8-7cd4-7058-b645-54ac521d2bf6",
  correlationId: "cor_3b78158a80ace11bfc01df8ec5b4d435",
} as const;

const TEXTS = [
  ...Object.values(COLUMNS),
  "2026-11-23T00:05:06.646Z",
  "\u0001",
  "\u0002",
  "\u0006",
  "\u0007",
  `,"status":"`,
  `"timestamp":"2026-11-23T00:05:06.646Z"`,
  `{"id":"`,
];
const text = fc.oneof(
  fc.string({ unit: ANY_CHARACTER }),
  fc.array(fc.constantFrom(...TEXTS)).map((parts) => parts.join("")),
);
const columns = fc.record({
  id: fc.constantFrom(COLUMNS.id, "evt_1"),
  type: fc.constantFrom("message.sent", "message.delivered"),
  messageId: fc.option(fc.constantFrom(COLUMNS.messageId, "msg_", "msg_1234")),
  correlationId: fc.oneof(text, fc.constant(COLUMNS.correlationId)),
});

test("any bytes that begin as JSON of an object does are unpacked as they were", () => {
  fc.assert(
    fc.property(text, columns, (rest, of) => {
      const bytes = `{${rest}`;
      assert.equal(unpackEnvelope(packEnvelope(bytes, of), of), bytes);
    }),
  );
});

test("any envelope is unpacked as it was", () => {
  const at = fc.date({ min: new Date(0), max: new Date("9999-12-31"), noInvalidDate: true });
  fc.assert(
    fc.property(columns, at, fc.dictionary(text, fc.jsonValue()), text, (of, createdAt, data, said) => {
      const event = { ...of, customerId: "cust_1", sequence: 1, createdAt: createdAt.getTime() };
      const { bytes } = makeEvent(event as never, { messageId: of.messageId, ...data, text: said });
      assert.equal(unpackEnvelope(packEnvelope(bytes, of), of), bytes);
    }),
  );
});

test("the bytes of an event about a message take less than half, and have its text as it is", () => {
  const event = { ...COLUMNS, customerId: "cust_1", sequence: 3, createdAt: Date.UTC(2026, 10, 23) };
  const { bytes } = makeEvent(event as never, {
    messageId: COLUMNS.messageId,
    from: "+15005550001",
    to: "+15005553281",
    text: "Your order has left our warehouse.",
    channel: "imessage",
    status: "delivered",
    sequence: 3,
    correlationId: COLUMNS.correlationId,
    deliveredAt: "2026-11-23T00:00:00.000Z",
  });
  const packed = packEnvelope(bytes, COLUMNS);
  assert.ok(packed.length < bytes.length / 2, `${packed.length} of ${bytes.length}`);
  assert.ok(packed.includes("Your order has left our warehouse."));
});

test("packed bytes of this version are read by later ones", () => {
  const packed =
    '\u00012026-11-23T00:05:06.646Z\u0007\u000abench-1"\u000e15005550001"\u000f15005553281"\u0010Hello"\u000c\u0011a":"b"}' +
    '\u0012delivered"\u000bsbx_\u0004_imessage"\u00133\u0009\u0014\u0006"\u0015\u0006"}}';
  assert.equal(
    unpackEnvelope(packed, COLUMNS),
    '{"id":"evt_01a205b8-7dd6-732a-bb2c-56fcb9c551cb","type":"message.delivered","timestamp":"2026-11-23T00:05:06.646Z",' +
      '"data":{"messageId":"msg_01a205b8-7cd4-7058-b645-54ac521d2bf6","externalMessageId":"bench-1","from":"+15005550001",' +
      '"to":"+15005553281","text":"Hello","channel":"imessage","metadata":{"a":"b"},"status":"delivered",' +
      '"providerMessageId":"sbx_01a205b8-7cd4-7058-b645-54ac521d2bf6_imessage","sequence":3,' +
      '"correlationId":"cor_3b78158a80ace11bfc01df8ec5b4d435","sentAt":"2026-11-23T00:05:06.646Z",' +
      '"deliveredAt":"2026-11-23T00:05:06.646Z"}}',
  );
});
