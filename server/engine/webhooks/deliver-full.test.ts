/** A full disk: no webhook is sent whose attempt cannot be recorded, except those in flight. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { configure, deliverStage } from "../../../test/support/deliver.ts";
import { emitEvent } from "../../../test/support/webhooks.ts";
import { StoreFull } from "../../store/store.ts";

const SECOND_MS = 1_000;

test("while the disk is full a webhook that was sent is not sent again and again, and afterwards it is recorded", async (t) => {
  const stage = await deliverStage(t);
  const { store } = stage.deps;
  const finish = store.finishDeliveries.bind(store);
  const disk = { isFull: true, isKnown: false };
  Object.defineProperty(store, "isFull", { get: () => disk.isKnown });
  store.finishDeliveries = async (outcomes) => {
    disk.isKnown = disk.isFull;
    if (disk.isFull) throw new StoreFull("no room");
    return await finish(outcomes);
  };
  await configure(stage);
  await emitEvent(stage);
  await stage.run();
  for (let seconds = 0; seconds < 600; seconds += 1) await stage.clock.advance(SECOND_MS);
  assert.equal(stage.sent.length, 1);
  const faults = stage.observed.faults.splice(0);
  assert.ok(faults.every(({ error }) => error instanceof StoreFull));
  Object.assign(disk, { isFull: false, isKnown: false });
  await stage.clock.advance(SECOND_MS);
  assert.deepEqual([stage.sent.length, (await stage.delivery()).status], [2, "succeeded"]);
});
