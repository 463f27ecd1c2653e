/** Which instance a message goes to: by routes, by who is up, by who refused it; and that nobody gets it twice. */

import assert from "node:assert/strict";
import { describe, type TestContext as NodeTest, test } from "node:test";
import { type Carriers, carriersOn, handedTo, reasonsOf, SMS_FIRST, SMS_ONLY } from "../../../test/support/carriers.ts";
import { checkSendAttempts } from "../../../test/support/engine.ts";
import {
  deferred,
  inbound,
  NOT_REACHABLE,
  REJECTED,
  receipt,
  ScriptedProvider,
  SETTLE_AFTER_MS,
  UNKNOWN,
} from "../../../test/support/provider.ts";
import { apply } from "../apply.ts";
import { retryMessage } from "../messages/actions.ts";

const MINUTE_MS = 60_000;
/** A provider that does not know yet is asked again after this. */
const ASK_AGAIN_MS = 15_000;

/** A Mac, and two carriers that the same route names. */
async function pair(t: NodeTest) {
  const carriers = await carriersOn(t);
  const a = await carriers.add();
  const b = await carriers.add();
  await carriers.setRoutes([a, b].map(({ id }) => ({ prefix: "+1", instanceId: id })));
  return { ...carriers, a, b };
}

type Pair = Awaited<ReturnType<typeof pair>>;

const where = ({ stage }: Carriers) => stage.instance.name;
const retry = ({ stage }: Carriers, id: string) =>
  retryMessage(stage.life.deps, { customerId: stage.customer.id, id, mayDuplicate: false, idempotencyKey: null });

