/** Backups of PostgreSQL: one snapshot in a file of the embedded database, which either database is restored from. */

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import pg from "pg";
import { Stage } from "../../test/conformance/store-stage.ts";
import { emptyDirectory } from "../../test/support/cli.ts";
import { oneLine } from "../../test/support/one-line.ts";
import { sharedPostgresForFile } from "../../test/support/postgres.ts";
import { addPartitions, putIntoPostgres, randomRows } from "../../test/support/random-rows.ts";
import { startTestService } from "../../test/support/service.ts";
import { until } from "../../test/support/wait.ts";
import { ConfigError, readConfig } from "../config.ts";
import { RESTORED_BACKUP } from "../engine/messages/held.ts";
import { COPIED } from "../store/copied-tables.ts";
import { newestPosition } from "../store/events.ts";
import { dayOf, dayOfPosition, firstPositionOf } from "../store/positions.ts";
import { CopySource } from "../store/postgres/copy-source.ts";
import { inTransaction } from "../store/postgres/in-transaction.ts";
import { makeTables } from "../store/postgres/make-tables.ts";
import { addPartition } from "../store/postgres/partitions.ts";
import { createPool } from "../store/postgres/pool.ts";
import { openPostgres } from "../store/postgres/store.ts";
import { takeBackup, verifyBackup } from "./backup.ts";
import { migrateToPostgres } from "./migrate-to-postgres.ts";
import { restoreBackup } from "./restore.ts";

const postgres = sharedPostgresForFile();
const quiet = () => {};

async function createDatabase(t: TestContext): Promise<string> {
  const { url, drop } = await postgres.create();
  t.after(drop);
  return url;
}

function take(
  dataDir: string,
  url: string,
  to: string,
  progress: Parameters<typeof takeBackup>[2]["progress"] = quiet,
) {
  const config = readConfig({ TB_DATA_DIR: dataDir, DATABASE_URL: url });
  return takeBackup(config, to, { version: "test", now: Date.now(), withKey: true, progress });
}

function restore(dataDir: string, url: string, from: string, progress: Parameters<typeof take>[3] = quiet) {
  const config = readConfig({ TB_DATA_DIR: dataDir, DATABASE_URL: url });
  return restoreBackup(config, from, { now: Date.now(), moveAside: false, progress });
}

/** The rows of each table as texts, in order of their texts, without the setting that says that the database was restored. */
async function rowsOf(url: string): Promise<Record<string, string[]>> {
  const source = await CopySource.open(url);
  try {
    const found: Record<string, string[]> = {};
    for (const table of COPIED) {
      const rows: string[] = [];
      for await (const page of source.pages(table, null, 1_000))
        rows.push(...page.rows.map((row) => JSON.stringify(row)));
      found[table.name] = rows.filter((row) => table.name !== "settings" || !row.includes(RESTORED_BACKUP)).sort();
    }
    return found;
  } finally {
    await source.close();
  }
}

