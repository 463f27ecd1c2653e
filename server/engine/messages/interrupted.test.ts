/** Later messages wait behind a send attempt that a kill interrupted while the provider looks it up, at most 60 s. */

import assert from "node:assert/strict";
import { describe, type TestContext as NodeTest, test } from "node:test";
import { engineStage } from "../../../test/support/engine.ts";
import { ScriptedProvider, SETTLE_AFTER_MS } from "../../../test/support/provider.ts";
import type { OpenAttempt } from "../../store/shared-database.ts";

const OTHER = "+15550100002";
const SECOND_MS = 1_000;

/**
 * A process that died while it sent `First`, with two messages behind it and one to another recipient; the next process
 * runs.
 */
async function killed(t: NodeTest, { asks = true } = {}) {
  const stage = await engineStage(t, { provider: new ScriptedProvider({ asks }) });
  stage.provider.sendNext.push("never");
  const ids = [await stage.send({ content: { text: "First" } })];
  await stage.run();
  for (const text of ["Second", "Third"]) ids.push(await stage.send({ content: { text } }));
  await stage.run();
  await stage.restart();
  ids.push(await stage.send({ to: OTHER, content: { text: "To another" } }));
  await stage.run();
  const handed = () => stage.provider.handed.slice(1).map(({ text }) => text);
  return { stage, ids, handed };
}

/** A process that died during a send attempt, and another one that has taken its instance over before the attempt's lease ends. */
async function takenOver(t: NodeTest) {
  const open: OpenAttempt[] = [];
  const stage = await engineStage(t, { openAttempts: async () => open });
  stage.provider.sendNext.push("never");
  const first = await stage.send({ content: { text: "First" } });
  await stage.run();
  for (const text of ["Second", "Third"]) await stage.send({ content: { text } });
  await stage.run();
  const { id, from, to, claimedUntil } = await stage.message(first);
  open.push({ id, from, to, claimedUntil: claimedUntil ?? assert.fail() });
  await stage.takeOver();
  await stage.send({ to: OTHER, content: { text: "To another" } });
  await stage.run();
  const endLease = async () => {
    assert.equal(await stage.deps.store.releaseLeases((claimedUntil ?? 0) + 1, stage.clock.now()), 1);
    await stage.run();
  };
  const handed = () => stage.provider.handed.slice(1).map(({ text }) => text);
  return { stage, endLease, handed };
}

describe("after a takeover, while the lease of an interrupted attempt lasts, messages from one number to one recipient", () => {
  test("wait until it has ended and the message is reconciled, and keep their order", async (t) => {
    const { stage, endLease, handed } = await takenOver(t);
    assert.deepEqual(handed(), ["To another"]);
    await endLease();
    assert.deepEqual(handed(), ["To another"], "the provider is asked first");
    stage.provider.onSettle = () => "absent";
    for (let seconds = 0; seconds < 5; seconds += 1) await stage.pass(SECOND_MS);
    assert.deepEqual(handed(), ["To another", "First", "Second", "Third"]);
  });

  test("wait at most 60 s more if the provider cannot tell", async (t) => {
    const { stage, endLease, handed } = await takenOver(t);
    await endLease();
    for (let seconds = 0; seconds < 58; seconds += 1) await stage.pass(SECOND_MS);
    assert.deepEqual(handed(), ["To another"]);
    for (let seconds = 0; seconds < 60; seconds += 1) await stage.pass(SECOND_MS);
    assert.deepEqual(handed(), ["To another", "Second", "Third"]);
  });
});

describe("after a kill, messages from one number to one recipient", () => {
  test("wait up to 60 s for the interrupted message to be reconciled, while other recipients do not wait", async (t) => {
    const { stage, handed } = await killed(t);
    assert.deepEqual(handed(), ["To another"]);
    for (let seconds = 0; seconds < 58; seconds += 1) await stage.pass(SECOND_MS);
    assert.deepEqual(handed(), ["To another"]);
    assert.ok(stage.provider.asked.length >= 5);
    for (let seconds = 0; seconds < 4; seconds += 1) await stage.pass(SECOND_MS);
    assert.deepEqual(handed(), ["To another", "Second", "Third"], "60 s are the most that they wait");
  });

  test("keep their order if the interrupted message was not sent, and go out within seconds", async (t) => {
    const { stage, ids, handed } = await killed(t);
    stage.provider.onSettle = () => "absent";
    for (let seconds = 0; seconds < 5; seconds += 1) await stage.pass(SECOND_MS);
    assert.deepEqual(handed(), ["To another", "First", "Second", "Third"]);
    for (const id of ids) assert.equal((await stage.message(id)).status, "sent");
  });

  test("go out within a second after the interrupted message is found to be sent", async (t) => {
    const { stage, handed } = await killed(t);
    stage.provider.onSettle = () => stage.provider.accepted();
    await stage.pass(SETTLE_AFTER_MS);
    await stage.pass(SECOND_MS);
    await stage.pass(SECOND_MS);
    assert.deepEqual(handed(), ["To another", "Second", "Third"]);
  });

  test("keep their order across a second kill, ahead of messages accepted later", async (t) => {
    const { stage, handed } = await killed(t);
    for (let seconds = 0; seconds < 5; seconds += 1) await stage.pass(SECOND_MS);
    await stage.restart();
    await stage.send({ content: { text: "Fourth" } });
    for (let seconds = 0; seconds < 20; seconds += 1) await stage.pass(SECOND_MS);
    assert.deepEqual(handed(), ["To another"], "the provider is still being asked");
    for (let seconds = 0; seconds < 40; seconds += 1) await stage.pass(SECOND_MS);
    assert.deepEqual(handed(), ["To another", "Second", "Third", "Fourth"]);
  });

  test("keep their order if several were interrupted and the outcome of a later one is known first", async (t) => {
    const stage = await engineStage(t, { provider: new ScriptedProvider({ takesRuns: true }) });
    const { provider } = stage;
    provider.onSend = () => "never";
    for (const text of ["First", "Second"]) await stage.send({ content: { text } });
    await stage.run();
    assert.equal(provider.handed.length, 2);
    await stage.send({ content: { text: "Third" } });
    await stage.restart();
    provider.onSend = () => provider.accepted();
    provider.onSettle = ({ text }) => (text === "First" ? { outcome: "unknown", reason: "not yet" } : "absent");
    for (let seconds = 0; seconds < 20; seconds += 1) await stage.pass(SECOND_MS);
    const handed = () => provider.handed.slice(2).map(({ text }) => text);
    assert.ok(provider.asked.some(({ text }) => text === "Second"));
    assert.deepEqual(handed(), []);
    provider.onSettle = () => "absent";
    for (let seconds = 0; seconds < 20; seconds += 1) await stage.pass(SECOND_MS);
    assert.deepEqual(handed(), ["First", "Second", "Third"]);
  });

  test("do not wait if the provider cannot reconcile", async (t) => {
    const { handed } = await killed(t, { asks: false });
    assert.deepEqual(handed().toSorted(), ["Second", "Third", "To another"]);
  });
});
