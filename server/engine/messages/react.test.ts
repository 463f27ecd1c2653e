/** Reactions of contacts: each is one event of its message. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReactionEventData } from "../../../sdk/wire.ts";
import { type EngineStage, engineStage } from "../../../test/support/engine.ts";
import { inbound, receipt } from "../../../test/support/provider.ts";
import { SerialQueue } from "../../core/serial-queue.ts";
import type { ReactionSignal } from "../../providers/provider.ts";
import { apply } from "../apply.ts";
import { Sweep } from "../sweep.ts";
import { deleteMessage } from "./actions.ts";

function reaction(more: Partial<ReactionSignal> = {}): ReactionSignal {
  return {
    kind: "reaction",
    reference: "re-1",
    from: "+15550100001",
    to: "+15550000001",
    channel: "imessage",
    target: "ref-1",
    type: "love",
    content: "Loved “Hello”",
    ...more,
  };
}

async function reactions({ deps }: EngineStage) {
  const events = deps.store.db.selectFrom("events").selectAll().where("type", "=", "message.reaction");
  const rows = await events.orderBy("position").execute();
  return rows.map((row) => ({ ...row, data: JSON.parse(row.bytes).data as ReactionEventData }));
}

test("a reaction to our message is the next event of that message, and goes to its callbackUrl", async (t) => {
  const stage = await engineStage(t);
  const callbackUrl = "http://127.0.0.1:9/callback";
  const id = await stage.send({ callbackUrl, externalMessageId: "order-7", metadata: { table: 7 } });
  await stage.run();
  await stage.report(receipt("delivered"));
  await stage.report(reaction({ emoji: "❤️" }));
  await stage.report(receipt("read"));
  assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "delivered", "reaction", "read"]);
  const [reported] = await reactions(stage);
  const { correlationId } = await stage.message(id);
  assert.deepEqual(reported?.data, {
    messageId: id,
    externalMessageId: "order-7",
    reaction: { type: "love", emoji: "❤️", targetMessageId: id, content: "Loved “Hello”" },
    from: "+15550100001",
    to: "+15550000001",
    channel: "imessage",
    metadata: { table: 7 },
    providerMessageId: "ref-1",
    sequence: 4,
    correlationId,
  });
  const deliveries = await stage.deps.store.db.selectFrom("deliveries").selectAll().execute();
  const delivery = deliveries.find(({ event_id }) => event_id === reported?.id);
  assert.deepEqual([delivery?.url, delivery?.sequence], [callbackUrl, 4]);
});

test("a reaction reported twenty times at once, by several processes, is one event, and its removal another", async (t) => {
  const stage = await engineStage(t);
  const id = await stage.send();
  await stage.run();
  const reported = Array.from({ length: 20 }, (_, index) => {
    const deps = index % 2 === 0 ? stage.deps : { ...stage.deps, serial: new SerialQueue() };
    return apply(deps, stage.instance.id, reaction());
  });
  await Promise.all(reported);
  await stage.report(reaction());
  await stage.report(reaction({ reference: "re-2", type: "remove", content: "Removed a heart from “Hello”" }));
  assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "reaction", "reaction"]);
  assert.deepEqual(
    (await reactions(stage)).map(({ data }) => data.reaction.type),
    ["love", "remove"],
  );
});

test("concurrent reactions and receipts each emit an event, with a sequence of its own", async (t) => {
  const stage = await engineStage(t);
  const id = await stage.send();
  await stage.run();
  const signals = Array.from({ length: 10 }, (_, index) => reaction({ reference: `re-${index}` }));
  await Promise.all([...signals, receipt("read")].map((signal) => apply(stage.deps, stage.instance.id, signal)));
  assert.equal((await stage.eventTypes(id)).filter((type) => type === "reaction").length, 10);
});

test("a reaction to a message that is not known here, or is another customer's, has no messageId", async (t) => {
  const stage = await engineStage(t);
  await stage.send();
  await stage.run();
  const other = await stage.addTenant("Another");
  await stage.report(reaction({ target: "nobody knows" }));
  await stage.report(reaction({ reference: "re-2", to: other.number.address }));
  const [unknown, foreign] = await reactions(stage);
  assert.partialDeepStrictEqual(unknown?.data, { messageId: null, sequence: 1, reaction: { targetMessageId: null } });
  assert.match(unknown?.data.correlationId ?? "", /^cor_[0-9a-f]{32}$/);
  assert.equal(unknown?.customer_id, stage.customer.id);
  assert.deepEqual([foreign?.customer_id, foreign?.message_id], [other.customer.id, null]);
  assert.equal(foreign?.data.messageId, null);
});

test("a reaction to a message of the contact is an event of that message", async (t) => {
  const stage = await engineStage(t);
  await stage.report(inbound());
  await stage.report(reaction({ target: "in-1", from: "+15550100002" }));
  const [reported] = await reactions(stage);
  assert.equal(reported?.data.sequence, 2);
  assert.match(reported?.data.messageId ?? "", /^msg_/);
});

test("a reaction reported together with its message finds the message", async (t) => {
  const stage = await engineStage(t);
  await Promise.all(
    [inbound(), reaction({ target: "in-1" })].map((signal) => apply(stage.deps, stage.instance.id, signal)),
  );
  assert.match((await reactions(stage))[0]?.data.messageId ?? "", /^msg_/);
});

test("a reaction to an unknown address changes nothing, and is logged", async (t) => {
  const stage = await engineStage(t, { faults: ["receive"] });
  await stage.report(reaction({ to: "+15559999999" }));
  assert.deepEqual(await reactions(stage), []);
  assert.equal(stage.observed.faults.length, 1);
});

test("no reaction quotes a deleted message, neither reactions before the deletion nor after it", async (t) => {
  const stage = await engineStage(t);
  const id = await stage.send();
  await stage.run();
  await stage.report(reaction());
  await deleteMessage(stage.deps, stage.customer.id, id);
  await stage.report(reaction({ reference: "re-2" }));
  const sweep = new Sweep(stage.deps);
  sweep.start();
  await stage.clock.advance(5_000);
  await sweep.stop();
  assert.deepEqual(
    (await reactions(stage)).map(({ data }) => data.reaction.content),
    ["", ""],
  );
});
