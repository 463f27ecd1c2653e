/**
 * Messages of which a part was sent: they stay with the instance and account of the part, and the part is never sent
 * twice.
 */

import assert from "node:assert/strict";
import { describe, type TestContext as NodeTest, test } from "node:test";
import { carriersOn, handedTo, SMS_FIRST } from "../../../test/support/carriers.ts";
import { checkSendAttempts, engineStage } from "../../../test/support/engine.ts";
import {
  deferred,
  NOT_REACHABLE,
  partly,
  REJECTED,
  receipt,
  ScriptedProvider,
  SETTLE_AFTER_MS,
  UNKNOWN,
} from "../../../test/support/provider.ts";
import type { MessageId } from "../../core/id.ts";
import type { NotAccepted, Outcome } from "../../providers/provider.ts";
import { deleteInstance, updateInstance } from "../instances/instances.ts";
import { retryMessage } from "./actions.ts";

const TEXT = { reference: "ref-text", what: "the text" };
const DOWN: NotAccepted = { outcome: "deferred", retryAfterMs: 60_000, reason: "no", isDown: true };
const ASK_AGAIN_MS = 15_000;
const ROUNDS_UNTIL_FAILED = 25;
const TTL_MS = 72 * 3_600_000;

/** A message that was sent in part, on a stage whose number has iMessage and SMS. */
async function partlySent(t: NodeTest, rest: NotAccepted) {
  const stage = await engineStage(t);
  stage.provider.sendNext.push(partly(rest));
  const id = await stage.send();
  await stage.run();
  const retrying = { customerId: stage.customer.id, id, mayDuplicate: false, idempotencyKey: null };
  return { stage, id, retry: () => retryMessage(stage.life.deps, retrying), retrying };
}

