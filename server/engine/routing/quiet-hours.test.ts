/** Quiet hours delay messages and never lose them: a message due in them is sent when they end. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { QuietHours, SendMessage } from "../../../sdk/wire.ts";
import { type EngineStage, engineStage, type StageOptions } from "../../../test/support/engine.ts";
import { deferred, NOT_REACHABLE, receipt } from "../../../test/support/provider.ts";
import { groupFor } from "../../../test/support/sending.ts";
import { STAYS } from "../../../test/support/stays.ts";
import type { MessageId } from "../../core/id.ts";
import { retryMessage } from "../messages/actions.ts";
import { requestPayment } from "../payments/request-payment.ts";
import { setQuietHours } from "./quiet-hours.ts";

const HOUR_MS = 3_600_000;
/** The first moment of simulated time is 2026-01-01T00:00:00.000Z: seven in the evening in New York. */
const NEW_YORK = "+12125550123";
const LONDON = "+442071838750";
const NIGHT: QuietHours = { start: "21:00", end: "08:00", timeZone: null };

async function quietStage(t: Parameters<typeof engineStage>[0], options?: StageOptions): Promise<EngineStage> {
  const stage = await engineStage(t, options);
  await quiet(stage, NIGHT);
  return stage;
}

/** As an administrator sets them: at the process that runs now. */
function quiet(stage: EngineStage, hours: QuietHours | null): Promise<void> {
  return setQuietHours(stage.life.deps, stage.customer.id, hours, STAYS);
}

async function reasons(stage: EngineStage, id: MessageId): Promise<string[]> {
  const { timeline } = await stage.message(id);
  return timeline.flatMap(({ reason }) => (reason?.startsWith("postponed") ? [reason] : []));
}

const handed = ({ provider }: EngineStage) => provider.handed.map(({ messageId }) => messageId);

describe("a message during the recipient's quiet hours", () => {
  test("waits until they end, keeps its whole time to live, and has the reason in its timeline", async (t) => {
    const stage = await quietStage(t);
    const start = stage.clock.now();
    const id = await stage.send({ to: LONDON });
    await stage.run();
    const waiting = await stage.message(id);
    assert.deepEqual([waiting.status, waiting.dueAt], ["queued", start + 8 * HOUR_MS]);
    assert.equal(waiting.expiresAt, start + 80 * HOUR_MS);
    assert.deepEqual(await reasons(stage, id), [`postponed: quiet hours of ${LONDON} until 2026-01-01T08:00:00.000Z`]);
    await stage.pass(8 * HOUR_MS - 1);
    assert.deepEqual(handed(stage), []);
    await stage.pass(1);
    assert.deepEqual(handed(stage), [id]);
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent"]);
  });

  test("delays no message to a recipient without quiet hours at that time", async (t) => {
    const stage = await quietStage(t);
    await stage.send({ to: LONDON });
    const awake = await stage.send({ to: NEW_YORK });
    await stage.run();
    assert.deepEqual(handed(stage), [awake]);
  });

  test("is sent before messages accepted after it", async (t) => {
    const stage = await quietStage(t);
    const ids = [];
    for (let sent = 0; sent < 4; sent += 1) {
      ids.push(await stage.send({ to: LONDON }));
      await stage.run();
      await stage.pass(2 * HOUR_MS);
    }
    assert.deepEqual(handed(stage).length, 4);
    ids.push(await stage.send({ to: LONDON }));
    await stage.run();
    assert.deepEqual(handed(stage), ids);
  });

  test("waits across a restart", async (t) => {
    const stage = await quietStage(t);
    const id = await stage.send({ to: LONDON });
    await stage.run();
    await stage.restart();
    assert.deepEqual(handed(stage), []);
    await stage.pass(8 * HOUR_MS);
    assert.deepEqual(handed(stage), [id]);
  });

  test("never expires because of quiet hours, however short its time to live", async (t) => {
    const stage = await quietStage(t, { settings: { messageTtlMs: HOUR_MS } });
    const id = await stage.send({ to: LONDON });
    await stage.run();
    await stage.pass(8 * HOUR_MS);
    assert.equal((await stage.message(id)).status, "sent");
  });

  test("fails if the recipient wrote STOP while it waited", async (t) => {
    const stage = await quietStage(t);
    const id = await stage.send({ to: LONDON });
    await stage.run();
    await stage.report({
      kind: "optOut",
      from: LONDON,
      to: stage.number.address,
      channel: "sms",
      request: "stop",
      keyword: null,
    });
    await stage.pass(8 * HOUR_MS);
    assert.deepEqual(handed(stage), []);
    assert.equal((await stage.message(id)).errorCode, "RECIPIENT_OPTED_OUT");
  });
});

