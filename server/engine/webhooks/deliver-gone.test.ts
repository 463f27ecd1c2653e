/** Endpoints whose receivers are gone: ten answers in a row were 410. */

import assert from "node:assert/strict";
import { type TestContext as NodeTest, test } from "node:test";
import { CommitGate } from "../../../test/support/commit-gate.ts";
import { answered, configure, type DeliverStage, deliverStage, OK } from "../../../test/support/deliver.ts";
import { STAYS } from "../../../test/support/stays.ts";
import { until } from "../../../test/support/wait.ts";
import { addInbox, emitEvent, URL_A, URL_B } from "../../../test/support/webhooks.ts";
import type { Endpoint } from "../../core/webhook.ts";
import { StoreFull, type Transaction } from "../../store/store.ts";
import { findEndpoints, findPrimaryEndpoint } from "../../store/webhooks.ts";
import { deleteWebhook, setWebhook, updateWebhook } from "./configure.ts";

const GONE = answered(410);

/** The primary endpoint, once everything that the loop reported is committed. */
async function endpointOf({ customer, deps }: DeliverStage): Promise<Endpoint> {
  const find = () => findPrimaryEndpoint(deps.store.db, customer.id);
  const endpoint = (await find()) ?? assert.fail("there is no endpoint");
  await until(() => !deps.serial.isBusy(`gone ${endpoint.id}`), { what: "the commit of the mark" });
  return (await find()) ?? endpoint;
}

async function isGone(stage: DeliverStage): Promise<boolean> {
  return (await endpointOf(stage)).goneSince !== null;
}

/** Sends some events, each answered like this. */
async function send(stage: DeliverStage, count: number, answer = GONE): Promise<void> {
  stage.answers.push(...Array.from({ length: count }, () => answer));
  for (let sent = 0; sent < count; sent += 1) {
    await emitEvent(stage);
    await stage.run();
  }
}

/** A stage with the primary endpoint, which answered this many events with 410. */
async function goneStage(t: NodeTest, count: number): Promise<DeliverStage> {
  const stage = await deliverStage(t);
  await configure(stage);
  await send(stage, count);
  assert.equal(await isGone(stage), count >= 10);
  return stage;
}

test("ten 410 in a row mark an endpoint as gone, pause and cancel nothing, and the next 2xx removes the mark", async (t) => {
  const stage = await goneStage(t, 9);
  await send(stage, 1);
  const marked = await endpointOf(stage);
  assert.deepEqual([marked.goneSince, marked.active], [stage.clock.now(), true]);
  assert.ok((await stage.deliveries()).every(({ status, retryCount }) => status === "pending" && retryCount === 1));
  await send(stage, 1, answered(500));
  assert.ok(await isGone(stage));
  await send(stage, 1, OK);
  const unmarked = await endpointOf(stage);
  assert.deepEqual([unmarked.goneSince, unmarked.updatedAt], [null, marked.updatedAt]);
});

test("the retries of one event count as well as ten events, within a day", async (t) => {
  const stage = await goneStage(t, 2);
  stage.answer = () => GONE;
  for (const minutes of [1, 6, 31, 121]) await stage.pass(minutes * 60_000);
  assert.equal(stage.sent.length, 10);
  assert.ok(await isGone(stage));
});

test("callbacks and the inbox have no mark", async (t) => {
  const stage = await deliverStage(t);
  const inbox = await addInbox(stage);
  stage.answer = () => GONE;
  for (let count = 0; count < 12; count += 1) {
    await emitEvent(stage, { callbackUrl: URL_A });
    await stage.run();
  }
  assert.equal(stage.sent.length, 24);
  const { endpoints } = await findEndpoints(stage.deps.store.db, [inbox.id]);
  assert.deepEqual(
    endpoints.map(({ goneSince }) => goneSince),
    [null],
  );
});

test("the wait that a receiver asked for by Retry-After goes on when the mark of its endpoint changes", async (t) => {
  const stage = await goneStage(t, 10);
  stage.answers.push(null, null);
  const before = stage.sent.length;
  for (let count = 0; count < 2; count += 1) await emitEvent(stage);
  await stage.run();
  const [asks, succeeds] = stage.sent.slice(before);
  asks?.end(answered(503, { retryAfter: ["60"] }));
  await stage.clock.advance(0);
  succeeds?.end(OK);
  assert.equal(await isGone(stage), false);
  await emitEvent(stage);
  await stage.run();
  assert.equal(stage.sent.length, before + 2, "the next webhook waits");
  await stage.pass(60_000);
  assert.ok(stage.sent.length > before + 2);
});

