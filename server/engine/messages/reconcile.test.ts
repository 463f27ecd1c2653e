/** Unknown outcomes: what asking comes to, how long it goes on, and that nothing is sent blindly again. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  checkSendAttempts,
  type EngineStage,
  engineStage,
  type StageOptions,
  turns,
} from "../../../test/support/engine.ts";
import {
  deferred,
  NOT_REACHABLE,
  REJECTED,
  receipt,
  ScriptedProvider,
  SETTLE_AFTER_MS,
  UNKNOWN,
} from "../../../test/support/provider.ts";
import type { Customer } from "../../core/customer.ts";
import type { MessageId } from "../../core/id.ts";
import type { Outcome } from "../../providers/provider.ts";
import { retryMessage } from "./actions.ts";

const ASK_AGAIN_MS = 15_000;
const UNKNOWN_MS_MAX = 300_000;
const HAND_OVER_MS_MAX = 40_000;

/** A message whose send attempt ended in an unknown outcome, a moment ago. */
async function unknownMessage(
  t: Parameters<typeof engineStage>[0],
  options: StageOptions = {},
): Promise<{ stage: EngineStage; id: MessageId }> {
  const stage = await engineStage(t, options);
  stage.provider.sendNext.push(UNKNOWN);
  const id = await stage.send();
  await stage.run();
  return { stage, id };
}

/** Damages the row of the customer, so that no route of it can be read. */
async function breakCustomer({ customer, deps }: EngineStage): Promise<void> {
  const routes = {} as unknown as Customer["routes"];
  const { id, version } = customer;
  const { result } = await deps.store.commit([{ op: "update", table: "customers", id, version, set: { routes } }]);
  assert.equal(result, "ok");
  deps.configCache.clear();
}

