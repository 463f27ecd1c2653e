/**
 * An instance whose settings change to another account: the new account never repeats a send attempt of the old one.
 */

import assert from "node:assert/strict";
import { describe, type TestContext as NodeTest, test } from "node:test";
import { carriersOn, handedTo, SMS_ONLY } from "../../../test/support/carriers.ts";
import { commitAll } from "../../../test/support/context.ts";
import { deferred, receipt, ScriptedProvider, SETTLE_AFTER_MS, UNKNOWN } from "../../../test/support/provider.ts";
import type { Outcome } from "../../providers/provider.ts";
import { apply } from "../apply.ts";
import { requireInstance, updateInstance } from "./instances.ts";

const ASK_AGAIN_MS = 15_000;
const ROUNDS_UNTIL_FAILED = 25;
const DOWN: Outcome = { outcome: "deferred", retryAfterMs: 60_000, reason: "the line is down", isDown: true };

/** A carrier of Twilio's kind with two accounts; a peer that is asked says that it never had the message. */
async function twoAccounts(t: NodeTest) {
  const peers = new Map<unknown, ScriptedProvider>();
  const peer = (account: string) => {
    const made = peers.get(account) ?? new ScriptedProvider({ channels: ["sms"] });
    made.onSettle = () => "absent";
    peers.set(account, made);
    return made;
  };
  const create = (_: string, { config }: { config: Readonly<Record<string, unknown>> }) =>
    peer(String(config.accountSid));
  const carriers = await carriersOn(t, { create });
  const { stage } = carriers;
  const { id } = await carriers.add(new ScriptedProvider({ channels: ["sms"] }), "twilio");
  await carriers.setRoutes([{ prefix: "+", instanceId: id }]);
  const change = async (config: Record<string, unknown>) => {
    const merge = (_: unknown, before: Record<string, unknown>) => ({ ...before, ...config });
    await updateInstance(stage.life.deps, id, { name: null, merge });
    await stage.run();
  };
  await change({ accountSid: "first", authToken: "one" });
  return { stage, id, first: peer("first"), second: peer("second"), change };
}

describe("when an instance is given another account", () => {
  test("the new account is not asked about an earlier attempt, so the message is not sent twice, and a late receipt corrects it", async (t) => {
    const { stage, id, first, second, change } = await twoAccounts(t);
    first.sendNext.push(UNKNOWN);
    const message = await stage.send(SMS_ONLY);
    await stage.run();
    await change({ accountSid: "second" });
    await stage.pass(SETTLE_AFTER_MS);
    for (let round = 0; round < ROUNDS_UNTIL_FAILED; round += 1) await stage.pass(ASK_AGAIN_MS);
    assert.deepEqual([handedTo({ provider: first }), second.handed, second.asked], [[message], [], []]);
    assert.equal((await stage.message(message)).errorCode, "OUTCOME_UNKNOWN");
    await apply(stage.life.deps, id, receipt("delivered", { channel: "sms", messageId: message, reference: "late" }));
    assert.equal((await stage.message(message)).status, "delivered");
  });

  test("the new account is not asked about an attempt that was in flight at the change", async (t) => {
    const { stage, first, second, change } = await twoAccounts(t);
    const answer = Promise.withResolvers<Outcome>();
    first.sendNext.push(answer.promise);
    const message = await stage.send(SMS_ONLY);
    await stage.run();
    await change({ accountSid: "second" });
    answer.resolve(UNKNOWN);
    await stage.run();
    await stage.pass(SETTLE_AFTER_MS);
    await stage.pass(ASK_AGAIN_MS);
    assert.deepEqual([second.handed, second.asked], [[], []]);
    assert.equal((await stage.message(message)).status, "pending");
  });

  test("the new account is not asked about an interrupted attempt by the next process", async (t) => {
    const { stage, id, first, second, change } = await twoAccounts(t);
    first.sendNext.push("never");
    const message = await stage.send(SMS_ONLY);
    await stage.run();
    await change({ accountSid: "second" });
    await stage.restart();
    await stage.life.deps.connections.connect(stage.life.deps, await requireInstance(stage.life.deps, id));
    await stage.pass(SETTLE_AFTER_MS);
    await stage.pass(ASK_AGAIN_MS);
    assert.deepEqual([second.handed, second.asked], [[], []]);
    assert.equal((await stage.message(message)).status, "pending");
  });

  test("the first account is asked once the settings name it again, also with another password", async (t) => {
    const { stage, first, change } = await twoAccounts(t);
    first.sendNext.push(UNKNOWN);
    const message = await stage.send(SMS_ONLY);
    await stage.run();
    await change({ accountSid: "second" });
    await change({ accountSid: "first", authToken: "two" });
    await stage.pass(SETTLE_AFTER_MS);
    assert.deepEqual([first.asked.length, first.handed.length], [1, 2]);
    assert.equal((await stage.message(message)).status, "sent");
  });

  test("an attempt without a recorded account is reconciled with the present account", async (t) => {
    const { stage, first } = await twoAccounts(t);
    first.sendNext.push(UNKNOWN);
    const id = await stage.send(SMS_ONLY);
    await stage.run();
    const { version } = await stage.message(id);
    await commitAll(stage.deps, [{ op: "update", table: "messages", id, version, set: { account: null } }]);
    await stage.pass(SETTLE_AFTER_MS);
    assert.deepEqual([first.asked.length, first.handed.length], [1, 2]);
  });

  test("a message that the first account deferred goes to the new account", async (t) => {
    const { stage, first, second, change } = await twoAccounts(t);
    first.sendNext.push(deferred(ASK_AGAIN_MS));
    const message = await stage.send(SMS_ONLY);
    await stage.run();
    await change({ accountSid: "second" });
    await stage.pass(ASK_AGAIN_MS);
    assert.deepEqual(handedTo({ provider: second }), [message]);
  });
});

test("a late report of the previous connection that it is down does not pause the new connection", async (t) => {
  const { stage, id, first, second, change } = await twoAccounts(t);
  const answer = Promise.withResolvers<Outcome>();
  first.sendNext.push(answer.promise);
  const message = await stage.send(SMS_ONLY);
  await stage.run();
  await change({ accountSid: "second" });
  answer.resolve(DOWN);
  await stage.run();
  assert.equal(stage.life.deps.connections.isUp(stage.life.deps, id), true);
  assert.deepEqual(handedTo({ provider: second }), [message]);
});