test("another URL removes the mark, other changes keep it", async (t) => {
  const stage = await goneStage(t, 10);
  const { customer, deps } = stage;
  const { id } = await endpointOf(stage);
  const changes = [
    () => updateWebhook(deps, customer.id, id, { events: ["message.sent"], secret: "another", name: "A" }, STAYS),
    () => updateWebhook(deps, customer.id, id, { url: URL_A }, STAYS),
    () => setWebhook(deps, customer.id, { url: URL_A, events: ["*"] }),
  ];
  for (const change of changes) {
    await change();
    assert.ok(await isGone(stage));
  }
  await updateWebhook(deps, customer.id, id, { url: URL_B }, STAYS);
  assert.equal(await isGone(stage), false);
  await send(stage, 9);
  assert.equal(await isGone(stage), false, "the new URL is counted from its first answer");
  await send(stage, 1);
  assert.ok(await isGone(stage));
  await setWebhook(deps, customer.id, { url: URL_A, events: ["*"] });
  assert.equal(await isGone(stage), false);
});

const changes = (property: string) => (transaction: Transaction) =>
  transaction.some((one) => one.op === "update" && one.table === "endpoints" && property in one.set);

test("a change of the endpoint that is decided before the mark and committed after it keeps both", async (t) => {
  const stage = await goneStage(t, 9);
  const { customer, deps } = stage;
  const { id } = await endpointOf(stage);
  const gate = new CommitGate();
  gate.watch(deps.store);
  const { value } = await gate.during(
    changes("name"),
    () => updateWebhook(deps, customer.id, id, { name: "Books" }, STAYS),
    async () => {
      await send(stage, 1);
      assert.ok(await isGone(stage));
    },
  );
  const { name, goneSince } = await endpointOf(stage);
  assert.deepEqual([value.name, name, goneSince !== null], ["Books", "Books", true]);
});

test("a mark that is decided before a change of the endpoint keeps the change, and another URL and a deletion end it", async (t) => {
  for (const change of ["name", "url", "delete"] as const) {
    const stage = await goneStage(t, 9);
    const { customer, deps } = stage;
    const { id } = await endpointOf(stage);
    const gate = new CommitGate();
    gate.watch(deps.store);
    await gate.during(
      changes("goneSince"),
      () => send(stage, 1),
      async () => {
        if (change === "delete") await deleteWebhook(deps, customer.id, id, STAYS);
        else await updateWebhook(deps, customer.id, id, { [change]: URL_B }, STAYS);
      },
    );
    await until(() => !deps.serial.isBusy(`gone ${id}`));
    const { endpoints } = await findEndpoints(deps.store.db, [id]);
    const found = endpoints.map(({ name, url, goneSince }) => [name, url, goneSince !== null]);
    const expected = { name: [[URL_B, URL_A, true]], url: [[null, URL_B, false]], delete: [] };
    assert.deepEqual(found, expected[change], change);
  }
});

test("a 2xx that comes while the mark is being committed removes it", async (t) => {
  const stage = await goneStage(t, 9);
  const gate = new CommitGate();
  gate.watch(stage.deps.store);
  let sending: Promise<void> | undefined;
  await gate.during(
    changes("goneSince"),
    () => (sending = send(stage, 1)),
    async () => {
      await sending;
      await send(stage, 1, OK);
    },
  );
  assert.equal(await isGone(stage), false);
});

test("a mark that the store refuses for now is committed later", async (t) => {
  const stage = await goneStage(t, 9);
  const { store } = stage.deps;
  const commit = store.commit.bind(store);
  let refusals = 2;
  store.commit = async (transaction) => {
    if (!changes("goneSince")(transaction) || refusals === 0) return await commit(transaction);
    refusals -= 1;
    throw new StoreFull("full");
  };
  await send(stage, 1);
  await until(() => refusals === 1, { what: "the first refusal" });
  await stage.clock.advance(0);
  await stage.clock.advance(1_000);
  await until(() => refusals === 0, { what: "the second refusal" });
  await stage.clock.advance(0);
  await stage.clock.advance(1_000);
  assert.ok(await isGone(stage));
});
