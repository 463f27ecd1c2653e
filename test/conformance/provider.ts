/** The conformance suite of all providers, run with a harness for each peer. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { CHANNELS, HEALTH_STATUSES } from "../../sdk/wire.ts";
import type { Outbound, Outcome } from "../../server/providers/provider.ts";
import { actions } from "./provider-actions.ts";
import { answers } from "./provider-answers.ts";
import { ProviderDisk } from "./provider-disk.ts";
import { forms } from "./provider-forms.ts";
import { health } from "./provider-health.ts";
import { longTexts } from "./provider-long-texts.ts";
import { parts } from "./provider-parts.ts";
import { people } from "./provider-people.ts";
import { oddReceipts } from "./provider-receipts.ts";
import {
  acceptedReference,
  clearAway,
  have,
  LIMIT_MS,
  type Life,
  NEVER_ABORTED,
  type Promises,
  type ProviderHarness,
  quiet,
  reconcile,
  run,
  type Stage,
  send,
  sendOrDie,
  stageOf,
} from "./provider-stage.ts";

/** Runs the suite; calls `makeHarness` for every test. */
export function providerConformance(name: string, makeHarness: (disk: ProviderDisk) => Promise<ProviderHarness>): void {
  const promise = (title: string, hold: (stage: Stage, context: TestContext) => Promise<void>) =>
    test(`${name}: ${title}`, async (context) => {
      const disk = new ProviderDisk();
      const harness = await makeHarness(disk);
      const lives: Life[] = [];
      const stage = stageOf(harness, disk, lives);
      try {
        await hold(stage, context);
      } finally {
        for (const life of lives) await clearAway(stage, life);
        await harness.stop();
      }
    });
  outcomes(promise);
  unknownOutcomes(promise);
  receipts(promise);
  oddReceipts(promise);
  parts(promise);
  answers(promise);
  people(promise);
  forms(promise);
  longTexts(promise);
  actions(promise);
  restarts(promise);
  health(promise);
  endings(promise);
}

function outcomes(promise: Promises): void {
  promise("offers at least one channel, and at least one send at once", async (stage) => {
    const { capabilities } = (await stage.live()).provider;
    assert.ok(capabilities.channels.length > 0);
    for (const channel of capabilities.channels) assert.ok(CHANNELS.includes(channel));
    assert.ok(capabilities.concurrency >= 1);
    assert.ok(capabilities.sendTimeoutMs >= 40_000, "other deadlines are reckoned from no less");
    assert.ok(capabilities.reconcileAfterMs >= 0);
  });

  promise("an accepted message has all its receipts reported with its reference", async (stage, t) => {
    const scenario = have(stage.harness.scenarios.delivers, t);
    if (scenario === null) return;
    const life = await stage.live();
    const message = stage.message(scenario);
    const reference = acceptedReference(await send(stage, life, message));
    await stage.expectReceipts(life, message, scenario.receipts);
    assert.equal(stage.harness.taken(message), 1);
    for (const signal of life.reported) {
      assert.equal(signal.reference, reference);
      assert.equal(signal.channel, scenario.channel);
    }
  });

  for (const [which, notReachable] of [
    ["rejects", false],
    ["notReachable", true],
  ] as const) {
    const what = notReachable ? "a recipient who is not on the channel" : "a recipient who refuses";
    promise(`${what} is a rejection with a code and a reason, and nothing is sent`, async (stage, t) => {
      const scenario = have(stage.harness.scenarios[which], t);
      if (scenario === null) return;
      const life = await stage.live();
      const message = stage.message(scenario);
      const outcome = await send(stage, life, message);
      assert.ok(outcome.outcome === "rejected", `answered ${outcome.outcome}`);
      assert.match(outcome.code, /./);
      assert.match(outcome.reason, /./);
      assert.equal(outcome.notReachable ?? false, notReachable);
      await stage.expectReceipts(life, message, []);
      assert.equal(stage.harness.taken(message), 0);
    });
  }

  promise(
    "a transient error is a deferral, and provably nothing was sent before the attempt that works",
    async (stage, t) => {
      const scenario = have(stage.harness.scenarios.defers, t);
      if (scenario === null) return;
      const life = await stage.live();
      const message = stage.message(scenario);
      for (let attempt = 1; attempt <= scenario.times; attempt += 1) {
        const outcome = await send(stage, life, { ...message, attempt });
        assert.ok(outcome.outcome === "deferred", `attempt ${attempt} answered ${outcome.outcome}`);
        assert.ok(outcome.retryAfterMs === null || outcome.retryAfterMs >= 0);
        assert.equal(stage.harness.taken(message), 0);
      }
      acceptedReference(await send(stage, life, { ...message, attempt: scenario.times + 1 }));
      await stage.expectReceipts(life, message, scenario.receipts);
      assert.equal(stage.harness.taken(message), 1);
    },
  );

  promise("an aborted send returns at once, and says truly whether the message was accepted", async (stage, t) => {
    const scenario = have(stage.harness.scenarios.slow, t);
    if (scenario === null) return;
    const life = await stage.live();
    const message = stage.message(scenario);
    const abort = new AbortController();
    const sending = life.provider.send(message, abort.signal);
    await stage.harness.advanceUntil(() => false, 1);
    abort.abort();
    const { outcome } = await run(stage, sending);
    if (outcome === "deferred" || outcome === "rejected") assert.equal(stage.harness.taken(message), 0);
    if (outcome === "accepted") assert.equal(stage.harness.taken(message), 1);
  });
}

