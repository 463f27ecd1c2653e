/** A group waits for the server twice: for the replies to its checks, and for its commit. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import pg from "pg";
import { Stage } from "../../../test/conformance/store-stage.ts";
import { preparedPostgresForFile } from "../../../test/support/service-database.ts";
import { startRelay } from "../../../test/support/tcp-relay.ts";
import { until } from "../../../test/support/wait.ts";
import { type EncodedOutcome, encodeTransaction, type Job } from "../jobs/jobs.ts";
import { Partitions } from "./partitions.ts";
import { createPool } from "./pool.ts";
import { openPostgres } from "./store.ts";
import { lockOf } from "./transaction-runner.ts";
import { PostgresWriter } from "./writer.ts";

const postgres = preparedPostgresForFile();

/** A writer beside a store, and what it has sent to the server. */
async function open(t: TestContext) {
  const { url, drop } = await postgres.create();
  const store = await openPostgres(url, "member_1");
  /** `suspendAt`: after this text is sent nothing passes, as if the process were suspended, until `goOn`. */
  const wire = { sent: "", suspendAt: null as string | null, goOn: () => relay.lighten() };
  const address = new URL(url);
  const relay = await startRelay(Number(address.port), (sent) => {
    wire.sent += sent;
    if (wire.suspendAt === null || !sent.includes(wire.suspendAt)) return;
    wire.suspendAt = null;
    // This text itself still passes.
    setImmediate(() => relay.darken());
  });
  address.port = String(relay.port);
  const pool = createPool(address.href, 1);
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  t.after(async () => {
    await Promise.all([admin.end(), pool.end(), store.close()]);
    await Promise.all([relay.stop(), drop()]);
  });
  const writer = new PostgresWriter(pool, "member_2", new Partitions(pool, null));
  return { admin, wire, pool, stage: new Stage(store), writer };
}

/** The end of an attempt whose lease is gone. */
const lost = (lease: number): EncodedOutcome => [lease, `dlv_${lease}`, 1, []];
const END = "update deliveries d set";

const CHECK = "from endpoint_versions";
const CHANGE = "insert into events";
const COMMIT = "commit\0";

test("the checks follow BEGIN while its locks are awaited, and the commit follows the changes while they are awaited", async (t) => {
  const { admin, wire, stage, writer } = await open(t);
  const customer = await stage.addCustomer();
  const addEvent = (): Job => [
    "commit",
    encodeTransaction([{ op: "event", event: stage.event(customer), callbackUrl: null }]),
  ];
  // It reads the endpoints of the customer, which are cached then.
  await writer.runGroup([addEvent()]);
  wire.sent = "";
  await admin.query("begin");
  await admin.query("lock table events in exclusive mode");
  await admin.query("savepoint customer");
  await admin.query(lockOf([customer.id]));
  const running = writer.runGroup([addEvent(), ["finishDeliveries", [lost(1)]]]);
  await until(() => wire.sent.includes(CHECK));
  assert.ok(!wire.sent.includes(CHANGE), "no change before the replies to the checks");
  await admin.query("rollback to savepoint customer");
  // The change waits for the table.
  await until(() => wire.sent.includes(COMMIT));
  const places = ["begin;", CHECK, CHANGE, END, COMMIT].map((text) => wire.sent.indexOf(text));
  assert.ok(!places.includes(-1));
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  );
  await admin.query("rollback");
  const { results } = await running;
  assert.deepEqual(results, [{ value: { result: "ok", lanes: [] } }, { value: ["gone"] }]);
});

test("the ends of attempts of a group are one statement, and each job gets the results of its own", async (t) => {
  const { wire, writer } = await open(t);
  const { results } = await writer.runGroup([
    ["finishDeliveries", [lost(1), lost(2)]],
    ["probe", "0"],
    ["finishDeliveries", [lost(3)]],
  ]);
  assert.deepEqual(results, [{ value: ["gone", "gone"] }, { value: null }, { value: ["gone"] }]);
  assert.equal(wire.sent.split(END).length - 1, 1);
});

test("if BEGIN fails, its error is the group's and not the one of the statements behind it", async (t) => {
  const { admin, stage, writer } = await open(t);
  const customer = await stage.addCustomer();
  const event = encodeTransaction([{ op: "event", event: stage.event(customer), callbackUrl: null }]);
  await admin.query("begin");
  await admin.query(lockOf([customer.id]));
  const running = writer.runGroup([["commit", event]]);
  const waiting = `select pid from pg_stat_activity
    where wait_event_type = 'Lock' and application_name = 'tightbeam' and datname = current_database()`;
  await until(async () => {
    await admin.query("select pg_stat_clear_snapshot()");
    return (await admin.query(waiting)).rowCount === 1;
  });
  await admin.query(`select pg_cancel_backend(pid) from (${waiting}) w`);
  await admin.query("rollback");
  // The transaction is run by itself after the failure.
  const { results } = await running;
  assert.deepEqual(results, [{ error: "failed", message: "canceling statement due to user request" }]);
});

test("a group whose process is suspended between its checks and its changes holds up its customer until the server ends it, and is written once when the process goes on", async (t) => {
  const { admin, wire, stage, writer } = await open(t);
  const customer = await stage.addCustomer();
  const event = stage.event(customer);
  const job: Job = ["commit", encodeTransaction([{ op: "event", event, callbackUrl: null }])];
  wire.suspendAt = CHECK;
  const running = writer.runGroup([job]);
  await until(() => wire.suspendAt === null);
  await admin.query("begin");
  await admin.query(lockOf([customer.id]));
  await admin.query("commit");
  const count = async () => (await admin.query("select id from events where id = $1", [event.id])).rowCount;
  assert.equal(await count(), 0);
  wire.goOn();
  assert.deepEqual((await running).results, [{ value: { result: "ok", lanes: [] } }]);
  assert.equal(await count(), 1);
});

test("a statement that waits for longer than the server lets it is undone with the commit behind it", async (t) => {
  const { admin, pool, writer } = await open(t);
  const put = (value: string): Job => ["commit", encodeTransaction([setting(value)])];
  assert.deepEqual((await writer.runGroup([put("before")])).results, [{ value: { result: "ok", lanes: [] } }]);
  const { rows } = await pool.query("select current_setting('statement_timeout')::interval < '30 s' as is_shorter");
  assert.deepEqual(rows, [{ is_shorter: true }], "the process gives up after 30 s");
  await pool.query("set statement_timeout = '100ms'");
  await admin.query("begin");
  await admin.query("update settings set value = 'held' where name = 'word'");
  const [refused] = (await writer.runGroup([put("late")])).results;
  assert.deepEqual(refused, { error: "unavailable", message: "canceling statement due to statement timeout" });
  await admin.query("rollback");
  await writer.runGroup([["probe", "1"]]);
  assert.deepEqual((await admin.query("select value from settings where name = 'word'")).rows, [{ value: "before" }]);
});

const setting = (value: string) => ({ op: "put", table: "settings", record: { name: "word", value } }) as const;
