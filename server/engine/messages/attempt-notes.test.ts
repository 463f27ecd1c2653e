/** The notes of a provider about its send attempts: on disk before the next request, and gone when they are no longer needed. */

import assert from "node:assert/strict";
import { describe, type TestContext as NodeTest, test } from "node:test";
import { type EngineStage, engineStage } from "../../../test/support/engine.ts";
import { NOT_REACHABLE, partly, REJECTED, receipt, SETTLE_AFTER_MS, UNKNOWN } from "../../../test/support/provider.ts";
import { AttemptEnded, type SendAttempts } from "../../core/send-attempt.ts";
import type { Outbound, Outcome } from "../../providers/provider.ts";
import { createContact } from "../contacts/contacts.ts";
import { eraseContact, eraseContacts } from "../contacts/erase.ts";
import { retryMessage } from "./actions.ts";
import { attemptsOf } from "./attempt-notes.ts";

async function stageOf(t: NodeTest) {
  const stage = await engineStage(t);
  const attempts = (): SendAttempts => attemptsOf(() => stage.life.deps, stage.instance.id);
  const noted = async () => (await attempts().noted()).map(({ note }) => note);
  const rows = async () => {
    const table = stage.deps.store.db.selectFrom("send_attempts").orderBy("number");
    return (await table.select(["number", "state", "reference", "note"]).execute()).map((row) => ({ ...row }));
  };
  return Object.assign(stage, { attempts, noted, rows });
}

type Stage = Awaited<ReturnType<typeof stageOf>>;

/** Sends a message whose provider notes `texts`, one after the other, and then responds with `outcome`. */
async function sendNoting(stage: Stage, texts: readonly string[], outcome: Outcome | "never") {
  const given: Outbound[] = [];
  stage.provider.onSend = (message) => {
    given.push(message);
    if (outcome === "never") {
      void noteAll(stage, message, texts);
      return "never";
    }
    return noteAll(stage, message, texts).then(() => outcome);
  };
  const id = await stage.send();
  await stage.run();
  return { id, given };
}

async function noteAll(stage: Stage, message: Outbound, texts: readonly string[]): Promise<void> {
  for (const text of texts) await stage.attempts().note(message, text);
}

async function refuses(stage: EngineStage & Pick<Stage, "attempts">, message: Outbound | undefined): Promise<void> {
  await assert.rejects(stage.attempts().note(message ?? assert.fail(), "late"), AttemptEnded);
}

