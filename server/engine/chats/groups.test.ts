/** Groups: providers' signals become chats and events, once each, also concurrently with requests. */

import assert from "node:assert/strict";
import { describe, type TestContext as NodeTest, test } from "node:test";
import type { ChatEventData } from "../../../sdk/wire.ts";
import { type TestContext, testContext } from "../../../test/support/context.ts";
import { groupSignalOf } from "../../../test/support/group-signal.ts";
import { ScriptedProvider } from "../../../test/support/provider.ts";
import type { Chat } from "../../core/chat.ts";
import { ApiError } from "../../core/error.ts";
import type { GroupSignal } from "../../providers/provider.ts";
import { findChat, listChats } from "../../store/chats.ts";
import { apply } from "../apply.ts";
import { addParticipant, leaveGroup, removeParticipant, renameGroup } from "./change-group.ts";
import { createGroup } from "./create-group.ts";
import { prepareGroup } from "./groups.ts";

const ANN = "+15005550131";
const BOB = "+15005550132";
const CAT = "+15005550133";
const DAN = "+15005550134";

interface Reported {
  type: string;
  data: ChatEventData;
}

interface Stage extends TestContext {
  provider: ScriptedProvider;
  /** Actions of the customer. */
  as: { customerId: TestContext["customer"]["id"]; correlationId: string; idempotencyKey: string | null };
  chats(): Promise<Chat[]>;
  reported(): Promise<Reported[]>;
  /** Types and subjects of the events so far. */
  news(): Promise<string[]>;
  report(more: Partial<GroupSignal>): Promise<void>;
  /** Creates a group with Ann and Bob through the API. */
  make(): Promise<Chat>;
}

async function stage(t: NodeTest): Promise<Stage> {
  const made = await testContext();
  const provider = new ScriptedProvider();
  made.providers.set(made.instance.id, provider);
  t.after(() => made.close());
  const as = { customerId: made.customer.id, correlationId: `cor_${"0".repeat(32)}`, idempotencyKey: null };
  const reported = async () => {
    const rows = await made.deps.store.db.selectFrom("events").select("bytes").orderBy("position").execute();
    return rows.map(({ bytes }) => JSON.parse(bytes) as Reported);
  };
  let signals = 0;
  return {
    ...made,
    provider,
    as,
    reported,
    chats: async () => (await listChats(made.deps.store.db, made.customer.id, null, 100)).map(({ chat }) => chat),
    news: async () =>
      (await reported()).map(({ type, data }) => `${type} ${data.participant ?? data.title ?? ""}`.trim()),
    async report(more) {
      signals += 1;
      await apply(made.deps, made.instance.id, groupSignalOf(made, `signal-${signals}`, more));
    },
    make: async () => {
      const body = { name: "Trip", participants: [ANN, BOB] };
      return (await createGroup(made.deps, { customerId: as.customerId, idempotencyKey: null, body })).chat;
    },
  };
}

