/** `GET /v1/wire` of a process that sends nothing, beside one that does everything. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { KyselyPlugin } from "kysely";
import type { Store } from "../../server/store/store.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { data, startProcesses, type TwoProcesses } from "../support/two-processes.ts";
import { until } from "../support/wait.ts";
import { readWire } from "../support/wire.ts";

/** The Wire shows a hundred newer deliveries when it is opened. */
const SHOWN_AT_ONCE = 100;
/** Each makes deliveries of three events to the inbox, and one to the endpoint. */
const MESSAGES = 30;

/** How often the process that was asked has read tables. */
const reads = { requests: 0, deliveries: 0 };
let processes: TwoProcesses;
let receiver: Receiver;

before(async () => {
  processes = await startProcesses({ onAsked: countReads }, { TB_WEBHOOK_ALLOW: "loopback" });
  receiver = await startReceiver();
  const body = { url: receiver.url, events: ["message.queued"] };
  await data(processes.owner, "PUT /v1/webhooks", { body });
});
after(() => Promise.all([processes.stop(), receiver.stop()]));

function countReads(store: Store): void {
  const counter: KyselyPlugin = {
    transformQuery({ node }) {
      const text = JSON.stringify(node);
      for (const table of ["requests", "deliveries"] as const)
        if (new RegExp(`\\b${table}\\b`).test(text)) reads[table] += 1;
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  Object.defineProperty(store, "db", { value: store.db.withPlugin(counter) });
}

async function send(): Promise<string> {
  const body = { to: "+15005550100", content: { text: "Hello" } };
  return (await data(processes.owner, "POST /v1/messages", { body })).id;
}

/** Resolves with the delivery of a message to the receiver, once it has succeeded. */
const deliveryOf = (messageId: string) =>
  until(async () => {
    const { deliveries } = await data(processes.owner, `GET /v1/webhooks/deliveries?messageId=${messageId}`);
    return deliveries[0]?.status === "succeeded" ? deliveries[0] : null;
  });

/** Sends messages, and resolves once nothing of them is left to do. */
async function sendMany(): Promise<void> {
  for (let count = 0; count < MESSAGES; count += 1) await deliveryOf(await send());
  await until(async () => (await processes.database.sql("select id from due_deliveries", [])).length === 0, {
    what: "the end of all deliveries",
  });
}

test("a delivery behind a hundred newer ones appears in the Wire of another process when it is retried by hand", async (t) => {
  const old = await deliveryOf(await send());
  await sendMany();
  const newer = await processes.database.sql("select id from deliveries where id > ?", [old.id]);
  assert.ok(newer.length > SHOWN_AT_ONCE);
  const wire = await readWire(t, processes.asked);
  await data(processes.owner, `POST /v1/webhooks/deliveries/${old.id}/retry`);
  const retried = await wire.until("delivery", ({ id, attempts }) => id === old.id && attempts.length === 2);
  assert.equal(retried.status, "succeeded");
  // Events that were committed just before the stream may be sent again, with their deliveries.
  const events = new Set(wire.all("event").map(({ id }) => id));
  const unchanged = wire.all("delivery").filter(({ id, eventId }) => id !== old.id && !events.has(eventId));
  assert.deepEqual(unchanged, [], "nothing that has not changed");
});

test("deliveries of a replay appear in the Wire of another process, until their end", async (t) => {
  const wire = await readWire(t, processes.asked);
  const { id } = await data(processes.owner, "GET /v1/webhooks");
  const body = { since: "2020-01-01T00:00:00.000Z", types: ["message.queued"] };
  const { deliveries } = await data(processes.owner, `POST /v1/webhooks/${id}/replay`, { body });
  assert.ok(deliveries > MESSAGES);
  const succeeded = () =>
    new Set(
      wire
        .all("delivery")
        .filter(({ status }) => status === "succeeded")
        .map((one) => one.id),
    );
  await until(() => succeeded().size === deliveries, { what: `${deliveries} deliveries of the replay` });
});

test("a message of another process appears with its deliveries, and no delivery is read while nothing happens", async (t) => {
  const wire = await readWire(t, processes.asked);
  const message = await send();
  const ended = new Set<string>();
  const isEnd = (one: { id: string; messageId: string; status: string }) =>
    one.messageId === message && one.status === "succeeded" && ended.add(one.id).size === 4;
  await wire.until("delivery", isEnd);
  await sendNothing();
  const began = { ...reads };
  await until(() => reads.requests >= began.requests + 10, { what: "ten looks" });
  assert.equal(reads.deliveries, began.deliveries);
});

/** Resolves once the deliveries that came last were read for the last time. */
async function sendNothing(): Promise<void> {
  for (let last = -1; last !== reads.deliveries; ) {
    last = reads.deliveries;
    const { requests } = reads;
    await until(() => reads.requests >= requests + 4, { what: "four looks" });
  }
}
