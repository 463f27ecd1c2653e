/** Tests of the way from the embedded database to PostgreSQL: all of it arrives, whatever ends the process in between. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { recordsBeside } from "../../test/conformance/store-records.ts";
import { attemptAt, idempotencyOf, keyOf, NOW, numberOf, Stage } from "../../test/conformance/store-stage.ts";
import { sharedPostgresForFile } from "../../test/support/postgres.ts";
import { addUsage } from "../../test/support/usage.ts";
import { ConfigError, readConfig } from "../config.ts";
import { COPIED } from "../store/copied-tables.ts";
import { openPostgres } from "../store/postgres/store.ts";
import type { Records, TableName } from "../store/records.ts";
import { openSqlite } from "../store/sqlite/store.ts";
import { TABLES } from "../store/tables.ts";
import { type MigrationOptions, migrateToPostgres } from "./migrate-to-postgres.ts";
import { openStoreAlone } from "./open-store.ts";

const postgres = sharedPostgresForFile();

const QUIET: MigrationOptions = { now: NOW + 5_000, progress() {} };
const PROCESS = fileURLToPath(new URL("../../test/support/migrate-to-postgres-process.ts", import.meta.url));

function die(reason: string): never {
  throw new Error(reason);
}

/** A data directory, and an empty database. */
async function prepare(t: TestContext) {
  const dataDir = mkdtempSync(join(tmpdir(), "tightbeam-migrate-"));
  const { url, drop } = await postgres.create();
  t.after(async () => {
    rmSync(dataDir, { recursive: true, force: true });
    await drop();
  });
  return { dataDir, url };
}

/** Work in every state, and records of every kind. `count`: events more. */
async function fill(dataDir: string, count = 0): Promise<Stage> {
  const stage = new Stage(await openSqlite(dataDir, die));
  const { newId, instanceId } = stage;
  const customer = await stage.addCustomer();
  const endpoint = await stage.addEndpoint(customer);
  const sent = await stage.addMessage(customer, { status: "sent", providerMessageId: "r", dueAt: NOW + 60_000 });
  await stage.addMessage(customer, { status: "queued", dueAt: NOW, text: "Grüße 🎈 \\ \"'\n" });
  await stage.addMessage(customer, { status: "scheduled", scheduledAt: NOW + 9, dueAt: NOW + 9 });
  await stage.addMessage(customer, { status: "pending", sendAttempts: 1, claimedUntil: NOW + 1 });
  await stage.addMessage(customer, { status: "delivered", metadata: { a: "\u0000" } });
  const attempt = {
    instanceId,
    reference: "r",
    messageId: sent.id,
    number: 1,
    channel: "sms",
    startedAt: NOW,
  } as const;
  const beside = recordsBeside({ newId, customerId: customer.id, messageId: sent.id, instanceId, now: NOW });
  await stage.ok([
    { op: "insert", table: "sendAttempts", record: { ...attempt, state: "accepted", endedAt: NOW, note: null } },
    {
      op: "insert",
      table: "providerReferences",
      record: { instanceId, reference: "in", messageId: sent.id, channel: "sms", createdAt: NOW },
    },
    { op: "insert", table: "idempotency", record: idempotencyOf("key") },
    { op: "insert", table: "keys", record: keyOf(stage, customer) },
    { op: "insert", table: "numbers", record: numberOf(stage, customer) },
    { op: "put", table: "settings", record: { name: "a", value: "" } },
    { op: "put", table: "memory", record: { instanceId, key: "k", value: "v" } },
    ...Object.entries(beside).flatMap(([table, records]) =>
      records.map((record) => ({ op: "insert", table, record }) as never),
    ),
  ]);
  for (let index = 0; index < 3 + count; index += 1) await stage.addEvent(sent);
  const event = stage.event(sent);
  await stage.ok([
    { op: "insert", table: "events", record: event },
    {
      op: "insert",
      table: "deliveries",
      record: stage.delivery(event, {
        status: "succeeded",
        dueAt: null,
        endpointId: endpoint.id,
        attempts: [attemptAt(NOW)],
      }),
    },
  ]);
  await addUsage(stage.store, [
    {
      subject: customer.id,
      at: 0,
      requests: 1,
      rateLimited: 0,
      messagesSent: 2,
      segments: 3,
      messagesReceived: 4,
      webhooksDelivered: 5,
      webhooksFailed: 6,
    },
  ]);
  return stage;
}

type All = { [Name in TableName]?: Records[Name][] };

async function everything(stage: Stage): Promise<All> {
  const all: All = {};
  for (const table of Object.keys(TABLES) as TableName[]) Object.assign(all, { [table]: await stage.all(table) });
  return all;
}

