/** A database of an earlier version, killed with work in flight, opens in this version; the work ends and every webhook arrives. */

import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import type { Message } from "../../sdk/wire.ts";
import { startService } from "../../server/app/service.ts";
import { readConfig } from "../../server/config.ts";
import { createLog } from "../../server/log.ts";
import { emptyDirectory } from "../support/cli.ts";
import { JumpClock } from "../support/jump-clock.ts";
import { ADMIN_KEY, ask, KEY } from "../support/process.ts";
import { isSigned, startReceiver } from "../support/receiver.ts";
import { FakeTwilio } from "../support/twilio/fake-twilio.ts";
import { until } from "../support/wait.ts";

/**
 * The database that the service left behind at a `kill -9`, as SQL. On the sandbox: a message being sent, one queued behind
 * it, one with an unknown outcome, one between two tries, a scheduled one, one that waits for its fallback, one whose phone
 * is offline, an open payment request, an erasure and a replay. On BlueBubbles, SMPP and Twilio instances: messages without
 * a receipt, and one of which only the text was sent. At four endpoints: deliveries in flight and deliveries to be retried.
 */
const VERSION_11 = { file: "in-flight.sql", killedAt: Date.parse("2026-11-22T07:55:23Z") };
/** The same database, opened and killed again by the version whose migrations end with number 15. */
const VERSION_15 = { file: "in-flight-15.sql", killedAt: Date.parse("2026-11-22T07:55:55Z") };
type Dump = typeof VERSION_11;

const HOUR_MS = 3_600_000;
/** The port of the receivers in the dump. The test puts the port of its own receiver in its place. */
const RECEIVER_PORT = 21987;
/** The key of the customer whose numbers are on real providers. */
const CARRIERS_KEY = "tb_Qu6EF45FpnHwDslOtrXNhBRCn7ZE0D2C7H5P";
const PRIMARY_SECRET = "the secret of the primary endpoint";

/** Messages of the sandbox that had not ended, by `externalMessageId`. */
const IN_FLIGHT = ["slow", "slowNext", "unknown", "faulty", "scheduled", "fallback", "offline"];

/** The least that the first lists of the API hold. */
const LISTS: readonly [path: string, items: string, least: number][] = [
  ["/v1/messages", "messages", 20],
  ["/v1/messages/scheduled", "messages", 0],
  ["/v1/chats", "chats", 5],
  ["/v1/contacts", "contacts", 1],
  ["/v1/opt-outs", "optOuts", 1],
  ["/v1/payments/requests", "requests", 2],
  ["/v1/facetime/calls", "calls", 1],
  ["/v1/webhooks/deliveries", "deliveries", 50],
  ["/v1/events", "events", 50],
];

type Row = Record<string, unknown>;

function readRows(path: string, sql: string): Row[] {
  const database = new DatabaseSync(path);
  const rows = database.prepare(sql).all();
  database.close();
  return rows.map((row) => ({ ...row }));
}

/** Loads the dump into a data directory and starts the service on it, two hours after the kill. */
async function start(t: TestContext, { file, killedAt }: Dump) {
  const dataDir = join(emptyDirectory(t), "data");
  mkdirSync(dataDir);
  const path = join(dataDir, "tightbeam.db");
  const receiver = await startReceiver();
  t.after(() => receiver.stop());
  const dump = readFileSync(new URL(`../fixtures/${file}`, import.meta.url), "utf8").replaceAll(
    `127.0.0.1:${RECEIVER_PORT}`,
    new URL(receiver.url).host,
  );
  const database = new DatabaseSync(path);
  database.exec(`begin; ${dump} commit`);
  database.close();
  const [{ leased } = { leased: 0 }] = readRows(
    path,
    `select count(*) as leased from pragma_table_info('deliveries')
    where name = 'claimed_until'`,
  );
  const open = leased === 1 ? "due_at is not null or claimed_until is not null" : "due_at is not null";
  const pending = readRows(path, `select event_id as eventId, url from deliveries where ${open}`);
  const memory = readRows(path, "select key from memory");
  const clock = new JumpClock();
  clock.jump(killedAt + 2 * HOUR_MS - Date.now());
  const config = readConfig({
    PORT: "0",
    TB_DATA_DIR: dataDir,
    TB_API_KEY: KEY,
    TB_ADMIN_KEY: ADMIN_KEY,
    TB_SECRET_KEY: "00".repeat(32),
    TB_RATE_LIMIT: "off",
    TB_WEBHOOK_ALLOW: "loopback",
  });
  const service = await startService(config, {
    version: "test",
    readClient: () => assert.fail("nobody asks for the client"),
    lost: (reason) => assert.fail(reason),
    log: createLog("silent"),
    clock: (shift) => clock.clock(shift),
  });
  t.after(() => service.stop());
  const get = async (from: string, key = KEY) => {
    const response = await ask(service.url, key, "GET", from);
    assert.equal(response.status, 200, `${from}: ${response.text}`);
    return response.data;
  };
  const find = async (externalMessageId: string, key = KEY): Promise<Message> => {
    const { messages } = await get(`/v1/messages?externalMessageId=${externalMessageId}`, key);
    return messages[0] ?? assert.fail(`there is no ${externalMessageId}`);
  };
  return { path, pending, memory, clock, receiver, service, get, find };
}

type Started = Awaited<ReturnType<typeof start>>;

