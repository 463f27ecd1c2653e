/** Deliveries in time: the retry schedule, its end, attempts by hand beside it, and what every attempt carries. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  BROKEN,
  configure,
  type DeliverStage,
  deliverStage,
  isSignedWith,
  OK,
  SECRET,
  TIMEOUT,
  unanswered,
} from "../../../test/support/deliver.ts";
import { STAYS } from "../../../test/support/stays.ts";
import { emitEvent, URL_A, URL_B } from "../../../test/support/webhooks.ts";
import { deleteWebhook, setWebhook, updateWebhook } from "./configure.ts";
import { retryDelivery } from "./redeliver.ts";

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

/** Each row of the table is one retry and the delay before it. */
const DELAYS_MS = [30, 300, 1_800, 7_200, 28_800, 86_400, 86_400].map((seconds) => seconds * SECOND_MS);

/** Asks for an attempt by hand, as the route does. */
async function byHand(stage: DeliverStage): Promise<void> {
  const { id } = await stage.delivery();
  const request = { key: null, customerId: stage.customer.id, route: "", body: {} };
  await retryDelivery(stage.deps, request, stage.customer.id, id);
  await stage.run();
}

/** A stage with the primary endpoint and one delivery to it, which is not due to be sent before the test waits. */
async function oneDelivery(t: Parameters<typeof deliverStage>[0], answer = BROKEN): Promise<DeliverStage> {
  const stage = await deliverStage(t);
  stage.answer = () => answer;
  await configure(stage);
  await emitEvent(stage);
  return stage;
}

describe("the retry schedule", () => {
  test("is 30 s, 5 min, 30 min, 2 h, 8 h, 24 h, 24 h, each from the end of the failed attempt, then exhausted", async (t) => {
    const stage = await oneDelivery(t);
    stage.answer = () => null;
    await stage.run();
    const startedAt = stage.clock.now();
    const attemptMs = 7 * SECOND_MS;
    for (const [index, delayMs] of DELAYS_MS.entries()) {
      assert.equal(stage.sent.length, index + 1);
      await stage.pass(attemptMs);
      stage.sent[index]?.end(BROKEN);
      await stage.run();
      const { nextAttemptIn, status } = await waiting(stage);
      assert.deepEqual([nextAttemptIn, status], [delayMs, "pending"]);
      await stage.pass(delayMs - 1);
      assert.equal(stage.sent.length, index + 1, `retry ${index + 1} comes no sooner than ${delayMs} ms`);
      await stage.pass(1);
    }
    assert.equal(stage.sent.length, 8, "the first attempt and seven retries");
    stage.sent[7]?.end(BROKEN);
    await stage.run();
    const delivery = await stage.delivery();
    assert.deepEqual([delivery.status, delivery.dueAt], ["exhausted", null]);
    assert.equal(
      stage.clock.now() - startedAt,
      210_930 * SECOND_MS + 7 * attemptMs,
      "58.6 h and the attempts themselves",
    );
    await stage.pass(1_000 * HOUR_MS);
    assert.equal(stage.sent.length, 8);
    assert.deepEqual(
      (await stage.attempts()).map(({ status }) => status),
      Array(8).fill(500),
    );
  });

  for (let successAt = 0; successAt <= DELAYS_MS.length; successAt += 1) {
    test(`ends with a 2xx at ${successAt === 0 ? "the first attempt" : `retry ${successAt}`}`, async (t) => {
      const stage = await oneDelivery(t);
      stage.answers.push(...Array.from({ length: successAt }, () => BROKEN), { ...OK, status: 299 });
      await stage.run();
      for (const delayMs of DELAYS_MS.slice(0, successAt)) await stage.pass(delayMs);
      assert.deepEqual(await waiting(stage), { nextAttemptIn: undefined, status: "succeeded" });
      await stage.pass(1_000 * HOUR_MS);
      assert.equal(stage.sent.length, successAt + 1);
    });
  }

  const FAILURES = [199, 300, 301, 302, 307, 400, 404, 410, 429, 500, 503];
  for (const status of FAILURES) {
    test(`counts a response of ${status} as failed`, async (t) => {
      const stage = await oneDelivery(t, { ...OK, status });
      await stage.run();
      assert.deepEqual(await waiting(stage), { nextAttemptIn: 30_000, status: "pending" });
    });
  }

  test("jitter only lengthens a delay, by at most 10 % and never more than 30 s", async (t) => {
    const stage = await deliverStage(t, { chance: () => 0.999_999 });
    stage.answer = () => BROKEN;
    await configure(stage);
    await emitEvent(stage);
    await stage.run();
    for (const delayMs of DELAYS_MS) {
      const { nextAttemptIn = 0 } = await waiting(stage);
      const most = delayMs + Math.min(delayMs / 10, 30_000);
      assert.ok(nextAttemptIn > most - 2 && nextAttemptIn <= most, `${nextAttemptIn} of ${delayMs}`);
      await stage.pass(nextAttemptIn);
    }
    assert.equal((await stage.delivery()).status, "exhausted");
  });
});