describe("a group that a provider reports", () => {
  test("becomes a chat, with an event for the change", async (t) => {
    const one = await stage(t);
    const group = { reference: "g", name: "Trip", participants: [ANN, BOB, CAT] };
    await one.report({ group, participant: CAT, actor: ANN });
    const [chat] = await one.chats();
    assert.deepEqual([chat?.isGroup, chat?.name, chat?.participants], [true, "Trip", [ANN, BOB, CAT]]);
    const [event, ...rest] = await one.reported();
    assert.deepEqual(rest, []);
    assert.equal(event?.type, "chat.participant.added");
    assert.deepEqual(event?.data, {
      chatId: chat?.id,
      participant: CAT,
      actor: ANN,
      to: one.number.address,
      channel: "imessage",
    });
  });

  test("emits one event for every kind of change", async (t) => {
    const one = await stage(t);
    const group = { reference: "g", name: null, participants: [ANN, BOB] };
    await one.report({ group, change: "titleChanged", title: "Trip", actor: ANN });
    await one.report({ group, change: "participantLeft", participant: BOB });
    const unseen = { ...group, participants: [] };
    await one.report({ group: unseen, change: "photoChanged", actor: "ANN@Example.com" });
    await one.report({ group: unseen, participant: CAT });
    assert.deepEqual(await one.news(), [
      "chat.title.changed Trip",
      `chat.participant.left ${BOB}`,
      "chat.photo.changed",
      `chat.participant.added ${CAT}`,
    ]);
    assert.equal((await one.reported())[2]?.data.actor, "ann@example.com");
  });

  test("emits a change once, however often the provider reports it", async (t) => {
    const one = await stage(t);
    const signal = groupSignalOf(one, "same", { change: "photoChanged" });
    await Promise.all([1, 2, 3].map(() => apply(one.deps, one.instance.id, signal)));
    await apply(one.deps, one.instance.id, signal);
    assert.deepEqual(await one.news(), ["chat.photo.changed"]);
    assert.equal((await one.chats()).length, 1);
  });

  test("is created once when several of its signals arrive at once", async (t) => {
    const one = await stage(t);
    const people = [ANN, BOB, CAT, DAN];
    await Promise.all(people.map((participant) => one.report({ participant })));
    assert.equal((await one.chats()).length, 1);
    assert.deepEqual((await one.chats())[0]?.participants.toSorted(), people);
    assert.deepEqual(
      (await one.news()).toSorted(),
      people.map((who) => `chat.participant.added ${who}`),
    );
  });

  test("creates no chat for an unknown address, and its `forget` key is deleted", async (t) => {
    const one = await stage(t);
    const { id: instanceId } = one.instance;
    await one.deps.store.commit([{ op: "put", table: "memory", record: { instanceId, key: "k", value: "v" } }]);
    await one.report({ to: "+15005550199", forget: "k" });
    assert.deepEqual(await one.chats(), []);
    assert.deepEqual(await one.deps.store.db.selectFrom("memory").selectAll().execute(), []);
    assert.equal(one.observed.faults[0]?.where, "groups");
  });

  test("counts as left after the customer was removed, until the customer is added again", async (t) => {
    const one = await stage(t);
    const { id } = await one.make();
    const own = one.number.address;
    await one.report({ change: "participantLeft", participant: own, actor: ANN });
    await assert.rejects(renameGroup(one.deps, { ...one.as, id }, "New"), code("INVALID_STATUS"));
    await one.report({ change: "participantAdded", participant: own, actor: ANN });
    await renameGroup(one.deps, { ...one.as, id }, "New");
    assert.deepEqual(await one.news(), [
      `chat.participant.left ${own}`,
      `chat.participant.added ${own}`,
      "chat.title.changed New",
    ]);
  });
});

describe("a group that comes with a message", () => {
  test("updates the chat, with an event for each difference, and keeps fields that it does not name", async (t) => {
    const one = await stage(t);
    const { id } = await one.make();
    const place = {
      customerId: one.as.customerId,
      from: one.number.address,
      channel: "imessage" as const,
      instanceId: one.instance.id,
    };
    const see = async (name: string | null, participants: string[]) => {
      const snapshot = { reference: "group-1", name, participants };
      const { chat, make } = await prepareGroup(one.deps, { ...place, snapshot });
      if (make.length > 0) assert.equal((await one.deps.store.commit(make)).result, "ok");
      assert.deepEqual(await findChat(one.deps.store.db, one.as.customerId, id), chat);
      return chat;
    };
    assert.equal((await see(null, [])).version, 1);
    const seen = await see("Trip", [CAT, one.number.address, ANN, CAT]);
    assert.deepEqual([seen.participants, seen.name], [[ANN, CAT], "Trip"]);
    assert.deepEqual(await one.news(), [`chat.participant.added ${CAT}`, `chat.participant.left ${BOB}`]);
  });

  test("is the chat that was created here before the provider had a reference for it", async (t) => {
    const one = await stage(t);
    one.provider.onAction = () => ({ done: true, reference: null });
    const made = await one.make();
    assert.equal(made.reference, null);
    await assert.rejects(renameGroup(one.deps, { ...one.as, id: made.id }, "New"), code("CONVERSATION_NOT_READY"));
    const group = { reference: "late", name: "Trip", participants: [BOB, ANN] };
    await one.report({ group, change: "photoChanged" });
    assert.deepEqual(
      (await one.chats()).map(({ id, reference }) => [id, reference]),
      [[made.id, "late"]],
    );
  });
});

