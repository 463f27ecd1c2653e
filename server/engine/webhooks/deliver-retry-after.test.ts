/** `Retry-After` of a receiver: of the delivery itself, and of the receiver's other deliveries. */

import assert from "node:assert/strict";
import { type TestContext as NodeTest, test } from "node:test";
import { answered, configure, type DeliverStage, deliverStage, OK } from "../../../test/support/deliver.ts";
import { emitEvent } from "../../../test/support/webhooks.ts";
import type { MessageId } from "../../core/id.ts";
import { retryDelivery, testWebhook } from "./redeliver.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

const asking = (retryAfter: string, status = 503) => answered(status, { retryAfter: [retryAfter] });

/** A stage with the primary endpoint, whose first attempt was answered like this. */
async function asked(t: NodeTest, retryAfter: string, status = 503): Promise<DeliverStage> {
  const stage = await deliverStage(t);
  await configure(stage);
  stage.answers.push(asking(retryAfter, status));
  await emitEvent(stage);
  await stage.run();
  assert.equal(stage.sent.length, 1);
  return stage;
}

for (const status of [429, 503])
  test(`Retry-After of a ${status} puts the next attempt off to the later of it and the schedule, and the attempt says so`, async (t) => {
    for (const [value, seconds, delayMs] of [
      ["120", 120, 120 * SECOND_MS],
      ["10", 10, 30 * SECOND_MS],
      ["172800", 86_400, 86_400 * SECOND_MS],
      ["soon", undefined, 30 * SECOND_MS],
      ["0", undefined, 30 * SECOND_MS],
    ] as const) {
      const stage = await asked(t, value, status);
      const { dueAt, attempts, retryCount, status: state } = await stage.delivery();
      assert.equal(dueAt, stage.clock.now() + delayMs, value);
      assert.deepEqual([attempts[0]?.retryAfterSeconds, retryCount, state], [seconds, 1, "pending"], value);
    }
  });

test("a date counts by the real time, and is waited for by the clock that drives retries", async (t) => {
  const stage = await deliverStage(t);
  await configure(stage);
  stage.clock.shift(3_600_000);
  stage.answers.push(asking(new Date(stage.clock.real() + 2 * MINUTE_MS).toUTCString()));
  await emitEvent(stage);
  await stage.run();
  const { attempts, dueAt } = await stage.delivery();
  const seconds = attempts[0]?.retryAfterSeconds ?? 0;
  assert.ok(seconds >= 119 && seconds <= 120, String(seconds));
  assert.equal(dueAt, stage.clock.now() + seconds * SECOND_MS);
  await stage.pass(seconds * SECOND_MS);
  assert.equal(stage.sent.length, 2);
});

test("the number of attempts stays when a receiver asks to wait each time", async (t) => {
  const stage = await asked(t, "600");
  stage.answer = () => asking("600");
  for (let retry = 0; retry < 10; retry += 1) await stage.pass(2 * 86_400 * SECOND_MS);
  const { status, attemptCount } = await stage.delivery();
  assert.deepEqual([status, attemptCount, stage.sent.length], ["exhausted", 8, 8]);
});

test("the endpoint's other deliveries wait too, at most 5 minutes, lose no attempt, and do not lag", async (t) => {
  for (const [value, waitMs] of [
    ["60", MINUTE_MS],
    ["3600", 5 * MINUTE_MS],
  ] as const) {
    const stage = await asked(t, value);
    for (let count = 0; count < 5; count += 1) await emitEvent(stage);
    await stage.run();
    await stage.pass(waitMs - SECOND_MS);
    assert.equal(stage.sent.length, 1, value);
    assert.equal(stage.lanes.lagMs(), 0);
    await stage.pass(SECOND_MS);
    const waited = (await stage.deliveries()).slice(1).map(({ status, attemptCount }) => [status, attemptCount]);
    assert.deepEqual(waited, Array(5).fill(["succeeded", 1]), value);
  }
});

test("a retry by hand and a test go at once while an endpoint waits, and nothing else does", async (t) => {
  const stage = await asked(t, "120");
  await emitEvent(stage);
  await stage.run();
  const { id: customerId } = stage.customer;
  const request = { key: null, route: "POST /", body: {}, customerId };
  const newest = (await stage.deliveries()).at(-1);
  assert.ok(newest !== undefined);
  await retryDelivery(stage.deps, request, customerId, newest.id);
  await stage.run();
  assert.equal(stage.sent.length, 2);
  await testWebhook(stage.deps, request, customerId, { target: null, correlationId: "cor_1" });
  await emitEvent(stage);
  await stage.run();
  assert.deepEqual([stage.sent.length, JSON.parse(String(stage.sent[2]?.body)).type], [3, "webhook.test"]);
});

test("a retry by hand that is answered with Retry-After puts the scheduled attempt off too", async (t) => {
  const stage = await asked(t, "60");
  stage.answers.push(asking("600"));
  const { id } = await stage.delivery();
  const { id: customerId } = stage.customer;
  await retryDelivery(stage.deps, { key: null, route: "", body: {}, customerId }, customerId, id);
  await stage.run();
  assert.equal((await stage.delivery()).dueAt, stage.clock.now() + 600 * SECOND_MS);
});

const CALLBACK = "https://c.example.com/hooks";

test("only the deliveries to the same callbackUrl wait: others of its origin go on", async (t) => {
  const stage = await deliverStage(t);
  stage.answers.push(asking("60", 429));
  await emitEvent(stage, { callbackUrl: CALLBACK });
  await stage.run();
  for (const callbackUrl of [CALLBACK, `${CALLBACK}/other`, CALLBACK]) await emitEvent(stage, { callbackUrl });
  await stage.run();
  assert.deepEqual(
    stage.sent.map(({ url }) => url),
    [CALLBACK, `${CALLBACK}/other`],
  );
  const counts = (await stage.deliveries()).map(({ attemptCount }) => attemptCount);
  assert.deepEqual(counts, [1, 0, 1, 0], "what waits loses no attempt");
  await stage.pass(MINUTE_MS);
  assert.equal(stage.sent.length, 5);
});

test("an event of a message that comes after the wait does not overtake the one that waited", async (t) => {
  const stage = await deliverStage(t);
  const messageId = stage.deps.newId("msg") as MessageId;
  stage.answers.push(asking("60", 429));
  await emitEvent(stage, { callbackUrl: CALLBACK });
  await stage.run();
  const first = await emitEvent(stage, { callbackUrl: CALLBACK, messageId, sequence: 1 });
  await stage.run();
  stage.clock.shift(MINUTE_MS);
  const second = await emitEvent(stage, { callbackUrl: CALLBACK, messageId, sequence: 2 });
  await stage.run();
  const ids = stage.sent.map(({ body }) => JSON.parse(String(body)).id);
  assert.deepEqual(
    ids.filter((id) => id === first || id === second),
    [first, second],
  );
});

test("a changed endpoint is tried at once", async (t) => {
  const stage = await asked(t, "300");
  await emitEvent(stage);
  await stage.run();
  assert.equal(stage.sent.length, 1);
  stage.answer = () => OK;
  await configure(stage, "https://b.example.com/hooks");
  await stage.run();
  assert.deepEqual(
    stage.sent.map(({ url }) => url),
    ["https://a.example.com/hooks", "https://b.example.com/hooks"],
  );
});