/** In how many milliseconds the only delivery is due, and its status. */
async function waiting(stage: DeliverStage) {
  const { dueAt, status } = await stage.delivery();
  return { nextAttemptIn: dueAt === null ? undefined : dueAt - stage.clock.now(), status };
}

describe("a manual retry", () => {
  test("is one extra attempt at once, and does not change the schedule", async (t) => {
    const stage = await oneDelivery(t);
    await stage.run();
    await stage.pass(10 * SECOND_MS);
    for (let extra = 1; extra <= 3; extra += 1) {
      await byHand(stage);
      assert.equal(stage.sent.length, 1 + extra);
      assert.deepEqual(await waiting(stage), { nextAttemptIn: 20_000, status: "pending" });
    }
    await stage.pass(20 * SECOND_MS);
    assert.equal(stage.sent.length, 5);
    for (const delayMs of DELAYS_MS.slice(1)) {
      assert.equal((await waiting(stage)).nextAttemptIn, delayMs);
      await stage.pass(delayMs);
    }
    assert.equal((await stage.delivery()).status, "exhausted", "all seven retries came, the extra ones not counted");
    assert.equal((await stage.attempts()).length, 8 + 3);
  });

  test("ends the schedule if it succeeds", async (t) => {
    const stage = await oneDelivery(t);
    await stage.run();
    stage.answer = () => OK;
    await byHand(stage);
    assert.deepEqual(await waiting(stage), { nextAttemptIn: undefined, status: "succeeded" });
    await stage.pass(1_000 * HOUR_MS);
    assert.equal(stage.sent.length, 2);
  });

  test("leaves an exhausted delivery exhausted if it fails, and makes it succeeded if it succeeds", async (t) => {
    const stage = await oneDelivery(t);
    await stage.run();
    for (const delayMs of DELAYS_MS) await stage.pass(delayMs);
    await byHand(stage);
    assert.deepEqual(await waiting(stage), { nextAttemptIn: undefined, status: "exhausted" });
    stage.answer = () => OK;
    await byHand(stage);
    assert.deepEqual(await waiting(stage), { nextAttemptIn: undefined, status: "succeeded" });
  });

  test("leaves a succeeded delivery succeeded, even if it fails", async (t) => {
    const stage = await oneDelivery(t, OK);
    await stage.run();
    stage.answer = () => BROKEN;
    await byHand(stage);
    assert.deepEqual(await waiting(stage), { nextAttemptIn: undefined, status: "succeeded" });
    assert.equal(stage.sent.length, 2);
  });

  test("during an attempt follows it at once, once, and the schedule continues from that attempt", async (t) => {
    const stage = await oneDelivery(t);
    stage.answers.push(null, null);
    await stage.run();
    await byHand(stage);
    await byHand(stage);
    assert.equal(stage.sent.length, 1, "never two attempts of one delivery at once");
    await stage.pass(3 * SECOND_MS);
    stage.sent[0]?.end(BROKEN);
    await stage.run();
    assert.equal(stage.sent.length, 2);
    await stage.pass(4 * SECOND_MS);
    stage.sent[1]?.end(BROKEN);
    await stage.run();
    assert.deepEqual(await waiting(stage), { nextAttemptIn: 26_000, status: "pending" });
    await stage.pass(26 * SECOND_MS);
    assert.equal(stage.sent.length, 3);
    assert.equal((await waiting(stage)).nextAttemptIn, 300_000);
  });

  test("during an attempt that succeeds is made nevertheless", async (t) => {
    const stage = await oneDelivery(t);
    stage.answers.push(null);
    await stage.run();
    await byHand(stage);
    stage.sent[0]?.end(OK);
    await stage.run();
    assert.equal(stage.sent.length, 2);
    assert.equal((await stage.delivery()).status, "succeeded");
  });

  test("during another manual retry is a third attempt, and the schedule does not change", async (t) => {
    const stage = await oneDelivery(t);
    await stage.run();
    stage.answers.push(null);
    await byHand(stage);
    await byHand(stage);
    stage.sent[1]?.end(BROKEN);
    await stage.run();
    assert.equal(stage.sent.length, 3);
    assert.deepEqual(await waiting(stage), { nextAttemptIn: 30_000, status: "pending" });
  });
});

