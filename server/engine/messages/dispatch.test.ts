/** Outcomes of a due message: the next channel, and the codes of a failed message. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SendMessage } from "../../../sdk/wire.ts";
import { checkSendAttempts, engineStage } from "../../../test/support/engine.ts";
import { deferred, NOT_REACHABLE, REJECTED, receipt, UNKNOWN } from "../../../test/support/provider.ts";
import type { Message } from "../../core/message.ts";
import type { Outcome } from "../../providers/provider.ts";

const HOUR_MS = 3_600_000;

const SMS_ONLY: Partial<SendMessage> = { routing: { preference: ["sms"] } };
const NO_FALLBACK: Partial<SendMessage> = { routing: { fallback: false } };
const TAKEN = null;

interface Row {
  title: string;
  sent?: Partial<SendMessage>;
  /** Outcomes in their order; null is `accepted`. */
  outcomes: (Outcome | null)[];
  status: Message["status"];
  channel: Message["channel"];
  expectedEvents: string[];
  errorCode?: string;
  providerErrorCode?: string;
  /** Channels of the send attempts. */
  handed: Message["channel"][];
}

/** Each way in which a channel accepts a message or is given up. */
const ROUTING: Row[] = [
  {
    title: "accepted: sent on the first channel of the preference",
    outcomes: [TAKEN],
    status: "sent",
    channel: "imessage",
    expectedEvents: ["queued", "sent"],
    handed: ["imessage"],
  },
  {
    title: "the order of the preference is that of the channels",
    sent: { routing: { preference: ["sms", "imessage"] } },
    outcomes: [REJECTED, TAKEN],
    status: "sent",
    channel: "imessage",
    expectedEvents: ["queued", "fallback", "sent"],
    handed: ["sms", "imessage"],
  },
  {
    title: "not on the channel: the next one",
    outcomes: [NOT_REACHABLE, TAKEN],
    status: "sent",
    channel: "sms",
    expectedEvents: ["queued", "fallback", "sent"],
    handed: ["imessage", "sms"],
  },
  {
    title: "refused for good: the next one",
    outcomes: [REJECTED, TAKEN],
    status: "sent",
    channel: "sms",
    expectedEvents: ["queued", "fallback", "sent"],
    handed: ["imessage", "sms"],
  },
  {
    title: "refused, and no other channel in the preference: REJECTED",
    sent: SMS_ONLY,
    outcomes: [REJECTED],
    status: "failed",
    channel: "sms",
    expectedEvents: ["queued", "failed"],
    errorCode: "REJECTED",
    providerErrorCode: "E42",
    handed: ["sms"],
  },
  {
    title: "refused with fallback:false: REJECTED, though another channel is left",
    sent: NO_FALLBACK,
    outcomes: [REJECTED],
    status: "failed",
    channel: "imessage",
    expectedEvents: ["queued", "failed"],
    errorCode: "REJECTED",
    providerErrorCode: "E42",
    handed: ["imessage"],
  },
  {
    title: "not on the channel with fallback:false: NO_CHANNEL_AVAILABLE",
    sent: NO_FALLBACK,
    outcomes: [NOT_REACHABLE],
    status: "failed",
    channel: "imessage",
    expectedEvents: ["queued", "failed"],
    errorCode: "NO_CHANNEL_AVAILABLE",
    providerErrorCode: "E404",
    handed: ["imessage"],
  },
  {
    title: "on no channel: NO_CHANNEL_AVAILABLE",
    outcomes: [NOT_REACHABLE, NOT_REACHABLE],
    status: "failed",
    channel: "sms",
    expectedEvents: ["queued", "fallback", "failed"],
    errorCode: "NO_CHANNEL_AVAILABLE",
    providerErrorCode: "E404",
    handed: ["imessage", "sms"],
  },
  {
    title: "not on the first, refused by the second: REJECTED",
    outcomes: [NOT_REACHABLE, REJECTED],
    status: "failed",
    channel: "sms",
    expectedEvents: ["queued", "fallback", "failed"],
    errorCode: "REJECTED",
    providerErrorCode: "E42",
    handed: ["imessage", "sms"],
  },
];

describe("an outcome at the send attempt", () => {
  for (const row of ROUTING) {
    test(row.title, async (t) => {
      const stage = await engineStage(t);
      stage.provider.sendNext.push(...row.outcomes.map((outcome) => outcome ?? stage.provider.accepted()));
      const id = await stage.send(row.sent);
      await stage.run();
      const message = await stage.message(id);
      assert.deepEqual(
        [message.status, message.channel, message.errorCode, message.providerErrorCode],
        [row.status, row.channel, row.errorCode ?? null, row.providerErrorCode ?? null],
      );
      assert.deepEqual(await stage.eventTypes(id), row.expectedEvents);
      assert.deepEqual(
        stage.provider.handed.map(({ channel, attempt }) => [channel, attempt]),
        row.handed.map((channel) => [channel, 1]),
      );
      assert.equal(message.fallbackTriggered, row.expectedEvents.includes("fallback"));
      assert.deepEqual([message.dueAt, message.claimedUntil], [null, null], "nothing is left to be done");
      checkSendAttempts(message, stage.provider.handed);
    });
  }
});

