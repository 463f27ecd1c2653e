/** Lists, shows and repairs rows of a data directory that cannot be decoded, without the service. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { type Config, ConfigError } from "../config.ts";
import type { Form } from "../store/column.ts";
import { deliveryById } from "../store/deliveries-of-event.ts";
import type { Packing } from "../store/packing.ts";
import type { TableName } from "../store/records.ts";
import { columnOf, decodeRecord, LAYOUT, RowUnreadable, type SqlValue } from "../store/rows.ts";
import { isNearCustomer } from "../store/rows-of-customer.ts";
import { lockDirectory, openReader, openWriter } from "../store/sqlite/connection.ts";
import { makeTables } from "../store/sqlite/make-tables.ts";
import { finishRestore } from "../store/sqlite/restored-files.ts";
import { allRows } from "../store/sqlite/wide-rows.ts";
import { StoreUnusable } from "../store/store.ts";
import { TABLES } from "../store/tables.ts";
import { requireEmbedded } from "./embedded-only.ts";

/** A row in quarantine. */
export interface ListedRow {
  table: string;
  id: string;
  customerId: string | null;
  reason: string;
  /** Time of the first failed read, RFC 3339. */
  since: string;
}

/** A stored row: the values of its columns, and the reason why it cannot be decoded, or null. */
export interface StoredRow {
  columns: Record<string, string | number | null>;
  reason: string | null;
}

/** Names a row: its table, and its key as `tightbeam quarantine` lists it. */
export interface RowName {
  table: string;
  id: string;
}

/** The repair of a row in PostgreSQL. The service rechecks rows in quarantine by itself. */
const IN_POSTGRES =
  "with psql, SELECT * FROM quarantined lists the rows, and the service uses a row again within seconds of its repair.";

/** Lists the rows in quarantine. The service may run. */
export function listRows(config: Config): ListedRow[] {
  requireEmbedded(config, IN_POSTGRES);
  const { dataDir } = config;
  return withDatabase(openExisting(dataDir, openReader), (database) => {
    const known = database.prepare("select 1 from sqlite_schema where name = 'quarantined'").get();
    if (known === undefined) return [];
    const rows = database.prepare(`select * from quarantined order by "table", id`).all();
    return rows.map((row) => ({
      table: String(row.table),
      id: String(row.id),
      customerId: row.customer_id === null ? null : String(row.customer_id),
      reason: String(row.reason),
      since: new Date(Number(row.since)).toISOString(),
    }));
  });
}

/** Returns a stored row. The service may run. Throws `ConfigError` if the row does not exist. */
export function showRow(config: Config, name: RowName): StoredRow {
  requireEmbedded(config, IN_POSTGRES);
  const { dataDir } = config;
  return withDatabase(openExisting(dataDir, openReader), (database) => readRow(database, name));
}

/** Sets one column of a row; `value` null makes it null. Returns the changed row. The service must not run. */
export async function setColumn(config: Config, name: RowName, column: string, value: string | null) {
  return change(config, (database) => {
    const { table, where, key } = locate(name);
    const found = LAYOUT[table].find((one) => one.column === column || one.property === column);
    if (found === undefined || found.kind === "bytes") {
      const names = LAYOUT[table].filter(({ kind }) => kind !== "bytes").map((one) => one.column);
      throw new ConfigError(
        `${TABLES[table].name} has no column ${column} that can be set; it has ${names.join(", ")}.`,
      );
    }
    readRow(database, name);
    const isNumber = found.kind === "number" || found.kind === "flag";
    const stored = isNumber && value !== null && value.trim() !== "" ? Number(value) : value;
    const parameter = `?${key.length + 1}`;
    database
      .prepare(`update ${TABLES[table].name} set "${found.column}" = ${parameter} where ${where}`)
      .run(...key, stored);
    return readRow(database, name);
  });
}

/** Deletes a row, but no row that refers to it. Returns the deleted row. The service must not run. */
export async function deleteRow(config: Config, name: RowName): Promise<StoredRow> {
  return change(config, (database) => {
    const { table, where, key } = locate(name);
    const row = readRow(database, name);
    database.prepare(`delete from ${TABLES[table].name} where ${where}`).run(...key);
    return row;
  });
}

