/** A writer in a thread of its own: its ports, what it tells of the server, and its end. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import pg from "pg";
import { Stage } from "../../../test/conformance/store-stage.ts";
import { preparedPostgresForFile } from "../../../test/support/service-database.ts";
import { until } from "../../../test/support/wait.ts";
import { APPLICATION_NAME } from "./pool.ts";
import { openPostgres } from "./store.ts";

const postgres = preparedPostgresForFile();

async function open(t: TestContext) {
  const { url, drop } = await postgres.create();
  const seen = { lost: [] as string[], reachable: [] as boolean[] };
  const store = await openPostgres(url, "member_1", {
    lost: (reason) => seen.lost.push(reason),
    reachable: (trouble) => seen.reachable.push(trouble === null),
  });
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  const connections = async () => {
    const query = "select pid from pg_stat_activity where application_name = $1 and datname = current_database()";
    return (await admin.query<{ pid: number }>(query, [APPLICATION_NAME])).rows;
  };
  t.after(async () => {
    await admin.end();
    await drop();
  });
  return { store, admin, connections, seen };
}

test("two ports of one thread commit, and its connections are closed at the end", async (t) => {
  const { store, connections, seen } = await open(t);
  const further = store.fork();
  const stage = new Stage(store);
  const customer = await stage.addCustomer();
  const event = stage.event(customer);
  assert.equal((await further.commit([{ op: "event", event, callbackUrl: null }])).result, "ok");
  const read = await store.db.selectFrom("events").select("id").where("id", "=", event.id).execute();
  assert.deepEqual(read, [{ id: event.id }]);
  await further.close();
  await store.close();
  await until(async () => (await connections()).length === 0);
  assert.deepEqual(seen, { lost: [], reachable: [] });
});

test("a commit that the server interrupts is refused, and the next one succeeds", async (t) => {
  const { store, admin, connections, seen } = await open(t);
  t.after(() => store.close());
  const stage = new Stage(store);
  const customer = await stage.addCustomer();
  const lock = "lock table events in access exclusive mode";
  await admin.query(`begin; ${lock}`);
  const commit = () => store.commit([{ op: "event", event: stage.event(customer), callbackUrl: null }]);
  const waiting = assert.rejects(commit(), /terminating connection/);
  const isWaiting =
    "select 1 from pg_locks join pg_stat_activity using (pid) where not granted and datname = current_database()";
  await until(async () => (await admin.query(isWaiting)).rows.length > 0);
  for (const { pid } of await connections()) await admin.query("select pg_terminate_backend($1)", [pid]);
  await waiting;
  await admin.query("rollback");
  await until(async () => store.isAvailable && (await commit().catch(() => null))?.result === "ok");
  assert.deepEqual(seen.lost, []);
});
