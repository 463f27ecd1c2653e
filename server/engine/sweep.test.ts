/** Chores by the clock: retention, the texts of deleted messages, expired leases. */

import assert from "node:assert/strict";
import { describe, type TestContext as NodeTest, test } from "node:test";
import type { SendMessage } from "../../sdk/wire.ts";
import { commitAll, type TestContext, type TestContextOptions, testContext } from "../../test/support/context.ts";
import { configure } from "../../test/support/deliver.ts";
import { readDue } from "../../test/support/due.ts";
import { emitEvent } from "../../test/support/webhooks.ts";
import type { Delivery } from "../core/delivery.ts";
import type { MessageId } from "../core/id.ts";
import { newMessage } from "../core/new-message.ts";
import { findEvent, listEvents, listEventsOfMessage } from "../store/events.ts";
import { findMessage } from "../store/messages.ts";
import { StoreFull } from "../store/store.ts";
import { accept } from "./messages/accept.ts";
import { deleteMessage } from "./messages/actions.ts";
import { cancelSchedule } from "./messages/schedule.ts";
import { Sweep } from "./sweep.ts";
import { retryDelivery } from "./webhooks/redeliver.ts";

const DAY_MS = 86_400_000;
const PRUNE_EVERY_MS = 60_000;
const ERASE_EVERY_MS = 2_000;

/** A context until the test ends; `sweep` begins to sweep, which moves nothing by itself. */
async function stageOf(t: NodeTest, options: TestContextOptions = {}) {
  const made = await testContext(options);
  const sweeper = new Sweep(made.deps);
  t.after(async () => {
    await sweeper.stop();
    await made.close();
  });
  return { ...made, sweep: () => sweeper.start(), stop: () => sweeper.stop() };
}

/** Takes the due deliveries of the context's customer in hand, so that the test may end them. */
async function claim({ deps, clock }: TestContext): Promise<Delivery[]> {
  const due = await deps.store.dueLanes("deliveries", clock.now());
  const lanes = due.map(({ lane }) => lane);
  return (await readDue(deps.store, lanes, clock.now())).map(({ delivery }) => delivery);
}

/** Ends a delivery in hand, with one attempt; `dueAt` null for good. */
function ended({ deps }: TestContext, { id, version }: Delivery, dueAt: number | null = null): Promise<void> {
  const status = dueAt === null ? "succeeded" : "pending";
  const attempts = [{ at: 0, status: 200, durationMs: 1, response: "", error: null }];
  const set = { status, dueAt, attemptCount: 1, attempts } as const;
  return commitAll(deps, [{ op: "update", table: "deliveries", id, version, set }]);
}

const eventsLeft = async ({ deps, customer }: TestContext): Promise<string[]> =>
  (await listEvents(deps.store.db, customer.id, {}, { order: "oldest", from: null, limit: 1_000 })).map(({ id }) => id);

describe("TB_RETENTION", () => {
  test("removes an event with its deliveries and attempts when it is 30 days old, and not before", async (t) => {
    const stage = await stageOf(t);
    const { deps, clock, customer } = stage;
    await configure(stage);
    const id = await emitEvent(stage);
    const emittedAt = clock.real();
    const [delivery] = await claim(stage);
    assert.ok(delivery !== undefined);
    await ended(stage, delivery);
    await clock.advance(emittedAt + 30 * DAY_MS - PRUNE_EVERY_MS - clock.real() - 1);
    stage.sweep();
    await clock.advance(PRUNE_EVERY_MS);
    assert.ok((await findEvent(deps.store.db, customer.id, id)) !== null);
    await clock.advance(PRUNE_EVERY_MS);
    assert.deepEqual(await eventsLeft(stage), []);
    assert.deepEqual(await deps.store.db.selectFrom("deliveries").select("id").execute(), []);
  });

  const OPEN: [title: string, open: (stage: TestContext, delivery: Delivery) => Promise<unknown>][] = [
    ["is in flight", async () => {}],
    ["waits for its next attempt", (stage, delivery) => ended(stage, delivery, stage.clock.now() + DAY_MS)],
    [
      "was asked for again by hand",
      async (stage, delivery) => {
        await ended(stage, delivery);
        const { deps, customer } = stage;
        const request = { key: null, customerId: customer.id, route: "", body: {} };
        await retryDelivery(deps, request, customer.id, delivery.id);
      },
    ],
  ];
  for (const [title, open] of OPEN) {
    test(`keeps an event whose delivery ${title}`, async (t) => {
      const stage = await stageOf(t);
      await configure(stage);
      const id = await emitEvent(stage);
      const [delivery] = await claim(stage);
      assert.ok(delivery !== undefined);
      await open(stage, delivery);
      await emitEvent(stage);
      for (const other of await claim(stage)) if (other.id !== delivery.id) await ended(stage, other);
      await stage.clock.advance(31 * DAY_MS);
      await stage.deps.store.prune(stage.clock.real() - 30 * DAY_MS, 200);
      assert.deepEqual(await eventsLeft(stage), [id], "the other one, which is done, is gone");
    });
  }

  test("continues at once while there are more events", async (t) => {
    const stage = await stageOf(t);
    for (let index = 0; index < 450; index += 1) await emitEvent(stage);
    await stage.clock.advance(31 * DAY_MS);
    stage.sweep();
    await stage.clock.advance(PRUNE_EVERY_MS + 10);
    assert.deepEqual(await eventsLeft(stage), []);
  });

  test("keeps all events for ever if it is 0", async (t) => {
    const stage = await stageOf(t, { settings: { retentionMs: null } });
    const id = await emitEvent(stage);
    await stage.clock.advance(4_000 * DAY_MS);
    stage.sweep();
    await stage.clock.advance(10 * PRUNE_EVERY_MS);
    assert.deepEqual(await eventsLeft(stage), [id]);
  });

  test("leaves messages, and deletes idempotency keys", async (t) => {
    const stage = await stageOf(t);
    const first = await send(stage, { idempotencyKey: "k" });
    assert.equal(await send(stage, { idempotencyKey: "k" }), first);
    await stage.clock.advance(31 * DAY_MS);
    stage.sweep();
    await stage.clock.advance(PRUNE_EVERY_MS + 10);
    assert.ok((await findMessage(stage.deps.store.db, first)) !== null);
    assert.deepEqual(await eventsLeft(stage), []);
    assert.notEqual(await send(stage, { idempotencyKey: "k" }), first);
  });

  test("counts in real time: the sandbox's clock ages no event", async (t) => {
    const stage = await stageOf(t);
    const id = await emitEvent(stage);
    stage.clock.shift(1_000 * DAY_MS);
    stage.sweep();
    await stage.clock.advance(2 * PRUNE_EVERY_MS);
    assert.deepEqual(await eventsLeft(stage), [id]);
  });
});