describe("an unknown outcome", () => {
  test("leaves the message pending without an event, and is reconciled after the provider's delay", async (t) => {
    const { stage, id } = await unknownMessage(t);
    assert.equal(stage.observed.unknownOutcomes, 1);
    assert.equal((await stage.message(id)).status, "pending");
    await stage.pass(SETTLE_AFTER_MS - 1);
    assert.equal(stage.provider.asked.length, 0);
    await stage.pass(1);
    assert.equal(stage.provider.asked.length, 1);
    assert.deepEqual(stage.provider.asked, stage.provider.handed);
    assert.deepEqual(await stage.eventTypes(id), ["queued"]);
  });

  test("found accepted makes the message sent, once, and its receipts find it", async (t) => {
    const { stage, id } = await unknownMessage(t);
    stage.provider.settleNext.push(stage.provider.accepted());
    await stage.pass(SETTLE_AFTER_MS);
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent"]);
    await stage.report(receipt("delivered"));
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "delivered"]);
    assert.equal(stage.provider.handed.length, 1);
    const { timeline } = await stage.message(id);
    assert.deepEqual(
      timeline.slice(1).map(({ status, reason }) => [status, reason]),
      [
        ["pending", undefined],
        ["pending", "the line went dead"],
        ["sent", undefined],
        ["delivered", undefined],
      ],
    );
  });

  test("found absent sends the message again at once, with the reason in the timeline", async (t) => {
    const { stage, id } = await unknownMessage(t);
    stage.provider.settleNext.push("absent");
    await stage.pass(SETTLE_AFTER_MS);
    const message = await stage.message(id);
    assert.equal(message.status, "sent");
    assert.deepEqual(
      stage.provider.handed.map(({ attempt }) => attempt),
      [1, 2],
    );
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent"], "for its receivers it never left the queue");
    checkSendAttempts(message, stage.provider.handed);
    const noted = message.timeline
      .slice(1)
      .filter(({ reason }) => reason !== undefined)
      .map(({ status }) => status);
    assert.deepEqual(noted, ["pending", "queued"]);
  });

  test("is looked up and settled while the next message of its pair is in flight", async (t) => {
    const { stage, id } = await unknownMessage(t);
    stage.provider.sendNext.push("never");
    await stage.send({ content: { text: "next" } });
    await stage.run();
    assert.equal(stage.provider.handed.length, 2);
    stage.provider.settleNext.push(stage.provider.accepted());
    await stage.pass(SETTLE_AFTER_MS);
    assert.equal((await stage.message(id)).status, "sent");
    assert.equal(stage.provider.aborts[1]?.aborted, false, "the next one is in flight");
  });

  test("found absent while the next message of its pair is in flight is sent again after that one", async (t) => {
    const { stage } = await unknownMessage(t);
    const next = Promise.withResolvers<Outcome>();
    stage.provider.sendNext.push(next.promise);
    await stage.send({ content: { text: "next" } });
    stage.provider.settleNext.push("absent");
    await stage.pass(SETTLE_AFTER_MS);
    const texts = () => stage.provider.handed.map(({ text }) => text);
    assert.deepEqual([stage.provider.asked.length, texts()], [1, ["Hello", "next"]]);
    next.resolve(stage.provider.accepted());
    await stage.run();
    assert.deepEqual(texts(), ["Hello", "next", "Hello"]);
  });

  test("that is being looked up holds up no message of its pair", async (t) => {
    const { stage, id } = await unknownMessage(t);
    stage.provider.settleNext.push("never");
    await stage.pass(SETTLE_AFTER_MS);
    const next = await stage.send({ content: { text: "next" } });
    await stage.run();
    assert.deepEqual(
      [(await stage.message(id)).status, (await stage.message(next)).status, stage.provider.asked.length],
      ["pending", "sent", 1],
    );
  });

  const SETTLED: [name: string, outcome: Outcome, reported: string[], errorCode: string | null][] = [
    ["found not reachable falls back", NOT_REACHABLE, ["queued", "fallback", "sent"], null],
    ["found refused falls back", REJECTED, ["queued", "fallback", "sent"], null],
    ["found put off is sent later", deferred(1_000), ["queued", "sent"], null],
  ];
  for (const [name, outcome, reported, errorCode] of SETTLED) {
    test(name, async (t) => {
      const { stage, id } = await unknownMessage(t);
      stage.provider.settleNext.push(outcome);
      await stage.pass(SETTLE_AFTER_MS);
      await stage.pass(1_000);
      const message = await stage.message(id);
      assert.deepEqual(await stage.eventTypes(id), reported);
      assert.equal(message.errorCode, errorCode);
      checkSendAttempts(message, stage.provider.handed);
    });
  }

  test("is reconciled every 15 s, and after five minutes fails with OUTCOME_UNKNOWN and mayHaveBeenSent", async (t) => {
    const { stage, id } = await unknownMessage(t);
    await stage.pass(SETTLE_AFTER_MS);
    let passedMs = SETTLE_AFTER_MS;
    for (; passedMs + ASK_AGAIN_MS < UNKNOWN_MS_MAX; passedMs += ASK_AGAIN_MS) {
      assert.equal((await stage.message(id)).status, "pending");
      await stage.pass(ASK_AGAIN_MS);
    }
    assert.equal(stage.provider.asked.length, 20);
    assert.equal((await stage.message(id)).status, "pending");
    await stage.pass(ASK_AGAIN_MS);
    const message = await stage.message(id);
    assert.deepEqual([message.status, message.errorCode], ["failed", "OUTCOME_UNKNOWN"]);
    assert.deepEqual(
      await stage.eventTypes(id),
      ["queued", "failed"],
      "no fallback: the recipient might read it twice",
    );
    const failed = (await stage.events(id)).at(-1);
    assert.equal(failed?.data.mayHaveBeenSent, true);
    assert.equal(failed?.data.error?.code, "OUTCOME_UNKNOWN");
    await stage.pass(72 * 3_600_000);
    assert.equal(stage.provider.handed.length, 1, "it is never sent again by itself");
  });

  test("names its present reason last in the timeline, and each change of it once", async (t) => {
    const { stage, id } = await unknownMessage(t);
    const answers: Outcome[] = ["busy", "busy", "no such journal"].map((reason) => ({ outcome: "unknown", reason }));
    stage.provider.settleNext.push(...answers);
    await stage.pass(SETTLE_AFTER_MS);
    for (let round = 0; round < 2; round += 1) await stage.pass(ASK_AGAIN_MS);
    stage.providers.clear();
    for (let round = 0; round < 2; round += 1) await stage.pass(ASK_AGAIN_MS);
    const { status, timeline, unknownSince } = await stage.message(id);
    assert.equal(status, "pending");
    const reasons = timeline.filter((entry) => entry.status === "pending").map(({ reason }) => reason);
    const expected = [undefined, "the line went dead", "busy", "no such journal", "its instance is not running"];
    assert.deepEqual(reasons, expected);
    assert.equal(unknownSince, timeline.find(({ reason }) => reason === "the line went dead")?.at);
  });

  test("at a provider without reconciliation fails after five minutes, and not before", async (t) => {
    const { stage, id } = await unknownMessage(t, { provider: new ScriptedProvider({ asks: false }) });
    for (let passedMs = 0; passedMs < UNKNOWN_MS_MAX - 1_000; passedMs += 1_000) await stage.pass(1_000);
    assert.equal((await stage.message(id)).status, "pending");
    for (let round = 0; round < 20; round += 1) await stage.pass(1_000);
    assert.equal((await stage.message(id)).errorCode, "OUTCOME_UNKNOWN");
    assert.equal(stage.provider.handed.length, 1);
  });

  test("found refused, with its customer's row undecodable, is failed after five minutes", async (t) => {
    const { stage, id } = await unknownMessage(t, { faults: ["reconcile"] });
    await breakCustomer(stage);
    stage.provider.onSettle = () => REJECTED;
    await stage.pass(SETTLE_AFTER_MS);
    assert.deepEqual(await stage.eventTypes(id), ["queued"]);
    assert.equal((await stage.message(id)).timeline.at(-1)?.reason, "a record that it needs cannot be read");
    for (let round = 0; round < 25; round += 1) await stage.pass(ASK_AGAIN_MS);
    assert.equal((await stage.message(id)).errorCode, "OUTCOME_UNKNOWN");
    assert.equal(stage.provider.handed.length, 1);
  });

  test("found accepted is sent, even if its customer's row is undecodable", async (t) => {
    const { stage, id } = await unknownMessage(t);
    await breakCustomer(stage);
    stage.provider.settleNext.push(stage.provider.accepted());
    await stage.pass(SETTLE_AFTER_MS);
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent"]);
  });

  test("needs mayDuplicate for a manual retry, which sends the message a second time", async (t) => {
    const { stage, id } = await unknownMessage(t, { provider: new ScriptedProvider({ asks: false }) });
    for (let round = 0; round < 25; round += 1) await stage.pass(ASK_AGAIN_MS);
    const retrying = { customerId: stage.customer.id, id, mayDuplicate: false, idempotencyKey: null };
    await assert.rejects(retryMessage(stage.life.deps, retrying), { code: "OUTCOME_UNKNOWN" });
    await retryMessage(stage.life.deps, { ...retrying, mayDuplicate: true });
    await stage.run();
    assert.deepEqual(await stage.eventTypes(id), ["queued", "failed", "queued", "sent"]);
    assert.equal((await stage.message(id)).retryCount, 1);
  });
});