describe("a message that was sent in part", () => {
  for (const rest of [REJECTED, NOT_REACHABLE] as const) {
    test(`is sent with ATTACHMENT_FAILED if the rest is refused for good, and never falls back: ${rest.reason}`, async (t) => {
      const { stage, id } = await partlySent(t, rest);
      const message = await stage.message(id);
      assert.deepEqual([message.status, message.errorCode], ["sent", "ATTACHMENT_FAILED"]);
      assert.equal(message.errorMessage, `The text was sent, and the rest was not: ${rest.reason}`);
      assert.deepEqual([message.providerMessageId, message.channel], ["ref-text", "imessage"]);
      assert.equal(message.timeline.at(-1)?.reason, message.errorMessage);
      assert.deepEqual(await stage.eventTypes(id), ["queued", "sent"]);
      const sent = (await stage.events(id)).at(-1)?.data;
      assert.deepEqual([sent?.errorCode, sent?.mayHaveBeenSent], ["ATTACHMENT_FAILED", undefined]);
      await stage.pass(TTL_MS);
      assert.equal(stage.provider.handed.length, 1);
    });
  }

  test("sends the rest alone by the same instance, and is sent once the rest is accepted", async (t) => {
    const { stage, id } = await partlySent(t, deferred(1_000));
    const waiting = await stage.message(id);
    assert.equal(waiting.status, "queued");
    assert.equal(waiting.timeline.at(-1)?.reason, "the text was sent, and the rest was not yet: busy");
    await stage.pass(1_000);
    assert.deepEqual(
      stage.provider.handed.map(({ sentPart }) => sentPart),
      [null, TEXT],
    );
    const message = await stage.message(id);
    assert.deepEqual([message.status, message.errorCode, message.providerMessageId], ["sent", null, "ref-1"]);
    await stage.report(receipt("delivered"));
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "delivered"]);
    checkSendAttempts(message, stage.provider.handed);
  });

  test("notes receipts of its sent part in the timeline, and keeps its status", async (t) => {
    const { stage, id } = await partlySent(t, REJECTED);
    for (const kind of ["sent", "delivered", "delivered", "read"] as const)
      await stage.report(receipt(kind, { reference: "ref-text" }));
    const { status, errorCode, timeline } = await stage.message(id);
    assert.deepEqual([status, errorCode], ["sent", "ATTACHMENT_FAILED"]);
    assert.deepEqual(
      timeline.slice(-2).map(({ reason }) => reason),
      ["the text was delivered", "the text was read"],
    );
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent"]);
  });

  test("falls back as a whole if its sent part fails too", async (t) => {
    const { stage, id } = await partlySent(t, REJECTED);
    await stage.report(receipt("failed", { reference: "ref-text", code: "22", notReachable: true }));
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "fallback", "sent"]);
    const message = await stage.message(id);
    assert.deepEqual([message.channel, message.errorCode, message.sentPart], ["sms", null, null]);
    assert.deepEqual(
      stage.provider.handed.map(({ channel, sentPart }) => [channel, sentPart]),
      [
        ["imessage", null],
        ["sms", null],
      ],
    );
  });

  test("falls back as a whole if its sent part fails while the rest waits", async (t) => {
    const { stage, id } = await partlySent(t, deferred(1_000));
    await stage.report(receipt("failed", { reference: "ref-text", code: "22", notReachable: true }));
    assert.equal((await stage.message(id)).status, "queued");
    stage.provider.sendNext.push(partly(NOT_REACHABLE));
    await stage.pass(1_000);
    assert.deepEqual(await stage.eventTypes(id), ["queued", "fallback", "sent"]);
  });

  test("is failed with mayHaveBeenSent if its accepted rest fails, and does not fall back", async (t) => {
    const stage = await engineStage(t);
    stage.provider.sendNext.push({ outcome: "accepted", reference: "ref-files", part: TEXT });
    const id = await stage.send({ routing: { fallbackAfterSeconds: 30 } });
    await stage.run();
    await stage.pass(60_000);
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent"], "no delivery is no reason to send the text again");
    await stage.report(receipt("failed", { reference: "ref-files", code: "22", notReachable: true }));
    const message = await stage.message(id);
    assert.deepEqual([message.status, message.errorCode], ["failed", "ATTACHMENT_FAILED"]);
    assert.equal((await stage.events(id)).at(-1)?.data.mayHaveBeenSent, true);
    assert.equal(stage.provider.handed.length, 1);
    await stage.report(receipt("delivered", { reference: "ref-text" }));
    assert.equal((await stage.message(id)).status, "failed");
  });

  test("reconciles an unknown rest until OUTCOME_UNKNOWN, and a retry with mayDuplicate sends the rest alone", async (t) => {
    const { stage, id, retry, retrying } = await partlySent(t, UNKNOWN);
    assert.equal((await stage.message(id)).status, "pending");
    await stage.pass(SETTLE_AFTER_MS);
    for (let round = 0; round < ROUNDS_UNTIL_FAILED; round += 1) await stage.pass(ASK_AGAIN_MS);
    const message = await stage.message(id);
    assert.deepEqual([message.status, message.errorCode], ["failed", "OUTCOME_UNKNOWN"]);
    await assert.rejects(retry(), { code: "OUTCOME_UNKNOWN" });
    await retryMessage(stage.life.deps, { ...retrying, mayDuplicate: true });
    await stage.run();
    assert.deepEqual(stage.provider.handed.at(-1)?.sentPart, TEXT);
    assert.deepEqual(await stage.eventTypes(id), ["queued", "failed", "queued", "sent"]);
  });

  test("keeps a sent part that reconciliation found, whatever the outcome of the rest", async (t) => {
    for (const rest of [REJECTED, UNKNOWN, deferred(0)]) {
      const stage = await engineStage(t);
      stage.provider.sendNext.push(UNKNOWN);
      stage.provider.settleNext.push(partly(rest));
      const id = await stage.send();
      await stage.run();
      await stage.pass(SETTLE_AFTER_MS);
      const message = await stage.message(id);
      assert.deepEqual(message.sentPart, TEXT);
      assert.equal(message.status, rest.outcome === "unknown" ? "pending" : "sent");
      await stage.report(receipt("delivered", { reference: "ref-text" }));
      const { timeline } = await stage.message(id);
      assert.equal(timeline.at(-1)?.reason, "the text was delivered", rest.outcome);
      assert.deepEqual(stage.provider.handed.at(1)?.sentPart, rest.outcome === "deferred" ? TEXT : undefined);
    }
  });

  test("does not fall back if the provider rejects the rest without naming the sent part", async (t) => {
    const { stage, id } = await partlySent(t, deferred(1_000));
    stage.provider.sendNext.push(REJECTED);
    await stage.pass(1_000);
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent"]);
    assert.equal((await stage.message(id)).errorCode, "ATTACHMENT_FAILED");
  });

  test("is failed with ATTACHMENT_FAILED and mayHaveBeenSent if its rest expires", async (t) => {
    const { stage, id } = await partlySent(t, deferred(TTL_MS));
    await stage.pass(TTL_MS + 1);
    const message = await stage.message(id);
    assert.deepEqual([message.status, message.errorCode], ["failed", "ATTACHMENT_FAILED"]);
    assert.match(
      message.errorMessage ?? "",
      /^The text was sent, and the rest was not: No provider could send it within 72 hours/,
    );
    assert.equal((await stage.events(id)).at(-1)?.data.mayHaveBeenSent, true);
  });

  for (const status of ["sent", "failed"] as const) {
    test(`is retried from ${status} with the rest alone, and without mayDuplicate`, async (t) => {
      const { stage, id, retry } = await partlySent(t, status === "sent" ? REJECTED : deferred(TTL_MS));
      await stage.pass(TTL_MS + 1);
      assert.equal((await stage.message(id)).status, status);
      await retry();
      await stage.run();
      assert.deepEqual(stage.provider.handed.at(-1)?.sentPart, TEXT);
      const message = await stage.message(id);
      assert.deepEqual([message.status, message.errorCode, message.retryCount], ["sent", null, 1]);
      await assert.rejects(retry(), { code: "INVALID_STATUS" });
    });
  }
});

