/** Attempts of an older database are in the rows of their deliveries after the upgrade, also if it was interrupted. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { NOW, Stage } from "../../../test/conformance/store-stage.ts";
import type { Attempt } from "../../core/delivery.ts";
import { encodeRecord } from "../jobs/jobs.ts";
import { decodeRecord, LAYOUT, type SqlValue } from "../rows.ts";
import type { Store } from "../store.ts";
import { migrate } from "./migrate.ts";
import { moveAttempts } from "./move-attempts.ts";
import { Statements } from "./statements.ts";

const COUNT = 5_000;
const ATTEMPTS_TABLE = `create table attempts (
  delivery_id text not null, number bigint not null, at bigint not null, duration_ms bigint not null, status bigint,
  response text, error text, constraint attempts_key primary key (delivery_id, number))`;

/** A database of before the move: deliveries with none to three attempts, and one with sixty. */
async function older(): Promise<{ database: DatabaseSync; expected: Map<string, Attempt[]> }> {
  const database = new DatabaseSync(":memory:");
  await migrate(database);
  database.exec(`${ATTEMPTS_TABLE}; begin`);
  const insert = database.prepare("insert into attempts values (?, ?, ?, ?, ?, ?, ?)");
  const statements = new Statements(database);
  const make = new Stage({} as Store);
  const event = make.event(make.customer());
  const expected = new Map<string, Attempt[]>();
  for (let index = 0; index < COUNT; index += 1) {
    const { id, ...delivery } = make.delivery(event);
    statements.insert("deliveries").run(...encodeRecord("deliveries", { id, ...delivery }));
    const count = index === 7 ? 60 : index % 4;
    const attempts = Array.from({ length: count }, (_, number): Attempt => {
      const at = NOW + number;
      return number % 2 === 0
        ? { at, status: 500, durationMs: 12, response: 'a "b"', error: null }
        : { at, status: null, durationMs: 0.5, response: null, error: "TIMEOUT" };
    });
    for (const [number, { at, durationMs, status, response, error }] of attempts.entries()) {
      insert.run(id, number + 1, at, durationMs, status, response, error);
    }
    expected.set(id, attempts.slice(-50));
  }
  database.exec(
    "commit; alter table deliveries rename to deliveries_before; create index ids on deliveries_before (id)",
  );
  return { database, expected };
}

function attemptsOf(database: DatabaseSync): Map<string, readonly Attempt[]> {
  const columns = LAYOUT.deliveries.map(({ column }) => `"${column}"`).join(", ");
  const statement = database.prepare(`select ${columns} from deliveries_before`);
  statement.setReturnArrays(true);
  const deliveries = statement.all().map((row) => decodeRecord("deliveries", row as unknown as SqlValue[]));
  return new Map(deliveries.map(({ id, attempts }) => [id, attempts]));
}

const hasTable = (database: DatabaseSync) =>
  database.prepare("select 1 from sqlite_schema where name = 'attempts'").get() !== undefined;

test("each delivery has its newest attempts in order, and the table is gone", async () => {
  const { database, expected } = await older();
  moveAttempts(database);
  assert.deepEqual(attemptsOf(database), expected);
  assert.equal(hasTable(database), false);
  assert.equal(database.prepare("select count(*) as count from settings").get()?.count, 0);
  moveAttempts(database);
  assert.deepEqual(attemptsOf(database), expected);
});

test("an interrupted move continues at the next start", async () => {
  const { database, expected } = await older();
  database.exec(`create temp trigger full before update on deliveries_before
    when new.rowid > 4500 begin select raise(abort, 'interrupted'); end`);
  assert.throws(() => moveAttempts(database), /interrupted/);
  const moved = [...attemptsOf(database).values()].filter((attempts) => attempts.length > 0).length;
  assert.ok(moved > 0 && moved < COUNT / 2, `${moved} moved`);
  assert.ok(hasTable(database));
  database.exec("drop trigger full");
  moveAttempts(database);
  assert.deepEqual(attemptsOf(database), expected);
});

test("an attempt that cannot be decoded is left out, and its delivery is kept", async () => {
  const { database } = await older();
  const [id] = [...attemptsOf(database).keys()];
  database.prepare("delete from attempts where delivery_id = ?").run(id ?? "");
  const insert = database.prepare("insert into attempts values (?, ?, ?, 1, 200, 'ok', null)");
  insert.run(id ?? "", 1, "noon");
  insert.run(id ?? "", 2, NOW);
  moveAttempts(database);
  const attempt = { at: NOW, status: 200, durationMs: 1, response: "ok", error: null };
  assert.deepEqual(attemptsOf(database).get(id ?? ""), [attempt]);
});