test("message.fallback names both channels and the reason; message.failed names its cause", async (t) => {
  const stage = await engineStage(t);
  stage.provider.sendNext.push(NOT_REACHABLE, REJECTED);
  const id = await stage.send();
  await stage.run();
  const [, fallback, failed] = await stage.events(id);
  const { fallbackFrom, reason, channel, status } = fallback?.data ?? {};
  assert.deepEqual(
    { fallbackFrom, reason, channel, status },
    {
      fallbackFrom: "imessage",
      reason: "NOT_REACHABLE",
      channel: "sms",
      status: "queued",
    },
  );
  assert.deepEqual(failed?.data.error, { code: "REJECTED", message: "not wanted" });
  assert.equal(failed?.data.errorCode, "REJECTED");
  assert.equal(failed?.data.mayHaveBeenSent, undefined, "it provably was not");
  const { timeline, from } = await stage.message(id);
  const here = `via ${stage.instance.name} (this number's instance)`;
  assert.deepEqual(
    timeline.map(({ status: at, channel: on, reason: why }) => [at, on, why]),
    [
      ["queued", "imessage", `iMessage (preferred), ${here}; from ${from} (default number)`],
      ["pending", "imessage", undefined],
      ["queued", "sms", `fallback: NOT_REACHABLE; SMS ${here}`],
      ["pending", "sms", undefined],
      ["failed", "sms", "REJECTED"],
    ],
  );
});

describe("a transient error", () => {
  test("is retried after 1 s, 2 s, 4 s … at most 5 min, never sooner, and emits no event", async (t) => {
    const stage = await engineStage(t);
    stage.provider.onSend = () => deferred();
    const id = await stage.send();
    await stage.run();
    for (const [index, seconds] of [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].entries()) {
      assert.equal(stage.provider.handed.length, index + 1);
      assert.equal((await stage.message(id)).status, "queued");
      await stage.pass(seconds * 1_000 - 1);
      assert.equal(stage.provider.handed.length, index + 1, `not before ${seconds} s`);
      await stage.pass(1);
    }
    stage.provider.onSend = () => stage.provider.accepted();
    await stage.pass(300_000);
    assert.equal((await stage.message(id)).status, "sent");
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent"]);
    checkSendAttempts(await stage.message(id), stage.provider.handed);
    assert.deepEqual(
      stage.provider.handed.map(({ attempt }) => attempt),
      [...stage.provider.handed.keys()].map((index) => index + 1),
    );
  });

  test("is retried exactly when the provider asks for it", async (t) => {
    const stage = await engineStage(t);
    stage.provider.sendNext.push(deferred(7_000));
    const id = await stage.send();
    await stage.run();
    await stage.pass(6_999);
    assert.equal(stage.provider.handed.length, 1);
    await stage.pass(1);
    assert.equal((await stage.message(id)).status, "sent");
  });

  test("on the second channel begins with the first delay again", async (t) => {
    const stage = await engineStage(t);
    stage.provider.sendNext.push(deferred(), deferred(), NOT_REACHABLE, deferred(), stage.provider.accepted());
    const id = await stage.send();
    await stage.run();
    await stage.pass(1_000);
    await stage.pass(2_000);
    assert.equal(stage.provider.handed.length, 4);
    await stage.pass(999);
    assert.equal(stage.provider.handed.length, 4);
    await stage.pass(1);
    assert.equal((await stage.message(id)).status, "sent");
  });

  test("that lasts 72 h fails the message with EXPIRED at that moment, without a fallback", async (t) => {
    const stage = await engineStage(t);
    stage.provider.onSend = () => deferred(50 * 60_000);
    const id = await stage.send();
    await stage.run();
    for (let waitedMs = 0; waitedMs < 72 * HOUR_MS - 60_000; waitedMs += 60_000) await stage.pass(60_000);
    assert.equal((await stage.message(id)).status, "queued");
    await stage.pass(59_999);
    assert.equal((await stage.message(id)).status, "queued");
    const handed = stage.provider.handed.length;
    await stage.pass(1);
    const message = await stage.message(id);
    assert.deepEqual([message.status, message.errorCode, message.channel], ["failed", "EXPIRED", "imessage"]);
    assert.equal(stage.provider.handed.length, handed, "an expired message is not sent");
    assert.deepEqual(await stage.eventTypes(id), ["queued", "failed"]);
    assert.match(message.errorMessage ?? "", /72 hours/);
  });

  test("with a delay beyond 72 h fails the message after 72 h", async (t) => {
    const stage = await engineStage(t);
    stage.provider.sendNext.push(deferred(100 * HOUR_MS));
    const id = await stage.send();
    await stage.run();
    await stage.pass(72 * HOUR_MS);
    assert.equal((await stage.message(id)).errorCode, "EXPIRED");
  });
});

