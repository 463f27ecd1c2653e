/**
 * Two processes on one database: an `api`, and one that does everything and so owns every instance. Each test changes something at
 * the one and looks at the other: nothing is sent or bound twice, and no STOP, revoked key or closed guard is ignored.
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { Delivery } from "../../sdk/wire.ts";
import { systemClock } from "../../server/clock.ts";
import type { Store } from "../../server/store/store.ts";
import { originOf, send as sendRaw, signIn } from "../support/browser-session.ts";
import { startMac } from "../support/mac/mac.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import type { TestService } from "../support/service.ts";
import { FakeTwilio } from "../support/twilio/fake-twilio.ts";
import { admin, customerIdAt, data, isConnected, startProcesses, type TwoProcesses } from "../support/two-processes.ts";
import { until, WITHIN_A_SECOND } from "../support/wait.ts";

/** A process knows what another one changed after this time, in milliseconds. */
const KNOWN_MS = 1_000;
/** Time in which something would happen that must not. */
const LATER_MS = 500;
const TWILIO_NUMBER = "+15550000001";

let processes: TwoProcesses;
let ownersStore: Store | undefined;
/** It answers requests, and runs no instance and no loop. */
let asked: TestService;
let owner: TestService;
let receiver: Receiver;
const twilio = new FakeTwilio();
/** When a transaction with an instance was given to the database by the process that was asked. */
let instanceStoredAt = Number.POSITIVE_INFINITY;

before(async () => {
  processes = await startProcesses({
    onAsked: watchInstances,
    onOwner(store) {
      ownersStore = store;
    },
  });
  ({ asked, owner } = processes);
  receiver = await startReceiver();
  await twilio.start();
});
after(() => Promise.all([processes.stop(), receiver.stop(), twilio.stop()]));

function watchInstances(store: Store): void {
  const { commit } = store;
  store.commit = async (operations) => {
    if (operations.some((one) => one.op === "insert" && one.table === "instances")) instanceStoredAt = Date.now();
    return await commit.call(store, operations);
  };
}

let contacts = 0;
/** A contact that has never been written to. */
function nextContact(): string {
  contacts += 1;
  return `+1500557${String(contacts).padStart(4, "0")}`;
}

const send = (at: TestService, to: string, more: object = {}) =>
  at.ask("POST", "/v1/messages", { body: { to, content: { text: "Hi" }, ...more } });
const listenAt = (at: TestService, url: string) => data(at, "PUT /v1/webhooks", { body: { url, events: ["*"] } });
const inTime = (what: string) => ({ ...WITHIN_A_SECOND, what });

test("a key that one process revoked is refused by the other within a second, and was accepted before", async () => {
  const { id, key } = await admin(asked, "POST /v1/admin/keys", {
    name: "short",
    customerId: await customerIdAt(asked),
  });
  const status = async () => (await owner.ask("GET", "/v1/numbers", { key })).status;
  assert.equal(await status(), 200);
  await admin(asked, `DELETE /v1/admin/keys/${id}`);
  await until(async () => (await status()) === 401, inTime("the refusal of the revoked key"));
});

test("a STOP that the one process receives ends sending through the other, and so does an opt-out by the API", async () => {
  const [byPhone, byApi] = [nextContact(), nextContact()];
  for (const contact of [byPhone, byApi]) assert.equal((await send(owner, contact)).status, 202);
  await data(asked, `POST /v1/sandbox/phones/${byPhone}/messages`, { body: { text: "STOP" } });
  const [{ phoneNumber }] = await data(asked, "GET /v1/numbers");
  await data(asked, `PUT /v1/opt-outs/${phoneNumber}/${byApi}`);
  for (const contact of [byPhone, byApi]) {
    const refused = async () => (await send(owner, contact)).error?.code === "RECIPIENT_OPTED_OUT";
    await until(refused, inTime(`the refusal of ${contact}`));
    assert.equal((await send(asked, contact)).error?.code, "RECIPIENT_OPTED_OUT");
  }
});

/** When the first attempt of a delivery began. A slow machine may give an attempt up before it reaches the receiver. */
const firstAt = ({ attempts }: Delivery) => Date.parse(attempts[0]?.at ?? "");

test("a message that the one process accepted is sent once, by the other", async () => {
  await listenAt(asked, receiver.url);
  const sent = await Promise.all(Array.from({ length: 20 }, () => send(asked, nextContact())));
  const ids = sent.map((one) => one.data.id as string);
  await until(() => ids.every((id) => receiver.types(id).length >= 3), { what: "the webhooks of all messages" });
  for (const id of ids) {
    const found = async (): Promise<Delivery[]> =>
      (await data(owner, `GET /v1/webhooks/deliveries?messageId=${id}`)).deliveries;
    // A receiver hears of an attempt before the attempt is recorded.
    await until(async () => (await found()).every(({ attempts }) => attempts.length > 0), { what: "the attempts" });
    const tried = (await found()).toSorted((one, other) => firstAt(one) - firstAt(other));
    assert.deepEqual(
      tried.map(({ eventType }) => eventType),
      ["message.queued", "message.sent", "message.delivered"],
    );
    assert.deepEqual(receiver.types(id).toSorted(), ["message.delivered", "message.queued", "message.sent"]);
  }
});

