/** Tests of two beats at once: a member is dead for both or for neither, and its lifelong leases have one owner. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import pg from "pg";
import { preparedPostgresForFile } from "../../../test/support/service-database.ts";
import { until } from "../../../test/support/wait.ts";
import { beat } from "./member-leases.ts";
import { sqlOn } from "./sql.ts";
import type { WriterConnections } from "./writer-connections.ts";

const postgres = preparedPostgresForFile();
const DEAD_AFTER_MS = 60_000;

async function open(t: TestContext) {
  const { url, drop } = await postgres.create();
  const clients = await Promise.all(
    [0, 1, 2].map(async () => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      return client;
    }),
  );
  t.after(async () => {
    await Promise.all(clients.map((client) => client.end()));
    await drop();
  });
  const [one, other, watcher] = clients as [pg.Client, pg.Client, pg.Client];
  const beatOf = async (client: pg.Client, id: string) => {
    const member = { id, role: "worker", url: null } as const;
    const leases = [{ lease: "shard 1", state: null, isLifelong: true as const }];
    const alone: WriterConnections["alone"] = async (before, { text, parameters }) => {
      for (const statement of before) await client.query(statement);
      return await sqlOn(client, () => {}).values(text, parameters);
    };
    const after = await beat({ alone }, { member, leases, leaseMs: 1, deadAfterMs: DEAD_AFTER_MS });
    return after.leases.map(({ owner, epoch }) => `${owner} ${epoch}`);
  };
  assert.deepEqual(await beatOf(one, "late"), ["late 1"]);
  await one.query("update members set beat_at = clock_timestamp() - interval '1 hour'");
  const isWaiting = async () => {
    const waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    return (await watcher.query(waiting)).rowCount === 1;
  };
  return { one, other, beatOf, isWaiting };
}

test("a member that another one removes during its own beat finds its lease gone", async (t) => {
  const { one, other, beatOf, isWaiting } = await open(t);
  await other.query("begin");
  assert.deepEqual(await beatOf(other, "next"), ["next 2"]);
  await one.query("begin");
  const late = beatOf(one, "late");
  await until(isWaiting);
  await other.query("commit");
  assert.deepEqual(await late, ["next 2"]);
  await one.query("commit");
});

test("a member whose beat is in progress is removed by no other one", async (t) => {
  const { one, other, beatOf, isWaiting } = await open(t);
  await one.query("begin");
  assert.deepEqual(await beatOf(one, "late"), ["late 1"]);
  const next = beatOf(other, "next");
  await until(isWaiting);
  await one.query("commit");
  assert.deepEqual(await next, ["late 1"]);
});
