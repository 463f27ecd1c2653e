/** A signal that arrives while the outcome of its send attempt is being committed waits for it, and finds its message. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type EngineStage, engineStage, turns } from "../../../test/support/engine.ts";
import { receipt } from "../../../test/support/provider.ts";
import type { ReactionSignal, Signal } from "../../providers/provider.ts";
import { apply } from "../apply.ts";

/** Sends a message whose provider reports `signal` directly after its response, while each write takes some time. */
async function sendWithEarlySignal(stage: EngineStage, signal: Signal) {
  let reported: Promise<unknown> = Promise.resolve();
  stage.provider.onSend = () => {
    reported = turns(1).then(() => apply(stage.life.deps, stage.instance.id, signal));
    return { outcome: "accepted", reference: "ref-1" };
  };
  const id = await stage.send();
  const before = stage.life.commits;
  stage.life.delay = () => 5;
  await stage.run();
  await turns(100);
  await reported;
  return { id, commits: stage.life.commits - before };
}

test("a receipt that arrives while the outcome is being committed costs one more transaction, without a conflict", async (t) => {
  const stage = await engineStage(t);
  const { id, commits } = await sendWithEarlySignal(stage, receipt("delivered"));
  assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "delivered"]);
  assert.equal(commits, 3, "the send attempt begun, its outcome, the receipt");
});

test("a reaction that arrives while the outcome is being committed refers to that message", async (t) => {
  const stage = await engineStage(t);
  const reaction: ReactionSignal = {
    kind: "reaction",
    to: stage.number.address,
    channel: "imessage",
    reference: "reaction-1",
    from: "+15550100001",
    target: "ref-1",
    type: "love",
    content: "Loved “Hello”",
  };
  const { id } = await sendWithEarlySignal(stage, reaction);
  assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "reaction"]);
});
