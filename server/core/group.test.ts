/** Any change of a group in any order, and its events, each once. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Chat, groupKey } from "./chat.ts";
import { type GroupPatch, patchGroup } from "./group.ts";

const OWN = "+15550000001";

function group(participants: string[], name: string | null = null): Chat {
  return {
    id: "chat_1",
    version: 1,
    customerId: "cust_1",
    key: groupKey("cust_1", OWN, "g"),
    isGroup: true,
    from: OWN,
    contact: null,
    lastForm: null,
    instanceId: "inst_1",
    reference: "g",
    channel: "imessage",
    name,
    participants,
    leftAt: null,
    createdAt: 0,
    updatedAt: 0,
  };
}

const context = { now: 1, eventId: () => "evt_1" as const, correlationId: "cor_1" };

const person: fc.Arbitrary<string> = fc.constantFrom("+15005550131", "+15005550132", "+15005550133", "ann@example.com");
const people = fc.uniqueArray(person);
const regrouping: fc.Arbitrary<GroupPatch> = fc.record(
  { name: fc.option(fc.constantFrom("Trip", "Work")), participants: people, left: fc.boolean() },
  { requiredKeys: [] },
);

test("patchGroup sets the given name, participants and departure, and keeps the fields that are not given", () => {
  fc.assert(
    fc.property(people, regrouping, (before, to) => {
      const chat = group(before, "Trip");
      const { chat: after } = patchGroup(chat, to, null, context);
      assert.deepEqual(after.participants.toSorted(), (to.participants ?? before).toSorted());
      assert.equal(after.name, to.name === undefined ? "Trip" : to.name);
      assert.equal(after.leftAt !== null, to.left ?? false);
      assert.deepEqual(
        after.participants.filter((one) => before.includes(one)),
        before.filter((one) => after.participants.includes(one)),
        "who stays keeps the place in the list",
      );
    }),
  );
});

test("each difference of a group is one event, and repeating a change emits nothing", () => {
  fc.assert(
    fc.property(people, regrouping, (before, to) => {
      const { chat, events } = patchGroup(group(before), to, "+15005550131", context);
      const after = to.participants ?? before;
      const moved = [...before.filter((one) => !after.includes(one)), ...after.filter((one) => !before.includes(one))];
      const own = to.left === true ? 1 : 0;
      const named = to.name === undefined || to.name === null ? 0 : 1;
      assert.equal(events.length, moved.length + own + named);
      const again = patchGroup(chat, to, null, context);
      assert.deepEqual(again.events, []);
      assert.equal(again.chat, chat);
    }),
  );
});

test("a group event names chat, subject, actor and number, and omits fields that do not apply", () => {
  const { events } = patchGroup(group(["+15005550131"]), { name: "Trip", participants: [] }, OWN, context);
  assert.deepEqual(
    events.map(({ bytes, customerId, messageId, correlationId }) => [
      JSON.parse(bytes),
      customerId,
      messageId,
      correlationId,
    ]),
    [
      { type: "chat.participant.left", subject: { participant: "+15005550131" } },
      { type: "chat.title.changed", subject: { title: "Trip" } },
    ].map(({ type, subject }) => [
      {
        id: "evt_1",
        type,
        timestamp: "1970-01-01T00:00:00.001Z",
        data: { chatId: "chat_1", ...subject, actor: OWN, to: OWN, channel: "imessage" },
      },
      "cust_1",
      null,
      "cor_1",
    ]),
  );
});
