/** The tables as data are the tables of the migrated database, column by column. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ColumnKind } from "./column.ts";
import type { TableName } from "./records.ts";
import { LAYOUT } from "./rows.ts";
import { TABLES } from "./schema.ts";
import { openWriter } from "./sqlite/connection.ts";
import { migrate } from "./sqlite/migrate.ts";

const SQL_TYPES: Readonly<Record<ColumnKind, string>> = {
  text: "text",
  number: "bigint",
  flag: "bigint",
  json: "text",
  bytes: "blob",
};

/** Columns that no record has: positions are drawn by the database. */
const OF_THE_DATABASE: readonly string[] = ["events.position", "requests.position"];

test("after all migrations each table has exactly the columns of the schema, with their types and nulls", async () => {
  const database = openWriter(":memory:");
  await migrate(database);
  for (const table of Object.keys(TABLES) as TableName[]) {
    const { name, key } = TABLES[table];
    const found = database.prepare(`pragma table_info(${name})`).all() as {
      name: string;
      type: string;
      notnull: number;
    }[];
    const actual = found.filter((column) => !OF_THE_DATABASE.includes(`${name}.${column.name}`));
    // A key is never null, whether the table says so or not.
    const keys = LAYOUT[table].filter(({ property }) => (key as readonly string[]).includes(property));
    const isKey = (column: string) => keys.some((one) => one.column === column);
    assert.deepEqual(
      Object.fromEntries(
        actual.map((one) => [one.name, [one.type.toLowerCase(), one.notnull === 0 && !isKey(one.name)]]),
      ),
      Object.fromEntries(LAYOUT[table].map(({ column, kind, isNullable }) => [column, [SQL_TYPES[kind], isNullable]])),
      table,
    );
  }
  database.close();
});
