/** Later messages to one recipient wait behind one that its provider deferred and that is repeated within a minute, at most 60 s. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type EngineStage, engineStage } from "../../../test/support/engine.ts";
import { deferred, ScriptedProvider, UNKNOWN } from "../../../test/support/provider.ts";
import type { Outcome } from "../../providers/provider.ts";

const OTHER = "+15550100002";
const SECOND_MS = 1_000;

const texts = ({ provider }: EngineStage) => provider.handed.map(({ text }) => text);

/** A provider that defers some attempts, and the texts that it accepted, in order. */
function carrier(stage: EngineStage, defers: (text: string, attempt: number) => Outcome | null): string[] {
  const accepted: string[] = [];
  stage.provider.onSend = ({ text, attempt }) => {
    const outcome = defers(text, attempt);
    if (outcome !== null) return outcome;
    accepted.push(text);
    return stage.provider.accepted();
  };
  return accepted;
}

async function sendAll(stage: EngineStage, names: readonly string[], to?: string): Promise<void> {
  for (const text of names) await stage.send({ content: { text }, ...(to === undefined ? {} : { to }) });
}

/** Passes seconds until the condition holds; fails after `secondsMax`. */
async function passUntil(stage: EngineStage, isReached: () => boolean, secondsMax = 600): Promise<number> {
  for (let seconds = 0; seconds <= secondsMax; seconds += 1) {
    if (isReached()) return seconds;
    await stage.pass(SECOND_MS);
  }
  assert.fail("it was not reached");
}

describe("messages from one number to one recipient", () => {
  for (const { how, retryAfterMs, count } of [
    { how: "throttles", retryAfterMs: SECOND_MS, count: 200 },
    { how: "has a full queue for", retryAfterMs: null, count: 40 },
    { how: "puts off without a wait", retryAfterMs: 0, count: 40 },
  ])
    test(`keep the order of acceptance at a carrier that ${how} each eighth attempt`, async (t) => {
      const stage = await engineStage(t);
      let attempts = 0;
      const accepted = carrier(stage, () => (++attempts % 8 === 0 ? deferred(retryAfterMs) : null));
      const names = Array.from({ length: count }, (_, index) => `m${index}`);
      await sendAll(stage, names);
      await passUntil(stage, () => accepted.length === names.length);
      assert.deepEqual(accepted, names);
    });

  test("wait for a deferred message, and not for one with an unknown outcome; other recipients do not wait", async (t) => {
    const stage = await engineStage(t);
    stage.provider.sendNext.push(deferred(SECOND_MS), UNKNOWN);
    await sendAll(stage, ["put off"]);
    await stage.run();
    await sendAll(stage, ["second", "third"]);
    await stage.send({ to: OTHER, content: { text: "unknown" } });
    await stage.send({ to: OTHER, content: { text: "behind it" } });
    await stage.run();
    assert.deepEqual(texts(stage), ["put off", "unknown", "behind it"]);
    await stage.pass(SECOND_MS);
    assert.deepEqual(texts(stage).slice(3), ["put off", "second", "third"]);
  });

  test("wait 60 s at most for a message that is deferred again and again, once", async (t) => {
    const stage = await engineStage(t);
    const accepted = carrier(stage, (text) => (text === "put off" ? deferred(8 * SECOND_MS) : null));
    await sendAll(stage, ["put off", "second"]);
    await stage.run();
    for (let seconds = 0; seconds < 55; seconds += 1) await stage.pass(SECOND_MS);
    assert.deepEqual(accepted, []);
    await passUntil(stage, () => accepted.length === 1, 5);
    for (let seconds = 0; seconds < 30; seconds += 1) await stage.pass(SECOND_MS);
    await sendAll(stage, ["third"]);
    await stage.run();
    assert.deepEqual(accepted, ["second", "third"]);
  });

  test("wait for the next deferred one after that, and let the first one pass", async (t) => {
    const stage = await engineStage(t);
    const accepted = carrier(stage, (text, attempt) => {
      if (text === "first") return attempt < 9 ? deferred(8 * SECOND_MS) : null;
      return text === "second" && attempt < 3 ? deferred(15 * SECOND_MS) : null;
    });
    await sendAll(stage, ["first", "second", "third"]);
    await passUntil(stage, () => accepted.length === 3);
    assert.deepEqual(accepted, ["first", "second", "third"]);
  });

  test("do not wait for a message that is deferred for longer than 60 s", async (t) => {
    const stage = await engineStage(t);
    stage.provider.sendNext.push(deferred(61 * SECOND_MS));
    await sendAll(stage, ["put off", "second"]);
    await stage.run();
    assert.deepEqual(texts(stage), ["put off", "second"]);
  });

  test("keep their order if several attempts that began together are deferred", async (t) => {
    const stage = await engineStage(t, { provider: new ScriptedProvider({ takesRuns: true }) });
    const accepted = carrier(stage, (_, attempt) => (attempt === 1 ? deferred() : null));
    const names = Array.from({ length: 6 }, (_, index) => `m${index}`);
    await sendAll(stage, names);
    await passUntil(stage, () => accepted.length === names.length);
    assert.deepEqual(accepted, names);
  });

  for (const { when, asks, ms } of [
    { when: "before the deferred one is due", asks: true, ms: 0 },
    { when: "after the deferred one was due", asks: true, ms: 600 * SECOND_MS },
    { when: "with a provider that cannot reconcile", asks: false, ms: 0 },
  ])
    test(`keep their order across a restart ${when}`, async (t) => {
      const stage = await engineStage(t, { provider: new ScriptedProvider({ asks }) });
      const accepted = carrier(stage, (text, attempt) => (text === "m0" && attempt < 3 ? deferred(5_000) : null));
      const names = Array.from({ length: 20 }, (_, index) => `m${index}`);
      await sendAll(stage, names);
      await stage.run();
      stage.life.die();
      stage.clock.shift(ms);
      await stage.restart();
      await sendAll(stage, ["later"]);
      await stage.send({ to: OTHER, content: { text: "to another" } });
      await stage.run();
      assert.deepEqual(accepted, ["to another"]);
      await passUntil(stage, () => accepted.length === names.length + 2);
      assert.deepEqual(accepted, ["to another", ...names, "later"]);
    });
});