describe("routing", () => {
  test("a number that has only iMessage falls back to SMS by its customer's route", async (t) => {
    const carriers = await carriersOn(t);
    const { stage, mac } = carriers;
    const carrier = await carriers.add();
    await carriers.setRoutes([{ prefix: "+", instanceId: carrier.id }]);
    mac.provider.sendNext.push(NOT_REACHABLE);
    const id = await stage.send();
    await stage.run();
    await apply(stage.life.deps, carrier.id, receipt("delivered", { channel: "sms" }));
    assert.deepEqual(await stage.eventTypes(id), ["queued", "fallback", "sent", "delivered"]);
    const message = await stage.message(id);
    assert.deepEqual(
      message.timeline.map(({ status, channel, reason, instanceId }) => [status, channel, reason, instanceId]),
      [
        [
          "queued",
          "imessage",
          `iMessage (preferred), via ${mac.name} (this number's instance); from ${message.from} (default number)`,
          mac.id,
        ],
        ["pending", "imessage", undefined, mac.id],
        ["queued", "sms", `fallback: NOT_REACHABLE; SMS via ${carrier.name} (route +)`, carrier.id],
        ["pending", "sms", undefined, carrier.id],
        ["sent", "sms", undefined, carrier.id],
        ["delivered", "sms", undefined, undefined],
      ],
    );
    assert.deepEqual([message.instanceId, message.channel], [carrier.id, "sms"]);
  });

  test("without a route, a number that has only iMessage has no SMS", async (t) => {
    const { stage, mac } = await carriersOn(t);
    await assert.rejects(stage.send(SMS_ONLY), { code: "NO_CHANNEL_AVAILABLE" });
    mac.provider.sendNext.push(NOT_REACHABLE);
    const id = await stage.send();
    await stage.run();
    assert.deepEqual(await stage.eventTypes(id), ["queued", "failed"]);
  });

  test("an unavailable channel is skipped, and the timeline says so", async (t) => {
    const carriers = await carriersOn(t, { provider: new ScriptedProvider({ channels: ["sms"] }) });
    const id = await carriers.stage.send();
    const message = await carriers.stage.message(id);
    const [reason] = reasonsOf(message);
    const here = `via ${where(carriers)} (this number's instance)`;
    assert.equal(reason, `SMS (no iMessage between these two), ${here}; from ${message.from} (default number)`);
  });

  test("the longest prefix wins over SMS of the number's own instance", async (t) => {
    const carriers = await carriersOn(t, { provider: new ScriptedProvider() });
    const { stage } = carriers;
    const [uk, world] = [await carriers.add(), await carriers.add()];
    await carriers.setRoutes([
      { prefix: "+4", instanceId: world.id },
      { prefix: "+44", instanceId: uk.id },
    ]);
    const ids = [];
    for (const to of ["+447700900001", "+4915100000001", "+15550100001"])
      ids.push(await stage.send({ ...SMS_ONLY, to }));
    await stage.run();
    assert.deepEqual(
      [uk, world, carriers.mac].map(handedTo),
      ids.map((id) => [id]),
    );
  });

  test("the first instance that is up among two for the same prefix gets the message", async (t) => {
    const { stage, a, b, flip } = await pair(t);
    const first = await stage.send(SMS_ONLY);
    await stage.run();
    await flip(false, a);
    const second = await stage.send(SMS_ONLY);
    await stage.run();
    assert.deepEqual([handedTo(a), handedTo(b)], [[first], [second]]);
    const [reason] = reasonsOf(await stage.message(second));
    const way = `SMS (preferred), via ${b.name} (route +1, as ${a.name} is down)`;
    assert.equal(reason?.split("; ")[0], way);
  });

  test("a scheduled message follows the routes at the time when it is due", async (t) => {
    const { stage, a, b, setRoutes } = await pair(t);
    const scheduledAt = new Date(stage.clock.now() + MINUTE_MS).toISOString();
    const id = await stage.send({ ...SMS_ONLY, scheduledAt });
    assert.equal((await stage.message(id)).instanceId, a.id);
    await setRoutes([{ prefix: "+1", instanceId: b.id }]);
    await stage.pass(MINUTE_MS);
    assert.deepEqual([handedTo(a), handedTo(b)], [[], [id]]);
    const [scheduled, due] = (await stage.message(id)).timeline;
    assert.deepEqual([scheduled?.status, scheduled?.instanceId], ["scheduled", a.id]);
    assert.deepEqual([due?.reason, due?.instanceId], [`via ${b.name} (route +1)`, b.id]);
  });

  test("a reply follows the routes, not the instance that received the contact's message", async (t) => {
    const { stage, mac, a, b } = await pair(t);
    const [to, from] = ["+15550100001", stage.number.address];
    await apply(stage.life.deps, b.id, inbound({ channel: "sms", from: to, to: from }));
    const before = await stage.send({ to });
    const id = await stage.send({ ...SMS_ONLY, to });
    await stage.run();
    assert.deepEqual([mac, a, b].map(handedTo), [[before], [id], []]);
    const reached = await stage.deps.store.db
      .selectFrom("messages")
      .selectAll()
      .where("direction", "=", "inbound")
      .execute();
    assert.deepEqual(
      reached.map(({ instance_id: at, chat_id: chat }) => [at, chat]),
      [[b.id, (await stage.message(id)).chatId]],
    );
  });
});

