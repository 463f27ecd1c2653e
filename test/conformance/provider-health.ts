/** The provider suite: health and `isUp` follow the peer, and sends follow `isUp`. */

import assert from "node:assert/strict";
import type { Health } from "../../server/providers/provider.ts";
import { able } from "./provider-people.ts";
import {
  acceptedReference,
  have,
  LIMIT_MS,
  type Life,
  type Promises,
  run,
  type Stage,
  send,
} from "./provider-stage.ts";

export function health(promise: Promises): void {
  promise("health is bad, with a sentence, while the peer is gone, and good after its return", async (stage, t) => {
    const goes = able(stage, "goes", t);
    if (goes === null) return;
    const life = await stage.live();
    await healthOf(stage, life, true);
    const comeBack = goes();
    const { message } = await healthOf(stage, life, false);
    assert.match(message ?? "", /./);
    await comeBack();
    await healthOf(stage, life, true);
  });

  promise("isUp follows the peer", async (stage, t) => {
    const goes = able(stage, "goes", t);
    if (goes === null) return;
    const life = await stage.live();
    const { provider } = life;
    if (provider.isUp === undefined) return t.skip("the provider never says whether it is up");
    const becomes = async (isUp: boolean) => {
      assert.ok(await stage.harness.advanceUntil(() => provider.isUp === isUp, LIMIT_MS), `isUp is not ${isUp}`);
      return life.changes.length;
    };
    const first = await becomes(true);
    const comeBack = goes();
    const down = await becomes(false);
    assert.ok(down > first, "it told nobody that it is down");
    await comeBack();
    assert.ok((await becomes(true)) > down, "it told nobody that it is up again");
  });

  promise("a message is deferred while the peer is gone, and accepted when it is back", async (stage, t) => {
    const goes = able(stage, "goes", t);
    const scenario = have(stage.harness.scenarios.delivers, t);
    if (goes === null || scenario === null) return;
    const life = await stage.live();
    await healthOf(stage, life, true);
    const comeBack = goes();
    const message = stage.message(scenario);
    const { outcome } = await send(stage, life, message);
    assert.ok(outcome === "deferred", `answered ${outcome}`);
    assert.equal(stage.harness.taken(message), 0);
    await comeBack();
    await healthOf(stage, life, true);
    await stage.harness.advanceUntil(() => life.provider.isUp !== false, LIMIT_MS);
    acceptedReference(await send(stage, life, { ...message, attempt: 2 }));
    await stage.expectReceipts(life, message, scenario.receipts);
    assert.equal(stage.harness.taken(message), 1);
  });
}

const STEP_MS = 500;

/** Waits for good or for bad health. */
async function healthOf(stage: Stage, life: Life, isWell: boolean): Promise<Health> {
  for (let waitedMs = 0; waitedMs < LIMIT_MS; waitedMs += STEP_MS) {
    const health = await run(stage, life.provider.health());
    if ((health.status === "healthy") === isWell) return health;
    await stage.harness.advanceUntil(() => false, STEP_MS);
  }
  throw new assert.AssertionError({ message: `it is still ${isWell ? "unwell" : "well"} after ${LIMIT_MS} ms` });
}
