/**
 * The embedded store, on a file in this process, under the store's conformance suite; and its query plans and groups.
 */

import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { after, before, mock, type TestContext, test } from "node:test";
import { sql } from "kysely";
import { storeConformance } from "../../../test/conformance/store.ts";
import { planOf, slowSteps } from "../../../test/support/query-plans.ts";
import { READS, statementsOf } from "../../../test/support/store-reads.ts";
import { INDEXES } from "../indexes.ts";
import { findLanesWithDueTimers, listWaiting } from "../messages.ts";
import { openWriter } from "./connection.ts";
import { queryDatabase } from "./driver.ts";
import { dueLanesQuery } from "./due-lanes.ts";
import { makeTables } from "./make-tables.ts";
import { Statements } from "./statements.ts";
import { openSqlite, openSqliteInProcess } from "./store.ts";

/** Every statement that a connection of this process has prepared. */
const prepared = new Set<string>();
/** The names of those statements of the writer that were used. */
const used = new Set<string>();
const WRITERS = Object.getOwnPropertyNames(Statements.prototype).filter((name) => name !== "constructor");

before(() => {
  const { prepare } = DatabaseSync.prototype;
  mock.method(DatabaseSync.prototype, "prepare", function (this: DatabaseSync, sql: string) {
    prepared.add(sql);
    return prepare.call(this, sql);
  });
  const methods = Statements.prototype as unknown as Record<string, () => StatementSync>;
  for (const name of WRITERS) {
    const get = methods[name] ?? assert.fail(name);
    mock.method(methods, name, function (this: Statements, ...parameters: []) {
      used.add(name);
      return get.apply(this, parameters);
    });
  }
});
after(() => mock.restoreAll());

/** A migrated database without rows, as a file: to migrate again for each test would be most of the suite's time. */
const EMPTY = scratch();
before(async () => {
  await (await openSqliteInProcess(join(EMPTY.path, "tightbeam.db"))).close();
  prepared.clear();
});
after(EMPTY.remove);

function scratch() {
  const path = mkdtempSync(join(tmpdir(), "tightbeam-store-"));
  return { path, remove: async () => rmSync(path, { recursive: true }) };
}

storeConformance("SQLite in process", async () => {
  const { path, remove } = scratch();
  copyFileSync(join(EMPTY.path, "tightbeam.db"), join(path, "tightbeam.db"));
  const open = () => openSqliteInProcess(join(path, "tightbeam.db"));
  return { store: await open(), reopen: open, remove };
});

/** Statements of the store that read a whole table or sort, beside those of `reads.test.ts`, and why they may. */
const EXCEPTIONS: { statement: RegExp; step: RegExp; why: string }[] = [
  {
    statement: /^select [^()]+ from endpoints where customer_id = \? order by id$/,
    step: /^USE TEMP B-TREE/,
    why: "a customer has at most 100 endpoints, and the writer caches them",
  },
  {
    statement: /^with given .+ update messages set due_at = .+ where claimed_until is not null/s,
    step: /^SCAN messages USING COVERING INDEX messages_claimed$/,
    why: "at a start only: the index has no other messages than those whose attempt was interrupted",
  },
  {
    statement: /^(delete from send_attempts|update send_attempts set note = null) where .+ note is not null/s,
    step: /^SCAN send_attempts USING INDEX send_attempts_noted$/,
    why: "once a minute: the index has only the attempts that go on or whose receipts are polled",
  },
  {
    statement: /^delete from requests where .+ order by position limit \?2 \+ 0\) where logged_at < \?1\)$/s,
    step: /^SCAN requests$/,
    why: "it looks at the first rows alone, as many as it may delete",
  },
  { statement: /from deleted_position$/, step: /^SCAN deleted_position$/, why: "the table has one row" },
];
/** Statements of the suite, and those that make the tables. */
const NOT_THE_STORES = [
  /^select \* from "\w+" order by ("\w+"(, )?)+$/,
  /^delete from (memory|idempotency) where "key" = \?$/,
  /schema_id|sqlite_(master|schema)|pragma/,
  /key >= 'sent\/' and key < 'sent0'/,
];

test("no statement that this suite runs reads a whole table or sorts its rows, except those listed with the reason", async (t) => {
  const ran = [...prepared];
  const database = await emptyDatabase(t);
  const judged = new Set<string>();
  for (const ask of Object.values(READS)) {
    for (const statement of await statementsOf(database, ask)) judged.add(statement);
  }
  const slow: string[] = [];
  const needed = new Set<(typeof EXCEPTIONS)[number]>();
  for (const statement of ran) {
    if (judged.has(statement) || NOT_THE_STORES.some((pattern) => pattern.test(statement))) continue;
    for (const step of slowSteps(database, statement)) {
      const exception = EXCEPTIONS.find((one) => one.statement.test(statement) && one.step.test(step));
      if (exception === undefined) slow.push(`${step}\n  ${statement}`);
      else needed.add(exception);
    }
  }
  assert.ok(ran.length > 100, "statements are recorded");
  assert.deepEqual(slow, []);
  assert.equal(needed.size, EXCEPTIONS.length, "an exception that nothing needs goes");
});

