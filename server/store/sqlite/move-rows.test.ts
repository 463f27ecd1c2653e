/** A database of an older version gets lean tables, also if the upgrade is interrupted; positions of events are used once. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { Kysely } from "kysely";
import { Stage } from "../../../test/conformance/store-stage.ts";
import { encodeTransaction } from "../jobs/jobs.ts";
import { MOVED } from "../migrations/0014-lean-tables.ts";
import { MIGRATIONS } from "../migrations/list.ts";
import type { Store } from "../store.ts";
import { queryDatabase } from "./driver.ts";
import { migrate } from "./migrate.ts";
import { countPositionsByWriter, moveRows } from "./move-rows.ts";
import { createReader } from "./query.ts";
import { Statements } from "./statements.ts";
import { SqliteWriter } from "./writer.ts";

const COUNT = 5_000;

async function migrateWhere(database: DatabaseSync, is: (name: string) => boolean): Promise<void> {
  const read = createReader(database);
  const db = queryDatabase(async (query) => read(query));
  for (const name of Object.keys(MIGRATIONS).filter(is)) await MIGRATIONS[name]?.up(db as unknown as Kysely<unknown>);
}

/** A database of before with threads and provider references, whose tables are replaced but not filled yet. */
async function replaced(): Promise<DatabaseSync> {
  const database = new DatabaseSync(":memory:");
  await migrateWhere(database, (name) => name < "0014");
  const chat =
    database.prepare(`insert into chats (id, version, customer_id, key, is_group, "from", peer, instance_id, channel,
    participants, created_at, updated_at) values (?, 1, 'cust_1', ?, 0, '+1', ?, 'inst_1', 'sms', '[]', 5, 5)`);
  const reference = database.prepare("insert into hand_overs values ('inst_1', ?, ?, 'sms', 5)");
  const requested = MOVED.find(({ name }) => name === "deliveries")?.columns.retry_requested;
  const delivery =
    database.prepare(`insert into deliveries (id, version, customer_id, event_id, event_type, url, lane, sequence,
    status, attempt_count, retry_count, by_hand, ${requested}, created_at, due_at, claimed_until)
    values (?, 1, 'cust_1', 'evt_1', 'message.sent', 'https://a.example/', 'wh_1', 1, 'pending', 0, 0, 0, ?, 5, 5, null)`);
  database.exec("begin");
  for (let index = 0; index < COUNT; index += 1) {
    chat.run(`chat_${index}`, `key ${index}`, `+${index}`);
    delivery.run(`dlv_${index}`, index % 2);
    reference.run(`reference ${(index * 7_919) % COUNT}`, `msg_${index}`);
  }
  database.exec("commit");
  await migrateWhere(database, (name) => name >= "0014");
  return database;
}

const countOf = (database: DatabaseSync, table: string) =>
  database.prepare(`select count(*) as count from ${table}`).get()?.count;

function assertMoved(database: DatabaseSync): void {
  const wrong = database
    .prepare(
      "select count(*) as count from chats where contact <> '+' || substr(id, 6) or key <> 'key ' || substr(id, 6)",
    )
    .get();
  assert.deepEqual([countOf(database, "chats"), wrong?.count], [COUNT, 0]);
  assert.equal(countOf(database, "provider_references"), COUNT);
  const deliveries = database.prepare("select id, retry_requested from deliveries order by due_at, rowid").all();
  assert.deepEqual(
    deliveries.map((row) => [row.id, row.retry_requested]),
    Array.from({ length: COUNT }, (_, index) => [`dlv_${index}`, index % 2]),
    "in the order in which they were made",
  );
  const byId = new Statements(database).delivery();
  assert.equal((byId.get("dlv_77") as unknown as string[])[0], "dlv_77", "an id of an older version is found");
  const left = database.prepare("select name from sqlite_schema where name like '%\\_before' escape '\\'").all();
  assert.deepEqual(left, []);
}

test("every row is in its new table, and the old tables are gone", async () => {
  const database = await replaced();
  moveRows(database);
  assertMoved(database);
  moveRows(database);
  assertMoved(database);
});

test("an interrupted move continues at the next start", async () => {
  const database = await replaced();
  database.exec(`create temp trigger full before insert on chats
    when new.id = 'chat_4321' begin select raise(abort, 'interrupted'); end`);
  assert.throws(() => moveRows(database), /interrupted/);
  const moved = Number(countOf(database, "chats"));
  assert.ok(moved > 0 && moved < COUNT, `${moved} moved`);
  assert.equal(moved + Number(countOf(database, "chats_before")), COUNT, "no row is in both tables, or in none");
  database.exec("drop trigger full");
  moveRows(database);
  assertMoved(database);
});

test("a position is not used again after the newest events were deleted, before and after the upgrade", async () => {
  const older = new DatabaseSync(":memory:");
  await migrateWhere(older, (name) => name < "0014");
  older.exec(`insert into events (position, id, customer_id, type, sequence, correlation_id, created_at, bytes)
    values (40, 'evt_1', 'cust_1', 'message.sent', 1, 'cor', 1, '{}'), (41, 'evt_2', 'cust_1', 'message.sent', 1, 'cor', 1, '{}')`);
  older.exec("delete from events where position = 41");
  await migrateWhere(older, (name) => name >= "0014");
  countPositionsByWriter(older);
  assert.equal(older.prepare("select last from deleted_position").get()?.last, 41);
  assert.doesNotMatch(
    String(older.prepare("select sql from sqlite_schema where name = 'events'").get()?.sql),
    /autoincrement/,
  );
  assert.deepEqual({ ...older.prepare("pragma integrity_check").get() }, { integrity_check: "ok" });
});

test("a writer counts on from the greatest position that there ever was", async (t) => {
  const writer = new SqliteWriter(":memory:");
  t.after(() => writer.close());
  await migrate(writer.database);
  const make = new Stage({} as Store);
  const customer = make.customer();
  const add = () =>
    writer.run([["commit", encodeTransaction([{ op: "event", event: make.event(customer), callbackUrl: null }])]]);
  const positions = () =>
    writer.database
      .prepare("select position from events order by position")
      .all()
      .map((row) => row.position);
  for (let count = 0; count < 3; count += 1) add();
  assert.deepEqual(positions(), [1, 2, 3]);
  writer.run([["reset", customer.id, 100, true]]);
  assert.deepEqual(positions(), []);
  assert.equal(writer.database.prepare("select last from deleted_position").get()?.last, 3);
  add();
  assert.deepEqual(positions(), [4]);
});
