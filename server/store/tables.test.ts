/** The tables that each database has are those that are described once, and the checked-in SQL is theirs. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { SCHEMA_FILES } from "../../test/support/schema-files.ts";
import { makeTables } from "./sqlite/make-tables.ts";
import { SQLITE_SCHEMA } from "./sqlite/schema.ts";
import { StoreUnusable } from "./store.ts";

for (const [file, text] of SCHEMA_FILES) {
  test(`${file.split("/").slice(-2).join("/")} is what \`npm run schema\` writes`, () => {
    assert.equal(readFileSync(file, "utf8"), text);
  });
}

test("an empty database gets the tables, and one that has them is left as it is", () => {
  const database = new DatabaseSync(":memory:");
  makeTables(database);
  const before = database.prepare("select name, sql from sqlite_schema order by name").all();
  makeTables(database);
  assert.deepEqual(database.prepare("select name, sql from sqlite_schema order by name").all(), before);
  assert.equal(database.prepare("select id from schema_id").get()?.id, SQLITE_SCHEMA.id);
});

/** Databases that this version did not make. */
const OTHERS: readonly [what: string, sql: string][] = [
  [
    "another version made",
    `${SQLITE_SCHEMA.sql}; create table schema_id (id text); insert into schema_id values ('0123')`,
  ],
  ["a version from before there were ids made", SQLITE_SCHEMA.sql],
  ["another program made", "create table notes (text text)"],
];

for (const [what, sql] of OTHERS) {
  test(`a database that ${what} is refused in one line, and not changed`, () => {
    const database = new DatabaseSync(":memory:");
    database.exec(sql);
    const before = database.prepare("select name, sql from sqlite_schema order by name").all();
    assert.throws(
      () => makeTables(database, "the database /data/tightbeam.db"),
      (error: Error) =>
        error instanceof StoreUnusable &&
        /^the database \/data\/tightbeam\.db has the tables of another version of Tightbeam: .*empty database$/.test(
          error.message,
        ),
    );
    assert.deepEqual(database.prepare("select name, sql from sqlite_schema order by name").all(), before);
  });
}
