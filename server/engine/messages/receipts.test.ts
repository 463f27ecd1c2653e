/** Receipts, early, late, repeated and reversed: the effect of each on a message, by its status. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SendMessage } from "../../../sdk/wire.ts";
import { type EngineStage, engineStage } from "../../../test/support/engine.ts";
import { NOT_REACHABLE, REJECTED, receipt, UNKNOWN } from "../../../test/support/provider.ts";
import type { MessageId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import type { Outcome, ReceiptSignal } from "../../providers/provider.ts";
import { apply } from "../apply.ts";
import { retryMessage } from "./actions.ts";
import { cancelSchedule } from "./schedule.ts";

type Receipt = ReceiptSignal["receipt"];
const RECEIPTS: readonly Receipt[] = ["sent", "delivered", "read", "failed"];

const ALONE: Partial<SendMessage> = { routing: { fallback: false } };

/** Brings a message into a status, and gives its id. */
type Prepare = (stage: EngineStage) => Promise<MessageId>;

const sentAnd =
  (...receipts: Receipt[]): Prepare =>
  async (stage) => {
    const id = await stage.send(ALONE);
    await stage.run();
    for (const kind of receipts) await stage.report(receipt(kind));
    return id;
  };

const endedWith =
  (outcome: Outcome): Prepare =>
  async (stage) => {
    stage.provider.sendNext.push(outcome);
    const id = await stage.send(ALONE);
    await stage.run();
    return id;
  };

const IN_AN_HOUR = (stage: EngineStage) => new Date(stage.clock.now() + 3_600_000).toISOString();

interface Row {
  title: string;
  prepare: Prepare;
  status: Message["status"];
  /** Status after each receipt and the events that it adds; a receipt that is not named changes nothing. */
  after: Partial<Record<Receipt, [status: Message["status"], ...reported: string[]]>>;
}

/** The transitions caused by receipts. */
const TABLE: Row[] = [
  {
    title: "scheduled",
    prepare: async (stage) => stage.send({ scheduledAt: IN_AN_HOUR(stage) }),
    status: "scheduled",
    after: {},
  },
  {
    title: "cancelled",
    async prepare(stage) {
      const id = await stage.send({ scheduledAt: IN_AN_HOUR(stage) });
      await cancelSchedule(stage.life.deps, stage.customer.id, id);
      return id;
    },
    status: "cancelled",
    after: {},
  },
  {
    title: "queued after a deferral",
    prepare: endedWith({ outcome: "deferred", retryAfterMs: 60_000, reason: "busy" }),
    status: "queued",
    after: {},
  },
  {
    title: "pending with an unknown outcome",
    prepare: endedWith(UNKNOWN),
    status: "pending",
    after: {
      sent: ["sent", "sent"],
      delivered: ["delivered", "sent", "delivered"],
      read: ["read", "sent", "delivered", "read"],
      failed: ["failed", "failed"],
    },
  },
  {
    title: "sent",
    prepare: sentAnd(),
    status: "sent",
    after: {
      delivered: ["delivered", "delivered"],
      read: ["read", "delivered", "read"],
      failed: ["failed", "failed"],
    },
  },
  { title: "delivered", prepare: sentAnd("delivered"), status: "delivered", after: { read: ["read", "read"] } },
  { title: "read", prepare: sentAnd("read"), status: "read", after: {} },
  {
    title: "failed after it was sent",
    prepare: sentAnd("failed"),
    status: "failed",
    after: { delivered: ["delivered", "delivered"], read: ["read", "delivered", "read"] },
  },
  {
    title: "refused at the send attempt",
    prepare: endedWith(REJECTED),
    status: "failed",
    after: {
      sent: ["sent", "sent"],
      delivered: ["delivered", "sent", "delivered"],
      read: ["read", "sent", "delivered", "read"],
    },
  },
  {
    title: "unsent",
    async prepare(stage) {
      const id = await sentAnd("delivered")(stage);
      const { version } = await stage.message(id);
      await stage.deps.store.commit([{ op: "update", table: "messages", id, version, set: { status: "unsent" } }]);
      return id;
    },
    status: "unsent",
    after: {},
  },
];

describe("a receipt for a message that is", () => {
  for (const { title, prepare, status, after } of TABLE) {
    for (const kind of RECEIPTS) {
      const [becomes, ...adds] = after[kind] ?? [status];
      test(`${title}: ${kind} makes it ${becomes}, emits ${adds.join(", ") || "nothing"}, and nothing when it is repeated`, async (t) => {
        const stage = await engineStage(t);
        const id = await prepare(stage);
        assert.equal((await stage.message(id)).status, status);
        const before = await stage.eventTypes(id);
        const named = receipt(kind, { messageId: id });
        await stage.report(named);
        const once = await stage.message(id);
        assert.equal(once.status, becomes);
        assert.deepEqual((await stage.eventTypes(id)).slice(before.length), adds);
        await stage.report(named);
        await stage.report(named);
        assert.deepEqual({ ...(await stage.message(id)), version: 0 }, { ...once, version: 0 });
        assert.deepEqual((await stage.eventTypes(id)).slice(before.length), adds);
        if (becomes === "failed") return;
        assert.deepEqual([once.errorCode, once.errorMessage, once.providerErrorCode], [null, null, null]);
      });
    }
  }
});