/** Lets time pass faster until `isDone`. */
async function waitFor({ clock }: Started, what: string, isDone: () => Promise<boolean>): Promise<void> {
  await until(
    async () => {
      clock.jump(200);
      return isDone();
    },
    { limitMs: 60_000, what },
  );
}

for (const [version, dump] of [
  ["11", VERSION_11],
  ["15", VERSION_15],
] as const) {
  test(`a database of version ${version} with work in flight: all of it is listed, ends, and is reported once`, (t) =>
    endWork(t, dump));
}

async function endWork(t: TestContext, dump: Dump): Promise<void> {
  const started = await start(t, dump);
  const { service, receiver, pending, get, find } = started;
  for (const [path, items, least] of LISTS) {
    const page = await get(`${path}?limit=100`);
    assert.ok(page[items]?.length >= least, `${path} has ${page[items]?.length} ${items}, of at least ${least}`);
  }
  for (const path of ["customers", "keys", "instances"]) {
    assert.ok((await get(`/v1/admin/${path}`, ADMIN_KEY))[path].length >= 2, path);
  }
  await ask(service.url, KEY, "PUT", "/v1/sandbox/phones/+15005550196/settings", { online: true });
  for (const name of IN_FLIGHT) {
    await waitFor(started, `${name} to be delivered`, async () => (await find(name)).status === "delivered");
  }
  const unknown = await find("unknown");
  const attempts = unknown.timeline.filter(({ status, reason }) => status === "pending" && reason === undefined);
  assert.equal(attempts.length, 1, "a message with an unknown outcome is not sent a second time");
  assert.equal((await find("fallback")).channel, "sms");
  const isDelivered = async () => (await get("/v1/webhooks/deliveries?status=pending&limit=1")).deliveries.length === 0;
  await waitFor(started, "every delivery to end", isDelivered);
  const { requests } = await get("/v1/payments/requests");
  assert.deepEqual(
    requests.map(({ status }: { status: string }) => status),
    ["pending", "paid"],
  );

  const received = new Map(receiver.received.map((one) => [`${one.path} ${one.event.id}`, one]));
  for (const { eventId, url } of pending) {
    const { pathname } = new URL(String(url), service.url);
    // The built-in inbox is no receiver of this test.
    if (pathname.startsWith("/inbox/")) continue;
    assert.ok(received.has(`${pathname} ${eventId}`), `${pathname} did not receive ${eventId}`);
  }
  assert.ok(receiver.received.filter(({ path }) => path === "/primary").every((one) => isSigned(one, PRIMARY_SECRET)));
  // The replay sends events to the endpoint at /extra again.
  const once = receiver.received
    .filter(({ path }) => path !== "/extra")
    .map(({ path, event }) => `${path} ${event.id}`);
  assert.equal(new Set(once).size, once.length, "a webhook that was answered 200 is not sent again");
}

test("a database of an earlier version: a provider's references and its memory are understood", async (t) => {
  const started = await start(t, VERSION_11);
  const { path, memory, service, get, find } = started;
  const sent = await find("twilioSent", CARRIERS_KEY);
  assert.equal(sent.status, "sent");
  const instances: { provider: string; hookUrl: string }[] = (await get("/v1/admin/instances", ADMIN_KEY)).instances;
  const { hookUrl } = instances.find(({ provider }) => provider === "twilio") ?? assert.fail("there is no Twilio");
  const twilio = new FakeTwilio();
  const call = twilio.callback({ ...twilio.arrive({ from: sent.from, to: sent.to }), status: "delivered" });
  const sid = sent.providerMessageId ?? "";
  const attempt = memory.map(({ key }) => String(key)).find((key) => key.startsWith(`sent/${sent.id}/`));
  const attemptedAt = attempt?.split("/").at(-1) ?? assert.fail("the attempt is not remembered");
  const { status } = await twilio.call(`${hookUrl}/status/${sent.id}/${attemptedAt}`, {
    ...call,
    MessageSid: sid,
    SmsSid: sid,
  });
  assert.equal(status, 204);
  await waitFor(started, "the receipt", async () => (await find("twilioSent", CARRIERS_KEY)).status === "delivered");
  for (const name of ["smppSent", "macSent", "macPartly"]) {
    assert.ok(["sent", "delivered", "pending"].includes((await find(name, CARRIERS_KEY)).status), name);
  }
  const macPartly = await find("macPartly", CARRIERS_KEY);
  await service.stop();
  const kept = new Set(readRows(path, "select key from memory").map(({ key }) => key));
  // Entries of sent messages became notes, and the last receipt deleted the note.
  const ofRealProviders = memory
    .map(({ key }) => String(key))
    .filter((key) => !/^(owed|phone|call|sent|attempt|watch)\//.test(key));
  assert.deepEqual(
    ofRealProviders.filter((key) => !kept.has(key)),
    [],
    "entries that were not understood are dropped",
  );
  assert.deepEqual(readRows(path, `select state, reference, note from send_attempts where message_id = '${sent.id}'`), [
    { state: "accepted", reference: sid, note: null },
  ]);
  const partly = readRows(path, "select reference, note from send_attempts where note is not null");
  const { id } = macPartly;
  assert.deepEqual(
    partly.map(({ reference }) => reference),
    [`attempt:${id}/1`],
  );
  assert.match(String(partly[0]?.note), /^{"startedAt":\d+,.+"step":"files",.+"textGuid":"[0-9A-F-]{36}"/);
  const left = [...kept].filter((key) => /^(sent|attempt|watch)\//.test(String(key)));
  assert.deepEqual(left, []);
});
