/** An event's bytes are its envelope as compact JSON, made once. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Event, makeEvent } from "./event.ts";

const FACTS: Omit<Event, "bytes"> = {
  id: "evt_018fd2c5-6f7a-7000-8000-000000000001",
  customerId: "cust_1",
  type: "message.delivered",
  messageId: "msg_1",
  sequence: 3,
  correlationId: "cor_1",
  createdAt: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
};

test("the envelope is id, type, timestamp with milliseconds in UTC, and data, and nothing else", () => {
  const event = makeEvent(FACTS, { messageId: "msg_1", text: "Grüße \u{1F44B}", metadata: { a: null } });
  assert.equal(
    event.bytes,
    '{"id":"evt_018fd2c5-6f7a-7000-8000-000000000001","type":"message.delivered",' +
      '"timestamp":"2026-01-02T03:04:05.006Z","data":{"messageId":"msg_1","text":"Grüße \u{1F44B}","metadata":{"a":null}}}',
  );
  assert.deepEqual({ ...event, bytes: "" }, { ...FACTS, bytes: "" });
});

test("the bytes of an event are the compact JSON.stringify form of any data", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (data) => {
      const { bytes } = makeEvent(FACTS, data);
      const parsed = JSON.parse(bytes);
      assert.deepEqual(Object.keys(parsed), ["id", "type", "timestamp", "data"]);
      assert.equal(JSON.stringify(parsed), bytes);
      assert.equal(JSON.stringify(parsed.data), JSON.stringify(data));
      assert.doesNotMatch(bytes, /[\n\r]/);
    }),
  );
});

test("an event omits fields that do not apply, and has null for fields without a value", () => {
  const { bytes } = makeEvent(FACTS, { readAt: undefined, text: null });
  assert.equal(JSON.stringify(JSON.parse(bytes).data), '{"text":null}');
});