describe("a note of a send attempt", () => {
  test("is on disk when it resolves, so that a death before the next request loses nothing", async (t) => {
    const stage = await stageOf(t);
    const { id, given } = await sendNoting(stage, ["one"], "never");
    await stage.restart();
    const [found] = await stage.attempts().noted();
    const attemptedAt = given[0]?.attemptedAt;
    assert.deepEqual(found, { messageId: id, channel: "imessage", reference: null, attemptedAt, note: "one" });
    stage.provider.settleNext.push({ outcome: "accepted", reference: "ref-1", note: () => "two" });
    await stage.pass(SETTLE_AFTER_MS);
    assert.equal((await stage.message(id)).status, "sent");
    assert.deepEqual(await stage.rows(), [{ number: 1, state: "accepted", reference: "ref-1", note: "two" }]);
  });

  test("around a death at any write is the last one that resolved, or the next", async (t) => {
    for (const side of ["before", "after"] as const) {
      const stage = await stageOf(t);
      stage.provider.onSend = (message) => {
        stage.life.dieAt(stage.life.writes + 1, side);
        void noteAll(stage, message, ["one", "two"]);
        return "never";
      };
      await stage.send();
      await stage.run();
      assert.ok(stage.life.dead);
      await stage.restart();
      assert.deepEqual(await stage.noted(), [side === "before" ? "one" : "two"]);
    }
  });

  test("replaces the note before, and does not disturb the outcome", async (t) => {
    const stage = await stageOf(t);
    const { id } = await sendNoting(stage, ["one", "two"], { outcome: "accepted", reference: "ref-1" });
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent"]);
    assert.deepEqual(await stage.rows(), [{ number: 1, state: "accepted", reference: "ref-1", note: null }]);
  });

  test("is refused after the end of its attempt, and for an attempt that another one followed", async (t) => {
    const stage = await stageOf(t);
    for (const outcome of [{ outcome: "accepted", reference: "ref-1" }, NOT_REACHABLE, REJECTED] as const) {
      const { given } = await sendNoting(stage, ["one"], outcome);
      await refuses(stage, given[0]);
    }
    const { given } = await sendNoting(stage, ["one"], { outcome: "deferred", retryAfterMs: 1_000, reason: "busy" });
    await refuses(stage, given[0]);
    stage.provider.onSend = (message) => {
      given.push(message);
      return "never";
    };
    await stage.pass(1_000);
    await refuses(stage, given[0]);
    await stage.attempts().note(given[1] ?? assert.fail(), "two");
    assert.deepEqual(await stage.noted(), ["two"]);
  });

  test("is refused for a message that is gone", async (t) => {
    const stage = await stageOf(t);
    await assert.rejects(stage.attempts().note({ messageId: "msg_none", attemptedAt: 1 }, "late"), AttemptEnded);
    const { id, given } = await sendNoting(stage, ["one"], "never");
    await stage.deps.store.commit([{ op: "delete", table: "messages", where: { id } }]);
    await refuses(stage, given[0]);
  });

  test("stays while the outcome is unknown, and goes when the message provably was not sent", async (t) => {
    const stage = await stageOf(t);
    const { id, given } = await sendNoting(stage, ["one"], UNKNOWN);
    assert.deepEqual(await stage.rows(), [{ number: 1, state: "unknown", reference: `attempt:${id}/1`, note: "one" }]);
    await stage.attempts().note(given[0] ?? assert.fail(), "two");
    assert.deepEqual(await stage.noted(), ["two"]);
    stage.provider.onSend = () => "never";
    stage.provider.settleNext.push("absent");
    await stage.pass(SETTLE_AFTER_MS);
    assert.deepEqual(await stage.rows(), []);
  });

  test("comes with the outcome, and goes with the receipt that says so", async (t) => {
    const stage = await stageOf(t);
    const { id, given } = await sendNoting(stage, [], { outcome: "accepted", reference: "ref-1", note: () => "one" });
    assert.deepEqual(await stage.noted(), ["one"]);
    await stage.report(receipt("delivered", { note: { reference: "ref-1", text: null } }));
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "delivered"]);
    assert.deepEqual(await stage.rows(), [{ number: 1, state: "accepted", reference: "ref-1", note: null }]);
    const attempt = { ...(given[0] ?? assert.fail()), reference: "ref-1" };
    await stage.attempts().change(attempt, "two");
    assert.deepEqual(await stage.noted(), ["two"]);
  });

  test("is the one that the provider has when the outcome is committed, whatever came between", async (t) => {
    const stage = await stageOf(t);
    const texts = ["one"];
    stage.provider.onSend = async (message) => {
      await noteAll(stage, message, ["none"]);
      // A receipt comes after the response, and before the outcome is on disk.
      void Promise.resolve().then(() => {
        texts.push("two");
        return noteAll(stage, message, texts.slice(-1));
      });
      return { outcome: "accepted", reference: "ref-1", note: () => texts.at(-1) };
    };
    const id = await stage.send();
    await stage.run();
    assert.equal((await stage.message(id)).status, "sent");
    assert.deepEqual(await stage.rows(), [{ number: 1, state: "accepted", reference: "ref-1", note: "two" }]);
  });

  test("can be replaced after the message was given up with an unknown outcome", async (t) => {
    const stage = await stageOf(t);
    const { id, given } = await sendNoting(stage, ["one"], UNKNOWN);
    const [message = assert.fail()] = given;
    await stage.pass(400_000);
    assert.equal((await stage.message(id)).errorCode, "OUTCOME_UNKNOWN");
    await refuses(stage, message);
    await stage.attempts().change({ ...message, reference: "ref-1" }, "two");
    assert.deepEqual(await stage.noted(), ["two"]);
    await stage.attempts().change({ ...message, reference: "ref-1" }, null);
    assert.deepEqual(await stage.noted(), []);
    await stage.attempts().change({ messageId: "msg_none", attemptedAt: 1, reference: "ref-1" }, "three");
    assert.deepEqual(await stage.noted(), []);
  });

  test("goes with a receipt of a message that the service no longer knows", async (t) => {
    const stage = await stageOf(t);
    await sendNoting(stage, [], { outcome: "accepted", reference: "ref-1", note: () => "one" });
    const note = { reference: "ref-1", text: null };
    await stage.report(receipt("delivered", { reference: "ref-none", note }));
    assert.deepEqual(await stage.noted(), []);
  });
});