async function ask(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

test("rows of every table, undecodable ones too, are in the backup, and in the database that is restored from it", async (t) => {
  const [url, other] = [await createDatabase(t), await createDatabase(t)];
  const pool = createPool(url, 1);
  await makeTables(pool);
  await addPartitions(pool);
  const rows = randomRows(7);
  // A lease ends with the process that had it.
  for (const message of rows.tables.messages) message.claimed_until = null;
  rows.tables.settings = [];
  await putIntoPostgres(pool, rows);
  await pool.query("insert into memory (instance_id, key, value) values ('inst_3', 'a', $1)", ['\u{1f388} \\ "\n']);
  await pool.end();
  const expected = await rowsOf(url);
  const place = emptyDirectory(t);
  const { manifest } = await take(place, url, join(place, "backup"));
  assert.equal(manifest.counts.messages, expected.messages?.length);
  await verifyBackup(join(place, "backup"), quiet);
  await restore(place, other, join(place, "backup"));
  assert.deepEqual(await rowsOf(other), expected);
  assert.deepEqual(
    await ask(other, "select id, lane, due_at from due_deliveries order by id"),
    await ask(other, "select id, lane, due_at from deliveries where due_at is not null order by id"),
  );
});

test("the backup becomes a data directory, which moves to PostgreSQL again, and events go on behind all others", async (t) => {
  const [url, other] = [await createDatabase(t), await createDatabase(t)];
  const stage = new Stage(await openPostgres(url, "member_1"));
  const customer = await stage.addCustomer();
  const { event } = await stage.addEvent(customer);
  await stage.store.close();
  const place = emptyDirectory(t);
  await take(place, url, join(place, "backup"));
  const dataDir = join(place, "data");
  const options = { now: Date.now(), moveAside: false, progress: quiet };
  await restoreBackup(readConfig({ TB_DATA_DIR: dataDir }), join(place, "backup"), options);
  await migrateToPostgres({ dataDir }, other, { now: Date.now(), progress: quiet });
  stage.store = await openPostgres(other, "member_2");
  t.after(() => stage.store.close());
  const later = await stage.addEvent(customer);
  assert.deepEqual(
    (await stage.all("events")).map(({ id }) => id),
    [event.id, later.event.id],
  );
});

test("a backup taken while the service writes is one snapshot, and a service on the restored database goes on", async (t) => {
  const [url, other] = [await createDatabase(t), await createDatabase(t)];
  await (await openPostgres(url, "member_0")).close();
  const service = await startTestService({}, { shared: { url, sql: (text) => ask(url, text) } });
  t.after(() => service.stop());
  await service.ask("PUT", "/v1/webhooks", { body: { url: "http://127.0.0.1:9/", events: ["*"] } });
  const sendOne = () =>
    service.ask("POST", "/v1/messages", { body: { to: "+15005550100", content: { text: "x".repeat(2_000) } } });
  let isDone = false;
  const load = Array.from({ length: 8 }, async () => {
    while (!isDone) assert.equal((await sendOne()).status, 202);
  });
  const count = async (of: string) => Number((await ask(of, "select count(*) as count from messages"))[0]?.count);
  await until(async () => (await count(url)) > 50, { limitMs: 60_000 });
  const place = emptyDirectory(t);
  const path = join(place, "backup");
  const { manifest } = await take(service.dataDir, url, path);
  isDone = true;
  await Promise.all(load);
  assert.ok((manifest.counts.messages ?? 0) > 50);
  const database = new DatabaseSync(join(path, "tightbeam.db"));
  const one = (sql: string) => Number(Object.values(database.prepare(sql).get() ?? {})[0]);
  const wrong =
    "select count(*) from messages m where sequence <> (select count(*) from events where message_id = m.id)";
  assert.equal(one(wrong), 0);
  const undelivered = "select count(*) from events e where not exists (select 1 from deliveries where event_id = e.id)";
  assert.equal(one(undelivered), 0);
  assert.equal(one("select count(*) from events where not json_valid(bytes)"), 0, "bytes are as SQLite has them");
  database.close();
  assert.deepEqual(
    manifest.files.map(({ name }) => name),
    ["tightbeam.db", "secret.key", "credentials.json"],
  );
  const feed = (query: string) => service.ask("GET", `/v1/messages?updatedAfter=2020-01-01T00:00:00Z&${query}`);
  let cursor = "";
  await until(async () => {
    const { pagination } = (await feed(`limit=100${cursor}`)).data;
    cursor = `&cursor=${pagination.nextCursor}`;
    return pagination.hasMore === false;
  });
  await service.restart(async () => {
    const { work, dataDir, warnings } = await restore(emptyDirectory(t), other, path);
    assert.equal(dataDir, null);
    assert.match(warnings.join(), /content of secret\.key in the backup/);
    assert.equal(await count(other), manifest.counts.messages);
    assert.ok(work.deliveries > 0);
    return { DATABASE_URL: other };
  });
  const { status, data } = await sendOne();
  assert.equal(status, 202);
  const changes = await feed(`limit=100${cursor}`);
  assert.ok(
    changes.data.messages.some(({ id }: { id: string }) => id === data.id),
    "a cursor of before the restore skips no event",
  );
});

test("events after a restore are behind those that were lost, also if they were of a later day than the backup", async (t) => {
  const [url, other] = [await createDatabase(t), await createDatabase(t)];
  const stage = new Stage(await openPostgres(url, "member_1"));
  t.after(() => stage.store.close());
  const customer = await stage.addCustomer();
  const yesterday = dayOf(Date.now()) - 1;
  const pool = createPool(url, 1);
  await inTransaction(pool, (sql) => addPartition(sql, "events", yesterday, 1));
  await pool.query("select setval('event_positions', $1)", [firstPositionOf(yesterday) + 5]);
  await pool.end();
  const { event } = await stage.addEvent(customer);
  const place = emptyDirectory(t);
  await take(place, url, join(place, "backup"));
  const reopen = async (at: string, member: string) => {
    await stage.store.close();
    stage.store = await openPostgres(at, member);
  };
  const newest = () => newestPosition(stage.store.db, customer.id);
  assert.equal(dayOfPosition((await newest()) ?? 0), yesterday);
  await reopen(url, "member_2");
  await stage.addEvent(customer);
  const lost = (await newest()) ?? 0;
  assert.ok(dayOfPosition(lost) > yesterday, "the service was started on another day");
  await restore(place, other, join(place, "backup"));
  await reopen(other, "member_3");
  const later = await stage.addEvent(customer);
  assert.deepEqual(
    (await stage.all("events")).map(({ id }) => id),
    [event.id, later.event.id],
  );
  assert.ok(((await newest()) ?? 0) > lost, "a cursor at the lost event skips no event");
});

test("an interrupted restore goes on, no service starts before its end, and it is not repeated", async (t) => {
  const [url, other] = [await createDatabase(t), await createDatabase(t)];
  const pool = createPool(url, 1);
  await makeTables(pool);
  await addPartitions(pool);
  const rows = randomRows(8);
  rows.tables.settings = [];
  await putIntoPostgres(pool, rows);
  await pool.end();
  const place = emptyDirectory(t);
  const path = join(place, "backup");
  await take(place, url, path);
  for (const phase of ["copying", "checking"]) {
    const stopped = restore(place, other, path, (doing, _done, _total, unit) => {
      if (doing === phase && unit === "rows") throw new ConfigError("Stopped.");
    });
    await assert.rejects(stopped, oneLine("Stopped"));
    await assert.rejects(openPostgres(other, "member_1"), /is not complete/);
    await assert.rejects(take(place, other, join(place, "partial")), oneLine("is not complete"));
  }
  await restore(place, other, path);
  await assert.rejects(restore(place, other, path), oneLine("is in the database already", "start the service"));
  assert.equal((await ask(other, `select 1 from settings where name = '${RESTORED_BACKUP}'`)).length, 1);
  assert.deepEqual(readdirSync(place).sort(), ["backup", "lock.db"]);
});

test("a backup is refused with one line, and leaves nothing", async (t) => {
  const [url, other] = [await createDatabase(t), await createDatabase(t)];
  const place = emptyDirectory(t);
  const to = join(place, "backup");
  await assert.rejects(take(place, url, to), oneLine("has no tables of Tightbeam"));
  await assert.rejects(take(place, "postgres://nobody@127.0.0.1:1/none", to), oneLine("PostgreSQL at 127.0.0.1:1"));
  await (await openPostgres(url, "member_0")).close();
  await ask(url, "update schema_id set id = 'x' || id");
  await assert.rejects(take(place, url, to), oneLine("another version"));
  await ask(url, "update schema_id set id = substr(id, 2)");
  await ask(url, "insert into memory (instance_id, key, value) values ('inst_3', 'a', 'b')");
  await assert.rejects(
    take(place, url, to, (doing) => {
      if (doing === "copying") throw new ConfigError("Interrupted.");
    }),
    oneLine("Interrupted"),
  );
  assert.deepEqual(readdirSync(place), []);
  await take(place, url, to);
  await ask(other, "create table theirs (id int)");
  await assert.rejects(restore(place, other, to), oneLine("tables of another program"));
});
