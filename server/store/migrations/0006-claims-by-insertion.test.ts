/** Waiting deliveries and endpoints of an older database survive the migration. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { Kysely } from "kysely";
import { LAYOUT, type SqlValue } from "../rows.ts";
import { queryDatabase } from "../sqlite/driver.ts";
import { moveRows } from "../sqlite/move-rows.ts";
import { createReader } from "../sqlite/query.ts";
import { Statements } from "../sqlite/statements.ts";
import { MIGRATIONS } from "./list.ts";

type Given = Record<string, string | number | null>;

/** A row with what the table requires, and `given`. */
function insert(database: DatabaseSync, table: string, given: Given): void {
  const columns = database.prepare(`pragma table_info(${table})`).all() as { name: string; notnull: number }[];
  const names = columns.filter(({ name, notnull }) => notnull === 1 || name in given).map(({ name }) => name);
  const values = names.map((name) => (name in given ? (given[name] ?? null) : 0));
  const quoted = names.map((name) => `"${name}"`).join(", ");
  database.prepare(`insert into ${table} (${quoted}) values (${names.map(() => "?").join(", ")})`).run(...values);
}

test("waiting deliveries are claimed in the order of their creation after the migration, and endpoints have the default maxInFlight", async () => {
  const database = new DatabaseSync(":memory:");
  const read = createReader(database);
  const db = queryDatabase(async (query) => read(query));
  const migrated = db as unknown as Kysely<unknown>;
  const names = Object.keys(MIGRATIONS).sort();
  for (const name of names.filter((one) => one < "0006")) await MIGRATIONS[name]?.up(migrated);
  insert(database, "endpoints", {
    id: "wh_1",
    customer_id: "cust_1",
    kind: "primary",
    url: "https://a.example/",
    events: '["*"]',
  });
  const waiting: Given = { lane: "wh_1", status: "pending", message_id: "msg_1", due_at: 5 };
  insert(database, "deliveries", { ...waiting, id: "dlv_9", sequence: 1 });
  insert(database, "deliveries", { ...waiting, id: "dlv_1", sequence: 2 });
  insert(database, "deliveries", { ...waiting, id: "dlv_5", sequence: 1, message_id: "msg_2" });
  insert(database, "deliveries", { ...waiting, id: "dlv_7", sequence: 3, due_at: null, claimed_until: 9 });
  for (const name of names.filter((one) => one >= "0006")) await MIGRATIONS[name]?.up(migrated);
  moveRows(database);
  const place = new Statements(database);
  const columns = LAYOUT.deliveries.map(({ column }) => column);
  const due = place.deliveriesDueAfter().all("wh_1", -1, 9, 10) as unknown as SqlValue[][];
  assert.deepEqual(
    due.map((row) => row[3 + columns.indexOf("id")]),
    ["dlv_7", "dlv_9", "dlv_1", "dlv_5"],
    "one that was leased comes first",
  );
  const endpoints = database.prepare("select id, customer_id, max_in_flight from endpoints").all();
  assert.deepEqual(
    endpoints.map((row) => ({ ...row })),
    [{ id: "wh_1", customer_id: "cust_1", max_in_flight: null }],
  );
});