test("a failed receipt fails with the channel's code, and the provider's own beside it", async (t) => {
  const stage = await engineStage(t);
  const imessage = await stage.send({ routing: { preference: ["imessage"] } });
  const sms = await stage.send({ to: "+15550100002", routing: { preference: ["sms"] } });
  await stage.run();
  await stage.report(receipt("failed", { messageId: imessage, reference: "ref-1", code: "22", reason: "blocked" }));
  await stage.report(receipt("failed", { messageId: sms, reference: "ref-2", channel: "sms" }));
  const failed = await stage.message(imessage);
  assert.deepEqual(
    [failed.errorCode, failed.providerErrorCode, failed.errorMessage],
    ["IMESSAGE_SEND_FAILED", "22", "blocked"],
  );
  assert.equal((await stage.message(sms)).errorCode, "SMS_SEND_FAILED");
});

describe("a channel that was given up", () => {
  test("by a failed receipt falls back with REJECTED, like a refusal at the send attempt", async (t) => {
    const stage = await engineStage(t);
    const id = await stage.send();
    await stage.run();
    await stage.report(receipt("failed"));
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "fallback", "sent"]);
    assert.equal((await stage.events(id))[2]?.data.reason, "REJECTED");
  });

  test("by a failed receipt that says the recipient is not on it falls back with NOT_REACHABLE", async (t) => {
    const stage = await engineStage(t);
    const id = await stage.send();
    await stage.run();
    await stage.report(receipt("failed", { code: "22", notReachable: true }));
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "fallback", "sent"]);
    assert.equal((await stage.events(id))[2]?.data.reason, "NOT_REACHABLE");
  });

  test("has its later receipts only noted in the timeline, each kind once", async (t) => {
    const stage = await engineStage(t);
    stage.provider.sendNext.push(stage.provider.accepted());
    const id = await stage.send({ routing: { fallbackAfterSeconds: 10 } });
    await stage.run();
    await stage.pass(10_000);
    const fellBack = await stage.message(id);
    assert.deepEqual([fellBack.status, fellBack.channel, fellBack.providerMessageId], ["sent", "sms", "ref-2"]);
    for (const kind of [...RECEIPTS, ...RECEIPTS]) await stage.report(receipt(kind));
    const message = await stage.message(id);
    assert.deepEqual([message.status, message.deliveredAt, message.providerMessageId], ["sent", null, "ref-2"]);
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "fallback", "sent"]);
    assert.deepEqual(
      message.timeline.slice(fellBack.timeline.length).map(({ status, channel, reason }) => [status, channel, reason]),
      RECEIPTS.map((kind) => ["sent", "imessage", `${kind} receipt of a channel that was given up`]),
    );
    await stage.report(receipt("delivered", { reference: "ref-2", channel: "sms" }));
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "fallback", "sent", "delivered"]);
  });

  test("stays given up if the response to the send attempt arrives after the failed receipt", async (t) => {
    const stage = await engineStage(t);
    const answer = Promise.withResolvers<Outcome>();
    stage.provider.sendNext.push(answer.promise, NOT_REACHABLE);
    const id = await stage.send();
    await stage.run();
    await stage.report(receipt("failed", { messageId: id }));
    answer.resolve({ outcome: "accepted", reference: "ref-1" });
    await stage.run();
    assert.deepEqual(await stage.eventTypes(id), ["queued", "fallback", "failed"]);
    assert.deepEqual(
      stage.provider.handed.map(({ channel }) => channel),
      ["imessage", "sms"],
    );
  });
});

/** Every order of some things. */
function orders<Thing>(things: readonly Thing[]): Thing[][] {
  if (things.length < 2) return [[...things]];
  return things.flatMap((first, index) => orders(things.toSpliced(index, 1)).map((rest) => [first, ...rest]));
}

/** Final statuses of a sent message, in any order of response and receipts; each receipt comes twice. */
const ENDS: [words: ("accepted" | Receipt)[], status: Message["status"], reported: (order: string[]) => string[]][] = [
  [["accepted", "sent", "delivered", "read"], "read", () => ["sent", "delivered", "read"]],
  [["accepted", "read"], "read", () => ["sent", "delivered", "read"]],
  [["accepted", "sent", "failed"], "failed", (order) => (order[0] === "failed" ? ["failed"] : ["sent", "failed"])],
  [
    ["accepted", "delivered", "failed"],
    "delivered",
    ([first, second]) => {
      if (first === "failed") return ["failed", "sent", "delivered"];
      return first === "accepted" && second === "failed" ? ["sent", "failed", "delivered"] : ["sent", "delivered"];
    },
  ],
];