async function change<Result>(config: Config, work: (database: DatabaseSync) => Result): Promise<Result> {
  requireEmbedded(config, IN_POSTGRES);
  const { dataDir } = config;
  const lock = openExisting(dataDir, () => lockDirectory(join(dataDir, "lock.db")));
  try {
    finishRestore(dataDir);
    const database = openWriter(join(dataDir, "tightbeam.db"));
    try {
      makeTables(database);
      return work(database);
    } finally {
      database.close();
    }
  } finally {
    lock.close();
  }
}

function withDatabase<Result>(database: DatabaseSync, work: (database: DatabaseSync) => Result): Result {
  try {
    return work(database);
  } finally {
    database.close();
  }
}

function openExisting(dataDir: string, open: (path: string) => DatabaseSync): DatabaseSync {
  const path = join(dataDir, "tightbeam.db");
  if (!existsSync(path))
    throw new ConfigError(`There is no database in ${dataDir}: name the data directory of the service.`);
  try {
    return open(path);
  } catch (error) {
    throw error instanceof StoreUnusable ? new ConfigError(error.message) : error;
  }
}

function readRow(database: DatabaseSync, name: RowName): StoredRow {
  const { table, where, key } = locate(name);
  const columns = LAYOUT[table];
  const statement = database.prepare(
    `select ${columns.map(({ column }) => `"${column}"`).join(", ")} from ${TABLES[table].name} where ${where}`,
  );
  statement.setReturnArrays(true);
  const [values] = allRows(statement, key) as SqlValue[][];
  if (values === undefined) throw new ConfigError(`There is no row ${name.id} in ${TABLES[table].name}.`);
  const shown = columns.map(({ column, form }, index) => [column, shownValue(form, values[index] ?? null)]);
  return { columns: Object.fromEntries(shown), reason: reasonOf(table, values) };
}

function shownValue(form: Form | null, value: SqlValue | bigint): string | number | null {
  if (value instanceof Uint8Array) return `(${value.length} bytes)`;
  if (form?.packing && typeof value === "string") return unpacked(form.packing, value);
  return typeof value === "bigint" ? String(value) : value;
}

/** A packed list with the names of its members, which can be set like this too. A value that cannot be unpacked is shown as it is. */
function unpacked(packing: Packing, value: string): string {
  try {
    const items: unknown = JSON.parse(value);
    return Array.isArray(items) ? JSON.stringify(packing.unpack(items)) : value;
  } catch {
    return value;
  }
}

function reasonOf(table: TableName, values: readonly SqlValue[]): string | null {
  try {
    decodeRecord(table, values);
    return null;
  } catch (error) {
    if (error instanceof RowUnreadable) return error.row.reason;
    throw error;
  }
}

function locate({ table: given, id }: RowName): { table: TableName; where: string; key: string[] } {
  const table = (Object.keys(TABLES) as TableName[]).find((name) => name === given || TABLES[name].name === given);
  if (table === undefined) throw new ConfigError(`There is no table ${given}.`);
  const { key } = TABLES[table];
  const values: unknown = key.length === 1 ? [id] : parseKey(id);
  if (!Array.isArray(values) || values.length !== key.length) {
    throw new ConfigError(
      `The key of ${given} is a JSON list of ${key.join(" and ")}, as tightbeam quarantine shows it.`,
    );
  }
  const ofKey = key.map((property, index) => `"${columnOf(property)}" = ?${index + 1}`).join(" and ");
  return { table, where: table === "deliveries" ? OF_DELIVERY : ofKey, key: values.map(String) };
}

/** The delivery with the id `?1`, found by its event, or if that is gone, by the customer that its row in quarantine names. */
const OF_DELIVERY = `rowid in (${deliveryById("?1")} union all
  select d.rowid from quarantined q cross join deliveries d on ${isNearCustomer("d", "q.customer_id")} and d.id = q.id
  where q."table" = 'deliveries' and q.id = ?1)`;

function parseKey(id: string): unknown {
  try {
    return JSON.parse(id);
  } catch {
    return null;
  }
}