describe("quiet hours hold for", () => {
  test("a scheduled message, when it is due", async (t) => {
    const stage = await quietStage(t);
    const scheduledAt = new Date(stage.clock.now() + 3 * HOUR_MS).toISOString();
    const id = await stage.send({ to: NEW_YORK, scheduledAt });
    await stage.pass(3 * HOUR_MS);
    assert.deepEqual(await stage.eventTypes(id), ["scheduled", "queued"]);
    assert.deepEqual(handed(stage), []);
    await stage.pass(10 * HOUR_MS);
    assert.deepEqual(handed(stage), [id]);
  });

  test("the next attempt of a deferred message", async (t) => {
    const stage = await quietStage(t);
    stage.provider.sendNext.push(deferred(3 * HOUR_MS));
    const id = await stage.send({ to: NEW_YORK });
    await stage.run();
    await stage.pass(3 * HOUR_MS);
    assert.equal(handed(stage).length, 1);
    await stage.pass(10 * HOUR_MS);
    assert.deepEqual(handed(stage), [id, id]);
  });

  test("the fallback of a message that was not delivered in time", async (t) => {
    const stage = await quietStage(t);
    const routing: SendMessage["routing"] = { fallbackAfterSeconds: 3 * 3_600 };
    const id = await stage.send({ to: NEW_YORK, routing });
    await stage.run();
    await stage.pass(3 * HOUR_MS);
    assert.deepEqual(await stage.eventTypes(id), ["queued", "sent", "fallback"]);
    assert.equal(handed(stage).length, 1);
    await stage.pass(10 * HOUR_MS);
    assert.deepEqual(
      stage.provider.handed.map(({ channel }) => channel),
      ["imessage", "sms"],
    );
  });

  test("a manual retry", async (t) => {
    const stage = await quietStage(t);
    stage.provider.sendNext.push(NOT_REACHABLE, NOT_REACHABLE);
    const id = await stage.send({ to: NEW_YORK });
    await stage.run();
    assert.equal((await stage.message(id)).status, "failed");
    await stage.pass(3 * HOUR_MS);
    await retryMessage(stage.life.deps, {
      customerId: stage.customer.id,
      id,
      mayDuplicate: false,
      idempotencyKey: null,
    });
    await stage.run();
    assert.equal((await stage.message(id)).status, "queued");
    await stage.pass(10 * HOUR_MS);
    assert.equal((await stage.message(id)).status, "sent");
  });

  test("a payment request", async (t) => {
    const stage = await quietStage(t);
    await requestPayment(stage.life.deps, {
      customerId: stage.customer.id,
      keyId: stage.apiKey.id,
      correlationId: `cor_${"0".repeat(32)}`,
      idempotencyKey: null,
      body: { to: LONDON, amount: 25 },
    });
    await stage.run();
    assert.deepEqual(handed(stage), []);
    await stage.pass(8 * HOUR_MS);
    assert.equal(handed(stage).length, 1);
  });

  test("a group, while any participant has quiet hours", async (t) => {
    const stage = await quietStage(t);
    const chat = await groupFor(stage, { participants: [NEW_YORK, LONDON] });
    const id = await stage.send({ to: "", chatId: chat.id });
    await stage.run();
    // Eight in London is three in New York.
    assert.equal((await stage.message(id)).dueAt, stage.clock.now() + 13 * HOUR_MS);
    await stage.pass(13 * HOUR_MS);
    assert.deepEqual(handed(stage), [id]);
  });

  test("an e-mail address, in the customer's time zone or UTC", async (t) => {
    const stage = await quietStage(t);
    const id = await stage.send({ to: "jo@example.com" });
    await stage.run();
    assert.equal((await stage.message(id)).dueAt, stage.clock.now() + 8 * HOUR_MS);
    await quiet(stage, { ...NIGHT, timeZone: "America/New_York" });
    await stage.run();
    assert.deepEqual(handed(stage), [id]);
  });
});

