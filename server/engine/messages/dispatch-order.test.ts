/** Send attempts beside one another: in the order of acceptance for one recipient, and called off at a stop. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SendMessage } from "../../../sdk/wire.ts";
import { checkSendAttempts, type EngineStage, engineStage, turns } from "../../../test/support/engine.ts";
import { deferred, type ScriptedProvider, UNKNOWN } from "../../../test/support/provider.ts";
import type { Outcome } from "../../providers/provider.ts";

/** Send attempts that the test answers when it wants, by the text of the message. */
function answeredByHand(stage: EngineStage): Map<string, (outcome: Outcome) => void> {
  const open = new Map<string, (outcome: Outcome) => void>();
  stage.provider.onSend = ({ text }) => new Promise((resolve) => open.set(text, resolve));
  return open;
}

describe("messages from one number to one recipient", () => {
  const text = (content: string): Partial<SendMessage> => ({ content: { text: content } });
  const texts = (provider: ScriptedProvider) => provider.handed.map((message) => message.text);

  test("are sent in the order of acceptance, each after the response to the previous message", async (t) => {
    const stage = await engineStage(t);
    const open = answeredByHand(stage);
    const names = Array.from({ length: 20 }, (_, index) => `m${index}`);
    for (const name of names) await stage.send(text(name));
    for (const [index, name] of names.entries()) {
      await stage.run();
      assert.deepEqual(texts(stage.provider), names.slice(0, index + 1));
      open.get(name)?.(stage.provider.accepted());
    }
  });

  test("do not wait for a deferred message, nor for a message with an unknown outcome", async (t) => {
    const stage = await engineStage(t);
    stage.provider.sendNext.push(deferred(), UNKNOWN);
    for (const name of ["put off", "unknown", "fine"]) await stage.send(text(name));
    await stage.run();
    assert.deepEqual(texts(stage.provider), ["put off", "unknown", "fine"]);
    await stage.pass(1_000);
    assert.deepEqual(texts(stage.provider), ["put off", "unknown", "fine", "put off"]);
  });

  test("need one claim per run, however many wait, and none for each accepted or ended message", async (t) => {
    const stage = await engineStage(t);
    const open = answeredByHand(stage);
    await stage.send(text("first"));
    await stage.run();
    const claims = () => stage.life.writes - stage.life.commits;
    const before = claims();
    for (let index = 0; index < 40; index += 1) await stage.send(text(`m${index}`));
    await turns(50);
    assert.equal(claims(), before, "what is accepted behind one in hand is not looked for");
    stage.provider.onSend = () => stage.provider.accepted();
    open.get("first")?.(stage.provider.accepted());
    await turns(500);
    assert.equal(stage.provider.handed.length, 41);
    // Runs of eight, a first one of four, and claims that find nothing more.
    assert.ok(claims() - before <= 10, `${claims() - before} claims`);
  });

  test("begin in the commit that ends the previous message, so that a run takes one commit a message", async (t) => {
    const stage = await engineStage(t);
    const log: string[] = [];
    const { store } = stage.deps;
    const commit = store.commitGathered.bind(store);
    store.commitGathered = async (transaction) => {
      const [step] = transaction;
      const status = step?.op === "update" && step.table === "messages" ? String(step.set.status) : "";
      log.push(`${status} asked`);
      const result = await commit(transaction);
      log.push(`${status} on disk`);
      return result;
    };
    const open = answeredByHand(stage);
    stage.provider.isUp = false;
    await stage.send(text("first"));
    for (let index = 0; index < 3; index += 1) await stage.send(text(`m${index}`));
    // One claim takes all of them: so many permits an instance has at first.
    stage.provider.isUp = true;
    await stage.run();
    stage.provider.onSend = () => stage.provider.accepted();
    open.get("first")?.(stage.provider.accepted());
    await stage.run();
    assert.equal(stage.provider.handed.length, 4);
    // Whatever is asked for before a result is in its commit, or was in one before.
    const commits = log.filter((line) => line === "pending asked" || line === "sent on disk");
    const expected = Array.from({ length: 3 }, () => ["pending asked", "sent on disk"]).flat();
    assert.deepEqual(commits, ["pending asked", ...expected, "sent on disk"]);
  });

  test("delay no other recipient", async (t) => {
    const stage = await engineStage(t);
    answeredByHand(stage);
    for (let index = 0; index < 40; index += 1) await stage.send(text(`a${index}`));
    await stage.send({ ...text("other"), to: "+15550100002" });
    await stage.run();
    assert.deepEqual(texts(stage.provider), ["a0", "other"]);
  });
});

test("a send attempt that is aborted before it begins is deferred, and its outcome is not unknown", async (t) => {
  const stage = await engineStage(t);
  let putOff = 0;
  for (let wait = 0; wait < 12; wait += 1) {
    const id = await stage.send({ to: `+1555020${String(wait).padStart(4, "0")}` });
    await turns(wait);
    stage.life.dispatch.cutOff();
    await stage.run();
    const message = await stage.message(id);
    assert.equal(message.status, "sent");
    checkSendAttempts(message, stage.provider.handed);
    assert.equal(stage.provider.handed.filter(({ messageId }) => messageId === id).length, 1);
    if (message.timeline[2]?.status === "queued") putOff += 1;
  }
  assert.ok(putOff > 0, "none was called off in time");
});