describe("an attempt", () => {
  test("carries the same bytes and event id each time, with a new X-Timestamp and signature", async (t) => {
    const stage = await oneDelivery(t);
    await stage.run();
    for (const delayMs of DELAYS_MS.slice(0, 2)) {
      await stage.clock.advance(2 * SECOND_MS);
      await stage.pass(delayMs);
    }
    const [first] = stage.sent;
    assert.equal(stage.sent.length, 3);
    const { id } = JSON.parse(String(first?.body)) as { id: string };
    const stamps = stage.sent.map(({ headers }) => Number(headers["X-Timestamp"]));
    assert.deepEqual(
      stamps.map((stamp) => stamp - (stamps[0] ?? 0)),
      [0, 2, 4],
      "the real time of each sending, not the sandbox's",
    );
    for (const sent of stage.sent) {
      assert.equal(sent.body, first?.body);
      assert.equal(sent.url, URL_A);
      assert.equal(sent.headers["X-Correlation-Id"], "cor_1");
      assert.ok(isSignedWith(sent, SECRET));
      assert.equal((JSON.parse(String(sent.body)) as { id: string }).id, id);
    }
    assert.equal(new Set(stage.sent.map(({ headers }) => headers["X-Signature"])).size, 3);
  });

  test("is recorded with its start, its duration and the response", async (t) => {
    const stage = await oneDelivery(t);
    stage.answers.push({ ...BROKEN, durationMs: 12, response: "oh no" }, TIMEOUT, unanswered("ADDRESS_REFUSED"), OK);
    await stage.run();
    for (const delayMs of DELAYS_MS.slice(0, 3)) await stage.pass(delayMs);
    assert.deepEqual((await stage.attempts())[0], {
      at: stage.sent[0]?.at,
      status: 500,
      durationMs: 12,
      response: "oh no",
      error: null,
    });
    assert.deepEqual(
      (await stage.attempts()).map(({ status, error }) => [status, error]),
      [
        [500, null],
        [null, "TIMEOUT"],
        [null, "ADDRESS_REFUSED"],
        [200, null],
      ],
    );
    assert.deepEqual(stage.observed.attempts, ["failed", "timeout", "refused", "succeeded"]);
  });
});

describe("a change of the endpoint", () => {
  test("applies from the next attempt: the new URL, the new secret", async (t) => {
    const stage = await oneDelivery(t);
    await stage.run();
    const wanted = { url: URL_B, events: ["message.read" as const], secret: "another secret" };
    await setWebhook(stage.deps, stage.customer.id, wanted);
    await stage.pass(30 * SECOND_MS);
    const [, second] = stage.sent;
    assert.ok(second !== undefined);
    assert.equal(second.url, URL_B);
    assert.ok(isSignedWith(second, "another secret"));
    assert.equal((await stage.delivery()).url, URL_B);
  });

  test("to paused cancels pending deliveries, and an attempt in flight is the last", async (t) => {
    const stage = await oneDelivery(t);
    stage.answers.push(null);
    await stage.run();
    const { endpointId } = await stage.delivery();
    assert.ok(endpointId !== null);
    await updateWebhook(stage.deps, stage.customer.id, endpointId, { active: false }, STAYS);
    stage.sent[0]?.end(BROKEN);
    await stage.run();
    assert.deepEqual(await waiting(stage), { nextAttemptIn: undefined, status: "cancelled" });
    assert.equal((await stage.attempts()).length, 1);
    await updateWebhook(stage.deps, stage.customer.id, endpointId, { active: true }, STAYS);
    await stage.pass(1_000 * HOUR_MS);
    assert.equal(stage.sent.length, 1);
  });

  test("to deleted cancels pending deliveries, and an attempt in flight may still succeed", async (t) => {
    const stage = await oneDelivery(t);
    stage.answers.push(null);
    await stage.run();
    await deleteWebhook(stage.deps, stage.customer.id, null, STAYS);
    stage.sent[0]?.end(OK);
    await stage.run();
    assert.equal((await stage.delivery()).status, "succeeded");
    await emitEvent(stage);
    assert.equal((await stage.deliveries()).length, 1, "nothing more is made for it");
  });

  test("to deleted during the wait for a retry sends nothing more", async (t) => {
    const stage = await oneDelivery(t);
    await stage.run();
    await deleteWebhook(stage.deps, stage.customer.id, null, STAYS);
    await stage.pass(1_000 * HOUR_MS);
    assert.deepEqual([(await stage.delivery()).status, stage.sent.length], ["cancelled", 1]);
  });
});

test("an unreadable secret is an attempt with SECRET_UNREADABLE, retried by the schedule, and sent once repaired", async (t) => {
  const stage = await deliverStage(t);
  await configure(stage);
  const { store } = stage.deps;
  const stored = await store.db.selectFrom("customers").select(["secret", "version"]).executeTakeFirstOrThrow();
  const set = async (secret: string, version: number) => {
    const { id } = stage.customer;
    assert.equal(
      (await store.commit([{ op: "update", table: "customers", id, version, set: { secret } }])).result,
      "ok",
    );
  };
  await set(stored.secret.slice(0, 20), stored.version);
  await emitEvent(stage);
  await stage.run();
  const { attempts, status, dueAt } = await stage.delivery();
  assert.deepEqual([status, dueAt], ["pending", stage.clock.now() + (DELAYS_MS[0] ?? 0)]);
  assert.deepEqual(
    attempts.map(({ error }) => error),
    ["SECRET_UNREADABLE"],
  );
  assert.equal(stage.sent.length, 0, "nothing goes out unsigned");
  const [fault] = stage.observed.faults.splice(0);
  assert.match(String(fault?.error), /customers\|cust_.* is not a sealed secret/, "the log says which secret");
  await set(stored.secret, stored.version + 1);
  await stage.pass(DELAYS_MS[0] ?? 0);
  await stage.run();
  assert.equal(stage.sent.length, 1);
});
