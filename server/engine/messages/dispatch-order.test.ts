/** Send attempts beside one another: in the order of acceptance for one recipient, and called off at a stop. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SendMessage } from "../../../sdk/wire.ts";
import { checkSendAttempts, type EngineStage, engineStage, turns } from "../../../test/support/engine.ts";
import { ScriptedProvider, UNKNOWN } from "../../../test/support/provider.ts";
import type { Outcome } from "../../providers/provider.ts";
import { StoreUnavailable } from "../../store/store.ts";

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

  test("do not wait for a message with an unknown outcome", async (t) => {
    const stage = await engineStage(t);
    stage.provider.sendNext.push(UNKNOWN);
    for (const name of ["unknown", "fine"]) await stage.send(text(name));
    await stage.run();
    assert.deepEqual(texts(stage.provider), ["unknown", "fine"]);
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

  for (const { how, isCommitted } of [
    { how: "refuses", isCommitted: false },
    { how: "loses the reply about", isCommitted: true },
  ])
    test(`stay behind a message whose attempt the store ${how}, which is repeated after a second`, async (t) => {
      const stage = await engineStage(t);
      const { store } = stage.deps;
      const commit = store.commitGathered.bind(store);
      let refused = 0;
      store.commitGathered = async (transaction) => {
        const [step] = transaction;
        const isAttempt = step?.op === "update" && step.table === "messages" && step.set.status === "pending";
        if (!isAttempt || refused > 0) return await commit(transaction);
        refused += 1;
        if (isCommitted) await commit(transaction);
        throw new StoreUnavailable("the database is away");
      };
      stage.provider.isUp = false;
      const names = ["m0", "m1", "m2"];
      for (const name of names) await stage.send(text(name));
      stage.provider.isUp = true;
      stage.provider.onSend = () => stage.provider.accepted();
      await stage.run();
      assert.deepEqual([refused, texts(stage.provider)], [1, []]);
      await stage.clock.advance(1_500);
      await stage.run();
      assert.deepEqual(texts(stage.provider), names);
      assert.deepEqual(
        stage.provider.handed.map(({ attempt }) => attempt),
        [1, 1, 1],
      );
    });

  test("stay behind a message whose attempt was recorded without a reply, and which cannot be sent then", async (t) => {
    const stage = await engineStage(t);
    const { clock, deps, provider } = stage;
    const commit = deps.store.commitGathered.bind(deps.store);
    let lost = 0;
    deps.store.commitGathered = async (transaction) => {
      const result = await commit(transaction);
      const [step] = transaction;
      const isAttempt = step?.op === "update" && step.table === "messages" && step.set.status === "pending";
      if (!isAttempt || ++lost > 1) return result;
      provider.isUp = false;
      throw new StoreUnavailable("the connection was lost");
    };
    const names = ["m0", "m1", "m2"];
    provider.isUp = false;
    for (const name of names) await stage.send(text(name));
    provider.isUp = true;
    provider.onSend = () => provider.accepted();
    await stage.run();
    await clock.advance(1_500);
    await stage.run();
    assert.deepEqual([lost, texts(provider)], [1, []]);
    provider.isUp = true;
    await clock.advance(1_500);
    await stage.run();
    assert.deepEqual(texts(provider), names);
  });

  test("stay behind a message that the store refuses until its lease ends", async (t) => {
    const stage = await engineStage(t);
    const { clock, deps, provider, observed } = stage;
    const commit = deps.store.commitGathered.bind(deps.store);
    const awayUntil = clock.now() + 42_000;
    let first: string | null = null;
    deps.store.commitGathered = async (transaction) => {
      const [step] = transaction;
      if (step?.op === "update" && step.table === "messages" && step.set.status === "pending") {
        first ??= step.id;
        if (step.id === first && clock.now() < awayUntil) throw new StoreUnavailable("the database is away");
      }
      return await commit(transaction);
    };
    provider.isUp = false;
    const names = ["m0", "m1", "m2"];
    for (const name of names) await stage.send(text(name));
    provider.isUp = true;
    provider.onSend = () => provider.accepted();
    await stage.run();
    await clock.advance(43_000);
    assert.deepEqual(texts(provider), []);
    assert.equal(observed.faults.length, 1);
    observed.faults.length = 0;
    await clock.advance(60_000);
    assert.deepEqual(texts(provider), names);
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

  test("are given in order to a provider that takes runs, also if the store replies to a later attempt first", async (t) => {
    const provider = new ScriptedProvider({ takesRuns: true });
    const stage = await engineStage(t, { provider });
    const { store } = stage.deps;
    const commit = store.commitGathered.bind(store);
    const { promise: replied, resolve: reply } = Promise.withResolvers<void>();
    let recorded = 0;
    store.commitGathered = async (transaction) => {
      const [step] = transaction;
      const isAttempt = step?.op === "update" && step.table === "messages" && step.set.status === "pending";
      const isFirst = isAttempt && ++recorded === 1;
      const result = await commit(transaction);
      if (isFirst) await replied;
      return result;
    };
    provider.isUp = false;
    const names = ["m0", "m1", "m2"];
    for (const name of names) await stage.send(text(name));
    provider.isUp = true;
    provider.onSend = () => provider.accepted();
    await stage.run();
    assert.deepEqual([recorded, texts(provider)], [3, []]);
    reply();
    await stage.run();
    assert.deepEqual(texts(provider), names);
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

describe("the permit of a message that its provider has accepted", () => {
  /** Holds the commits of outcomes until the test ends them. */
  function outcomesHeld(stage: EngineStage): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { store } = stage.deps;
    const commit = store.commitGathered.bind(store);
    store.commitGathered = async (transaction) => {
      const [step] = transaction;
      if (step?.op === "update" && step.table === "messages" && step.set.status !== "pending") await promise;
      return await commit(transaction);
    };
    return resolve;
  }

  async function sendTo(stage: EngineStage, count: number): Promise<void> {
    for (let index = 0; index < count; index += 1)
      await stage.send({ to: `+1555030${String(index).padStart(4, "0")}` });
  }

  test("is free for the next message while the outcome is written down, as long as few outcomes are", async (t) => {
    const provider = new ScriptedProvider({ concurrency: 2 });
    const stage = await engineStage(t, { provider });
    const end = outcomesHeld(stage);
    await sendTo(stage, 80);
    for (let rounds = 0; rounds < 80; rounds += 1) await stage.run();
    assert.equal(provider.handed.length, 64 + 2, "64 that are not on disk, and those with a permit");
    end();
    await stage.run();
    assert.equal(provider.handed.length, 80);
  });

  test("stays its own while the message probes an instance", async (t) => {
    const provider = new ScriptedProvider({ concurrency: 2 });
    const stage = await engineStage(t, { provider });
    provider.sendNext.push({ outcome: "deferred", retryAfterMs: 1_000, reason: "the line is down", isDown: true });
    await sendTo(stage, 1);
    await stage.run();
    const end = outcomesHeld(stage);
    await sendTo(stage, 9);
    await stage.pass(1_000);
    assert.equal(provider.handed.length, 2, "a message of two attempts, the second one in half-open");
    end();
    await stage.run();
    assert.equal(provider.handed.length, 11);
  });
});

test("messages that wait for a permit of an instance that went down are not leased any more", async (t) => {
  const provider = new ScriptedProvider({ concurrency: 4 });
  const stage = await engineStage(t, { provider });
  const wait = (ms: number) => new Promise<void>((resolve) => stage.clock.after(ms, resolve));
  provider.onSend = async () => {
    await wait(10);
    return provider.accepted();
  };
  const count = 40;
  for (let index = 0; index < count; index += 1) await stage.send({ to: `+1555030${String(index).padStart(4, "0")}` });
  await stage.clock.advance(25);
  const { store } = stage.deps;
  const leased = async () => (await store.leasedPairs(stage.instance.id)).length;
  assert.ok((await leased()) > 8, "messages were claimed ahead");
  provider.onSend = () => "never";
  await stage.clock.advance(20);
  provider.isUp = false;
  stage.life.dispatch.wake([stage.instance.id]);
  await turns(20);
  assert.equal(await leased(), 4, "only those that are being sent");
});