describe("failures with an unknown outcome", () => {
  test("a provider that throws", async (t) => {
    const stage = await engineStage(t, { faults: ["provider.send"] });
    stage.provider.sendNext.push("throws");
    stage.provider.settleNext.push(stage.provider.accepted());
    const id = await stage.send();
    await stage.run();
    assert.equal((await stage.message(id)).status, "pending");
    await stage.pass(SETTLE_AFTER_MS);
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent"]);
    assert.equal(stage.provider.handed.length, 1);
  });

  test("a provider that never responds: after 40 s the attempt is aborted, and later messages of the pair are sent", async (t) => {
    const stage = await engineStage(t);
    stage.provider.sendNext.push("never");
    const id = await stage.send();
    const next = await stage.send({ content: { text: "next" } });
    await stage.clock.advance(HAND_OVER_MS_MAX - 1_000);
    assert.equal((await stage.message(id)).unknownSince, null);
    assert.equal(stage.provider.aborts[0]?.aborted, false);
    await stage.clock.advance(2_000);
    assert.equal(stage.provider.aborts[0]?.aborted, true);
    const message = await stage.message(id);
    assert.equal(message.status, "pending");
    assert.ok(message.unknownSince !== null);
    assert.equal((await stage.message(next)).status, "sent");
  });

  test("a message whose send attempt outlives its lease is not looked up before the attempt has ended", async (t) => {
    const stage = await engineStage(t);
    const { clock, deps, provider } = stage;
    provider.sendNext.push("never");
    provider.onSettle = () => "absent";
    await stage.send();
    await stage.run();
    assert.equal(await deps.store.releaseLeases(Number.POSITIVE_INFINITY, clock.now()), 1);
    for (let seconds = 0; seconds < 30; seconds += 1) await clock.advance(1_000);
    assert.deepEqual([provider.asked.length, provider.handed.length], [0, 1]);
    for (let seconds = 0; seconds < 30; seconds += 1) await clock.advance(1_000);
    assert.deepEqual([provider.asked.length, provider.handed.length], [1, 2]);
  });

  test("a reconciliation that throws: it is repeated, and the message fails in the end", async (t) => {
    const { stage, id } = await unknownMessage(t, { faults: ["provider.reconcile"] });
    stage.provider.onSettle = () => "throws";
    for (let round = 0; round < 25; round += 1) await stage.pass(ASK_AGAIN_MS);
    assert.equal((await stage.message(id)).errorCode, "OUTCOME_UNKNOWN");
    assert.equal(stage.provider.asked.length, 20);
  });

  test("a reconciliation that never ends: after 40 s it counts as unknown, and delays no other message", async (t) => {
    const { stage, id } = await unknownMessage(t);
    stage.provider.onSettle = () => "never";
    await stage.pass(SETTLE_AFTER_MS);
    const next = await stage.send({ content: { text: "next" } });
    await stage.clock.advance(HAND_OVER_MS_MAX + 1_000);
    assert.equal((await stage.message(next)).status, "sent");
    assert.equal((await stage.message(id)).status, "pending");
    for (let round = 0; round < 8; round += 1) await stage.clock.advance(HAND_OVER_MS_MAX + ASK_AGAIN_MS);
    assert.equal((await stage.message(id)).errorCode, "OUTCOME_UNKNOWN");
  });

  test("a process that was suspended while it asked, and meets the next attempt of another one, changes nothing", async (t) => {
    const { stage, id } = await unknownMessage(t);
    const claimedUntil = stage.clock.real() + 100_000;
    stage.provider.onSettle = async () => {
      const { version, sendAttempts } = await stage.message(id);
      const set = { sendAttempts: sendAttempts + 1, dueAt: null, claimedUntil, unknownSince: null };
      await stage.deps.store.commit([{ op: "update", table: "messages", id, version, set }]);
      return UNKNOWN;
    };
    await stage.pass(SETTLE_AFTER_MS);
    await turns(50);
    const after = await stage.message(id);
    assert.deepEqual([after.sendAttempts, after.claimedUntil, after.unknownSince], [2, claimedUntil, null]);
  });

  test("an instance that is not running: nothing is reconciled, and the message fails after five minutes", async (t) => {
    const { stage, id } = await unknownMessage(t);
    stage.providers.clear();
    for (let round = 0; round < 25; round += 1) await stage.pass(ASK_AGAIN_MS);
    assert.equal((await stage.message(id)).errorCode, "OUTCOME_UNKNOWN");
    assert.equal(stage.provider.asked.length, 0);
  });
});

