/**
 * Send attempts that take minutes, as their provider allows: they succeed, keep their lease, and delay no other
 * message.
 */

import assert from "node:assert/strict";
import { type TestContext as NodeTest, test } from "node:test";
import { carriersOn, handedTo, SMS_ONLY } from "../../../test/support/carriers.ts";
import { checkSendAttempts, engineStage } from "../../../test/support/engine.ts";
import { receipt, ScriptedProvider, type SendAnswer } from "../../../test/support/provider.ts";
import type { Outcome } from "../../providers/provider.ts";
import { apply } from "../apply.ts";
import { LEASE_MS } from "./change-message.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HAND_OVER_MS = 10 * MINUTE_MS;
/** After this time another message gets the permit of a message that is still being sent. */
const SLOT_MS = 40 * SECOND_MS;

const to = (index: number) => `+1555010000${index}`;

/** A provider that may take ten minutes, and takes as long as is said for the recipients that are named. */
async function slowStage(t: NodeTest, takesMs: Readonly<Record<string, number>>, concurrency = 8) {
  const provider = new ScriptedProvider({ concurrency, sendTimeoutMs: HAND_OVER_MS });
  const stage = await engineStage(t, { provider });
  provider.onSend = (message): SendAnswer => {
    const ms = takesMs[message.to];
    const accepted = provider.accepted();
    return ms === undefined ? accepted : new Promise((end) => void stage.clock.after(ms, () => end(accepted)));
  };
  /** The periodic release of leases that ran out. */
  const sweep = async () => {
    await stage.life.deps.store.releaseLeases(stage.clock.real(), stage.clock.now());
    await stage.run();
  };
  const advance = async (ms: number) => {
    for (let passedMs = 0; passedMs < ms; passedMs += 5 * SECOND_MS) {
      await stage.clock.advance(Math.min(5 * SECOND_MS, ms - passedMs));
      await sweep();
    }
  };
  return { stage, provider, advance };
}

test("a send attempt of four minutes succeeds: it is not aborted, not reconciled and not repeated", async (t) => {
  const { stage, provider, advance } = await slowStage(t, { [to(1)]: 4 * MINUTE_MS });
  const id = await stage.send({ to: to(1) });
  await advance(10 * SECOND_MS);
  const begun = await stage.message(id);
  await advance(4 * MINUTE_MS - 20 * SECOND_MS);
  assert.deepEqual(await stage.message(id), begun, "its lease has not ended in between");
  await advance(20 * SECOND_MS);
  assert.deepEqual(await stage.eventTypes(id), ["queued", "sent"]);
  assert.deepEqual([provider.handed.length, provider.asked.length, provider.aborts[0]?.aborted], [1, 0, false]);
  assert.equal((await stage.message(id)).timeline.length, 3);
});

test("a send attempt that never ends is aborted at its time limit, and then reconciled", async (t) => {
  const { stage, provider, advance } = await slowStage(t, { [to(1)]: 60 * MINUTE_MS });
  const id = await stage.send({ to: to(1) });
  await advance(HAND_OVER_MS - 10 * SECOND_MS);
  assert.deepEqual([provider.aborts[0]?.aborted, provider.asked.length], [false, 0]);
  await advance(20 * SECOND_MS);
  assert.deepEqual([provider.aborts[0]?.aborted, provider.asked.length > 0, provider.handed.length], [true, true, 1]);
  checkSendAttempts(await stage.message(id), provider.handed);
});

test("send attempts that hang hold no permits after 40 s, so that other messages go out", async (t) => {
  const hanging = { [to(1)]: 5 * MINUTE_MS, [to(2)]: 5 * MINUTE_MS };
  const { stage, provider, advance } = await slowStage(t, hanging, 2);
  for (const index of [1, 2]) await stage.send({ to: to(index) });
  await stage.run();
  const other = await stage.send({ to: to(3) });
  await advance(SLOT_MS - 5 * SECOND_MS);
  assert.equal((await stage.message(other)).status, "queued");
  await advance(10 * SECOND_MS);
  assert.equal((await stage.message(other)).status, "sent");
  await advance(5 * MINUTE_MS);
  assert.equal(provider.handed.length, 3);
});