/** A message whose attempt was noted, and given up with an unknown outcome. */
async function giveUp(stage: Stage) {
  const { id, given } = await sendNoting(stage, ["one"], UNKNOWN);
  stage.provider.onSettle = () => UNKNOWN;
  for (let passedMs = 0; passedMs < 320_000; passedMs += 15_000) await stage.pass(15_000);
  assert.equal((await stage.message(id)).errorCode, "OUTCOME_UNKNOWN");
  return { id, attempt: given[0] ?? assert.fail() };
}

describe("the note of an attempt that was given up with an unknown outcome", () => {
  test("stays for its provider, until the provider ends it", async (t) => {
    const stage = await stageOf(t);
    const { attempt } = await giveUp(stage);
    await stage.restart();
    assert.deepEqual(await stage.noted(), ["one"]);
    await stage.attempts().end({ ...attempt, attemptedAt: attempt.attemptedAt - 1 });
    assert.deepEqual(await stage.noted(), ["one"]);
    await stage.attempts().end(attempt);
    assert.deepEqual(await stage.rows(), []);
  });

  test("ends with the reference of what the peer refused, which is ours and of no receipt", async (t) => {
    const stage = await stageOf(t);
    const { id, attempt } = await giveUp(stage);
    await stage.attempts().end(attempt, "ref-refused");
    await stage.attempts().end(attempt, "ref-other");
    assert.deepEqual(await stage.rows(), [{ number: 1, state: "rejected", reference: "ref-refused", note: null }]);
    assert.deepEqual([...(await stage.attempts().known(["ref-refused", "ref-other"]))], ["ref-refused"]);
    await stage.report(receipt("delivered", { reference: "ref-refused" }));
    assert.equal((await stage.message(id)).status, "failed");
  });

  test("goes when the message is retried by hand", async (t) => {
    const stage = await stageOf(t);
    const { id } = await giveUp(stage);
    const request = { customerId: stage.customer.id, id, mayDuplicate: true, idempotencyKey: null };
    stage.provider.onSend = () => "never";
    await retryMessage(stage.life.deps, request);
    assert.deepEqual(await stage.rows(), []);
  });

  test("goes when its contact is erased", async (t) => {
    const stage = await stageOf(t);
    const { id } = await giveUp(stage);
    await eraseAll(stage, (await stage.message(id)).to);
    assert.deepEqual(await stage.rows(), []);
  });
});

async function eraseAll(stage: Stage, phoneNumber: string): Promise<void> {
  const { deps } = stage.life;
  const customerId = stage.customer.id;
  const { contact } = await createContact(deps, customerId, { idempotencyKey: null, body: { phoneNumber } });
  await eraseContact(deps, customerId, contact.id);
  const places = new Map();
  while (await eraseContacts(deps, places));
}

