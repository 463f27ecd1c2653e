/** A database of an older version gets the short indexes, also if the upgrade is interrupted; lists go on from older cursors. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { SHORT_INDEXES } from "../migrations/0016-short-indexes.ts";
import { openWriter } from "./connection.ts";
import { makeIndexes } from "./make-indexes.ts";
import { migrate } from "./migrate.ts";

const NAMES = Object.keys(SHORT_INDEXES);

/** The indexes of a database as SQL, by name. */
function indexesOf(database: DatabaseSync): Record<string, string> {
  const rows = database.prepare("select name, sql from sqlite_schema where type = 'index' and sql is not null").all();
  return Object.fromEntries(rows.map(({ name, sql }) => [String(name), String(sql)]));
}

/** A migrated database, and one of which some indexes are those of version 15. */
async function prepared(path = ":memory:") {
  const database = openWriter(path);
  await migrate(database);
  const wanted = indexesOf(database);
  database.exec(`drop index messages_list; create index messages_list on messages (customer_id, id);
    drop index deliveries_list; create unique index deliveries_list on deliveries (customer_id, id);
    drop index messages_chat`);
  return { database, wanted };
}

test("an index of an older version is replaced, one that is missing is made, and the others are left alone", async () => {
  const { database, wanted } = await prepared();
  const made: number[] = [];
  makeIndexes(database, (count) => made.push(count));
  assert.deepEqual(indexesOf(database), wanted);
  assert.deepEqual(made, [0, 1, 2]);
  makeIndexes(database, () => assert.fail("there is nothing to do"));
});

test("an interrupted upgrade keeps the indexes that were made and goes on at the next start", async () => {
  const { database, wanted } = await prepared();
  assert.throws(() =>
    makeIndexes(database, (count) => {
      if (count === 2) throw new Error("stopped");
    }),
  );
  const [first = ""] = NAMES;
  assert.equal(indexesOf(database)[first], wanted[first]);
  assert.equal(database.isTransaction, false);
  assert.deepEqual({ ...database.prepare("pragma temp_store").get() }, { temp_store: 2 });
  makeIndexes(database);
  assert.deepEqual(indexesOf(database), wanted);
});

test("the rows of an index are sorted in files beside the database: any other directory may be read-only or small", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "tightbeam-indexes-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const { database } = await prepared(join(directory, "one's.db"));
  const settings = () =>
    ["temp_store", "temp_store_directory"].map((name) => database.prepare(`pragma ${name}`).get()?.[name]);
  const during: unknown[] = [];
  makeIndexes(database, () => during.push(settings()));
  assert.deepEqual(during, Array(3).fill([1, directory]));
  assert.deepEqual(settings(), [2, undefined]);
  database.close();
});