test("a message whose instance is not running waits, and is sent once it runs", async (t) => {
  const stage = await engineStage(t);
  stage.providers.clear();
  const id = await stage.send();
  await stage.run();
  for (let round = 0; round < 20; round += 1) await stage.pass(300_000);
  const waiting = await stage.message(id);
  assert.equal(waiting.status, "queued");
  assert.equal(waiting.fallbackTriggered, false, "an instance that is down is not given up");
  assert.equal(waiting.timeline.length, 1);
  assert.match(waiting.timeline[0]?.reason ?? "", /which is down: the message waits for it/);
  stage.providers.set(stage.instance.id, stage.provider);
  await stage.pass(300_000);
  assert.equal((await stage.message(id)).status, "sent");
  assert.deepEqual(await stage.eventTypes(id), ["queued", "sent"]);
});

test("a scheduled message is queued when it is due, not a millisecond before, and expires 72 h later", async (t) => {
  const stage = await engineStage(t);
  const scheduledAt = new Date(stage.clock.now() + 29 * 24 * HOUR_MS).toISOString();
  const id = await stage.send({ scheduledAt });
  await stage.pass(29 * 24 * HOUR_MS - 1);
  assert.equal((await stage.message(id)).status, "scheduled");
  stage.provider.sendNext.push(deferred(71 * HOUR_MS));
  await stage.pass(1);
  assert.deepEqual(await stage.eventTypes(id), ["scheduled", "queued"]);
  const [, queued] = await stage.events(id);
  assert.equal(queued?.data.scheduledAt, scheduledAt);
  await stage.pass(71 * HOUR_MS);
  assert.equal((await stage.message(id)).status, "sent");
  assert.deepEqual(await stage.eventTypes(id), ["scheduled", "queued", "sent"]);
});

describe("fallbackAfterSeconds", () => {
  const IN_10_S: Partial<SendMessage> = { routing: { fallbackAfterSeconds: 10 } };

  test("falls back when it passes without a delivery, and not before", async (t) => {
    const stage = await engineStage(t);
    const id = await stage.send(IN_10_S);
    await stage.run();
    await stage.pass(9_999);
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent"]);
    await stage.pass(1);
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "fallback", "sent"]);
    const fallback = (await stage.events(id)).find(({ type }) => type === "message.fallback");
    assert.equal(fallback?.data.reason, "NO_DELIVERY");
    const message = await stage.message(id);
    assert.deepEqual([message.status, message.channel, message.dueAt], ["sent", "sms", null]);
    await stage.pass(72 * HOUR_MS);
    assert.deepEqual(
      await stage.eventTypes(id),
      ["queued", "sent", "fallback", "sent"],
      "the last channel is not given up",
    );
  });

  test("ends with a delivery", async (t) => {
    const stage = await engineStage(t);
    const id = await stage.send(IN_10_S);
    await stage.run();
    await stage.report(receipt("delivered"));
    await stage.pass(60_000);
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "delivered"]);
    assert.equal(stage.provider.handed.length, 1);
  });

  test("is off with fallback:false, and by default", async (t) => {
    const stage = await engineStage(t);
    const off = await stage.send({ routing: { fallbackAfterSeconds: 10, fallback: false } });
    const none = await stage.send({ to: "+15550100002" });
    await stage.run();
    await stage.pass(80 * HOUR_MS);
    assert.deepEqual(await stage.eventTypes(off), ["queued", "sent"]);
    assert.deepEqual(await stage.eventTypes(none), ["queued", "sent"]);
  });

  test("is TB_FALLBACK_AFTER by default", async (t) => {
    const stage = await engineStage(t, { settings: { fallbackAfterMs: 60_000 } });
    const id = await stage.send();
    const own = await stage.send({ ...IN_10_S, to: "+15550100002" });
    await stage.run();
    await stage.pass(10_000);
    assert.deepEqual(await stage.eventTypes(own), ["queued", "sent", "fallback", "sent"]);
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent"]);
    await stage.pass(50_000);
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "fallback", "sent"]);
  });

  test("runs from a receipt too, if the response to the send attempt got lost", async (t) => {
    const stage = await engineStage(t);
    const answer = Promise.withResolvers<Outcome>();
    stage.provider.sendNext.push(answer.promise);
    const id = await stage.send(IN_10_S);
    await stage.run();
    await stage.report(receipt("sent", { messageId: id }));
    answer.resolve(UNKNOWN);
    await stage.run();
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent"]);
    await stage.pass(10_000);
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "fallback", "sent"]);
  });
});
