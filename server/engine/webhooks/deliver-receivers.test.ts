/** Deliveries beside one another: order within a message, permits of a receiver, secrets, and what a stop leaves. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  answered,
  BROKEN,
  configure,
  type DeliverStage,
  deliverStage,
  isSignedWith,
  OK,
  SECRET,
  TIMEOUT,
} from "../../../test/support/deliver.ts";
import { STAYS } from "../../../test/support/stays.ts";
import { addInbox, emitEvent, URL_A, URL_B } from "../../../test/support/webhooks.ts";
import type { MessageId } from "../../core/id.ts";
import { StoreUnavailable } from "../../store/store.ts";
import { createWebhook, rotateSecret, updateWebhook } from "./configure.ts";

const MESSAGE: MessageId = "msg_1";

const request = ({ customer }: DeliverStage) => ({ key: null, customerId: customer.id, route: "", body: {} });

/** Makes a further endpoint with a secret of its own, and gives its id. */
async function further(stage: DeliverStage, url: string, secret: string): Promise<string> {
  const wanted = { url, events: ["*" as const], secret };
  const made = await createWebhook(stage.deps, request(stage), stage.customer.id, wanted);
  assert.ok(!made.repeated);
  return made.value.endpoint.id;
}

/** Ids of the events that were sent to an address, in that order. */
function sentTo(stage: DeliverStage, url: string): string[] {
  return stage.sent
    .filter((sent) => sent.url === url)
    .map(({ body }) => (JSON.parse(String(body)) as { id: string }).id);
}

describe("within one message", () => {
  test("the first attempt of event n+1 starts when that of event n has ended in any way, at each address separately", async (t) => {
    const stage = await deliverStage(t);
    stage.answer = () => null;
    await configure(stage);
    await further(stage, URL_B, "b");
    const events: string[] = [];
    for (let sequence = 1; sequence <= 4; sequence += 1)
      events.push(await emitEvent(stage, { messageId: MESSAGE, sequence }));
    await stage.run();
    const end = async (url: string, posted = OK) => {
      stage.sent.findLast((sent) => sent.url === url)?.end(posted);
      await stage.run();
    };
    assert.deepEqual([sentTo(stage, URL_A), sentTo(stage, URL_B)], [events.slice(0, 1), events.slice(0, 1)]);
    await end(URL_A);
    assert.deepEqual([sentTo(stage, URL_A), sentTo(stage, URL_B)], [events.slice(0, 2), events.slice(0, 1)]);
    await end(URL_A, BROKEN);
    await end(URL_A, TIMEOUT);
    assert.deepEqual(sentTo(stage, URL_A), events);
    await end(URL_B);
    assert.deepEqual(sentTo(stage, URL_B), events.slice(0, 2));
  });

  test("a retry of event n delays no other event", async (t) => {
    const stage = await deliverStage(t);
    await configure(stage);
    stage.answers.push(BROKEN);
    await emitEvent(stage, { messageId: MESSAGE, sequence: 1 });
    await stage.run();
    const second = await emitEvent(stage, { messageId: MESSAGE, sequence: 2 });
    await stage.run();
    assert.equal(sentTo(stage, URL_A).at(-1), second);
  });

  test("other messages, and events without a message, do not wait", async (t) => {
    const stage = await deliverStage(t);
    stage.answer = () => null;
    await configure(stage);
    await emitEvent(stage, { messageId: MESSAGE, sequence: 1 });
    const other = await emitEvent(stage, { messageId: "msg_2", sequence: 1 });
    const none = await emitEvent(stage);
    await stage.run();
    assert.deepEqual(sentTo(stage, URL_A).slice(1).sort(), [other, none].sort());
  });
});

describe("an endpoint's own lane", () => {
  test("has at most TB_WEBHOOK_CONCURRENCY attempts in flight, and reaches that number with successes", async (t) => {
    const stage = await deliverStage(t, { settings: { webhookConcurrency: 16 } });
    stage.answer = () => null;
    await configure(stage);
    for (let index = 0; index < 100; index += 1) await emitEvent(stage);
    await stage.run();
    let most = 0;
    for (let ended = 0; ended < 100; ended += 1) {
      most = Math.max(most, stage.sent.length - ended);
      stage.sent[ended]?.end(OK);
      await stage.run();
    }
    assert.deepEqual([most, stage.sent.length], [16, 100]);
  });

  test("has a single permit after timeouts until a success, and delays no other address", async (t) => {
    const stage = await deliverStage(t);
    stage.answer = () => null;
    await configure(stage);
    for (let index = 0; index < 30; index += 1) await emitEvent(stage);
    await stage.run();
    const begun = stage.sent.length;
    for (let index = 0; index < begun; index += 1) {
      stage.sent[index]?.end(TIMEOUT);
      await stage.run();
    }
    assert.equal(stage.sent.length, begun + 1, "one at a time");
    await further(stage, URL_B, "b");
    for (let index = 0; index < 3; index += 1) await emitEvent(stage);
    await stage.run();
    assert.equal(sentTo(stage, URL_B).length, 3, "its neighbour gets all of its events at once");
    assert.equal(sentTo(stage, URL_A).length, begun + 1);
    stage.sent[begun]?.end(TIMEOUT);
    await stage.run();
    assert.equal(sentTo(stage, URL_A).length, begun + 2);
    stage.sent.findLast(({ url }) => url === URL_A)?.end(OK);
    await stage.run();
    assert.ok(sentTo(stage, URL_A).length > begun + 3, "several at a time again");
  });

  test("is shared by callbacks of the same customer and origin", async (t) => {
    const stage = await deliverStage(t);
    stage.answer = () => TIMEOUT;
    await emitEvent(stage, { callbackUrl: "https://slow.example.com/a" });
    await stage.run();
    stage.answer = () => null;
    for (const path of ["b", "c"]) await emitEvent(stage, { callbackUrl: `https://slow.example.com/${path}` });
    await emitEvent(stage, { callbackUrl: "https://quick.example.com/" });
    await stage.run();
    assert.deepEqual(
      stage.sent
        .slice(1)
        .map(({ url }) => url)
        .sort(),
      ["https://quick.example.com/", "https://slow.example.com/b"],
    );
  });
});

