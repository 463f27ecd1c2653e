/** The tables that a copy of a database has, and how their values become values of PostgreSQL. Pure. */

import type { TableName } from "./records.ts";
import { columnOf, LAYOUT, type SqlValue } from "./rows.ts";
import { TABLES } from "./tables.ts";

/** A column of PostgreSQL. */
interface CopiedColumn {
  column: string;
  type: "text" | "bigint" | "smallint" | "bytea";
}

/** A table that is copied row by row, in the order of `key`. */
export interface CopiedTable {
  name: string;
  key: readonly string[];
  columns: readonly CopiedColumn[];
}

/** A value as PostgreSQL writes it as text. */
export type CopiedValue = string | null;

const TYPES = { text: "text", json: "text", number: "bigint", flag: "smallint", bytes: "bytea" } as const;

/** Columns that order the rows of a table and are no property of its records: they are the key of its copy. */
const ORDERS: Partial<Record<TableName, string>> = {
  messages: "rowid",
  deliveries: "rowid",
  events: "position",
  requests: "position",
};

/** Every table with records, and the quarantine. */
export const COPIED: readonly CopiedTable[] = [
  ...(Object.keys(TABLES) as TableName[]).map((table): CopiedTable => {
    const columns = LAYOUT[table].map(({ column, kind }) => ({ column, type: TYPES[kind] }));
    const order = ORDERS[table];
    if (order === undefined) return { name: TABLES[table].name, key: TABLES[table].key.map(columnOf), columns };
    return { name: TABLES[table].name, key: [order], columns: [{ column: order, type: "bigint" }, ...columns] };
  }),
  {
    name: "quarantined",
    key: ["table", "id"],
    columns: [
      { column: "table", type: "text" },
      { column: "id", type: "text" },
      { column: "customer_id", type: "text" },
      { column: "reason", type: "text" },
      { column: "since", type: "bigint" },
      { column: "parked", type: "smallint" },
    ],
  },
];

/** The values of the key of a row. */
export function keyOf({ key, columns }: CopiedTable, row: readonly (SqlValue | bigint)[]): SqlValue[] {
  return key.map((name) => row[columns.findIndex(({ column }) => column === name)] as SqlValue);
}

/** The greatest `bigint`. No valid number of a record is as great, so the row stays undecodable. */
const UNDECODABLE = "9223372036854775807";
const NUL = /\0/g;

/**
 * The values of a row for the columns of a table. `replaced`: the columns whose value PostgreSQL cannot hold, and which
 * have another value here.
 */
export interface FittedRow {
  values: CopiedValue[];
  replaced: string[];
}

/** The row that PostgreSQL gets for a row of SQLite, whose columns may hold a value of any type. */
export function fitRow({ columns }: CopiedTable, row: readonly (SqlValue | bigint)[]): FittedRow {
  const replaced: string[] = [];
  const values = columns.map(({ column, type }, index) => {
    const value = row[index] ?? null;
    if (value === null) return null;
    const fitting = fit(type, value);
    if (fitting !== null) return fitting;
    replaced.push(column);
    return replacement(type, value);
  });
  return { values, replaced };
}

/** Null if the column cannot hold the value. */
function fit(type: CopiedColumn["type"], value: Exclude<SqlValue | bigint, null>): CopiedValue {
  switch (type) {
    case "text":
      return typeof value === "string" && !value.includes("\0") && value.isWellFormed() ? value : null;
    case "bigint":
      return typeof value === "bigint" || Number.isSafeInteger(value) ? String(value) : null;
    case "smallint":
      return Number.isSafeInteger(value) && Math.abs(Number(value)) < 32_768 ? String(value) : null;
    case "bytea":
      return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString("hex")}` : null;
  }
}

function replacement(type: CopiedColumn["type"], value: Exclude<SqlValue | bigint, null>): string {
  switch (type) {
    case "text":
      if (typeof value !== "object") return String(value).toWellFormed().replaceAll(NUL, "\ufffd");
      return `\\x${Buffer.from(value).toString("hex")}`;
    case "bigint":
      return UNDECODABLE;
    case "smallint":
      return Number(value) === 0 ? "0" : "1";
    case "bytea":
      return `\\x${Buffer.from(String(value)).toString("hex")}`;
  }
}