describe("failover: another instance of the channel", () => {
  test("gets a message that the first refused, before the channel is given up, and its receipts count", async (t) => {
    const { stage, mac, a, b } = await pair(t);
    a.provider.sendNext.push(REJECTED);
    const id = await stage.send(SMS_FIRST);
    await stage.run();
    assert.deepEqual([mac, a, b].map(handedTo), [[], [id], [id]]);
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent"], "for its receivers it never left the queue");
    const message = await stage.message(id);
    assert.deepEqual([message.instanceId, message.instancesTried, message.fallbackTriggered], [b.id, [a.id], false]);
    const reason = `failover: ${a.name} refused it (E42); SMS via ${b.name} (route +1)`;
    assert.deepEqual(reasonsOf(message)[1], reason);
    assert.equal(message.timeline.find((entry) => entry.reason === reason)?.instanceId, b.id);
    checkSendAttempts(message, [...a.provider.handed, ...b.provider.handed]);
    const reported = { channel: "sms", messageId: id } as const;
    await apply(stage.life.deps, a.id, receipt("delivered", { ...reported, reference: "ref-of-a" }));
    assert.equal((await stage.message(id)).status, "sent", "a word of the one that refused it is only noted");
    await apply(stage.life.deps, b.id, receipt("delivered", reported));
    assert.equal((await stage.message(id)).status, "delivered");
  });

  test("that refuses the message too makes it fall back to the next channel", async (t) => {
    const { stage, mac, a, b } = await pair(t);
    a.provider.sendNext.push(REJECTED);
    b.provider.sendNext.push(REJECTED);
    const id = await stage.send(SMS_FIRST);
    await stage.run();
    assert.deepEqual([mac, a, b].map(handedTo), [[id], [id], [id]]);
    assert.deepEqual(await stage.eventTypes(id), ["queued", "fallback", "sent"]);
    const message = await stage.message(id);
    assert.deepEqual([message.instanceId, message.instancesTried, message.channel], [mac.id, [], "imessage"]);
  });

  test("that refuses the message too fails it with its own code if no channel is left, and a retry begins with the first", async (t) => {
    const carriers = await pair(t);
    const { stage, a, b } = carriers;
    a.provider.sendNext.push(REJECTED);
    b.provider.sendNext.push({ outcome: "rejected", code: "LAST", reason: "not by us" });
    const id = await stage.send(SMS_ONLY);
    await stage.run();
    const { errorCode, providerErrorCode } = await stage.message(id);
    assert.deepEqual([errorCode, providerErrorCode], ["REJECTED", "LAST"]);
    await retry(carriers, id);
    await stage.run();
    assert.deepEqual([handedTo(a), handedTo(b)], [[id, id], [id]]);
    const message = await stage.message(id);
    assert.deepEqual([message.status, message.instanceId, message.instancesTried], ["sent", a.id, []]);
    assert.equal(reasonsOf(message).at(-1), `retry; via ${a.name} (route +1)`);
  });

  test("that is down keeps a message that the first refused until it is up", async (t) => {
    const { stage, a, b, flip } = await pair(t);
    await flip(false, b);
    a.provider.sendNext.push(REJECTED);
    const id = await stage.send(SMS_ONLY);
    await stage.run();
    assert.deepEqual([(await stage.message(id)).status, handedTo(b)], ["queued", []]);
    await flip(true, b);
    assert.deepEqual([handedTo(a), handedTo(b)], [[id], [id]]);
  });

  const NEVER: [title: string, act: (carriers: Pair) => void, reported: string[]][] = [
    [
      "reported that the recipient is not on the channel",
      ({ a }) => a.provider.sendNext.push(NOT_REACHABLE),
      ["queued", "fallback", "sent"],
    ],
    ["deferred it", ({ a }) => a.provider.sendNext.push(deferred(MINUTE_MS)), ["queued"]],
    ["had an unknown outcome", ({ a }) => a.provider.sendNext.push(UNKNOWN), ["queued"]],
    ["threw", ({ a }) => a.provider.sendNext.push("throws"), ["queued"]],
  ];
  for (const [title, act, reported] of NEVER) {
    test(`never gets a message after the first instance ${title}`, async (t) => {
      const carriers = await pair(t);
      const { stage, b } = carriers;
      stage.observed.faults.length = 0;
      act(carriers);
      const id = await stage.send(SMS_FIRST);
      await stage.run();
      assert.deepEqual(await stage.eventTypes(id), reported);
      assert.deepEqual(handedTo(b), []);
      stage.observed.faults.length = 0;
    });
  }

  test("never gets a message with an unknown outcome, even if the first is down by then", async (t) => {
    const { stage, a, b, flip } = await pair(t);
    a.provider.sendNext.push(UNKNOWN);
    const id = await stage.send(SMS_FIRST);
    await stage.run();
    await flip(false, a);
    for (let minutes = 0; minutes < 6; minutes += 1) await stage.pass(MINUTE_MS);
    await stage.clock.advance(2 * MINUTE_MS);
    const { status, errorCode } = await stage.message(id);
    assert.deepEqual([status, errorCode, handedTo(b)], ["failed", "OUTCOME_UNKNOWN", []]);
  });

  test("gets a message that reconciliation with the first finds refused, or absent while the first is down", async (t) => {
    const { stage, a, b, flip } = await pair(t);
    a.provider.sendNext.push(UNKNOWN, UNKNOWN);
    a.provider.settleNext.push(REJECTED, "absent");
    const refused = await stage.send(SMS_FIRST);
    await stage.run();
    await stage.pass(SETTLE_AFTER_MS);
    assert.deepEqual(handedTo(b), [refused]);
    const absent = await stage.send({ ...SMS_FIRST, to: "+15550100002" });
    await stage.run();
    await flip(false, a);
    await stage.pass(SETTLE_AFTER_MS);
    await stage.clock.advance(10_000);
    await stage.run();
    assert.deepEqual(handedTo(b), [refused, absent]);
    const message = await stage.message(absent);
    assert.equal(reasonsOf(message).at(-1), `moved: ${a.name} is down; SMS via ${b.name} (route +1)`);
    checkSendAttempts(message, [...a.provider.handed, ...b.provider.handed]);
  });

  test("never gets a message that the first accepted and could not deliver: the channel is given up", async (t) => {
    const { stage, mac, a, b } = await pair(t);
    const id = await stage.send(SMS_FIRST);
    await stage.run();
    await apply(stage.life.deps, a.id, receipt("failed", { channel: "sms", code: "DELIVRD-NOT" }));
    await stage.run();
    assert.deepEqual([mac, a, b].map(handedTo), [[id], [id], []]);
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "fallback", "sent"]);
  });

  test("gets a message whose send attempt a restart cut off only after the first reports it absent", async (t) => {
    const { stage, a, b, flip } = await pair(t);
    a.provider.sendNext.push("never");
    const id = await stage.send(SMS_ONLY);
    await stage.run();
    await stage.restart();
    await flip(false, a);
    await stage.clock.advance(5_000);
    assert.deepEqual([(await stage.message(id)).status, handedTo(b)], ["pending", []]);
    a.provider.settleNext.push("absent");
    await stage.pass(ASK_AGAIN_MS);
    await stage.clock.advance(5_000);
    await stage.run();
    assert.deepEqual([(await stage.message(id)).status, handedTo(a), handedTo(b)], ["sent", [id], [id]]);
  });
});

test("the end of the fallback time changes nothing if no other channel is available", async (t) => {
  const { stage, a, mac, setRoutes } = await pair(t);
  const id = await stage.send({ routing: { fallbackAfterSeconds: 60 } });
  await stage.run();
  await setRoutes([]);
  await stage.pass(MINUTE_MS);
  assert.deepEqual([(await stage.message(id)).status, handedTo(mac), handedTo(a)], ["sent", [id], []]);
  assert.equal((await stage.message(id)).dueAt, null);
});

test("a message whose number was removed keeps its instance and its customer's routes", async (t) => {
  const { stage, mac, a } = await pair(t);
  mac.provider.sendNext.push(deferred(1_000), NOT_REACHABLE);
  const id = await stage.send();
  await stage.run();
  await stage.deps.store.commit([{ op: "delete", table: "numbers", where: { id: stage.number.id } }]);
  stage.deps.configCache.clear();
  await stage.pass(1_000);
  assert.deepEqual([handedTo(mac), handedTo(a)], [[id, id], [id]]);
});
