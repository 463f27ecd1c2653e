/** Groups and the written forms of their members' phones: both forms are one member. */

import assert from "node:assert/strict";
import { type TestContext as NodeTest, test } from "node:test";
import { testContext } from "../../../test/support/context.ts";
import { groupSignalOf } from "../../../test/support/group-signal.ts";
import { ScriptedProvider } from "../../../test/support/provider.ts";
import { ApiError } from "../../core/error.ts";
import type { GroupSignal } from "../../providers/provider.ts";
import { listChats } from "../../store/chats.ts";
import { apply } from "../apply.ts";
import { addParticipant, removeParticipant } from "./change-group.ts";
import { createGroup } from "./create-group.ts";

const ANN = "+15005550131";
const BOB = "+15005550132";
/** One phone of Argentina; both forms are possible numbers. */
const [PRESENT, FORMER] = ["+5491123456789", "+541123456789"] as const;

async function stage(t: NodeTest) {
  const made = await testContext();
  const provider = new ScriptedProvider();
  made.providers.set(made.instance.id, provider);
  t.after(() => made.close());
  const as = { customerId: made.customer.id, correlationId: `cor_${"0".repeat(32)}`, idempotencyKey: null };
  let signals = 0;
  return {
    ...made,
    provider,
    as,
    chats: async () => (await listChats(made.deps.store.db, made.customer.id, null, 100)).map(({ chat }) => chat),
    /** Subjects of the events of chats so far. */
    news: async () => {
      const rows = await made.deps.store.db.selectFrom("events").select("bytes").orderBy("position").execute();
      return rows.map(({ bytes }) => JSON.parse(bytes)).map(({ type, data }) => `${type} ${data.participant}`);
    },
    async report(participants: readonly string[], more: Partial<GroupSignal> = {}) {
      signals += 1;
      const group = { reference: "group-1", name: null, participants };
      await apply(made.deps, made.instance.id, groupSignalOf(made, `signal-${signals}`, { group, ...more }));
    },
    make: async (participants: string[], idempotencyKey: string | null = null) =>
      await createGroup(made.deps, { customerId: made.customer.id, idempotencyKey, body: { participants } }),
  };
}

test("a provider that names a member in the other form reports nobody new, and the group has the provider's form", async (t) => {
  const one = await stage(t);
  const { chat } = await one.make([ANN, PRESENT]);
  await one.report([FORMER, ANN]);
  assert.deepEqual(await one.news(), []);
  const [found, ...others] = await one.chats();
  assert.deepEqual([found?.id, found?.participants, others], [chat.id, [ANN, FORMER], []]);
  await one.report([FORMER, ANN, PRESENT], { participant: PRESENT });
  assert.deepEqual(await one.news(), [], "who is added in the other form is in the group");
  await one.report([ANN, FORMER], { change: "participantLeft", participant: FORMER });
  assert.deepEqual(await one.news(), [`chat.participant.left ${PRESENT}`]);
  assert.deepEqual((await one.chats())[0]?.participants, [ANN]);
});

test("a group that was created here is found by its members in the other form when the provider names the group", async (t) => {
  const one = await stage(t);
  one.provider.onAction = () => ({ done: true, reference: null });
  const { chat } = await one.make([ANN, PRESENT]);
  await one.report([FORMER, ANN], { change: "photoChanged" });
  const [found, ...others] = await one.chats();
  assert.deepEqual([found?.id, found?.reference, others], [chat.id, "group-1", []]);
});

test("a request names a member in any form: added once, and removed in the form that the provider knows", async (t) => {
  const one = await stage(t);
  const { chat } = await one.make([ANN, BOB, FORMER]);
  const asked = { ...one.as, id: chat.id };
  const added = await addParticipant(one.deps, asked, { field: "participant", value: PRESENT });
  assert.deepEqual(added.chat.participants, [ANN, BOB, FORMER]);
  const removed = await removeParticipant(one.deps, { ...asked, idempotencyKey: "k" }, PRESENT);
  assert.deepEqual(removed.chat.participants, [ANN, BOB]);
  const again = await removeParticipant(one.deps, { ...asked, idempotencyKey: "k" }, FORMER);
  assert.equal(again.repeated, true, "the repeat may name another form");
  const calls = one.provider.actionCalls.map(({ name, given }) => [name, given[1]]).slice(1);
  assert.deepEqual(calls, [["removeParticipant", FORMER]]);
  assert.deepEqual(await one.news(), [`chat.participant.left ${FORMER}`]);
});

test("a new group names each phone once, and a repeat may name another form", async (t) => {
  const one = await stage(t);
  await assert.rejects(one.make([PRESENT, ANN, FORMER]), (error) => {
    return error instanceof ApiError && error.details?.[0]?.message === "is there already, as participants[0]";
  });
  const first = await one.make([ANN, PRESENT], "k");
  const second = await one.make([ANN, FORMER], "k");
  assert.deepEqual([second.repeated, second.chat.id], [true, first.chat.id]);
});

test("a phone that allows one group of the same members finds it by any form, and no group of more or fewer", async (t) => {
  const one = await stage(t);
  Object.assign(one.provider, { capabilities: { ...one.provider.capabilities, mergesGroups: true } });
  let groups = 0;
  one.provider.onAction = () => {
    groups += 1;
    return { done: true, reference: `group-${groups}` };
  };
  const ids = [];
  for (const members of [
    [ANN, BOB, PRESENT],
    [ANN, PRESENT],
    [FORMER, ANN],
    [PRESENT, BOB, ANN],
    [ANN, BOB],
  ])
    ids.push((await one.make(members)).chat.id);
  const [three, two, twoAgain, threeAgain, without] = ids;
  assert.deepEqual([twoAgain, threeAgain], [two, three]);
  assert.equal(new Set([three, two, without]).size, 3);
});
