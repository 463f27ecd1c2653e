/** Counts the webhooks that a receiver got again after it had answered 2xx: a kill may repeat a few, nothing else may. */

import assert from "node:assert/strict";
import type { Received } from "./receiver.ts";

/** Most attempts in flight to one endpoint (`TB_WEBHOOK_CONCURRENCY`). */
const PERMITS = 64;
/** Most responses of one endpoint that are not on disk yet (`server/engine/webhooks/unrecorded.ts`). */
const BATCH_MAX = 128;

/** Repeats of each kill, the most of any one endpoint. */
export interface Repeats {
  perKill: number[];
  all: number;
}

/**
 * Counts repeats. `livesFrom` has the instant at which each process was spawned. Fails if one process posts an event again
 * after a 2xx, or if a kill repeats more than the permits in use and one batch of outcomes.
 */
export function checkRepeats(received: readonly Received[], livesFrom: readonly number[]): Repeats {
  const lifeOf = ({ at }: Received) => livesFrom.findLastIndex((from) => from <= at);
  const lastGood = new Map<string, Received>();
  const counts = new Map<string, number>();
  for (const webhook of received) {
    const key = `${webhook.path} ${webhook.event.id}`;
    const before = lastGood.get(key);
    if (before !== undefined) {
      const life = lifeOf(before);
      const times = [before.at, webhook.at].map((at) => `${at - (livesFrom[life] ?? 0)} ms`);
      assert.ok(lifeOf(webhook) > life, `${key} came again without a kill: ${times} after the start`);
      const ofKill = `${life} ${webhook.path}`;
      counts.set(ofKill, (counts.get(ofKill) ?? 0) + 1);
    }
    if (webhook.status !== null && webhook.status < 300) lastGood.set(key, webhook);
  }
  const perKill = livesFrom.map((_, life) =>
    Math.max(0, ...[...counts].filter(([key]) => key.startsWith(`${life} `)).map(([, count]) => count)),
  );
  const most = Math.max(0, ...perKill);
  assert.ok(most <= PERMITS + BATCH_MAX, `a kill repeated ${most} webhooks at one endpoint: ${perKill}`);
  return { perKill, all: [...counts.values()].reduce((sum, count) => sum + count, 0) };
}