function unknownOutcomes(promise: Promises): void {
  promise("a lost response is unknown, reconcile finds the outcome, and the message is sent once", async (stage, t) => {
    const scenario = have(stage.harness.scenarios.losesAnswer, t);
    if (scenario === null) return;
    const life = await stage.live();
    const message = stage.message(scenario);
    assert.equal((await send(stage, life, message)).outcome, "unknown");
    const reference = acceptedReference(await reconcile(stage, life, message));
    assert.equal(acceptedReference(await reconcile(stage, life, message)), reference);
    await stage.expectReceipts(life, message, scenario.receipts);
    assert.ok(life.reported.every((signal) => signal.reference === reference));
    assert.equal(stage.harness.taken(message), 1);
  });

  promise("a lost response is reconciled by the next process too, after a crash", async (stage, t) => {
    const scenario = have(stage.harness.scenarios.losesAnswer, t);
    if (scenario === null) return;
    const first = await stage.live();
    const message = stage.message(scenario);
    assert.equal((await send(stage, first, message)).outcome, "unknown");
    first.die();
    const second = await stage.live();
    acceptedReference(await reconcile(stage, second, message));
    await stage.expectReceipts(second, message, scenario.receipts);
    assert.equal(stage.harness.taken(message), 1);
  });

  promise("a message that was never sent is absent, and may be sent after that", async (stage, t) => {
    const scenario = have(stage.harness.scenarios.delivers, t);
    if (scenario === null) return;
    const life = await stage.live();
    const message = stage.message(scenario);
    if (life.provider.reconcile === undefined) return t.skip("the peer cannot be asked");
    assert.equal(await reconcile(stage, life, message), "absent");
    acceptedReference(await send(stage, life, { ...message, attempt: 2 }));
    await stage.expectReceipts(life, message, scenario.receipts);
    assert.equal(stage.harness.taken(message), 1);
  });

  promise("a repeated send is recognised: the same reference, accepted once", async (stage, t) => {
    const scenario = have(stage.harness.scenarios.delivers, t);
    if (scenario === null) return;
    if (stage.harness.knowsRepeats !== true) return t.skip(stage.harness.knowsRepeats.skip);
    const life = await stage.live();
    const message = stage.message(scenario);
    const twice = [life.provider.send(message, NEVER_ABORTED), life.provider.send(message, NEVER_ABORTED)];
    const [first, second] = await run(stage, Promise.all(twice));
    assert.equal(acceptedReference(first), acceptedReference(second));
    await stage.expectReceipts(life, message, scenario.receipts);
    assert.equal(stage.harness.taken(message), 1);
  });
}