describe("a late receipt corrects OUTCOME_UNKNOWN", () => {
  const PROOFS = [
    ["sent", ["sent"]],
    ["delivered", ["sent", "delivered"]],
    ["read", ["sent", "delivered", "read"]],
  ] as const;
  for (const [kind, reported] of PROOFS) {
    test(`${kind}: ${reported.join(", ")} are emitted in this order, and the error is removed`, async (t) => {
      const { stage, id } = await unknownMessage(t, { provider: new ScriptedProvider({ asks: false }) });
      for (let round = 0; round < 25; round += 1) await stage.pass(ASK_AGAIN_MS);
      await stage.report(receipt(kind, { messageId: id, reference: "late" }));
      assert.deepEqual(await stage.eventTypes(id), ["queued", "failed", ...reported]);
      const message = await stage.message(id);
      assert.deepEqual(
        [message.status, message.errorCode, message.errorMessage, message.providerMessageId],
        [kind, null, null, "late"],
      );
      const last = (await stage.events(id)).at(-1);
      assert.deepEqual([last?.data.mayHaveBeenSent, last?.data.errorCode], [undefined, undefined]);
      await stage.report(receipt(kind, { messageId: id, reference: "late" }));
      assert.deepEqual(await stage.eventTypes(id), ["queued", "failed", ...reported]);
    });
  }
});