describe("when the quiet hours change", () => {
  test("a message outside the new hours is sent at once, without an extra event", async (t) => {
    const stage = await quietStage(t);
    const ids = [await stage.send({ to: LONDON }), await stage.send({ to: LONDON })];
    await stage.run();
    await quiet(stage, null);
    await stage.run();
    assert.deepEqual(handed(stage), ids);
    assert.deepEqual(await stage.eventTypes(ids[0] ?? "msg_"), ["queued", "sent"]);
  });

  test("a message inside the new hours waits until their end, and the timeline has both times", async (t) => {
    const stage = await quietStage(t);
    const id = await stage.send({ to: LONDON });
    await stage.run();
    await quiet(stage, { ...NIGHT, end: "06:00" });
    await stage.run();
    assert.deepEqual(await reasons(stage, id), [
      `postponed: quiet hours of ${LONDON} until 2026-01-01T08:00:00.000Z`,
      `postponed: quiet hours of ${LONDON} until 2026-01-01T06:00:00.000Z`,
    ]);
    await quiet(stage, { ...NIGHT, end: "06:00", timeZone: "Asia/Tokyo" });
    await stage.run();
    assert.equal((await reasons(stage, id)).length, 2, "nothing new");
    await stage.pass(6 * HOUR_MS);
    assert.deepEqual(handed(stage), [id]);
  });

  test("a message that waits for another reason is unchanged", async (t) => {
    const stage = await quietStage(t);
    stage.provider.sendNext.push(deferred(HOUR_MS));
    const id = await stage.send({ to: NEW_YORK });
    await stage.run();
    const { dueAt } = await stage.message(id);
    await quiet(stage, null);
    await stage.run();
    assert.equal((await stage.message(id)).dueAt, dueAt);
  });

  test("more messages than one read returns are all sent, in order for each recipient", async (t) => {
    const stage = await quietStage(t);
    const ids: MessageId[] = [];
    for (let sent = 0; sent < 450; sent += 1)
      ids.push(await stage.send({ to: sent % 3 === 0 ? LONDON : "+33612345678" }));
    await stage.run();
    assert.deepEqual(handed(stage), []);
    await quiet(stage, null);
    await stage.run();
    assert.equal(new Set(handed(stage)).size, 450);
    const toLondon = ids.filter((_, index) => index % 3 === 0);
    assert.deepEqual(
      stage.provider.handed.filter(({ to }) => to === LONDON).map(({ messageId }) => messageId),
      toLondon,
    );
  });
});

test("setting quiet hours of a missing customer is refused", async (t) => {
  const stage = await engineStage(t);
  await assert.rejects(setQuietHours(stage.deps, "cust_none", NIGHT, STAYS), /There is no customer cust_none/);
});

describe("a message that quiet hours delay night after night", () => {
  test("spends its time to live outside quiet hours, and then fails with EXPIRED", async (t) => {
    const stage = await quietStage(t);
    stage.provider.onSend = () => deferred(HOUR_MS);
    const id = await stage.send({ to: LONDON });
    await stage.run();
    // Thirteen hours a day: 72 hours in the queue are over on the sixth.
    for (let hours = 0; hours < 8 + 5 * 24; hours += 1) await stage.pass(HOUR_MS);
    assert.equal((await stage.message(id)).status, "queued");
    for (let hours = 0; hours < 24; hours += 1) await stage.pass(HOUR_MS);
    assert.equal((await stage.message(id)).errorCode, "EXPIRED");
  });

  test("gets no extra time to live from repeated changes of the quiet hours", async (t) => {
    const stage = await quietStage(t);
    const start = stage.clock.now();
    const id = await stage.send({ to: LONDON });
    await stage.run();
    for (let changes = 0; changes < 10; changes += 1) await quiet(stage, { ...NIGHT, end: `0${changes % 8}:30` });
    await stage.run();
    await quiet(stage, { ...NIGHT, end: "06:00" });
    await stage.run();
    const { dueAt, expiresAt } = await stage.message(id);
    assert.deepEqual([dueAt, expiresAt], [start + 6 * HOUR_MS, start + 78 * HOUR_MS]);
  });
});

test("a waiting message is sent when quiet hours are removed, even if its timeline got other notes", async (t) => {
  const stage = await quietStage(t);
  const routing: SendMessage["routing"] = { fallbackAfterSeconds: 3 * 3_600 };
  const id = await stage.send({ to: NEW_YORK, routing });
  await stage.run();
  await stage.pass(3 * HOUR_MS);
  await stage.report(receipt("delivered"));
  await quiet(stage, null);
  await stage.run();
  assert.equal(stage.provider.handed.length, 2, "one for each channel");
  assert.deepEqual((await reasons(stage, id)).length, 1);
});

test("a group without known participants has quiet hours like an address without a known time zone", async (t) => {
  const stage = await quietStage(t);
  const chat = await groupFor(stage, { participants: [] });
  const id = await stage.send({ to: "", chatId: chat.id });
  await stage.run();
  assert.equal((await stage.message(id)).dueAt, stage.clock.now() + 8 * HOUR_MS);
});