/** A query of a PostgreSQL database. */
async function ask(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

const digest = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");

test("every record arrives with its order, leases end, and whatever is due is in its queue", async (t) => {
  const { dataDir, url } = await prepare(t);
  const stage = await fill(dataDir);
  const expected = await everything(stage);
  await stage.store.close();
  const path = join(dataDir, "tightbeam.db");
  const content = digest(path);
  const result = await migrateToPostgres({ dataDir }, url, QUIET);
  assert.equal(digest(path), content, "the source is untouched");
  const countOf = (name: string) => {
    const entry = Object.entries(TABLES).find(([, table]) => table.name === name);
    return entry === undefined ? 0 : expected[entry[0] as TableName]?.length;
  };
  assert.deepEqual(
    result.tables.map(({ table, rows }) => [table, rows]),
    COPIED.map(({ name }) => [name, countOf(name)]),
  );
  assert.deepEqual(result.replaced, []);
  stage.store = await openPostgres(url, "member_1");
  t.after(() => stage.store.close());
  const found = await everything(stage);
  for (const table of Object.keys(TABLES) as TableName[]) {
    if (table !== "messages") assert.deepEqual(found[table], expected[table], table);
  }
  const changed = expected.messages?.map((message) =>
    message.claimedUntil === null
      ? message
      : { ...message, claimedUntil: null, dueAt: QUIET.now, version: message.version + 1 },
  );
  assert.deepEqual(found.messages, changed);
  const due = await ask(url, "select id, due_at::text, lane, is_queued from due_messages order by id");
  assert.deepEqual(
    due,
    changed?.flatMap(({ id, dueAt, instanceId, status }) =>
      dueAt === null ? [] : [{ id, due_at: String(dueAt), lane: instanceId, is_queued: status === "queued" ? 1 : 0 }],
    ),
  );
  assert.deepEqual(
    await ask(
      url,
      "select q.id, q.row from due_deliveries q join deliveries d on d.id = q.id and d.rowid = q.row order by 2",
    ),
    await ask(url, "select id, rowid as row from deliveries where due_at is not null order by 2"),
  );
  const order = (sql: string) => ask(url, sql).then((rows) => rows.map(({ id }) => id));
  const source = new DatabaseSync(path, { readOnly: true });
  for (const sql of [
    "select id from messages order by rowid",
    "select id from deliveries order by rowid",
    "select id from events order by position",
  ])
    assert.deepEqual(
      await order(sql),
      source
        .prepare(sql)
        .all()
        .map(({ id }) => id),
    );
  source.close();
  const customer = expected.customers?.[0];
  assert.ok(customer);
  const { event } = await stage.addEvent(customer);
  assert.equal((await stage.all("events")).at(-1)?.id, event.id, "positions go on");
  await stage.addMessage(customer);
  assert.equal((await ask(url, "select max(rowid) = count(*) as goes_on from messages"))[0]?.goes_on, true);
});

test("undecodable rows and the quarantine go along, and values that PostgreSQL cannot hold are named", async (t) => {
  const { dataDir, url } = await prepare(t);
  const stage = await fill(dataDir);
  const [damaged, ahead, ended] = (await stage.all("messages")).map(({ id }) => id);
  await stage.store.close();
  const database = new DatabaseSync(join(dataDir, "tightbeam.db"));
  database.prepare("update messages set status = 'flown', due_at = null where id = ?").run(damaged ?? "");
  database.prepare("update messages set created_at = 'yesterday' where id = ?").run(ahead ?? "");
  database.prepare("update messages set text = 'a' || char(0) || 'b' where id = ?").run(ended ?? "");
  database.prepare("update messages set updated_at = 9007199254740993 where id = ?").run(ended ?? "");
  database
    .prepare(`insert into quarantined ("table", id, reason, since, parked) values ('messages', ?, 'status', 5, 1)`)
    .run(damaged ?? "");
  database.close();
  const { replaced } = await migrateToPostgres({ dataDir }, url, QUIET);
  assert.deepEqual(replaced, ["messages 2 created_at", "messages 3 text"]);
  assert.deepEqual(await ask(url, `select "table", id, reason, since::int, parked from quarantined`), [
    { table: "messages", id: damaged, reason: "status", since: 5, parked: 1 },
  ]);
  const [row] = await ask(url, `select status from messages where id = '${damaged}'`);
  assert.equal(row?.status, "flown");
  const [third] = await ask(url, `select text, updated_at::text from messages where id = '${ended}'`);
  assert.deepEqual(third, { text: "a\ufffdb", updated_at: "9007199254740993" });
});

test("a process that is killed ten times copies and compares everything in the end, and no service starts before", async (t) => {
  const { dataDir, url } = await prepare(t);
  const stage = await fill(dataDir, 120);
  const expected = await everything(stage);
  await stage.store.close();
  const steps: string[] = [];
  const run = async (stepsMax: number) => {
    const child = spawn(process.execPath, [PROCESS, dataDir, url, "10"], { stdio: ["pipe", "pipe", "inherit"] });
    const exited = once(child, "exit");
    let step = 0;
    for await (const chunk of child.stdout) {
      for (const line of String(chunk).trim().split("\n")) {
        steps.push(line);
        step += 1;
        if (step >= stepsMax) child.kill("SIGKILL");
        else child.stdin.write("\n");
      }
    }
    return (await exited)[0] as number | null;
  };
  for (let kill = 0; kill < 10; kill += 1) {
    assert.equal(await run(3 + kill), null, "killed");
    await assert.rejects(openPostgres(url, "member_1"), /is not complete: run tightbeam migrate again/);
  }
  assert.equal(await run(Number.POSITIVE_INFINITY), 0);
  const copied = steps.flatMap((line) => (line.startsWith("copying ") ? [Number(line.split(" ")[1])] : []));
  assert.ok(copied.length > 30);
  assert.deepEqual(
    copied,
    copied.toSorted((a, b) => a - b),
    "no step goes back",
  );
  stage.store = await openPostgres(url, "member_1");
  t.after(() => stage.store.close());
  const found = await everything(stage);
  for (const table of ["events", "deliveries", "customers", "contents"] as const)
    assert.deepEqual(found[table], expected[table], table);
});

test("a second run repeats the result of the first", async (t) => {
  const { dataDir, url } = await prepare(t);
  await (await fill(dataDir)).store.close();
  const first = await migrateToPostgres({ dataDir }, url, QUIET);
  await (await openPostgres(url, "member_1")).close();
  assert.deepEqual(await migrateToPostgres({ dataDir }, url, QUIET), first);
});

test("a start on a copied data directory without DATABASE_URL is refused, until the mark is deleted", async (t) => {
  const { dataDir, url } = await prepare(t);
  await (await fill(dataDir)).store.close();
  await migrateToPostgres({ dataDir }, url, QUIET);
  const config = (databaseUrl: string | null) => ({ ...readConfig({}), dataDir, databaseUrl });
  await assert.rejects(openStoreAlone(config(null)), (error: unknown) => {
    assert.ok(error instanceof ConfigError);
    assert.match(
      error.message,
      /was copied into PostgreSQL, .+: set DATABASE_URL\. .+ delete .+migrated-to-postgres\.$/,
    );
    return true;
  });
  await (await openStoreAlone(config(url))).close();
  rmSync(join(dataDir, "migrated-to-postgres"));
  await (await openStoreAlone(config(null))).close();
});

test("a copy is refused with one line that says what to do", async (t) => {
  const { dataDir, url } = await prepare(t);
  const refused = async (message: RegExp, to = url) => {
    await assert.rejects(migrateToPostgres({ dataDir }, to, QUIET), (error: unknown) => {
      assert.ok(error instanceof ConfigError);
      assert.match(error.message, message);
      return true;
    });
  };
  await refused(/^There is no database in .+: name the data directory/);
  const stage = await fill(dataDir);
  await refused(/is locked: another Tightbeam runs/);
  await stage.store.close();
  await refused(/^PostgreSQL at 127\.0\.0\.1:1 /, "postgres://nobody@127.0.0.1:1/none");
  await ask(url, "create table theirs (id int)");
  await refused(/has tables of another program/);
  await ask(url, "drop table theirs");
  const other = new Stage(await openPostgres(url, "member_1"));
  await other.addCustomer();
  await other.store.close();
  await refused(/is not empty \(customers has rows\)/);
  await ask(url, "delete from customers");
  await ask(url, "update schema_id set id = 'x' || id");
  await refused(/another version of Tightbeam/);
  await ask(url, "update schema_id set id = substr(id, 2)");
  const stopped = { ...QUIET, progress: () => die("stop") };
  await assert.rejects(migrateToPostgres({ dataDir }, url, stopped), /stop/);
  stage.store = await openSqlite(dataDir, die);
  await stage.addCustomer();
  await stage.store.close();
  await refused(/is of another embedded database, or of this one before it changed: empty it/);
  const database = new DatabaseSync(join(dataDir, "tightbeam.db"));
  database.exec("update schema_id set id = 'x' || id");
  database.close();
  await refused(/tightbeam\.db has the tables of another version of Tightbeam/);
});