describe("a message that was sent in part stays with the instance and the account that sent the part", () => {
  test("while the instance is down and a route names another one, until it is up and sends the rest", async (t) => {
    const carriers = await carriersOn(t);
    const [first, second] = [await carriers.add(), await carriers.add()];
    const { stage } = carriers;
    await carriers.setRoutes([first, second].map(({ id }) => ({ prefix: "+", instanceId: id })));
    first.provider.sendNext.push(partly(DOWN));
    const id = await stage.send(SMS_FIRST);
    await stage.run();
    await carriers.flip(false, first);
    // A route that takes over changes nothing for it either.
    await carriers.setRoutes([{ prefix: "+", instanceId: second.id }]);
    stage.life.deps.wake.pausedLanes();
    await stage.clock.advance(120_000);
    await stage.run();
    assert.deepEqual([handedTo(second), handedTo(carriers.mac)], [[], []]);
    assert.equal((await stage.message(id)).status, "queued");
    await carriers.flip(true, first);
    await stage.clock.advance(120_000);
    assert.deepEqual(
      first.provider.handed.map(({ sentPart }) => sentPart),
      [null, TEXT],
    );
    assert.deepEqual([handedTo(second), handedTo(carriers.mac)], [[], []]);
    assert.equal((await stage.message(id)).status, "sent");
  });

  test("when the instance refuses the rest: no other carrier of the route gets the message", async (t) => {
    const carriers = await carriersOn(t);
    const [first, second] = [await carriers.add(), await carriers.add()];
    await carriers.setRoutes([first, second].map(({ id }) => ({ prefix: "+", instanceId: id })));
    first.provider.sendNext.push(partly(REJECTED));
    const id = await carriers.stage.send(SMS_FIRST);
    await carriers.stage.run();
    assert.deepEqual([handedTo(second), handedTo(carriers.mac)], [[], []]);
    assert.equal((await carriers.stage.message(id)).errorCode, "ATTACHMENT_FAILED");
  });

  test("when the instance is deleted: the message fails, no other instance gets it, and a retry is refused with the reason", async (t) => {
    const carriers = await carriersOn(t);
    const [first, second] = [await carriers.add(), await carriers.add()];
    const { stage } = carriers;
    await carriers.setRoutes([{ prefix: "+", instanceId: first.id }]);
    first.provider.sendNext.push(partly(DOWN));
    const id = await stage.send(SMS_FIRST);
    await stage.run();
    await carriers.setRoutes([{ prefix: "+", instanceId: second.id }]);
    await deleteInstance(stage.life.deps, first.id);
    await stage.clock.advance(10_000);
    await stage.run();
    await assertStranded(stage, id);
    assert.deepEqual([handedTo(second), handedTo(carriers.mac)], [[], []]);
  });

  test("when the instance gets another account: the new account gets neither the rest nor the whole message", async (t) => {
    const accounts = new Map<unknown, ScriptedProvider>();
    const account = (name: unknown) => {
      const made = accounts.get(name) ?? new ScriptedProvider({ channels: ["sms"] });
      accounts.set(name, made);
      return made;
    };
    const create = (_: string, { config }: { config: Readonly<Record<string, unknown>> }) => account(config.accountSid);
    const carriers = await carriersOn(t, { create });
    const { stage } = carriers;
    const { id: instanceId } = await carriers.add(new ScriptedProvider({ channels: ["sms"] }), "twilio");
    await carriers.setRoutes([{ prefix: "+", instanceId }]);
    const change = async (accountSid: string) => {
      await updateInstance(stage.life.deps, instanceId, { name: null, merge: () => ({ accountSid }) });
      await stage.run();
    };
    await change("first");
    account("first").sendNext.push(partly(deferred(1_000)));
    const id = await stage.send(SMS_FIRST);
    await stage.run();
    await change("second");
    await stage.pass(1_000);
    await assertStranded(stage, id);
    assert.deepEqual([account("second").handed, handedTo(carriers.mac)], [[], []]);
    // Named again, it can send the rest.
    await change("first");
    await retryMessage(stage.life.deps, {
      customerId: stage.customer.id,
      id,
      mayDuplicate: false,
      idempotencyKey: null,
    });
    await stage.run();
    assert.deepEqual(account("first").handed.at(-1)?.sentPart, TEXT);
  });

  async function assertStranded(stage: Awaited<ReturnType<typeof carriersOn>>["stage"], id: MessageId) {
    const message = await stage.message(id);
    assert.deepEqual([message.status, message.errorCode], ["failed", "ATTACHMENT_FAILED"]);
    assert.equal((await stage.events(id)).at(-1)?.data.mayHaveBeenSent, true);
    const retrying = { customerId: stage.customer.id, id, mayDuplicate: false, idempotencyKey: null };
    await assert.rejects(retryMessage(stage.life.deps, retrying), {
      code: "INVALID_STATUS",
      message: /as a new message/,
    });
  }

  test("when the process dies during the attempt: reconciliation finds the sent part, and only the rest is sent", async (t) => {
    const stage = await engineStage(t);
    const answer = Promise.withResolvers<Outcome>();
    stage.provider.sendNext.push(answer.promise);
    const id = await stage.send();
    await stage.run();
    await stage.restart();
    stage.provider.settleNext.push(partly(deferred(0)));
    await stage.pass(SETTLE_AFTER_MS);
    await stage.pass(ASK_AGAIN_MS);
    assert.deepEqual(
      stage.provider.handed.map(({ sentPart }) => sentPart),
      [null, TEXT],
    );
    assert.equal((await stage.message(id)).status, "sent");
  });
});