test("each index is one that a statement uses, or makes a key unique", async (t) => {
  const statements = new Set(prepared);
  const database = await emptyDatabase(t);
  for (const ask of Object.values(READS)) {
    for (const statement of await statementsOf(database, ask)) statements.add(statement);
  }
  const plans = [...statements]
    .filter((one) => /^\s*(select|insert|update|delete|with)\b/.test(one))
    .flatMap((one) => planOf(database, one));
  const found = new Set(plans.flatMap((step) => /USING (?:COVERING )?INDEX (\w+)/.exec(step)?.[1] ?? []));
  const needed = INDEXES.filter(({ isUnique, sqlite }) => !isUnique && sqlite !== null).map(({ name }) => name);
  assert.deepEqual(
    needed.filter((name) => !found.has(name)),
    [],
  );
});

test("this suite runs every statement of the writer", () => {
  assert.deepEqual(
    WRITERS.filter((name) => !used.has(name)),
    [],
  );
});

async function emptyDatabase(t: TestContext): Promise<DatabaseSync> {
  const database = openWriter(":memory:");
  t.after(() => database.close());
  makeTables(database);
  return database;
}

test("every lookup of the writer uses an index and sorts nothing", async (t) => {
  const database = await emptyDatabase(t);
  const statements = new Statements(database);
  const lookUps: [StatementSync, RegExp][] = [
    [statements.deliveriesDueAfter(), /^SEARCH d USING INDEX deliveries_due \(lane=\? AND due_at[<>]/],
    [statements.deliveriesDueAt(), /^SEARCH d USING INDEX deliveries_due \(lane=\? AND due_at=\? AND rowid>\?\)$/],
    [statements.nextPair(), /COVERING INDEX messages_pair \(instance_id=\? AND \(from,to\)>\(\?,\?\)\)$/],
    [statements.dueOfPair(), /USING INDEX messages_pair \(instance_id=\? AND from=\? AND to=\? AND due_at[<>]/],
    [
      statements.messagesDueAfter(),
      /^SEARCH messages USING INDEX messages_due \(instance_id=\? AND \(due_at,id\)>\(\?,\?\) AND due_at<\?\)$/,
    ],
    [
      statements.dueTimers(),
      /^SEARCH messages USING INDEX messages_due_beside \(instance_id=\? AND \(due_at,id\)>\(\?,\?\) AND due_at<\?\)$/,
    ],
    [statements.releaseLeases(), /USING (COVERING )?INDEX messages_claimed/],
    [statements.waiting("lane"), /^SEARCH deliveries USING (COVERING )?INDEX deliveries_due \(lane=\?/],
    [statements.waiting("untried"), /^SEARCH deliveries USING INDEX deliveries_replay_due \(replay_id=\?\)$/],
    [statements.oldEvents(), /^SEARCH e USING (COVERING )?INDEX \S+ \(id<\?\)$/],
    [statements.oldEvents(), /^SEARCH d USING INDEX deliveries_list \(<expr>=\? AND id>\? AND id<\?\)$/],
    [statements.oldEvents(), /^SEARCH d USING INDEX deliveries_apart_event \(event_id=\?\)$/],
    [statements.eraseResponses(), /^SEARCH d USING INDEX deliveries_list \(<expr>=\? AND id>\? AND id<\?\)$/],
    [statements.delivery(), /^SEARCH d USING COVERING INDEX deliveries_list \(<expr>=\? AND id=\?\)$/],
    [statements.delivery(), /^SEARCH d USING INDEX deliveries_apart \(id=\?\)$/],
    [statements.deleteDeliveriesOf(), /^SEARCH d USING INDEX deliveries_apart_event \(event_id=\?\)$/],
    [statements.deleteOldIdempotency(), /^SEARCH idempotency USING COVERING INDEX idempotency_age \(created_at<\?\)$/],
    [statements.exists("numbers"), /^SEARCH numbers USING (COVERING )?INDEX numbers_address \(address=\?\)$/],
    [statements.exists("keys"), /^SEARCH keys USING (COVERING )?INDEX keys_hash \(hash=\?\)$/],
    [statements.exists("idempotency"), /^SEARCH idempotency USING PRIMARY KEY \(scope=\? AND key=\?\)$/],
    [statements.exists("deliveries"), /^SEARCH deliveries USING INDEX deliveries_list \(<expr>=\? AND id=\?\)$/],
    [statements.someDeliveriesOf(), /^SEARCH deliveries USING INDEX deliveries_list \(<expr>=\?\)$/],
    [statements.someMessagesOf(), /^SEARCH messages USING INDEX messages_list \(<expr>=\?\)$/],
    [statements.deleteSome("events", "customerId"), /^SEARCH events USING INDEX events_list \(<expr>=\?\)$/],
    [statements.version("messages"), /^SEARCH messages USING INDEX \S+ \(id=\?\)$/],
  ];
  for (const [{ sourceSQL }, wanted] of lookUps) {
    const plan = planOf(database, sourceSQL);
    assert.ok(
      plan.some((line) => wanted.test(line)),
      `${sourceSQL}\n${plan.join("\n")}`,
    );
    const slow = plan.filter((line) => /TEMP B-TREE|^SCAN \w+$/.test(line) && !/^SCAN (given|CONSTANT)/.test(line));
    assert.deepEqual(slow, [], sourceSQL);
  }
});

test("lanes with due items are found by steps from lane to lane, without reading the due items", async (t) => {
  const database = await emptyDatabase(t);
  const db = queryDatabase(async () => []);
  for (const [queue, index] of [
    ["deliveries", "deliveries_due"],
    ["messages", "messages_due"],
  ] as const) {
    const plan = planOf(database, dueLanesQuery(queue, 0).compile(db).sql);
    const reads = plan.filter((line) => line.includes(queue));
    assert.ok(reads.length >= 3);
    for (const line of reads) assert.match(line, new RegExp(`^SEARCH ${queue} USING (COVERING )?INDEX ${index}`));
    assert.ok(!plan.some((line) => line.includes("TEMP B-TREE")), plan.join("\n"));
  }
});

test("queued messages and due timers of a lane are read by an index, up to the limit", async (t) => {
  const database = await emptyDatabase(t);
  const plans: string[][] = [];
  const db = queryDatabase(async ({ sql }) => {
    plans.push(planOf(database, sql));
    return [];
  });
  await findLanesWithDueTimers(db, ["inst_a", "inst_b"], 0);
  await listWaiting(db, "inst_a", 0, null, 10);
  await listWaiting(db, "inst_a", 0, { dueAt: 0, id: "msg_a" }, 10);
  const wanted = ["messages_due_beside", "messages_due", "messages_due"];
  for (const [index, plan] of plans.entries()) {
    const read = new RegExp(
      `^SEARCH messages (EXISTS )?USING (COVERING )?INDEX ${wanted[index]} \\(instance_id=\\? AND \\(?due_at[,<>]`,
    );
    assert.ok(
      plan.some((line) => read.test(line)),
      plan.join("\n"),
    );
    assert.ok(!plan.some((line) => /TEMP B-TREE|^SCAN messages/.test(line)), plan.join("\n"));
  }
  assert.equal(plans.length, 3);
});

test("transactions that arrive together are committed together, at most 512 at once", async (t) => {
  const groups: number[] = [];
  const store = await openSqliteInProcess(":memory:", ({ transactions }) => groups.push(transactions));
  t.after(() => store.close());
  const commits = Array.from({ length: 1_200 }, (_, index) =>
    store.commit([{ op: "put", table: "settings", record: { name: `s${index}`, value: "" } }]),
  );
  assert.ok((await Promise.all(commits)).every(({ result }) => result === "ok"));
  assert.equal(
    groups.reduce((sum, count) => sum + count, 0),
    1_200,
  );
  assert.ok(groups.length <= 5 && Math.max(...groups) <= 512, `groups of ${groups}`);
});

const SETTING = { op: "put", table: "settings", record: { name: "a", value: "" } } as const;
test("a failed read does not fail concurrent reads", async (t) => {
  const { path, remove } = scratch();
  const store = await openSqlite(path, () => {});
  t.after(async () => {
    await store.close();
    await remove();
  });
  await store.commit([SETTING]);
  const reads = Array.from({ length: 40 }, (_, index) =>
    index === 3
      ? sql`select * from nowhere`.execute(store.db)
      : store.db.selectFrom("settings").select("name").where("name", "=", "a").execute(),
  );
  const ended = await Promise.allSettled(reads);
  assert.deepEqual(
    ended.flatMap(({ status }, index) => (status === "rejected" ? [index] : [])),
    [3],
  );
  const { reason } = ended[3] as PromiseRejectedResult;
  assert.match(String(reason), /no such table: nowhere/);
});