test("an action on a message gets to the process that runs the instance, once for a key", async () => {
  const contact = nextContact();
  const { id } = (await send(owner, contact)).data;
  await until(async () => (await data(owner, `GET /v1/messages/${id}`)).status === "delivered");
  const act = () =>
    asked.ask("POST", `/v1/sandbox/phones/${contact}/messages`, {
      body: { text: "once" },
      headers: { "Idempotency-Key": "the same" },
    });
  const [first, second] = [await act(), await act()];
  assert.ok(first.status < 300);
  assert.deepEqual([second.status, second.data], [first.status, first.data]);
});

test("an endpoint that the one process changed gets every event of the other from the response on", async (t) => {
  await listenAt(owner, receiver.url);
  const next = await startReceiver();
  t.after(() => next.stop());
  await listenAt(asked, next.url);
  const sent = await Promise.all(Array.from({ length: 20 }, () => send(owner, nextContact())));
  const ids = sent.map((one) => one.data.id as string);
  // The three events of a message may arrive in any order.
  await until(() => ids.every((id) => next.types(id).length === 3), { what: "the webhooks of all" });
  assert.ok(ids.every((id) => receiver.types(id).length === 0));
});

test("a delivery that the one process is posting is posted once more if the other is asked to retry it", async (t) => {
  const slow = await startReceiver();
  t.after(() => slow.stop());
  const held: (() => void)[] = [];
  slow.answer = (_, response) => void held.push(() => response.end("ok"));
  await listenAt(asked, slow.url);
  // It is answered once the attempt has ended.
  const tested = asked.ask("POST", "/v1/webhooks/test", { body: {} });
  await until(() => held.length === 1, { what: "the first attempt, at the new URL" });
  const { deliveries } = await data(owner, "GET /v1/webhooks/deliveries?limit=1");
  await data(asked, `POST /v1/webhooks/deliveries/${deliveries[0].id}/retry`);
  await setTimeout(KNOWN_MS);
  assert.equal(slow.received.length, 1, "not beside the attempt that runs");
  slow.answer = (_, response) => void response.end("ok");
  held[0]?.();
  assert.equal((await tested).status, 200);
  await until(() => slow.received.length === 2, { what: "the attempt by hand" });
  await setTimeout(LATER_MS);
  assert.equal(slow.received.length, 2);
});

test("a clock that the one process moved moves the other within a second", async () => {
  await data(asked, "POST /v1/sandbox/clock", { body: { advance: "1h" } });
  const offsetMs = async () => (await data(owner, "GET /v1/sandbox/clock")).offsetMs;
  await until(async () => (await offsetMs()) === 3_600_000, inTime("the moved clock"));
  await data(asked, "POST /v1/sandbox/clock", { body: { advance: "1h" } });
  await until(async () => (await offsetMs()) === 7_200_000, inTime("the second move"));
});

test("an instance that reaches people is stored once no process posts to loopback, and only its owner connects it", async () => {
  await listenAt(owner, receiver.url);
  let isOver = false;
  const load = (async () => {
    while (!isOver) {
      await send(owner, nextContact());
      await setTimeout(10);
    }
  })();
  const before = receiver.received.length;
  await until(() => receiver.received.length > before, { what: "webhooks to loopback" });
  const instance = { name: "Carrier", provider: "twilio", config: twilio.config };
  const { id, hookUrl } = await admin(asked, "POST /v1/admin/instances", instance);
  await setTimeout(LATER_MS);
  isOver = true;
  await load;
  const late = receiver.received.filter(({ at }) => at > instanceStoredAt);
  assert.deepEqual(
    late.map(({ at }) => at - instanceStoredAt),
    [],
  );
  assert.equal((await data(owner, "GET /v1/sandbox/clock")).offsetMs, 0, "the clock is back as well");

  const number = { phoneNumber: TWILIO_NUMBER, provider: "twilio", instanceId: id };
  await admin(asked, `POST /v1/admin/customers/${await customerIdAt(asked)}/numbers`, number);
  await until(() => isConnected(asked, id), {
    what: "the health of the instance, at the process that does not run it",
  });
  const contact = nextContact();
  const written = async () =>
    (await twilio.write(hookUrl, { from: contact, to: TWILIO_NUMBER, body: "Hello" })).status === 200;
  const lastEventAt = async (at: TestService) => (await admin(at, `GET /v1/admin/instances/${id}`)).lastEventAt;
  assert.equal(await lastEventAt(asked), null);
  await until(written, { what: "a callback by the process that does not run the instance" });
  const told = await lastEventAt(owner);
  assert.ok(Date.parse(told) > instanceStoredAt - LATER_MS);
  await until(async () => (await lastEventAt(asked)) === told, { limitMs: 60_000, what: "the owner's last event" });
  const { data: sent } = await send(asked, contact, { from: TWILIO_NUMBER });
  await until(() => twilio.taken({ to: contact }).length > 0, { what: "the message at the carrier" });
  await setTimeout(LATER_MS);
  assert.equal(twilio.taken({ to: contact }).length, 1, sent.id);
});

