/** Statements are named on connections that lead to one process of the server, and nowhere else. */

import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { type TestContext, test } from "node:test";
import type pg from "pg";
import { LEASE_MS, NOW, Stage } from "../../../test/conformance/store-stage.ts";
import { idOf } from "../../../test/support/delivery-members.ts";
import { FRONT } from "../../../test/support/due.ts";
import { preparedPostgresForFile } from "../../../test/support/service-database.ts";
import { type ClaimedMessageRows, type DueRows, encodeTransaction, type Job } from "../jobs/jobs.ts";
import { NamedStatements, planOf } from "./named-statements.ts";
import { Partitions } from "./partitions.ts";
import { createPool } from "./pool.ts";
import { openPostgres } from "./store.ts";
import { PostgresWriter } from "./writer.ts";
import { WriterConnections } from "./writer-connections.ts";

const postgres = preparedPostgresForFile();

async function open(t: TestContext) {
  const { url, drop } = await postgres.create();
  const pool = createPool(url, 1);
  t.after(async () => {
    await pool.end();
    await drop();
  });
  return { url, pool };
}

/** The names of a connection that begins, for uses of one statement. `processId`: the process of the server that runs its statements. */
async function namesOf(greeted: number, processId: number, uses: number): Promise<(string | undefined)[]> {
  const pool = new EventEmitter();
  const named = new NamedStatements(pool as unknown as pg.Pool);
  // A server sets nothing in another process than the one that runs the statement.
  const query = async (text: string) => ({ rows: text.includes(`pg_backend_pid() = ${processId}`) ? [{}] : [] });
  const client = { processID: greeted, query };
  pool.emit("connect", client);
  await new Promise(setImmediate);
  return Array.from({ length: uses }, () => named.nameOf(client as unknown as pg.ClientBase, "select $1"));
}

test("a statement is planned for itself once, and then again at 2, 8, 32, 128, … uses", () => {
  const plans = [1, 2, 7, 8, 31, 32, 127, 128, 511, 512, 2_048].map(planOf);
  assert.deepEqual(plans, [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6]);
});

test("a connection through a pooler, which greets with another process than the one that answers, names nothing", async () => {
  assert.deepEqual(await namesOf(7, 7, 3), [undefined, "tb0_1", "tb0_1"]);
  assert.deepEqual(await namesOf(7, 8, 3), [undefined, undefined, undefined]);
});

test("the server parses a statement once that a connection runs often", async (t) => {
  const { pool } = await open(t);
  const connections = new WriterConnections(pool, () => {});
  for (let use = 1; use <= 4; use += 1)
    assert.deepEqual(await connections.run((sql) => sql.values("select $1::int + 1", [use])), [[use + 1]]);
  const { rows } = await pool.query(
    "select name, statement, (generic_plans + custom_plans)::int as runs from pg_prepared_statements",
  );
  // The first use is not counted: it was sent before the connection was known.
  assert.deepEqual(rows, [{ name: "tb0_1", statement: "select $1::int + 1", runs: 2 }]);
});

test("a connection keeps the settings of the planner, and a statement by itself is sent without them", async (t) => {
  const { pool } = await open(t);
  const connections = new WriterConnections(pool, () => {});
  const settings = ["enable_seqscan", "jit", "plan_cache_mode", "idle_in_transaction_session_timeout"];
  const query = `select ${settings.map((name) => `current_setting('${name}')`).join(", ")}, $1::int`;
  // The first one is sent before the server has answered that it keeps them.
  for (let use = 1; use <= 3; use += 1)
    assert.deepEqual(await connections.run((sql) => sql.values(query, [use])), [
      ["off", "off", "force_generic_plan", "2s", use],
    ]);
  const client = await pool.connect();
  const sent = t.mock.method(client, "query");
  client.release();
  await connections.run((sql) => sql.values(query, [4]));
  assert.equal(sent.mock.callCount(), 1);
});

test("a group whose statements the server has lost is written, and names nothing on that connection any more", async (t) => {
  const { url, pool } = await open(t);
  const store = await openPostgres(url, "member_1");
  t.after(() => store.close());
  const stage = new Stage(store);
  const customer = await stage.addCustomer();
  const writer = new PostgresWriter(pool, "member_2", new Partitions(pool, null));
  const addEvent = async () => {
    const event = stage.event(customer);
    const job: Job = ["commit", encodeTransaction([{ op: "event", event, callbackUrl: null }])];
    return (await writer.runGroup([job])).results;
  };
  const written = [{ value: { result: "ok", lanes: [] } }];
  const names = async () => (await pool.query("select name from pg_prepared_statements")).rows.length;
  for (let use = 0; use < 3; use += 1) assert.deepEqual(await addEvent(), written);
  assert.ok((await names()) > 0);
  await pool.query("deallocate all");
  assert.deepEqual(await addEvent(), written);
  for (let use = 0; use < 3; use += 1) assert.deepEqual(await addEvent(), written);
  assert.equal(await names(), 0);
});

test("a claim or release of messages whose statements the server has lost is repeated", async (t) => {
  const { url, pool } = await open(t);
  const store = await openPostgres(url, "member_1");
  t.after(() => store.close());
  const stage = new Stage(store);
  const customer = await stage.addCustomer();
  for (let message = 0; message < 8; message += 1)
    await stage.addMessage(customer, { dueAt: NOW, to: `+1500555100${message}` });
  const writer = new PostgresWriter(pool, "member_2", new Partitions(pool, null));
  const run = async (job: Job) => {
    const [result] = (await writer.runGroup([job])).results;
    assert.ok(result !== undefined && "value" in result, JSON.stringify(result));
    return result.value;
  };
  const lanes = [{ lane: stage.instanceId, permits: 1 }];
  const claim = async () => {
    const { rows } = (await run(["claimMessages", { lanes, now: NOW, leaseMs: LEASE_MS }])) as ClaimedMessageRows;
    return rows.map(({ lease }) => lease);
  };
  const leases: number[] = [];
  for (let use = 0; use < 4; use += 1) leases.push(...(await claim()));
  await pool.query("deallocate all");
  leases.push(...(await claim()));
  assert.equal(new Set(leases).size, 5);
  const leased = async () => (await pool.query("select id from due_messages where lease is not null")).rows.length;
  assert.equal(await leased(), 5);
  for (const lease of leases) {
    await run(["release", [lease]]);
    await pool.query("deallocate all");
  }
  assert.equal(await leased(), 0);
});

test("a read of deliveries is repeated whose statement the server had lost", async (t) => {
  const { url, pool } = await open(t);
  const store = await openPostgres(url, "member_1");
  t.after(() => store.close());
  const stage = new Stage(store);
  const customer = await stage.addCustomer();
  const { id: lane } = await stage.addEndpoint(customer);
  const { deliveries } = await stage.addEvent(customer);
  const writer = new PostgresWriter(pool, "member_2", new Partitions(pool, null));
  const read = async () => {
    const job: Job = ["dueDeliveries", { lanes: [{ lane, after: FRONT, limit: 1 }], now: NOW + 1, bytesMax: 2 ** 30 }];
    const [result] = (await writer.runGroup([job])).results;
    assert.ok(result !== undefined && "value" in result, JSON.stringify(result));
    return (result.value as DueRows).rows.map(idOf);
  };
  const ids = deliveries.map(({ id }) => id);
  for (let use = 0; use < 4; use += 1) assert.deepEqual(await read(), ids);
  await pool.query("deallocate all");
  assert.deepEqual(await read(), ids);
});
