/** An endpoint that cannot be reached: its deliveries wait, lose no attempt, and go out when it is back. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { configure, deliverStage, OK, unanswered } from "../../../test/support/deliver.ts";
import { emitEvent } from "../../../test/support/webhooks.ts";
import type { PostError } from "../../outgoing/post.ts";

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
    stage.answer = () => OK;
    await stage.clock.advance(1_000);
    await stage.run();
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
