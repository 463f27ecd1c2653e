/** A row is found by its key and shown with the names of its parts, also a delivery whose event is gone. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { attemptAt, NOW, Stage } from "../../test/conformance/store-stage.ts";
import { emptyDirectory } from "../../test/support/cli.ts";
import { planOf } from "../../test/support/query-plans.ts";
import { readConfig } from "../config.ts";
import { idBeside } from "../core/id.ts";
import { openSqliteInProcess } from "../store/sqlite/store.ts";
import { setColumn, showRow } from "./repair-rows.ts";

/** A data directory with a delivery that was attempted once. */
async function prepared(t: TestContext) {
  const dataDir = emptyDirectory(t);
  const path = join(dataDir, "tightbeam.db");
  const stage = new Stage(await openSqliteInProcess(path));
  const customer = await stage.addCustomer();
  const message = await stage.addMessage(customer);
  const event = stage.event(message);
  const id = idBeside("dlv", event.id, "wh_1");
  const delivery = stage.delivery(event, { id, status: "succeeded", dueAt: null, attempts: [attemptAt(NOW)] });
  await stage.ok([
    { op: "insert", table: "events", record: event },
    { op: "insert", table: "deliveries", record: delivery },
  ]);
  await stage.store.close();
  return { config: readConfig({ TB_DATA_DIR: dataDir }), path, customer, message, event, delivery };
}

function change(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

test("packed lists are shown with the names of their members, and can be set as they are shown", async (t) => {
  const { config, message, delivery } = await prepared(t);
  const name = { table: "deliveries", id: delivery.id };
  const shown = String(showRow(config, name).columns.attempts);
  assert.deepEqual(JSON.parse(shown), delivery.attempts);
  assert.equal((await setColumn(config, name, "attempts", shown)).columns.attempts, shown);
  const { timeline } = showRow(config, { table: "messages", id: message.id }).columns;
  assert.deepEqual(JSON.parse(String(timeline)), message.timeline);
  await setColumn(config, name, "attempts", "[[");
  assert.deepEqual(
    [showRow(config, name).columns.attempts, showRow(config, name).reason],
    ["[[", "attempts is not JSON"],
  );
});

test("a delivery is found without its event, by its row in quarantine", async (t) => {
  const { config, path, customer, event, delivery } = await prepared(t);
  const name = { table: "deliveries", id: delivery.id };
  change(path, `delete from events where id = '${event.id}'`);
  assert.throws(() => showRow(config, name), /There is no row/);
  change(path, `insert into quarantined values ('deliveries', '${delivery.id}', '${customer.id}', 'gone', 1, 0)`);
  assert.equal(showRow(config, name).columns.event_id, event.id);
});

test("a delivery is found by indexes", async (t) => {
  const { config, path, delivery } = await prepared(t);
  const { prepare } = DatabaseSync.prototype;
  const statements: string[] = [];
  t.mock.method(DatabaseSync.prototype, "prepare", function (this: DatabaseSync, sql: string) {
    statements.push(sql);
    return prepare.call(this, sql);
  });
  showRow(config, { table: "deliveries", id: delivery.id });
  t.mock.restoreAll();
  const database = new DatabaseSync(path);
  t.after(() => database.close());
  const reads = statements.filter((sql) => sql.includes("from deliveries"));
  assert.equal(reads.length, 1);
  for (const sql of reads)
    assert.deepEqual(
      planOf(database, sql).filter((step) => step.startsWith("SCAN")),
      [],
    );
});
