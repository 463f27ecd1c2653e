/** An endpoint that cannot be reached: its deliveries wait, lose no attempt, and go out when it is back. */

import assert from "node:assert/strict";
import { type TestContext as NodeTest, test } from "node:test";
import { configure, type DeliverStage, deliverStage, OK, unanswered } from "../../../test/support/deliver.ts";
import { emitEvent } from "../../../test/support/webhooks.ts";
import type { PostError } from "../../outgoing/post.ts";
import { retryDelivery, testWebhook } from "./redeliver.ts";

const EVENTS = 60;

for (const error of [
  "CONNECTION_REFUSED",
  "DNS_FAILED",
  "TLS_FAILED",
  "ADDRESS_REFUSED",
] as const satisfies PostError[])
  test(`after ten attempts in a row that end as ${error}, one delivery a second is tried and the others lose no attempt`, async (t) => {
    const stage = await deliverStage(t);
    await configure(stage);
    stage.answer = () => unanswered(error, { connected: false });
    for (let count = 0; count < EVENTS; count += 1) await emitEvent(stage);
    await stage.run();
    const first = stage.sent.length;
    assert.ok(first >= 10 && first <= 14, `${first} attempts before the breaker opened`);
    const attempted = async () => (await stage.deliveries()).filter(({ attemptCount }) => attemptCount > 0).length;
    assert.equal(await attempted(), first);
    for (let second = 1; second <= 5; second += 1) {
      await stage.clock.advance(1_000);
      assert.equal(stage.sent.length, first + second);
    }
    assert.equal(stage.lanes.lagMs(), 0);
    assert.equal(stage.observed.breakersOpen, 1);
    stage.answer = () => OK;
    await stage.clock.advance(1_000);
    await stage.run();
    await stage.clock.advance(1_000);
    assert.equal(stage.observed.breakersOpen, 0);
    const left = (await stage.deliveries()).filter(({ attemptCount }) => attemptCount === 0);
    assert.equal(left.length, 0, "all go out once a connection was made");
  });

test("responses of 500 and timeouts of a receiver that takes connections open no breaker", async (t) => {
  const stage = await deliverStage(t);
  await configure(stage);
  stage.answer = () => unanswered("CONNECTION_RESET");
  for (let count = 0; count < EVENTS; count += 1) await emitEvent(stage);
  await stage.run();
  assert.equal(stage.sent.length, EVENTS);
});

/** A stage whose endpoint cannot be reached, with an open breaker and many due deliveries; its newest delivery has no attempt. */
async function unreachedStage(t: NodeTest) {
  const stage = await deliverStage(t);
  await configure(stage);
  stage.answer = () => unanswered("CONNECTION_REFUSED", { connected: false });
  for (let count = 0; count < EVENTS; count += 1) await emitEvent(stage);
  await stage.run();
  return { stage, before: stage.sent.length, newest: await newestOf(stage) };
}

async function newestOf(stage: DeliverStage) {
  const newest = (await stage.deliveries()).at(-1);
  assert.ok(newest !== undefined);
  return newest;
}

/** Lets happen what can happen now. No time passes, so that no look for due deliveries is made. */
async function settle({ clock }: DeliverStage): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await clock.advance(0);
}

const request = { key: null, route: "POST /", body: {} };

test("a retry by hand of an endpoint that cannot be reached is made at once, and nothing else is tried", async (t) => {
  const { stage, before, newest } = await unreachedStage(t);
  const { id: customerId } = stage.customer;
  await retryDelivery(stage.deps, { ...request, customerId }, customerId, newest.id);
  await settle(stage);
  assert.deepEqual(
    stage.sent.slice(before).map(({ body }) => JSON.parse(String(body)).id),
    [newest.eventId],
  );
  const { attemptCount, byHand, dueAt } = await newestOf(stage);
  assert.deepEqual([attemptCount, byHand, dueAt], [1, false, newest.dueAt], "its schedule is as before");
  await stage.run();
  assert.equal(stage.sent.length, before + 1, "and it waits for its turn again");
});

test("a test of an endpoint that cannot be reached is made at once, and nothing else is tried", async (t) => {
  const { stage, before } = await unreachedStage(t);
  const { id: customerId } = stage.customer;
  await testWebhook(stage.deps, { ...request, customerId }, customerId, { target: null, correlationId: "cor_1" });
  await settle(stage);
  const [sent, ...others] = stage.sent.slice(before);
  assert.equal(JSON.parse(String(sent?.body)).type, "webhook.test");
  assert.equal(others.length, 0);
  const made = (await stage.deliveries()).find(({ eventType }) => eventType === "webhook.test");
  assert.equal(made?.attemptCount, 1);
});

test("a second retry by hand, which was asked for during the first, follows it at once", async (t) => {
  const { stage, before, newest } = await unreachedStage(t);
  const { id: customerId } = stage.customer;
  stage.answers.push(null);
  for (let count = 0; count < 2; count += 1) {
    await retryDelivery(stage.deps, { ...request, customerId }, customerId, newest.id);
    await settle(stage);
  }
  assert.equal(stage.sent.length, before + 1);
  stage.sent[before]?.end(unanswered("CONNECTION_REFUSED", { connected: false }));
  await settle(stage);
  assert.equal(stage.sent.length, before + 2);
  assert.equal((await stage.deliveries()).find(({ id }) => id === newest.id)?.attemptCount, 2);
});

test("a retry by hand goes at once also if the breaker opens after it was asked for", async (t) => {
  const stage = await deliverStage(t);
  await configure(stage);
  stage.answer = () => null;
  for (let count = 0; count < EVENTS; count += 1) await emitEvent(stage);
  await stage.run();
  const { id, eventId } = await newestOf(stage);
  const { id: customerId } = stage.customer;
  await retryDelivery(stage.deps, { ...request, customerId }, customerId, id);
  stage.answer = () => unanswered("CONNECTION_REFUSED", { connected: false });
  for (const { end } of [...stage.sent]) end(unanswered("CONNECTION_REFUSED", { connected: false }));
  await stage.clock.advance(900);
  assert.ok(stage.sent.length < 20, `${stage.sent.length} attempts`);
  const tries = stage.sent.filter(({ body }) => JSON.parse(String(body)).id === eventId);
  assert.equal(tries.length, 1, "it had not begun when the retry was asked for: its attempt is the one by hand");
  assert.equal((await stage.deliveries()).find((one) => one.id === id)?.attemptCount, 1);
});