/** Accepts a message that is scheduled for an hour from now. */
async function send({ deps, customer, apiKey, clock }: TestContext, more: Partial<SendMessage> = {}) {
  const requester = { customerId: customer.id, keyId: apiKey.id, correlationId: "cor_1" };
  const message = newMessage(requester, {
    to: "+15550100001",
    content: { text: "forget me" },
    ...more,
    ...(more.idempotencyKey === undefined ? { scheduledAt: new Date(clock.now() + 3_600_000).toISOString() } : {}),
  });
  const { record } = await accept(deps, message, more.idempotencyKey ?? null);
  return record.id as MessageId;
}

describe("the text of a deleted message", () => {
  const bytesOf = async ({ deps }: TestContext, id: MessageId) =>
    (await listEventsOfMessage(deps.store.db, id)).map(({ bytes }) => bytes);

  test("is erased from its stored events, which are otherwise unchanged", async (t) => {
    const stage = await stageOf(t);
    const id = await send(stage);
    await cancelSchedule(stage.deps, stage.customer.id, id);
    await deleteMessage(stage.deps, stage.customer.id, id);
    const before = await bytesOf(stage, id);
    assert.equal(before.filter((bytes) => bytes.includes("forget me")).length, 2);
    stage.sweep();
    await stage.clock.advance(ERASE_EVERY_MS);
    assert.deepEqual(
      await bytesOf(stage, id),
      before.map((bytes) => bytes.replace('"text":"forget me"', '"text":null')),
    );
    assert.ok((await findMessage(stage.deps.store.db, id))?.erasedAt !== null);
  });

  test("is erased with its media and files: the bytes at once, their fields in events with the text", async (t) => {
    const stage = await stageOf(t);
    const data = Buffer.from("%PDF-1.4\n").toString("base64");
    const mediaUrls = ["https://example.com/a.jpg"];
    const attachments: SendMessage["attachments"] = [{ type: "base64", data, filename: "secret.pdf" }];
    const id = await send(stage, { content: { text: "forget me", mediaUrls }, attachments });
    const contents = async () => (await stage.deps.store.db.selectFrom("contents").select("id").execute()).length;
    assert.deepEqual([await contents(), (await bytesOf(stage, id)).join().includes("secret.pdf")], [1, true]);
    await deleteMessage(stage.deps, stage.customer.id, id);
    const deleted = await findMessage(stage.deps.store.db, id);
    assert.deepEqual([await contents(), deleted?.mediaUrls, deleted?.attachments], [0, [], []]);
    stage.sweep();
    await stage.clock.advance(ERASE_EVERY_MS);
    const events = (await bytesOf(stage, id)).map((bytes) => JSON.parse(bytes).data);
    assert.deepEqual(
      events.map(({ text, attachments: left }) => [text, left ?? []]),
      [
        [null, []],
        [null, []],
        [null, []],
      ],
    );
  });

  test("stays in an event with an open delivery, whose bytes are the same at each attempt", async (t) => {
    const stage = await stageOf(t);
    await configure(stage);
    const id = await send(stage);
    await deleteMessage(stage.deps, stage.customer.id, id);
    const before = await bytesOf(stage, id);
    stage.sweep();
    const claimed = await claim(stage);
    assert.ok(claimed.length > 1);
    for (const delivery of claimed) {
      await stage.clock.advance(2 * ERASE_EVERY_MS);
      assert.deepEqual(await bytesOf(stage, id), before, "one is in flight, or waits");
      await ended(stage, delivery);
    }
    assert.deepEqual(await claim(stage), []);
    await stage.clock.advance(2 * ERASE_EVERY_MS);
    assert.deepEqual(
      (await bytesOf(stage, id)).filter((bytes) => bytes.includes("forget me")),
      [],
    );
  });

  test("a message that was not deleted keeps its text", async (t) => {
    const stage = await stageOf(t);
    const id = await send(stage);
    const before = await bytesOf(stage, id);
    stage.sweep();
    await stage.clock.advance(10 * ERASE_EVERY_MS);
    assert.deepEqual(await bytesOf(stage, id), before);
  });

  test("is erased from more messages than one batch holds", async (t) => {
    const stage = await stageOf(t);
    const ids: MessageId[] = [];
    for (let index = 0; index < 120; index += 1) {
      const id = await send(stage);
      await deleteMessage(stage.deps, stage.customer.id, id);
      ids.push(id);
    }
    stage.sweep();
    await stage.clock.advance(ERASE_EVERY_MS);
    // One look takes longer than the clock waits for it; the next follows at once, not after two seconds.
    for (let round = 0; round < 200; round += 1) await stage.clock.advance(1);
    for (const id of ids)
      assert.deepEqual(
        (await bytesOf(stage, id)).filter((bytes) => bytes.includes("forget")),
        [],
      );
  });
});

