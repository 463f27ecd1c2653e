/** Passes rows to a statement as one JSON parameter. That costs the server and this process less than a parameter for each value. */

import type { TableName } from "../records.ts";
import { LAYOUT, type SqlValue } from "../rows.ts";

/** The kinds of columns in SQL. */
const SQL_TYPES = { text: "text", json: "text", number: "bigint", flag: "smallint", bytes: "text" } as const;

/** A column of the rows: its name and its type in SQL. */
export interface InputColumn {
  name: string;
  type: "text" | "bigint" | "smallint" | "int";
  /** The value is Base64 of bytes. */
  isBytes: boolean;
}

/** A column of a table, as a column of rows that are passed. */
export function inputColumn(table: TableName, property: string, name: string): InputColumn {
  const column = LAYOUT[table].find((one) => one.property === property);
  if (column === undefined) throw new Error(`${table} has no ${property}`);
  return { name, type: SQL_TYPES[column.kind], isBytes: column.kind === "bytes" };
}

/** A column with a number that belongs to no record. */
export function numberColumn(name: string): InputColumn {
  return { name, type: "int", isBytes: false };
}

/** SQL for the value of a column of the rows `alias`. */
export function columnValue(alias: string, { name, isBytes }: InputColumn): string {
  return isBytes ? `decode(${alias}.${name}, 'base64')` : `${alias}.${name}`;
}

/** SQL for the rows of a parameter. */
export function recordset(parameter: string, columns: readonly InputColumn[]): string {
  const typed = columns.map(({ name, type }) => `${name} ${type}`).join(", ");
  return `json_to_recordset(${parameter}::json) as r(${typed})`;
}

/** Rows as JSON, in their order. Nulls are left out. */
export function jsonRows(columns: readonly InputColumn[], rows: readonly (readonly SqlValue[])[]): string {
  const names = columns.map(({ name }) => name);
  const records = rows.map((values) => {
    const record: Record<string, string | number> = {};
    for (let index = 0; index < names.length; index += 1) {
      const value = values[index];
      if (value === null || value === undefined) continue;
      record[names[index] as string] = typeof value === "object" ? base64(value) : value;
    }
    return record;
  });
  return storable(JSON.stringify(records));
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/**
 * An escape in JSON. Its group matches NUL and half a surrogate pair, which
 * PostgreSQL cannot keep. `JSON.stringify` escapes no other surrogates.
 */
const ESCAPE = /\\(?:u(0000|d[89a-f][0-9a-f]{2})|.)/g;

/** JSON in which each character that PostgreSQL cannot keep is replaced by U+FFFD. */
function storable(json: string): string {
  return json.includes("\\u") ? json.replace(ESCAPE, (whole, odd) => (odd === undefined ? whole : "\ufffd")) : json;
}
