/** Customers and contacts act at the same moment, in a thousand orders each: record, events and phone agree. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatEventData } from "../../../sdk/wire.ts";
import { inbound, receipt, ScriptedProvider } from "../../../test/support/provider.ts";
import { type Round, race } from "../../../test/support/race.ts";
import type { Chat } from "../../core/chat.ts";
import type { ChatId } from "../../core/id.ts";
import { newMessage } from "../../core/new-message.ts";
import { findChat } from "../../store/chats.ts";
import { findContactAddresses } from "../../store/contacts.ts";
import { apply } from "../apply.ts";
import { addParticipant, leaveGroup, removeParticipant, renameGroup } from "../chats/change-group.ts";
import { createGroup } from "../chats/create-group.ts";
import { accept } from "./accept.ts";
import { deleteMessage } from "./actions.ts";

const CORRELATION_ID = `cor_${"0".repeat(32)}`;

function send({ stage, contact }: Round, more: object = {}) {
  const requester = { customerId: stage.customer.id, keyId: stage.apiKey.id, correlationId: CORRELATION_ID };
  return accept(stage.life.deps, newMessage(requester, { to: contact, content: { text: "Hello" }, ...more }), null);
}

test("deleting a message during its receipts deletes it, and no later event carries its text", async (t) => {
  const ends = ["sent delivered read deleted", "sent delivered deleted read", "sent deleted delivered read"];
  await race(t, ends, async (round) => {
    const { stage, contact } = round;
    const id = await stage.send({ to: contact });
    await round.quiet();
    const reference = (await stage.message(id)).providerMessageId ?? "";
    const report = (kind: "delivered" | "read") =>
      apply(stage.life.deps, stage.instance.id, receipt(kind, { reference, messageId: id }));
    const [deleted] = await round.atOnce<unknown>(
      () => deleteMessage(stage.life.deps, stage.customer.id, id),
      () => report("delivered"),
      () => report("read"),
    );
    assert.ok(deleted !== undefined && "value" in deleted);
    const { text, deletedAt } = await stage.message(id);
    assert.deepEqual([text, deletedAt !== null], [null, true]);
    const [, ...emitted] = await stage.eventTypes(id);
    const events = await stage.events(id);
    const after = events.slice(events.findIndex(({ type }) => type === "message.deleted"));
    assert.ok(
      after.every(({ data }) => data.text === null),
      "an event after it has its text",
    );
    return emitted.join(" ");
  });
});

/** A provider that names each group it creates, and remembers the last name that it was given. */
function groupProvider(): ScriptedProvider {
  const provider = new ScriptedProvider();
  const { onAction } = provider;
  let groups = 0;
  provider.onAction = (call) => {
    if (call.name !== "createGroup") return onAction(call);
    groups += 1;
    return { done: true, reference: `group-${groups}` };
  };
  return provider;
}

const [ANN, BOB, CAT, DAN] = ["+15005550131", "+15005550132", "+15005550133", "+15005550134"] as const;

async function group({ stage }: Round, participants: string[]): Promise<Chat> {
  const body = { participants };
  return (await createGroup(stage.life.deps, { customerId: stage.customer.id, idempotencyKey: null, body })).chat;
}

function asked({ stage }: Round, id: ChatId) {
  return { customerId: stage.customer.id, id, correlationId: CORRELATION_ID, idempotencyKey: null };
}

/** The events of a chat and its record, after a check that the events lead to the record. */
async function historyOf({ stage }: Round, made: Chat): Promise<{ chat: Chat; emitted: string[] }> {
  const rows = await stage.deps.store.db.selectFrom("events").select(["bytes"]).orderBy("position").execute();
  const events = rows.map(({ bytes }) => JSON.parse(bytes) as { type: string; data: ChatEventData });
  const own = events.filter(({ data }) => data.chatId === made.id);
  const chat = await findChat(stage.deps.store.db, stage.customer.id, made.id);
  assert.ok(chat !== null);
  let { name, participants } = made;
  for (const { type, data } of own) {
    const { participant = "", title } = data;
    if (type === "chat.title.changed") name = title ?? null;
    if (type === "chat.participant.added") participants = [...participants, participant];
    if (type === "chat.participant.left") participants = participants.filter((one) => one !== participant);
  }
  assert.deepEqual([chat.name, chat.participants.toSorted()], [name, participants.toSorted()]);
  const emitted = own.map(({ type, data }) => `${type.slice(5)} ${data.title ?? data.participant}`);
  assert.equal(new Set(emitted).size, emitted.length, "what happened is told of once");
  return { chat, emitted };
}