describe("a change requested by the customer", () => {
  test("is sent to the provider, and is one event with the customer's number as actor", async (t) => {
    const one = await stage(t);
    const { id } = await one.make();
    const asked = { ...one.as, id };
    await renameGroup(one.deps, asked, "New");
    await addParticipant(one.deps, asked, { field: "participant", value: CAT });
    await removeParticipant(one.deps, asked, ANN);
    await leaveGroup(one.deps, asked);
    assert.deepEqual(
      one.provider.actionCalls.map(({ name }) => name),
      ["createGroup", "renameGroup", "addParticipant", "removeParticipant", "leaveGroup"],
    );
    assert.deepEqual(await one.news(), [
      "chat.title.changed New",
      `chat.participant.added ${CAT}`,
      `chat.participant.left ${ANN}`,
      `chat.participant.left ${one.number.address}`,
    ]);
    assert.deepEqual([...new Set((await one.reported()).map(({ data }) => data.actor))], [one.number.address]);
  });

  test("emits no second event when the provider echoes it, before or after its response", async (t) => {
    const one = await stage(t);
    const { id } = await one.make();
    const asked = { ...one.as, id };
    one.provider.onAction = async ({ name }) => {
      if (name === "renameGroup") await one.report({ change: "titleChanged", title: "New" });
      if (name === "removeParticipant") await one.report({ change: "participantLeft", participant: CAT });
      return { done: true };
    };
    await renameGroup(one.deps, asked, "New");
    await addParticipant(one.deps, asked, { field: "participant", value: CAT });
    await one.report({ change: "participantAdded", participant: CAT });
    await removeParticipant(one.deps, asked, CAT);
    await leaveGroup(one.deps, asked);
    await one.report({ change: "participantLeft", participant: one.number.address });
    assert.deepEqual(await one.news(), [
      "chat.title.changed New",
      `chat.participant.added ${CAT}`,
      `chat.participant.left ${CAT}`,
      `chat.participant.left ${one.number.address}`,
    ]);
    const orders = one.provider.actionCalls.map(({ name }) => name);
    assert.equal(new Set(orders).size, orders.length, "the provider was asked once for each");
  });

  test("waits for the previous change of the same chat", async (t) => {
    const one = await stage(t);
    const { id } = await one.make();
    const answers: (() => void)[] = [];
    one.provider.onAction = () => new Promise((resolve) => void answers.push(() => resolve({ done: true })));
    const first = renameGroup(one.deps, { ...one.as, id }, "First");
    const second = renameGroup(one.deps, { ...one.as, id }, "Second");
    await one.clock.advance(0);
    assert.equal(answers.length, 1, "the second one is not asked for yet");
    answers[0]?.();
    await first;
    await one.clock.advance(0);
    answers[1]?.();
    assert.equal((await second).chat.name, "Second");
    assert.deepEqual(await one.news(), ["chat.title.changed First", "chat.title.changed Second"]);
  });

  test("changes nothing if the provider refuses it, throws or does not respond", async (t) => {
    const one = await stage(t);
    const { id } = await one.make();
    const asked = { ...one.as, id, idempotencyKey: "k" };
    const add = () => addParticipant(one.deps, asked, { field: "participant", value: CAT });
    one.provider.onAction = () => ({ done: false, reason: "not now" });
    await assert.rejects(add(), (error) => code("PROVIDER_ERROR")(error) && /not now/.test(String(error)));
    one.provider.onAction = () => "throws";
    await assert.rejects(add(), code("PROVIDER_ERROR"));
    one.provider.onAction = () => "never";
    const late = assert.rejects(add(), code("PROVIDER_TIMEOUT"));
    await one.clock.advance(20_000);
    await late;
    assert.deepEqual(await one.news(), []);
    one.provider.onAction = () => ({ done: true });
    assert.equal((await add()).repeated, false, "and did not use up the idempotency key");
    assert.equal((await add()).repeated, true);
  });

  test("is recorded once a full disk has room again, and is requested from the provider once", async (t) => {
    const one = await stage(t);
    const { id } = await one.make();
    const { commit } = one.deps.store;
    let full = 3;
    one.deps.store.commit = async (transaction) => {
      full -= 1;
      if (full >= 0) throw new ApiError("SERVICE_UNAVAILABLE", "full");
      return commit.call(one.deps.store, transaction);
    };
    const renamed = renameGroup(one.deps, { ...one.as, id }, "New");
    await one.clock.advance(5_000);
    assert.equal((await renamed).chat.name, "New");
    assert.equal(one.provider.actionCalls.filter(({ name }) => name === "renameGroup").length, 1);
  });
});