test("an instance that the other process runs is removed from its Mac when it is deleted", async (t) => {
  const mac = await startMac({ clock: systemClock() });
  t.after(() => mac.stop());
  const config = { url: mac.url, password: mac.password, ingest: "webhook" };
  const { id } = await admin(asked, "POST /v1/admin/instances", { name: "Mac", provider: "bluebubbles", config });
  const count = (method: string) => mac.requests.filter((one) => one.startsWith(`${method} /api/v1/webhook`)).length;
  await until(() => count("POST") === 1, { what: "the webhook at the Mac" });
  await admin(asked, `DELETE /v1/admin/instances/${id}`);
  assert.equal(count("DELETE"), 1);
  assert.equal(count("POST"), 1);
});

test("whether a contact takes FaceTime calls is asked at the Mac, by the process that runs it, and not at the carrier of another number", async (t) => {
  const mac = await startMac({ clock: systemClock() });
  const carrier = await new FakeTwilio().start();
  t.after(() => Promise.all([mac.stop(), carrier.stop()]));
  const create = (name: string, provider: string, config: object) =>
    admin(asked, "POST /v1/admin/instances", { name, provider, config });
  const sms = await create("Another carrier", "twilio", { ...carrier.config, accountSid: `AC${"f".repeat(32)}` });
  const imessage = await create("Calls", "bluebubbles", { url: mac.url, password: mac.password, ingest: "socket" });
  const customer = await admin(asked, "POST /v1/admin/customers", { name: "Calls" });
  for (const [phoneNumber, instance] of [
    ["+15550000011", sms],
    ["+15550000012", imessage],
  ] as const) {
    const number = { phoneNumber, provider: instance.provider, instanceId: instance.id };
    await admin(asked, `POST /v1/admin/customers/${customer.id}/numbers`, number);
  }
  const { key } = await admin(asked, "POST /v1/admin/keys", { name: "calls", customerId: customer.id });
  await until(() => isConnected(asked, imessage.id), { what: "the health of the Mac" });
  const contact = nextContact();
  const lookups = () => mac.requests.filter((one) => one.includes("availability/facetime")).length;
  const { available, cached } = await data(asked, `GET /v1/contacts/${contact}/facetime`, { key });
  assert.deepEqual([available, cached, lookups()], [true, false, 1]);
  const again = await data(owner, `GET /v1/contacts/${contact}/facetime`, { key });
  assert.deepEqual([again.available, again.cached, lookups()], [true, true, 1], "it is the owner that remembers");
});

test("a row that one process repaired, and that breaks again, is put back into quarantine by the other one", async () => {
  const { id } = (await send(asked, nextContact())).data;
  const { sql } = processes.database;
  const isThere = async () => (await sql("select 1 from quarantined where id = $1", [id])).length === 1;
  const setTimeline = (timeline: string) => sql("update messages set timeline = $1 where id = $2", [timeline, id]);
  await until(async () => (await data(asked, `GET /v1/messages/${id}`)).status === "delivered");
  const [{ timeline } = {}] = await sql("select timeline from messages where id = $1", [id]);
  const findBroken = async () => {
    await setTimeline("{}");
    await until(
      async () => {
        await asked.ask("GET", `/v1/messages/${id}`);
        return isThere();
      },
      { what: "the row in quarantine" },
    );
  };
  await findBroken();
  await setTimeline(String(timeline));
  assert.ok(ownersStore !== undefined);
  const { mended } = await ownersStore.recheck(null, 99, Date.now());
  assert.deepEqual(mended, [{ table: "messages", id }]);
  await findBroken();
  await setTimeline(String(timeline));
});

test("a session or link of one process works at the other, ends at both at once, and is passed on to the process of an instance", async () => {
  const browser = await signIn(asked, { key: asked.adminKey });
  // Both are behind one address, as by a load balancer.
  const Host = `127.0.0.1:${asked.service.port}`;
  const own = { Host, Cookie: browser.cookie, "X-CSRF-Token": browser.csrf, "Sec-Fetch-Site": "same-origin" };
  const statusAt = async (at: TestService) => (await sendRaw(at, "GET /v1/messages", own)).status;
  assert.deepEqual([await statusAt(asked), await statusAt(owner)], [200, 200]);
  const passed = await sendRaw(asked, "GET /v1/capabilities/+15005550100", own);
  assert.equal(passed.status, 200, passed.body);
  const { url } = await data(owner, "POST /session/links", { key: owner.adminKey });
  const link = url.split("#link=")[1];
  const redeem = (at: TestService) => sendRaw(at, "POST /session", { Host, Origin: originOf(asked) }, { link });
  const statuses = (await Promise.all([asked, owner, asked, owner].map(redeem))).map(({ status }) => status);
  assert.deepEqual(statuses.sort(), [201, 401, 401, 401]);
  assert.equal((await sendRaw(owner, "DELETE /session", own)).status, 200);
  assert.deepEqual([await statusAt(asked), await statusAt(owner)], [401, 401]);
});