test("a message whose events cannot be erased is reported, and those of others are erased", async (t) => {
  const stage = await stageOf(t);
  const { store } = stage.deps;
  const ids = [await send(stage), await send(stage), await send(stage)];
  for (const id of ids) await deleteMessage(stage.deps, stage.customer.id, id);
  const { commit } = store;
  const broken = new Error("the database refuses it");
  store.commit = (transaction) => {
    const isFirst = transaction.some((one) => one.op === "update" && one.id === ids[0]);
    return isFirst ? Promise.reject(broken) : commit.call(store, transaction);
  };
  stage.sweep();
  await stage.clock.advance(ERASE_EVERY_MS);
  const erased = await Promise.all(ids.map(async (id) => (await findMessage(store.db, id))?.erasedAt !== null));
  assert.deepEqual(erased, [false, true, true]);
  assert.deepEqual(stage.observed.faults, [{ where: "sweep", error: broken }]);
});

test("a failed chore is reported and retried, and the others continue", async (t) => {
  const stage = await stageOf(t);
  const { store } = stage.deps;
  const { prune } = store;
  const full = new StoreFull("no room");
  store.prune = () => Promise.reject(full);
  const id = await emitEvent(stage);
  await stage.clock.advance(31 * DAY_MS);
  stage.sweep();
  await stage.clock.advance(PRUNE_EVERY_MS);
  assert.deepEqual(stage.observed.faults, [{ where: "sweep", error: full }]);
  assert.deepEqual(await eventsLeft(stage), [id]);
  store.prune = prune;
  await stage.clock.advance(PRUNE_EVERY_MS);
  assert.deepEqual(await eventsLeft(stage), []);
});

test("the leader vacuums the queues every 15 s, one vacuum at a time, and again after one that failed; others do not", async (t) => {
  const stage = await stageOf(t);
  const { deps, clock } = stage;
  let isLeader = false;
  Object.defineProperty(deps.membership, "isLeader", { get: () => isLeader });
  const vacuums: PromiseWithResolvers<void>[] = [];
  const vacuumQueues = () => {
    const vacuum = Promise.withResolvers<void>();
    vacuums.push(vacuum);
    return vacuum.promise;
  };
  Object.defineProperty(deps.store, "shared", { value: { vacuumQueues } });
  stage.sweep();
  await clock.advance(30_000);
  assert.equal(vacuums.length, 0);
  isLeader = true;
  await clock.advance(15_000);
  assert.equal(vacuums.length, 1);
  await clock.advance(60_000);
  assert.equal(vacuums.length, 1);
  const error = new Error("it was interrupted");
  vacuums[0]?.reject(error);
  await clock.advance(14_999);
  assert.deepEqual([vacuums.length, stage.observed.faults], [1, [{ where: "sweep", error }]]);
  await clock.advance(1);
  assert.equal(vacuums.length, 2);
  vacuums[1]?.resolve();
  await clock.advance(15_000);
  assert.equal(vacuums.length, 3);
  vacuums[2]?.resolve();
});

test("a stopped sweep does nothing more", async (t) => {
  const stage = await stageOf(t);
  const id = await emitEvent(stage);
  await stage.clock.advance(31 * DAY_MS);
  stage.sweep();
  await stage.stop();
  assert.equal(stage.clock.pending, 0);
  await stage.clock.advance(PRUNE_EVERY_MS);
  assert.deepEqual(await eventsLeft(stage), [id]);
});