describe("a group over SMS", () => {
  test("refuses every change with 400 GROUP_SMS_UNSUPPORTED", async (t) => {
    const one = await stage(t);
    const group = { reference: "g", name: null, participants: [ANN, BOB] };
    await one.report({ group, channel: "sms", change: "photoChanged" });
    const asked = { ...one.as, id: (await one.chats())[0]?.id ?? "" };
    const refused = code("GROUP_SMS_UNSUPPORTED");
    await assert.rejects(renameGroup(one.deps, asked, "New"), refused);
    await assert.rejects(addParticipant(one.deps, asked, { field: "participant", value: CAT }), refused);
    await assert.rejects(removeParticipant(one.deps, asked, ANN), refused);
    await assert.rejects(leaveGroup(one.deps, asked), refused);
    assert.deepEqual(one.provider.actionCalls, []);
  });

  test("cannot be created from a number that has only SMS", async (t) => {
    const one = await stage(t);
    const { id, ...number } = one.number;
    const sms = { ...number, id: one.deps.newId("num"), address: "+15550000009", provider: "smpp" as const };
    await one.deps.store.commit([{ op: "insert", table: "numbers", record: { ...sms, isDefault: false } }]);
    const body = { from: sms.address, participants: [ANN, BOB] };
    const making = { customerId: one.as.customerId, idempotencyKey: null, body };
    await assert.rejects(createGroup(one.deps, making), code("GROUP_SMS_UNSUPPORTED"));
    assert.deepEqual(one.provider.actionCalls, []);
  });
});

describe("creating a group", () => {
  test("returns the chat that the provider's signal has already created", async (t) => {
    const one = await stage(t);
    one.provider.onAction = async () => {
      const group = { reference: "quick", name: null, participants: [ANN, BOB] };
      await one.report({ group, change: "photoChanged" });
      return { done: true, reference: "quick" };
    };
    const chat = await one.make();
    assert.deepEqual(await one.chats(), [chat]);
    assert.equal(chat.name, "Trip");
  });

  test("with one idempotency key asks the provider once, also in two concurrent requests", async (t) => {
    const one = await stage(t);
    const body = { participants: [ANN, BOB] };
    const making = { customerId: one.as.customerId, idempotencyKey: "k", body };
    const made = await Promise.all([createGroup(one.deps, making), createGroup(one.deps, making)]);
    assert.deepEqual(made.map(({ repeated }) => repeated).toSorted(), [false, true]);
    assert.equal(made[0]?.chat.id, made[1]?.chat.id);
    assert.equal(one.provider.actionCalls.length, 1);
    const other = { ...making, body: { participants: [ANN, CAT] } };
    await assert.rejects(createGroup(one.deps, other), code("IDEMPOTENCY_KEY_REUSED"));
  });
});

function code(wanted: string): (error: unknown) => boolean {
  return (error) => error instanceof ApiError && error.code === wanted;
}