function receipts(promise: Promises): void {
  promise("receipts that come twice and in reverse order are each reported, and nothing follows", async (stage, t) => {
    const scenario = have(stage.harness.scenarios.jumbles, t);
    if (scenario === null) return;
    const life = await stage.live();
    const message = stage.message(scenario);
    acceptedReference(await send(stage, life, message));
    await stage.expectReceipts(life, message, scenario.receipts);
  });

  promise("a signal that threw is reported again until it is accepted, and later ones wait", async (stage, t) => {
    const scenario = have(stage.harness.scenarios.jumbles, t);
    if (scenario === null) return;
    const life = await stage.live();
    let failures = 0;
    life.listen = async () => {
      failures += 1;
      if (failures % 4 !== 0) throw new Error("the store is busy");
    };
    const message = stage.message(scenario);
    acceptedReference(await send(stage, life, message));
    await stage.expectReceipts(life, message, scenario.receipts);
    assert.equal(failures, scenario.receipts.length * 4);
  });

  promise("receipts of one message do not wait for those of others", async (stage, t) => {
    const scenario = have(stage.harness.scenarios.delivers, t);
    if (scenario === null) return;
    const life = await stage.live();
    const stuck = stage.message(scenario);
    const free = stage.message(scenario);
    const releases: (() => void)[] = [];
    life.listen = (signal) => {
      const messageId = signal.kind === "receipt" ? stage.disk.messageOf(signal) : null;
      if (messageId !== stuck.messageId) return Promise.resolve();
      return new Promise((resolve) => void releases.push(resolve));
    };
    acceptedReference(await send(stage, life, stuck));
    acceptedReference(await send(stage, life, free));
    await stage.expectReceipts(life, free, scenario.receipts);
    assert.deepEqual(life.receipts(stuck), []);
    life.listen = () => Promise.resolve();
    for (const release of releases) release();
    await stage.expectReceipts(life, stuck, scenario.receipts);
  });
}

function restarts(promise: Promises): void {
  for (const how of ["stop", "die"] as const) {
    const word = how === "stop" ? "a stop" : "a death";
    promise(`after ${word} the next process reports every missing signal of accepted messages`, async (stage, t) => {
      const scenario = have(stage.harness.scenarios.delivers, t);
      if (scenario === null) return;
      const first = await stage.live();
      const messages: Outbound[] = [];
      for (let index = 0; index < 20; index += 1) messages.push(stage.message(scenario));
      first.listen = () => Promise.reject(new Error("the store is busy"));
      for (const message of messages) acceptedReference(await send(stage, first, message));
      if (how === "die") first.die();
      else await run(stage, first.provider.stop());
      if (how === "stop") assert.equal(first.timers, 0);
      assert.equal(first.reported.length, 0);
      const second = await stage.live();
      for (const message of messages) await stage.expectReceipts(second, message, scenario.receipts);
      for (const message of messages) assert.equal(stage.harness.taken(message), 1);
    });
  }

  promise("a crash between two receipts loses neither", async (stage, t) => {
    const scenario = have(stage.harness.scenarios.jumbles, t);
    if (scenario === null) return;
    for (let survived = 0; survived <= scenario.receipts.length; survived += 1) {
      const first = await stage.live();
      const message = stage.message(scenario);
      first.listen = () => {
        if (first.reported.length === survived) first.die();
        return Promise.resolve();
      };
      const answer = await sendOrDie(stage, first, message);
      await quiet(stage.harness);
      const second = await stage.live();
      // The provider crashed with an early receipt: the engine reconciles.
      if (answer === null && second.provider.reconcile === undefined) return t.skip("the peer cannot be asked");
      acceptedReference(answer ?? (await reconcile(stage, second, message)));
      await quiet(stage.harness);
      const reported = [...first.receipts(message), ...second.receipts(message)];
      for (const receipt of scenario.receipts) assert.ok(reported.includes(receipt), `${receipt} after ${survived}`);
      assert.equal(stage.harness.taken(message), 1);
      first.die();
      await run(stage, second.provider.stop());
    }
  });

  for (const side of ["before", "after"] as const) {
    promise(
      `a crash ${side} any write of a send: reconcile tells the truth, and nothing is accepted twice`,
      async (stage, t) => {
        const scenario = have(stage.harness.scenarios.delivers, t);
        if (scenario === null) return;
        for (let write = 0, reached = true; reached; write += 1) {
          const first = await stage.live();
          if (first.provider.reconcile === undefined) return t.skip("the peer cannot be asked");
          first.dieAt(write, side);
          const message = stage.message(scenario);
          void first.provider.send(message, NEVER_ABORTED);
          await quiet(stage.harness);
          reached = first.dead;
          first.die();
          if (first.receipts(message).length > 0) continue;
          const second = await stage.live();
          // The engine asks only about an attempt whose outcome is not on disk.
          if (!stage.disk.attempts.isSent(message)) {
            const reconciled = await reconcileUntilKnown(stage, second, message);
            if (reconciled === "absent") acceptedReference(await send(stage, second, { ...message, attempt: 2 }));
            else acceptedReference(reconciled);
          }
          await stage.expectReceipts(second, message, scenario.receipts);
          assert.equal(stage.harness.taken(message), 1);
          await run(stage, second.provider.stop());
        }
      },
    );
  }
}