describe("a row of a send attempt", () => {
  test("loses its note and keeps its reference when its contact is erased", async (t) => {
    const stage = await stageOf(t);
    const part = { reference: "ref-text", what: "the text", note: () => "of the text" };
    stage.provider.sendNext.push({ outcome: "accepted", reference: "ref-1", note: () => "of the rest", part });
    const id = await stage.send();
    await stage.run();
    assert.deepEqual((await stage.noted()).sort(), ["of the rest", "of the text"]);
    assert.deepEqual((await stage.message(id)).sentPart, { reference: "ref-text", what: "the text" });
    await eraseAll(stage, (await stage.message(id)).to);
    assert.deepEqual(await stage.noted(), []);
    assert.deepEqual(await stage.attempts().known(["ref-text", "ref-1"]), new Set(["ref-text", "ref-1"]));
    // Its provider still tracks the message, and must not put an address back.
    const [attempt = assert.fail()] = stage.provider.handed;
    await stage.attempts().change({ ...attempt, reference: "ref-1" }, "again");
    await stage.report(receipt("delivered", { note: { reference: "ref-1", text: "again" } }));
    assert.deepEqual(await stage.noted(), []);
  });

  test("names what the peer refused, if the peer named it, and no receipt of it disturbs a later attempt", async (t) => {
    const stage = await stageOf(t);
    const refused: Outcome = { outcome: "rejected", code: "E42", reason: "not wanted", reference: "ref-refused" };
    const outcomes: Outcome[] = [refused, UNKNOWN];
    stage.provider.onSend = () => outcomes.shift() ?? assert.fail();
    const id = await stage.send();
    await stage.run();
    await stage.report(receipt("failed", { reference: "ref-refused", channel: "imessage" }));
    assert.equal((await stage.message(id)).status, "pending");
    assert.deepEqual(await stage.rows(), [{ number: 1, state: "rejected", reference: "ref-refused", note: null }]);
    assert.deepEqual([...(await stage.attempts().known(["ref-refused"]))], ["ref-refused"]);
  });

  test("costs a noted send one transaction more, and no conflict", async (t) => {
    const stage = await stageOf(t);
    const transactions = async (texts: readonly string[]) => {
      const before = stage.life.commits;
      await sendNoting(stage, texts, { outcome: "accepted", reference: `ref-${texts.length}` });
      return stage.life.commits - before;
    };
    assert.equal(await transactions(["one"]), (await transactions([])) + 1);
  });

  test("is there once a receipt proves that it was accepted, under the receipt's reference and with its note", async (t) => {
    const stage = await stageOf(t);
    const { id: messageId } = await sendNoting(stage, ["one"], UNKNOWN);
    const note = { reference: "ref-9", text: "two" };
    await stage.report(receipt("sent", { messageId, reference: "ref-9", note }));
    assert.deepEqual(await stage.rows(), [{ number: 1, state: "accepted", reference: "ref-9", note: "two" }]);
  });

  test("is made for each channel that accepted the message, and none for a refusal", async (t) => {
    const stage = await stageOf(t);
    const outcomes: Outcome[] = [REJECTED, { outcome: "accepted", reference: "ref-2" }];
    stage.provider.onSend = () => outcomes.shift() ?? assert.fail();
    const id = await stage.send();
    await stage.run();
    assert.deepEqual(await stage.eventTypes(id), ["queued", "fallback", "sent"]);
    assert.deepEqual(await stage.rows(), [{ number: 2, state: "accepted", reference: "ref-2", note: null }]);
  });

  test("is made if a part was sent, and another one for the rest", async (t) => {
    const stage = await stageOf(t);
    stage.provider.sendNext.push(partly({ outcome: "deferred", retryAfterMs: 1_000, reason: "busy" }));
    stage.provider.sendNext.push(partly({ outcome: "deferred", retryAfterMs: 1_000, reason: "busy" }));
    const id = await stage.send();
    for (let attempt = 1; attempt <= 3; attempt += 1) await stage.pass(attempt === 1 ? 0 : 1_000);
    assert.equal((await stage.message(id)).status, "sent");
    assert.deepEqual(await stage.rows(), [
      { number: 1, state: "partly", reference: "ref-text", note: null },
      { number: 3, state: "accepted", reference: "ref-1", note: null },
    ]);
    assert.deepEqual(await stage.attempts().known(["ref-text", "ref-1", "ref-3"]), new Set(["ref-text", "ref-1"]));
  });
});
