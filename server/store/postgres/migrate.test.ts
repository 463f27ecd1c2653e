/** Tests that the migrations of PostgreSQL make the tables that rows are encoded for. */

import { test } from "node:test";
import { postgresForFile } from "../../../test/support/postgres.ts";
import { LAYOUT } from "../rows.ts";
import { TABLES } from "../schema.ts";
import { migrate } from "./migrate.ts";
import { createPool } from "./pool.ts";

const TYPES = { text: "text", json: "text", number: "bigint", flag: "smallint", bytes: "bytea" } as const;

const postgres = postgresForFile();

test("a migrated database has every column of every table, and a second migration changes nothing", async (t) => {
  const { url, drop } = await postgres.create();
  const pool = createPool(url, 2);
  try {
    await migrate(pool);
    await migrate(pool);
    for (const [name, columns] of Object.entries(LAYOUT)) {
      const table = TABLES[name as keyof typeof TABLES].name;
      const { rows } = await pool.query<{
        column_name: string;
        data_type: string;
        is_nullable: string;
        collation_name: string;
      }>(
        `select column_name, data_type, is_nullable, collation_name from information_schema.columns where table_name = $1`,
        [table],
      );
      const found = new Map(rows.map((row) => [row.column_name, row]));
      for (const { column, kind, isNullable } of columns) {
        const row = found.get(column);
        t.assert.equal(row?.data_type, TYPES[kind], `${table}.${column}`);
        t.assert.equal(row?.is_nullable, isNullable ? "YES" : "NO", `${table}.${column}`);
        if (TYPES[kind] === "text") t.assert.equal(row?.collation_name, "C", `${table}.${column}`);
      }
    }
  } finally {
    await pool.end();
    await drop();
  }
});