/** Asks as the engine does, every 15 s for five minutes, until the outcome is known. */
async function reconcileUntilKnown(stage: Stage, life: Life, message: Outbound): Promise<Outcome | "absent"> {
  for (let asked = 0; asked < 20; asked += 1) {
    const outcome = await reconcile(stage, life, message);
    if (outcome !== undefined && (outcome === "absent" || outcome.outcome !== "unknown")) return outcome;
    await stage.harness.advanceUntil(() => false, 15_000);
  }
  return assert.fail("the outcome stays unknown");
}

function endings(promise: Promises): void {
  promise("is healthy while it runs", async (stage) => {
    const { provider } = await stage.live();
    const health = await run(stage, provider.health());
    assert.ok(HEALTH_STATUSES.includes(health.status));
    assert.equal(health.status, "healthy");
  });

  promise("stop() waits for signals in flight, leaves no timer, and reports nothing afterwards", async (stage, t) => {
    const scenario = have(stage.harness.scenarios.jumbles, t);
    if (scenario === null) return;
    const life = await stage.live();
    const releases: (() => void)[] = [];
    const holds = () => new Promise<void>((resolve) => void releases.push(resolve));
    life.listen = holds;
    acceptedReference(await send(stage, life, stage.message(scenario)));
    assert.ok(await stage.harness.advanceUntil(() => releases.length > 0, LIMIT_MS));
    let stopped = false;
    const stopping = life.provider.stop().then(() => {
      stopped = true;
    });
    await quiet(stage.harness);
    assert.equal(stopped, false, "the stop did not wait");
    // Until the provider has left its peer it may still receive signals, and need not refuse them.
    life.listen = () => Promise.resolve();
    for (const release of releases.splice(0)) release();
    await run(stage, stopping);
    life.listen = holds;
    assert.equal(life.timers, 0);
    await quiet(stage.harness);
    assert.equal(releases.length, 0, "a signal was told after the stop");
  });

  promise("stop() ends waiting sends, and later ones are not accepted", async (stage, t) => {
    const scenario = have(stage.harness.scenarios.slow, t);
    if (scenario === null) return;
    const life = await stage.live();
    const waiting = stage.message(scenario);
    const sending = life.provider.send(waiting, NEVER_ABORTED);
    await stage.harness.advanceUntil(() => false, 1);
    await run(stage, life.provider.stop());
    const late = stage.message(scenario);
    const outcomes = await run(stage, Promise.all([sending, life.provider.send(late, NEVER_ABORTED)]));
    for (const [index, message] of [waiting, late].entries()) {
      const taken = stage.harness.taken(message);
      const { outcome } = outcomes[index] ?? assert.fail();
      if (outcome === "accepted") assert.equal(taken, 1);
      else if (outcome !== "unknown") assert.equal(taken, 0);
    }
    assert.equal(stage.harness.taken(late), 0);
    assert.equal(life.timers, 0);
  });
}
