/** Writes the SQL with which a database makes its tables, from their one description. Pure. */

import { hash } from "node:crypto";
import type { ColumnKind } from "./column.ts";
import { INDEXES, type Index } from "./indexes.ts";
import type { TableName } from "./records.ts";
import { columnOf, LAYOUT, type PlacedColumn } from "./rows.ts";
import { StoreUnusable } from "./store.ts";
import { TABLES } from "./tables.ts";

/** How a database keeps the rows of a table, where that is its own matter. */
interface TableForm {
  /** Columns in front of those of the record, and behind them. */
  first?: readonly string[];
  last?: readonly string[];
  /** The constraint in the place of the primary key; null: none. */
  key?: string | null;
  /** The SQL behind the columns. */
  options?: string;
}

/** The parts of a schema that one database has of its own. */
export interface OwnSchema {
  types: Readonly<Record<ColumnKind, string>>;
  /** The columns of a record in the order of the row. */
  order(columns: readonly PlacedColumn[]): readonly PlacedColumn[];
  indexOf(index: Index): string | null;
  forms: Readonly<Partial<Record<TableName, TableForm>>>;
  /** SQL in front of the tables of records, and behind them. */
  before: string;
  after: string;
}

/** The tables of a database. */
export interface Schema {
  /** Statements that make the tables in an empty database. */
  sql: string;
  /** The value of the table `schema_id`: a database with another id has other tables. */
  id: string;
}

/** A line that changes no table. */
const COMMENT = /^--.*$/gm;

/** Words of SQL that are names of columns too. */
const RESERVED = new Set(["from", "to"]);

export function makeSchema(own: OwnSchema): Schema {
  const tables = (Object.keys(TABLES) as TableName[]).map((table) => createTable(table, own));
  const indexes = INDEXES.flatMap((index) => createIndex(index, own.indexOf(index)));
  const parts = [own.before.trim(), ...tables, own.after.trim(), ...indexes].filter((part) => part !== "");
  const sql = `${parts.join("\n\n")}\n`;
  return { sql, id: hash("sha256", sql.replaceAll(COMMENT, "")).slice(0, 16) };
}

/**
 * The refusal of a database with tables that this version did not make. `name`: how the operator calls the database.
 */
export function otherSchema(name: string): StoreUnusable {
  return new StoreUnusable(
    `${name} has the tables of another version of Tightbeam: install the version that made them, or begin with an empty database`,
  );
}

function createTable(table: TableName, { types, order, forms }: OwnSchema): string {
  const { name, key } = TABLES[table];
  const { first = [], last = [], key: constraint = primaryKey(key), options = "" } = forms[table] ?? {};
  const columns = order(LAYOUT[table]).map(
    ({ column, kind, isNullable }) => `${quoted(column)} ${types[kind]}${isNullable ? "" : " not null"}`,
  );
  const lines = [...first, ...columns, ...last, ...(constraint === null ? [] : [constraint])];
  const body = lines.map((line) => `  ${line}`).join(",\n");
  return `create table ${name} (\n${body}\n)${options === "" ? "" : ` ${options}`};`;
}

function primaryKey(properties: readonly string[]): string {
  return `primary key (${properties.map((property) => quoted(columnOf(property))).join(", ")})`;
}

function createIndex({ name, table, isUnique, serves }: Index, columns: string | null): string[] {
  if (columns === null) return [];
  return [`-- ${serves}\ncreate ${isUnique ? "unique " : ""}index ${name} on ${TABLES[table].name} ${columns};`];
}

function quoted(column: string): string {
  return RESERVED.has(column) ? `"${column}"` : column;
}