test("later messages to the recipient of a slow attempt wait in order, and hold no permits", async (t) => {
  const { stage, provider, advance } = await slowStage(t, { [to(1)]: 3 * MINUTE_MS }, 4);
  const ids = [];
  provider.isUp = false;
  for (let sent = 0; sent < 4; sent += 1) ids.push(await stage.send({ to: to(1) }));
  provider.isUp = true;
  // All of them are claimed at once.
  await stage.run();
  const other = await stage.send({ to: to(2) });
  await advance(SLOT_MS + 5 * SECOND_MS);
  assert.deepEqual([(await stage.message(other)).status, provider.handed.length], ["sent", 2]);
  await advance(13 * MINUTE_MS);
  const order = provider.handed.map(({ messageId }) => messageId).filter((id) => id !== other);
  assert.deepEqual(order, ids, "each once, in the order of acceptance");
});

test("later messages to that recipient by another instance wait too, and hold no permits of that instance", async (t) => {
  const { stage, add, setRoutes, flip } = await carriersOn(t);
  const { life, clock } = stage;
  const slow = await add(new ScriptedProvider({ channels: ["sms"], concurrency: 4, sendTimeoutMs: HAND_OVER_MS }));
  const quick = await add(new ScriptedProvider({ channels: ["sms"], concurrency: 4 }));
  await setRoutes([slow, quick].map(({ id }) => ({ prefix: "+1", instanceId: id })));
  slow.provider.onSend = () =>
    new Promise((end) => void clock.after(5 * MINUTE_MS, () => end(slow.provider.accepted())));
  const sendToAll = async () => {
    const ids = [];
    for (const index of [1, 2, 3, 4]) ids.push(await stage.send({ ...SMS_ONLY, to: to(index) }));
    await stage.run();
    return ids;
  };
  await sendToAll();
  await flip(false, slow);
  const waiting = await sendToAll();
  const advance = async (seconds: number) => {
    for (let passed = 0; passed < seconds; passed += 1) {
      await clock.advance(SECOND_MS);
      await life.deps.store.releaseLeases(clock.real(), clock.now());
    }
  };
  await advance(SLOT_MS / SECOND_MS + 5);
  for (let sent = 0; sent < 30; sent += 1) {
    const other = await stage.send({ ...SMS_ONLY, to: to(5) });
    await advance(5);
    assert.equal((await stage.message(other)).status, "sent", `number ${sent} of the others`);
  }
  assert.equal(handedTo(quick).length, 30, "none of those that wait has overtaken");
  await advance(3 * 60);
  assert.deepEqual(handedTo(quick).slice(30).toSorted(), waiting);
});

test("a waiting message that lost its lease and moved to another instance is not sent by the first instance", async (t) => {
  const { stage, add, setRoutes, flip } = await carriersOn(t);
  const { life, clock } = stage;
  const slow = await add(new ScriptedProvider({ channels: ["sms"], sendTimeoutMs: HAND_OVER_MS }));
  const quick = await add(new ScriptedProvider({ channels: ["sms"] }));
  await setRoutes([slow, quick].map(({ id }) => ({ prefix: "+1", instanceId: id })));
  const ended = Promise.withResolvers<Outcome>();
  slow.provider.onSend = () => ended.promise;
  await clock.advance(5 * SECOND_MS);
  await flip(false, slow, quick);
  const [first, second] = [await stage.send(SMS_ONLY), await stage.send(SMS_ONLY)];
  await flip(true, slow);
  assert.deepEqual(handedTo(slow), [first]);
  await clock.advance(LEASE_MS + SECOND_MS);
  slow.provider.isUp = false;
  await life.deps.store.releaseLeases(clock.real(), clock.now());
  const receipted = receipt("delivered", { channel: "sms", messageId: first, reference: "early" });
  await apply(life.deps, slow.id, receipted);
  await flip(true, quick);
  assert.equal((await stage.message(second)).instanceId, quick.id);
  await flip(true, slow);
  ended.resolve({ outcome: "accepted", reference: "early" });
  await stage.run();
  assert.deepEqual([handedTo(slow), handedTo(quick)], [[first], [second]]);
});

test("a stop that cuts a send attempt off leaves its outcome unknown, and the next process reconciles it", async (t) => {
  const { stage, provider, advance } = await slowStage(t, { [to(1)]: 5 * MINUTE_MS });
  const id = await stage.send({ to: to(1) });
  await advance(MINUTE_MS);
  const stopping = stage.life.dispatch.stop();
  stage.life.dispatch.cutOff();
  await stage.clock.advance(SECOND_MS);
  await stopping;
  assert.ok((await stage.message(id)).unknownSince !== null);
  provider.settleNext.push(provider.accepted());
  await stage.restart();
  await advance(10 * SECOND_MS);
  assert.deepEqual([await stage.eventTypes(id), provider.handed.length], [["queued", "sent"], 1]);
});
