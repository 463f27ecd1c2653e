/** Tests of leases and commits whose reply was lost with its connection. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import pg from "pg";
import { NOW, Stage } from "../../../test/conformance/store-stage.ts";
import { preparedPostgresForFile } from "../../../test/support/service-database.ts";
import { startRelay } from "../../../test/support/tcp-relay.ts";
import { until } from "../../../test/support/wait.ts";
import { noUsage } from "../../core/usage.ts";
import { StoreUnavailable } from "../store.ts";
import { leasesKey } from "./own-leases.ts";
import { openPostgres } from "./store.ts";

const MEMBER = "member_1";

const postgres = preparedPostgresForFile();

async function open(t: TestContext) {
  const { url, drop } = await postgres.create();
  const store = await openPostgres(url, MEMBER);
  // The activity of other connections is read once in an SQL transaction: the watcher has none.
  const [admin, watcher] = [new pg.Client({ connectionString: url }), new pg.Client({ connectionString: url })];
  await Promise.all([admin.connect(), watcher.connect()]);
  t.after(async () => {
    await Promise.all([admin.end(), watcher.end()]);
    await store.close();
    await drop();
  });
  const isWaiting = "datname = current_database() and wait_event_type = 'Lock' and application_name = 'tightbeam'";
  const waiting = async () => (await watcher.query(`select pid from pg_stat_activity where ${isWaiting}`)).rowCount;
  /** Ends the connection of a commit that waits for a lock. */
  const loseReply = async () => {
    await admin.query("begin");
    await admin.query("lock table settings in access exclusive mode");
    const put = { op: "put", table: "settings", record: { name: "word", value: "1" } } as const;
    const lost = assert.rejects(store.commit([put]), StoreUnavailable);
    await until(async () => (await waiting()) === 1);
    await watcher.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${isWaiting}`);
    await lost;
    await admin.query("rollback");
  };
  return { store, admin, stage: new Stage(store), loseReply, waiting };
}

test("after a lost connection a process ends leases of messages that it does not know, except those of send attempts", async (t) => {
  const { admin, stage, loseReply } = await open(t);
  const customer = await stage.addCustomer();
  const messages = [];
  for (let index = 0; index < 3; index += 1)
    messages.push(await stage.addMessage(customer, { to: `+1500555010${index}`, dueAt: NOW }));
  const [first, second, third] = messages.map(({ id }) => id);
  const lane = stage.instanceId;
  const claimed = await stage.leaseMessages(lane, 3);
  assert.equal(claimed.length, 3);
  const forget = "update due_messages set lease = lease + 100 where id = any($1)";
  await admin.query(forget, [[second, third]]);
  await admin.query("update due_messages set is_held = 1 where id = $1", [third]);
  await loseReply();
  const again = await stage.leaseMessages(lane, 3);
  assert.deepEqual(
    again.map(({ message }) => message.id),
    [second],
  );
  const { rows } = await admin.query("select lease from due_messages where id = $1", [first]);
  assert.equal(Number(rows[0]?.lease), claimed.find(({ message }) => message.id === first)?.lease);
});

test("a process leases nothing while a connection that it has lost is at work in the server", async (t) => {
  const { admin, stage, loseReply, waiting } = await open(t);
  const customer = await stage.addCustomer();
  await stage.addMessage(customer, { dueAt: NOW });
  await loseReply();
  await admin.query("begin");
  await admin.query(`select pg_advisory_xact_lock(${leasesKey(MEMBER)})`);
  let isClaimed = false;
  const claimed = stage.leaseMessages(stage.instanceId, 5).then((found) => {
    isClaimed = true;
    return found;
  });
  await until(async () => (await waiting()) === 1);
  assert.equal(isClaimed, false);
  // The process ends the leases of the lost connection.
  await admin.query("update due_messages set lease = 1, owner = $1, leased_until = now() + interval '1 minute'", [
    MEMBER,
  ]);
  await admin.query("commit");
  assert.equal((await claimed).length, 1);
});

/** A store whose connections go through a relay. */
async function openBehindRelay(t: TestContext) {
  const { url, drop } = await postgres.create();
  const place = new URL(url);
  const relay = await startRelay(Number(place.port));
  place.port = String(relay.port);
  const store = await openPostgres(place.href, MEMBER);
  t.after(async () => {
    await store.close();
    await relay.stop();
    await drop();
  });
  /** Does something while no connection reaches the server. */
  const during = async (work: () => Promise<unknown>) => {
    const { target } = relay;
    // A port that nobody listens on: the relay closes what it is asked for.
    relay.target = 1;
    relay.cut();
    await until(async () => !store.isAvailable);
    await work();
    relay.target = target;
    await until(async () => store.isAvailable);
  };
  return { store, stage: new Stage(store), relay, during, url };
}

test("deliveries of a commit that was not answered are read before those of the next event", async (t) => {
  const { store, stage, relay } = await openBehindRelay(t);
  const customer = await stage.addCustomer();
  const endpoint = await stage.addEndpoint(customer);
  assert.deepEqual(await stage.claimDeliveries(endpoint.id, 5), []);
  const first = await stage.addEvent(customer);
  await store.arrived();
  assert.equal(stage.due.pushed.length, 1, "the lane has caught up");
  const event = stage.event(customer);
  relay.losesCommit = true;
  await assert.rejects(store.commit([{ op: "event", event, callbackUrl: null }]), StoreUnavailable);
  await until(async () => (await stage.all("deliveries").catch(() => [])).length === 2);
  const last = await stage.addEvent(customer);
  await store.arrived();
  const found = await stage.claimDeliveries(endpoint.id, 5);
  assert.deepEqual(
    found.map(({ eventId }) => eventId),
    [first.event.id, event.id, last.event.id],
  );
});

test("a process whose idle connections were ended ends leases that it does not know before its next claim", async (t) => {
  const { stage, relay, url } = await openBehindRelay(t);
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  const customer = await stage.addCustomer();
  const { id } = await stage.addMessage(customer, { dueAt: NOW });
  assert.equal((await stage.leaseMessages(stage.instanceId, 5)).length, 1);
  // As if the crash of a server had undone the end of a lease.
  await admin.query("update due_messages set lease = lease + 100 where id = $1", [id]);
  const connections = async () =>
    (
      await admin.query(
        "select pid from pg_stat_activity where datname = current_database() and application_name = 'tightbeam'",
      )
    ).rows.map(({ pid }) => pid);
  const before = await connections();
  relay.cut();
  await until(async () => !(await connections()).some((pid) => before.includes(pid)));
  await admin.end();
  const claimed = await stage.leaseMessages(stage.instanceId, 5);
  assert.deepEqual(
    claimed.map(({ message }) => message.id),
    [id],
  );
});

test("a release of messages that cannot reach the server ends their leases before the next claim", async (t) => {
  const { store, stage, during } = await openBehindRelay(t);
  const customer = await stage.addCustomer();
  const { id } = await stage.addMessage(customer, { to: "+15005550100", dueAt: NOW });
  const leases = (await stage.leaseMessages(stage.instanceId, 5)).map(({ lease }) => lease);
  assert.equal(leases.length, 1);
  await during(() => assert.rejects(store.release(leases), StoreUnavailable));
  const again = await stage.leaseMessages(stage.instanceId, 5);
  assert.deepEqual(
    again.map(({ message }) => message.id),
    [id],
  );
});

test("usage whose commit was not answered is counted once, alone and with a transaction", async (t) => {
  const { store, stage, relay } = await openBehindRelay(t);
  const hours = [{ ...noUsage(), subject: "key_1", at: 0, requests: 1 }] as const;
  const add = (number: number) => store.addUsage({ owner: MEMBER, number, hours }, NOW);
  const requests = async () => (await stage.all("usage")).map((hour) => hour.requests);
  relay.losesCommit = true;
  await assert.rejects(add(1), StoreUnavailable);
  await until(async () => (await requests().catch(() => [])).length === 1);
  await add(1);
  assert.deepEqual(await requests(), [1]);
  relay.losesCommit = true;
  const record = stage.customer();
  const [committed, added] = await Promise.allSettled([
    store.commit([{ op: "insert", table: "customers", record }]),
    add(2),
  ]);
  assert.equal(committed.status, "rejected");
  if (added.status === "rejected") await add(2);
  assert.deepEqual(await requests(), [2]);
  assert.deepEqual(
    (await stage.all("customers")).map(({ id }) => id),
    [record.id],
    "the transaction that carried it is on disk",
  );
});
