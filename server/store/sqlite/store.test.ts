/** The embedded store, on a file in this process, under the store's conformance suite; and its query plans and groups. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { sql } from "kysely";
import { storeConformance } from "../../../test/conformance/store.ts";
import { findLanesWithDueTimers, listWaiting } from "../messages.ts";
import { openWriter } from "./connection.ts";
import { queryDatabase } from "./driver.ts";
import { dueLanesQuery } from "./due-lanes.ts";
import { migrate } from "./migrate.ts";
import { Statements } from "./statements.ts";
import { openSqlite, openSqliteInProcess } from "./store.ts";

function scratch() {
  const path = mkdtempSync(join(tmpdir(), "tightbeam-store-"));
  return { path, remove: async () => rmSync(path, { recursive: true }) };
}

storeConformance("SQLite in process", async () => {
  const { path, remove } = scratch();
  const open = () => openSqliteInProcess(join(path, "tightbeam.db"));
  return { store: await open(), reopen: open, remove };
});

/** How SQLite goes about a statement, a line for each loop and sort. */
function planOf(database: DatabaseSync, statement: string): string[] {
  const rows = database.prepare(`explain query plan ${statement}`).all();
  return rows.map((row) => String(row.detail));
}

async function emptyDatabase(t: TestContext): Promise<DatabaseSync> {
  const database = openWriter(":memory:");
  t.after(() => database.close());
  await migrate(database);
  return database;
}

test("every lookup of the writer uses an index and sorts nothing", async (t) => {
  const database = await emptyDatabase(t);
  const statements = new Statements(database);
  const lookUps: [StatementSync, RegExp][] = [
    [statements.deliveriesDueAfter(), /^SEARCH d USING INDEX deliveries_due \(lane=\? AND due_at[<>]/],
    [statements.deliveriesDueAt(), /^SEARCH d USING INDEX deliveries_due \(lane=\? AND due_at=\? AND rowid>\?\)$/],
    [statements.nextPair(), /COVERING INDEX messages_pair \(instance_id=\? AND \(from,to\)>\(\?,\?\)\)$/],
    [statements.dueOfPair(), /COVERING INDEX messages_pair \(instance_id=\? AND from=\? AND to=\? AND due_at[<>]/],
    [
      statements.messagesDueAfter(),
      /^SEARCH messages USING INDEX messages_due \(instance_id=\? AND \(due_at,id\)>\(\?,\?\) AND due_at<\?\)$/,
    ],
    [statements.dueTimers(), /^SEARCH messages USING INDEX messages_due_beside \(instance_id=\? AND due_at[<>]/],
    [statements.releaseLeases(), /USING (COVERING )?INDEX messages_claimed/],
    [statements.dueOfLane(), /^SEARCH deliveries USING (COVERING )?INDEX deliveries_due \(lane=\?/],
    [statements.oldEvents(), /^SEARCH e USING (COVERING )?INDEX \S+ \(id<\?\)$/],
    [statements.oldEvents(), /^SEARCH d USING INDEX deliveries_event \(event_id=\?\)$/],
    [statements.eraseResponses(), /^SEARCH deliveries USING (COVERING )?INDEX deliveries_event/],
    [statements.deleteOldIdempotency(), /^SEARCH idempotency USING COVERING INDEX idempotency_age \(created_at<\?\)$/],
    [statements.exists("numbers"), /^SEARCH numbers USING (COVERING )?INDEX numbers_address \(address=\?\)$/],
    [statements.exists("keys"), /^SEARCH keys USING (COVERING )?INDEX keys_hash \(hash=\?\)$/],
    [statements.exists("idempotency"), /^SEARCH idempotency USING (COVERING )?INDEX \S+ \(scope=\? AND key=\?\)$/],
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