describe("receipts never take a status back, and emit each event once, in every order of", () => {
  for (const [words, status, expected] of ENDS) {
    for (const order of orders(words)) {
      test(`${order.join(", ")}: it ends ${status}`, async (t) => {
        const stage = await engineStage(t);
        const answer = Promise.withResolvers<Outcome>();
        stage.provider.sendNext.push(answer.promise);
        const id = await stage.send(ALONE);
        await stage.run();
        for (const word of order) {
          if (word === "accepted") answer.resolve({ outcome: "accepted", reference: "ref-1" });
          else for (let time = 0; time < 2; time += 1) await stage.report(receipt(word, { messageId: id }));
          await stage.run();
        }
        const message = await stage.message(id);
        assert.equal(message.status, status);
        assert.equal(message.providerMessageId, "ref-1");
        assert.deepEqual(await stage.eventTypes(id), ["queued", ...expected(order)]);
        assert.deepEqual([message.dueAt, message.claimedUntil], [null, null]);
        assert.equal(stage.provider.handed.length, 1);
      });
    }
  }
});

test("a receipt for an unknown message changes nothing, and apply() returns `unknown`", async (t) => {
  const stage = await engineStage(t);
  const id = await stage.send();
  await stage.run();
  const before = await stage.message(id);
  const { deps } = stage.life;
  const nobody = "msg_00000000-0000-7000-8000-000000000000";
  for (const about of [{ reference: "of somebody else" }, { reference: "none", messageId: nobody } as const]) {
    assert.equal(await apply(deps, stage.instance.id, receipt("read", about)), "unknown");
  }
  assert.deepEqual(await stage.message(id), before);
});

test("a receipt of another send attempt of the same channel, by its reference, is only noted", async (t) => {
  const stage = await engineStage(t);
  const id = await stage.send();
  await stage.run();
  await stage.report(receipt("read", { messageId: id, reference: "another" }));
  assert.equal((await stage.message(id)).status, "sent");
  assert.deepEqual(await stage.eventTypes(id), ["queued", "sent"]);
});

test("a receipt of an instance that did not send the message is only noted", async (t) => {
  const stage = await engineStage(t);
  const id = await stage.send();
  await stage.run();
  await apply(stage.deps, "inst_other", receipt("read", { messageId: id }));
  assert.equal((await stage.message(id)).status, "sent");
});

test("a late receipt leaves a manually retried message in the queue", async (t) => {
  const stage = await engineStage(t);
  const id = await sentAnd("failed")(stage);
  stage.provider.sendNext.push({ outcome: "deferred", retryAfterMs: 60_000, reason: "busy" });
  const retrying = { customerId: stage.customer.id, id, mayDuplicate: false, idempotencyKey: null };
  await retryMessage(stage.life.deps, retrying);
  await stage.run();
  await stage.report(receipt("delivered", { messageId: id }));
  assert.equal((await stage.message(id)).status, "queued");
  await stage.pass(60_000);
  assert.equal((await stage.message(id)).providerMessageId, "ref-2");
});

test("a receipt is applied to the stored message, not to an outdated cached copy", async (t) => {
  const stage = await engineStage(t);
  const { messageCache } = stage.life.deps;
  const id = await stage.send(ALONE);
  await stage.run();
  await stage.report(receipt("failed"));
  const failed = await stage.message(id);
  // As if another process had corrected it in the meantime.
  const set = { status: "sent", errorCode: null, errorMessage: null } as const;
  await stage.deps.store.commit([{ op: "update", table: "messages", id, version: failed.version, set }]);
  messageCache.keep(failed);
  await stage.report(receipt("failed"));
  assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "failed", "failed"]);
});

test("the `forget` key of a receipt is deleted with its change, and also if it changes nothing", async (t) => {
  const stage = await engineStage(t);
  const { instance, deps } = stage;
  const put = (key: string) =>
    deps.store.commit([{ op: "put", table: "memory", record: { instanceId: instance.id, key, value: "x" } }]);
  const keys = async () => (await deps.store.db.selectFrom("memory").select("key").execute()).map(({ key }) => key);
  for (const key of ["a", "b", "c", "d"]) await put(key);
  await stage.send();
  await stage.run();
  await stage.report(receipt("delivered", { forget: "a" }));
  await stage.report(receipt("delivered", { forget: "b" }));
  await stage.report(receipt("read", { reference: "nobody's", forget: "c" }));
  assert.deepEqual(await keys(), ["d"]);
});
