/**
 * An `api` process and a worker on one database: what the one accepts is sent by the other without a look at the queues, since it is
 * woken. A lost wake costs one look.
 *
 * | What became due | Who hears of it | How |
 * |---|---|---|
 * | an accepted message, one that was moved, released or put forward | the owner of its instance | `Wake.messages` after the commit |
 * | deliveries of new events | the owner of their lane | `Wake.deliveries` with the lanes of the commit |
 * | a retry by hand, a test event, a page of a replay | the owner of their lane | `announceDeliveries` |
 * | a retry or a message by its time | its owner or home | the look |
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Store } from "../../server/store/store.ts";
import { freePort } from "../support/free-port.ts";
import { startReceiver } from "../support/receiver.ts";
import { data, startProcesses } from "../support/two-processes.ts";
import { until } from "../support/wait.ts";

/** Makes the looks of a process find nothing. */
function findNothing(store: Store): void {
  const fork = store.fork.bind(store);
  store.dueLanes = async () => [];
  store.fork = () => {
    const forked = fork();
    forked.dueLanes = async () => [];
    return forked;
  };
}

/** The message is sent at the worker, and its webhook is posted, and posted again by a retry by hand. */
async function assertSent(
  t: TestContext,
  onOwner: (store: Store) => void,
  more: Record<string, string> = {},
): Promise<void> {
  const settings = { TB_ROLE: "worker", TB_WEBHOOK_ALLOW: "loopback", TB_SANDBOX_INBOX: "off", ...more };
  const { asked, stop } = await startProcesses({ onOwner }, settings);
  const receiver = await startReceiver();
  t.after(() => Promise.all([stop(), receiver.stop()]));
  await data(asked, "PUT /v1/webhooks", { body: { url: receiver.url, events: ["message.queued"] } });
  const body = { to: "+15005550100", content: { text: "Hello" } };
  const { id } = await data(asked, "POST /v1/messages", { body });
  await until(async () => (await data(asked, `GET /v1/messages/${id}`)).status === "delivered", {
    what: "the message is sent",
  });
  const deliveryOf = async () => (await data(asked, `GET /v1/webhooks/deliveries?messageId=${id}`)).deliveries[0];
  const first = await until(async () => {
    const delivery = await deliveryOf();
    return delivery?.status === "succeeded" ? delivery : null;
  });
  await data(asked, `POST /v1/webhooks/deliveries/${first.id}/retry`);
  await until(async () => (await deliveryOf()).attempts.length === 2, { what: "the retry by hand" });
  const tested = await data(asked, "POST /v1/webhooks/test");
  assert.equal(tested.delivered, true);
}

test("a message, its webhooks, a retry by hand and a test that an api process accepts are sent by the worker without any look", async (t) => {
  await assertSent(t, findNothing);
});

test("if each wake is lost, the looks of the worker find the same", async (t) => {
  await assertSent(t, () => {}, { TB_MEMBER_URL: `http://127.0.0.1:${await freePort()}` });
});