test("a group renamed by two concurrent requests has the name that the provider received last", async (t) => {
  const provider = groupProvider();
  const ends = ["title.changed One title.changed Two", "title.changed Two title.changed One"];
  const name = async (round: Round) => {
    const { stage } = round;
    const made = await group(round, [ANN, BOB]);
    const rename = (title: string) => renameGroup(stage.life.deps, asked(round, made.id), title);
    await round.atOnce(
      () => rename("One"),
      () => rename("Two"),
    );
    const { chat, emitted } = await historyOf(round, made);
    assert.equal(provider.actionCalls.findLast((one) => one.name === "renameGroup")?.given[1], chat.name);
    return emitted.join(" ");
  };
  await race(t, ends, name, { provider });
});

test("concurrently adding one participant and removing another does both", async (t) => {
  const ends = [
    `participant.added ${DAN}, participant.left ${CAT}`,
    `participant.left ${CAT}, participant.added ${DAN}`,
  ];
  const change = async (round: Round) => {
    const { life } = round.stage;
    const made = await group(round, [ANN, BOB, CAT]);
    await round.atOnce(
      () => addParticipant(life.deps, asked(round, made.id), { field: "participant", value: DAN }),
      () => removeParticipant(life.deps, asked(round, made.id), CAT),
    );
    const { chat, emitted } = await historyOf(round, made);
    assert.deepEqual(chat.participants.toSorted(), [ANN, BOB, DAN]);
    return emitted.join(", ");
  };
  await race(t, ends, change, { provider: groupProvider() });
});

test("a change concurrent with leaving a group happens before the leave, or is refused and never sent to the provider", async (t) => {
  const provider = groupProvider();
  const ends = [`added ${DAN}, left`, "left, INVALID_STATUS"];
  const leave = async (round: Round) => {
    const { life, customer } = round.stage;
    const made = await group(round, [ANN, BOB]);
    const [, added] = await round.atOnce(
      () => leaveGroup(life.deps, asked(round, made.id)),
      () => addParticipant(life.deps, asked(round, made.id), { field: "participant", value: DAN }),
    );
    const chat = await findChat(round.stage.deps.store.db, customer.id, made.id);
    assert.notEqual(chat?.leftAt, null);
    const calls = provider.actionCalls.splice(0).map((one) => one.name);
    assert.equal(calls.at(-1), "leaveGroup", "nothing is asked of a provider after it");
    if (added !== undefined && "refused" in added) return `left, ${added.refused}`;
    assert.deepEqual(chat?.participants, [ANN, BOB, DAN]);
    return `added ${DAN}, left`;
  };
  await race(t, ends, leave, { provider });
});

test("concurrent messages with createContact create one contact, and each is sent once", async (t) => {
  await race(t, ["one contact, 4 messages"], async (round) => {
    const { stage, contact } = round;
    const answers = await round.atOnce(...[1, 2, 3, 4].map(() => () => send(round, { createContact: true })));
    const ids = answers.map((answer) => ("value" in answer ? answer.value.record.id : answer.refused));
    assert.equal(new Set(ids).size, 4, ids.join(", "));
    const found = await findContactAddresses(stage.deps.store.db, stage.customer.id, [contact]);
    const handed = stage.provider.handed.filter(({ to }) => to === contact).map(({ messageId }) => messageId);
    assert.deepEqual(handed.toSorted(), ids.toSorted());
    return `${found.length === 1 ? "one contact" : `${found.length} contacts`}, ${handed.length} messages`;
  });
});

test("a message concurrent with STOP is refused, fails or is sent before it, and nothing is sent after STOP", async (t) => {
  const ends = ["refused RECIPIENT_OPTED_OUT", "queued failed", "queued sent"];
  await race(
    t,
    ends,
    async (round) => {
      const { stage, contact } = round;
      const { deps } = stage.life;
      let stopped = false;
      let wasStopped = false;
      stage.provider.onSend = () => {
        assert.ok(!stopped, "a message was sent after STOP was on disk");
        return stage.provider.accepted();
      };
      const stop = inbound({ reference: `stop ${contact}`, from: contact, text: "STOP" });
      const [answer] = await round.atOnce<unknown>(
        () => {
          wasStopped = stopped;
          return send(round);
        },
        async () => {
          await apply(deps, stage.instance.id, stop);
          stopped = true;
        },
      );
      const again = await round.atOnce(() => send(round));
      assert.deepEqual(again, [{ refused: "RECIPIENT_OPTED_OUT" }]);
      const handed = stage.provider.handed.filter(({ to }) => to === contact).length;
      if (answer === undefined || "refused" in answer) {
        assert.equal(handed, 0);
        return `refused ${answer?.refused}`;
      }
      assert.ok(!wasStopped, "a message was accepted after STOP was on disk");
      const { record } = answer.value as Awaited<ReturnType<typeof accept>>;
      const emitted = (await stage.eventTypes(record.id as Parameters<typeof stage.eventTypes>[0])).join(" ");
      const { errorCode } = await stage.message(record.id as Parameters<typeof stage.message>[0]);
      assert.deepEqual([errorCode, handed], emitted === "queued failed" ? ["RECIPIENT_OPTED_OUT", 0] : [null, 1]);
      return emitted;
    },
    { startDelayMax: 14 },
  );
});
