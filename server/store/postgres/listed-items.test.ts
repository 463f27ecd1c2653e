/** The search for an item in a JSON list of texts finds what JavaScript finds, on SQLite and on PostgreSQL. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import fc from "fast-check";
import { type Kysely, type SqlBool, sql } from "kysely";
import { sharedPostgresForFile } from "../../../test/support/postgres.ts";
import { runsOf } from "../../../test/support/runs.ts";
import type { Database } from "../rows.ts";
import { hasItem } from "../sql-dialects.ts";
import * as sqlite from "../sqlite/driver.ts";
import { createReader } from "../sqlite/query.ts";
import * as postgres from "./driver.ts";
import { createPool } from "./pool.ts";

const databases = sharedPostgresForFile();

/** Texts of the characters that lists are written with, short enough to be items of each other. */
const TEXT = fc.string({
  unit: fc.constantFrom(",", '"', "\\", "[", "]", "x", "\u{e4}", "\n", "\u0003"),
  maxLength: 4,
});
const LIST = fc.array(TEXT, { maxLength: 4 });

/** Whether a database finds each of the texts. */
async function find(db: Kysely<Database>, list: string, texts: readonly string[]): Promise<boolean[]> {
  const found = texts.map((text) => sql<SqlBool>`${hasItem("given.list", text)}`);
  const { rows } = await sql<Record<string, SqlBool>>`select ${sql.join(
    found.map((one, index) => sql`${one} as ${sql.ref(`f${index}`)}`),
  )} from (select cast(${list} as text) as list) as given`.execute(db);
  return texts.map((_, index) => Boolean(rows[0]?.[`f${index}`]));
}

test("an item is found if it is in the list, whatever it and its neighbours consist of", async (t) => {
  const { url, drop } = await databases.create();
  t.after(drop);
  const pool = createPool(url, 1);
  t.after(() => pool.end());
  const database = new DatabaseSync(":memory:");
  t.after(() => database.close());
  const read = createReader(database);
  const both = [
    sqlite.queryDatabase(async (query) => read(query)),
    postgres.queryDatabase(async (query) => (await pool.query(query.sql, query.parameters)).rows),
  ];
  for (const damaged of ["", "{", "[", "[]", '["x', "null"])
    for (const db of both) assert.deepEqual(await find(db, damaged, ["y", ""]), [false, false], damaged);
  const property = fc.asyncProperty(LIST, LIST, async (list, others) => {
    const texts = [...new Set([...list, ...others, ","])];
    const expected = texts.map((text) => list.includes(text));
    for (const db of both) assert.deepEqual(await find(db, JSON.stringify(list), texts), expected);
  });
  await fc.assert(property, { numRuns: runsOf(5_000), examples: [[["x,", ",y"], []]] });
});
