import assert from "node:assert/strict";
import { type TestContext as NodeTest, test } from "node:test";
import { PROVIDERS } from "../../sdk/wire.ts";
import { commitAll } from "../../test/support/context.ts";
import { configure } from "../../test/support/deliver.ts";
import { readDue } from "../../test/support/due.ts";
import { engineStage } from "../../test/support/engine.ts";
import { UNKNOWN } from "../../test/support/provider.ts";
import { openContext, send } from "../../test/support/sending.ts";
import { capabilitiesOf } from "../providers/registry.ts";
import type { Operation } from "../store/store.ts";
import { ClockMonitor } from "./clock-monitor.ts";
import { Sweep } from "./sweep.ts";

const HOUR_MS = 3_600_000;
const AHEAD_MS = 3 * HOUR_MS;
const LOOKUP_MS_MAX = 15_000;
const PERMITS = 100;

/** A context with an endpoint, and its claims. */
async function stageOf(t: NodeTest) {
  const made = await openContext(t);
  await configure(made);
  const { deps, clock } = made;
  const claim = async (queue: "messages" | "deliveries") => {
    const due = await deps.store.dueLanes(queue, clock.now());
    const lanes = due.map(({ lane }) => ({ lane, permits: PERMITS }));
    return { lanes, now: clock.now(), until: clock.real() + 45_000, leaseMs: 45_000 };
  };
  return {
    ...made,
    claimMessages: async () => {
      const { claimed } = await deps.store.claimMessages(await claim("messages"));
      return claimed.map(({ message }) => message);
    },
    dueDeliveries: async () => {
      const due = await deps.store.dueLanes("deliveries", clock.now());
      const lanes = due.map(({ lane }) => lane);
      return readDue(deps.store, lanes, clock.now(), PERMITS);
    },
    /** One message to each of `count` recipients. */
    sendMany: async (count: number, more: object = {}) => {
      const ids: string[] = [];
      for (let index = 0; index < count; index += 1)
        ids.push(
          (await send(made, { to: `+1555020${String(index).padStart(4, "0")}`, content: { text: "Hi" }, ...more })).id,
        );
      return ids;
    },
  };
}

test("messages accepted while the clock was 3 h ahead are due as soon as the clock is corrected", async (t) => {
  const stage = await stageOf(t);
  const { deps, clock, observed, woken } = stage;
  const sweep = new Sweep(deps);
  sweep.start();
  t.after(() => sweep.stop());
  await clock.advance(2_000);
  clock.step(AHEAD_MS);
  await clock.advance(2_000);
  const ids = await stage.sendMany(30);
  clock.step(-AHEAD_MS);
  assert.deepEqual([(await stage.claimMessages()).length, (await stage.dueDeliveries()).length], [0, 0]);
  Object.assign(woken, { messages: [], deliveries: [] });
  await clock.advance(2_000);
  assert.deepEqual(observed.clockSteps, [AHEAD_MS, -AHEAD_MS]);
  assert.ok(woken.messages.length > 0 && woken.deliveries.length > 0, "their lanes are woken");
  assert.deepEqual((await stage.claimMessages()).map(({ id }) => id).sort(), ids.sort());
  assert.equal((await stage.dueDeliveries()).length, ids.length);
});

test("a time that a customer chose and a planned retry stay when the clock is put right", async (t) => {
  const stage = await stageOf(t);
  const { deps, clock } = stage;
  const monitor = new ClockMonitor(deps);
  await monitor.check();
  clock.step(AHEAD_MS);
  const scheduledAt = new Date(clock.now() + HOUR_MS).toISOString();
  await stage.sendMany(1, { scheduledAt });
  await stage.sendMany(1);
  const [message] = await stage.claimMessages();
  const [delivery, ...others] = await stage.dueDeliveries();
  assert.ok(message !== undefined && delivery !== undefined);
  const retryAt = clock.now() + 5_000;
  const retry = { dueAt: retryAt };
  const { id, version } = delivery.delivery;
  await commitAll(deps, [
    {
      op: "update",
      table: "messages",
      id: message.id,
      version: message.version,
      set: { ...retry, claimedUntil: null, sendAttempts: 1 },
    },
    { op: "update", table: "deliveries", id, version, set: { ...retry, attemptCount: 1 } },
    ...others.map(({ delivery: { id, version } }): Operation => {
      return { op: "update", table: "deliveries", id, version, set: { status: "succeeded", dueAt: null } };
    }),
  ]);
  clock.step(-AHEAD_MS);
  await monitor.check();
  assert.deepEqual([(await stage.claimMessages()).length, (await stage.dueDeliveries()).length], [0, 0]);
  await clock.advance(AHEAD_MS + 5_000);
  assert.deepEqual([(await stage.claimMessages()).length, (await stage.dueDeliveries()).length], [1, 1]);
});

test("a message whose outcome is unknown is looked up 15 s after a clock that was 3 h ahead is corrected", async (t) => {
  const stage = await engineStage(t);
  const { clock, deps, provider } = stage;
  const monitor = new ClockMonitor(deps);
  await monitor.check();
  clock.step(AHEAD_MS);
  await monitor.check();
  provider.sendNext.push(UNKNOWN);
  const id = await stage.send();
  await stage.run();
  clock.step(-AHEAD_MS);
  await monitor.check();
  // The provider still gets its time before the first question.
  await stage.pass(LOOKUP_MS_MAX - 1);
  assert.equal(provider.asked.length, 0);
  provider.settleNext.push(provider.accepted());
  await stage.pass(1);
  assert.equal(provider.asked.length, 1);
  assert.equal((await stage.message(id)).status, "sent");
});

test("no provider asks for more time before a lookup than a corrected clock leaves it", () => {
  for (const name of PROVIDERS) assert.ok(capabilitiesOf(name).reconcileAfterMs <= LOOKUP_MS_MAX, name);
});

test("an outcome that stays unknown after the clock is corrected fails the message five minutes later", async (t) => {
  const stage = await engineStage(t);
  const { clock, deps, provider } = stage;
  const monitor = new ClockMonitor(deps);
  clock.step(AHEAD_MS);
  await monitor.check();
  provider.sendNext.push(UNKNOWN);
  provider.onSettle = () => UNKNOWN;
  const id = await stage.send();
  await stage.run();
  clock.step(-AHEAD_MS);
  await monitor.check();
  for (let passedMs = 0; passedMs < 5 * 60_000; passedMs += LOOKUP_MS_MAX) await stage.pass(LOOKUP_MS_MAX);
  assert.equal((await stage.message(id)).status, "pending");
  await stage.pass(LOOKUP_MS_MAX);
  assert.partialDeepStrictEqual(await stage.message(id), { status: "failed", errorCode: "OUTCOME_UNKNOWN" });
});

test("a clock that was put right while no process ran is noticed at the start", async (t) => {
  const stage = await stageOf(t);
  stage.clock.step(AHEAD_MS);
  await stage.sendMany(3);
  stage.clock.step(-AHEAD_MS);
  await new ClockMonitor(stage.deps).check();
  assert.equal((await stage.claimMessages()).length, 3);
  assert.deepEqual(stage.observed.clockSteps, []);
});

test("a clock that is adjusted by 5 s or less is no step", async (t) => {
  const { deps, clock, observed } = await stageOf(t);
  const monitor = new ClockMonitor(deps);
  await monitor.check();
  for (const ms of [5_000, -5_000]) {
    clock.step(ms);
    await monitor.check();
  }
  await clock.advance(60_000);
  await monitor.check();
  assert.deepEqual(observed.clockSteps, []);
});