describe("signatures", () => {
  test("use the customer's secret for the primary endpoint and callbacks, and a further endpoint's own secret", async (t) => {
    const stage = await deliverStage(t);
    await configure(stage);
    await further(stage, URL_B, "secret of b");
    await emitEvent(stage, { callbackUrl: "https://c.example.com/" });
    await stage.run();
    const secrets: Record<string, string> = {
      [URL_A]: SECRET,
      [URL_B]: "secret of b",
      "https://c.example.com/": SECRET,
    };
    assert.equal(stage.sent.length, 3);
    for (const sent of stage.sent) assert.ok(isSignedWith(sent, secrets[sent.url] ?? ""), sent.url);
  });

  test("during a rotation use the old secret in X-Signature and both in webhook-signature, and then only the new secret", async (t) => {
    const stage = await deliverStage(t);
    const first = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
    const endpointId = await further(stage, URL_B, first);
    const rotation = { target: endpointId, graceSeconds: 60 };
    const rotated = await rotateSecret(stage.deps, request(stage), stage.customer.id, rotation);
    const secret = rotated.repeated ? null : rotated.value.secret;
    assert.ok(secret !== null);
    await emitEvent(stage);
    await stage.run();
    // Grace is real time: the sandbox's clock does not shorten it.
    stage.clock.shift(3_600_000);
    await emitEvent(stage);
    await stage.run();
    await stage.clock.advance(60_000);
    await emitEvent(stage);
    await stage.run();
    const signatures = stage.sent.map(({ headers }) => headers["webhook-signature"]?.split(" ").length);
    assert.deepEqual(signatures, [2, 2, 1]);
    assert.deepEqual(
      stage.sent.map((sent) => (isSignedWith(sent, first) ? "old" : isSignedWith(sent, secret) ? "new" : "none")),
      ["old", "old", "new"],
    );
  });

  test("the built-in inbox gets its deliveries at this server's own address, trusted, under its own secret", async (t) => {
    const stage = await deliverStage(t);
    await addInbox(stage);
    await emitEvent(stage);
    await stage.run();
    const [sent] = stage.sent;
    assert.deepEqual([sent?.url, sent?.trusted], ["http://127.0.0.1:8080/sandbox/inbox/token", true]);
    assert.ok(sent !== undefined && isSignedWith(sent, "whsec_inbox"));
  });

  test("no other address is trusted", async (t) => {
    const stage = await deliverStage(t);
    await configure(stage, "http://127.0.0.1:8080/sandbox/inbox/token");
    await emitEvent(stage);
    await stage.run();
    assert.equal(stage.sent[0]?.trusted, false);
  });
});

describe("the response of an address that only the operator's allow list permits", () => {
  const fromPrivate = answered(500, { isPrivate: true, response: "inside" });

  test("is stored while there is one customer", async (t) => {
    const stage = await deliverStage(t);
    stage.answer = () => fromPrivate;
    await configure(stage);
    await emitEvent(stage);
    await stage.run();
    assert.equal((await stage.attempts())[0]?.response, "inside");
  });

  test("is not stored once there are several customers", async (t) => {
    const stage = await deliverStage(t);
    stage.answer = () => fromPrivate;
    await configure(stage);
    await emitEvent(stage);
    await stage.run();
    await stage.addTenant("Other");
    stage.deps.configCache.clear();
    await stage.pass(30_000);
    const [, second] = await stage.attempts();
    assert.deepEqual([second?.status, second?.response], [500, null]);
  });
});

test("an attempt that fails while the database is out of reach is recorded once it is back, and not made again", async (t) => {
  const stage = await deliverStage(t);
  const { store } = stage.deps;
  await configure(stage);
  stage.answers.push(null);
  await emitEvent(stage);
  await stage.run();
  const { db } = store;
  let isReachable = false;
  Object.defineProperty(store, "db", {
    get() {
      if (!isReachable) throw new StoreUnavailable("the server is gone");
      return db;
    },
  });
  // A commit whose result is not known has the caches of receivers dropped.
  stage.lanes.changed([{ table: "endpoints", id: null }]);
  stage.sent[0]?.end(BROKEN);
  await stage.clock.advance(0);
  isReachable = true;
  assert.ok(stage.observed.faults.splice(0).every(({ error }) => error instanceof StoreUnavailable));
  await stage.clock.advance(1_000);
  await stage.clock.advance(0);
  assert.equal(stage.sent.length, 1);
  assert.deepEqual(
    (await stage.attempts()).map(({ status }) => status),
    [500],
  );
});

test("a resumed endpoint gets the deliveries made since, although the loop does not know of the change yet", async (t) => {
  const stage = await deliverStage(t);
  const { customer, deps, lanes } = stage;
  const id = await further(stage, URL_B, "b");
  await updateWebhook(deps, customer.id, id, { active: false }, STAYS);
  lanes.wake([id]);
  await stage.run();
  const [committed, applied] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  deps.store.watchReceivers(() => {
    committed.resolve();
    return applied.promise;
  });
  const resumed = updateWebhook(deps, customer.id, id, { active: true }, STAYS);
  await committed.promise;
  await emitEvent(stage);
  await stage.run();
  assert.deepEqual([sentTo(stage, URL_B).length, (await stage.delivery()).status], [1, "succeeded"]);
  applied.resolve();
  await resumed;
});
