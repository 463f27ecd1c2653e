/** Encodes records as rows and decodes rows; the database as Kysely sees it. */

import type { Column, Form } from "./column.ts";
import { unpackEnvelope } from "./packed-envelope.ts";
import type { Records, TableName } from "./records.ts";
import { wholeTimeline } from "./split-timeline.ts";
import { type SqlTableName, TABLES } from "./tables.ts";

/** The SQL name of a property's column: `createdAt` → `created_at`. */
export function columnOf(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A value of a column. */
export type SqlValue = string | number | Uint8Array | null;

/** Encodes the value of a property for its column. */
export function encodeValue({ kind, form }: Pick<Column, "kind" | "form">, value: unknown): SqlValue {
  if (value === null || value === undefined) return null;
  if (kind === "json") return encodeJson(form, value);
  if (kind === "flag") return value ? 1 : 0;
  return value as string | number | Uint8Array;
}

function encodeJson(form: Form | null, value: unknown): string {
  if (!Array.isArray(value)) return JSON.stringify(value);
  if (value.length === 0) return "[]";
  return JSON.stringify(form?.packing?.pack(value) ?? value);
}

/** A column in its table: with its property and its name in SQL. */
export interface PlacedColumn extends Column {
  property: string;
  column: string;
}

/** The columns of every table, in order. */
export const LAYOUT = Object.fromEntries(
  Object.entries(TABLES).map(([name, { columns }]) => [name, layoutOf(columns)]),
) as Record<TableName, PlacedColumn[]>;

function layoutOf(columns: Readonly<Record<string, Column>>): PlacedColumn[] {
  return Object.entries(columns).map(([property, column]) => ({ property, column: columnOf(property), ...column }));
}

/** Identifies a row that cannot be decoded, without its contents. */
export interface UnreadableRow {
  table: TableName;
  /** The value of its key; a JSON list if the key has several columns. */
  id: string;
  customerId: string | null;
  /** The column that cannot be read, and why. */
  reason: string;
}

/** A row cannot be decoded: it is damaged, or another program wrote it. */
export class RowUnreadable extends Error {
  readonly row: UnreadableRow;

  constructor(row: UnreadableRow) {
    super(`the row ${row.id} of ${TABLES[row.table].name} cannot be read: ${row.reason}`);
    this.name = "RowUnreadable";
    this.row = row;
  }
}

/** The greatest instant that a `Date` can hold, in milliseconds: no stored number is greater. */
const NUMBER_MAX = 8.64e15;

/** A value is not permitted in its column; the message says why. */
class BadValue extends Error {}

/** Decodes the value of a column. Throws `BadValue`. */
function decodeValue({ column, kind, isNullable, words, form }: PlacedColumn, value: SqlValue): unknown {
  if (value === null) {
    if (!isNullable) throw new BadValue(`${column} is null`);
    return null;
  }
  switch (kind) {
    case "text":
      if (typeof value !== "string") throw new BadValue(`${column} is not text`);
      if (words !== null && !words.has(value)) throw new BadValue(`${column} has an unknown value`);
      return value;
    case "number":
      if (typeof value === "number" && value <= NUMBER_MAX && value >= -NUMBER_MAX) return value;
      throw new BadValue(`${column} is not a number in range`);
    case "flag":
      if (typeof value !== "number") throw new BadValue(`${column} is neither 0 nor 1`);
      return value !== 0;
    case "bytes":
      if (typeof value !== "object") throw new BadValue(`${column} is not bytes`);
      return value;
    case "json":
      return decodeJson(column, form, value);
  }
}

function decodeJson(column: string, form: Form | null, value: SqlValue): unknown {
  // Most lists are empty: parsing them would cost more than the rest of decoding a message.
  if (value === "[]" && form?.isList === true) return [];
  let parsed: unknown;
  try {
    parsed = JSON.parse(String(value));
  } catch {
    throw new BadValue(`${column} is not JSON`);
  }
  if (form?.packing && Array.isArray(parsed)) parsed = form.packing.unpack(parsed);
  if (form !== null && !form.fits(parsed)) throw new BadValue(`${column} is not ${form.expected}`);
  return parsed;
}

/** Decodes a row. Columns that the row lacks are left out. Throws `RowUnreadable`. */
export function decode<Name extends TableName>(name: Name, row: object): Records[Name] {
  const record: Record<string, unknown> = {};
  const values = row as Record<string, SqlValue | undefined>;
  try {
    for (const column of LAYOUT[name]) {
      const value =
        column.property === "timeline" ? wholeTimeline(values.timeline, values.timeline_start) : values[column.column];
      if (value !== undefined) record[column.property] = decodeValue(column, value);
    }
  } catch (error) {
    throw unreadable(name, (column) => values[column], error);
  }
  return unpacked(name, record);
}

/** A record of nulls per table: a copy has every property, in the order of the columns. */
const BLANK = Object.fromEntries(
  Object.entries(LAYOUT).map(([table, columns]) => [
    table,
    Object.fromEntries(columns.map(({ property }) => [property, null])),
  ]),
) as Record<TableName, Record<string, unknown>>;

/** Decodes a row given as values in the order of its columns. Throws `RowUnreadable`. */
export function decodeRecord<Name extends TableName>(table: Name, values: readonly SqlValue[]): Records[Name] {
  const record: Record<string, unknown> = { ...BLANK[table] };
  const columns = LAYOUT[table];
  try {
    for (let index = 0; index < columns.length; index += 1) {
      const column = columns[index];
      const value = values[index] ?? null;
      if (column !== undefined && (value !== null || !column.isNullable))
        record[column.property] = decodeValue(column, value);
    }
  } catch (error) {
    throw unreadable(table, (name) => values[columns.findIndex(({ column }) => column === name)], error);
  }
  return unpacked(table, record);
}

/** The record of decoded columns. The bytes of an event may be packed by its other columns. */
function unpacked<Name extends TableName>(table: Name, record: Record<string, unknown>): Records[Name] {
  if (table === "events" && typeof record.bytes === "string")
    record.bytes = unpackEnvelope(record.bytes, record as unknown as Records["events"]);
  return record as unknown as Records[Name];
}

/** Decodes rows one by one, and lists those that cannot be decoded. */
export function decodeEach<Row, Record_>(rows: readonly Row[], decodeOne: (row: Row) => Record_) {
  const records: Record_[] = [];
  const unreadable: UnreadableRow[] = [];
  for (const row of rows) {
    try {
      records.push(decodeOne(row));
    } catch (error) {
      if (!(error instanceof RowUnreadable)) throw error;
      unreadable.push(error.row);
    }
  }
  return { records, unreadable };
}

/** The `RowUnreadable` for a `BadValue`; `cellOf` reads the row by column. Rethrows any other error. */
function unreadable(table: TableName, cellOf: (column: string) => SqlValue | undefined, error: unknown): RowUnreadable {
  if (!(error instanceof BadValue)) throw error;
  const text = (column: string) => {
    const value = cellOf(column);
    return value === null || value === undefined ? null : String(value);
  };
  const key = TABLES[table].key.map((property) => text(columnOf(property)) ?? "");
  const id = key.length === 1 ? (key[0] ?? "") : JSON.stringify(key);
  const customerId = table === "customers" ? id : text("customer_id");
  return new RowUnreadable({ table, id, customerId, reason: error.message });
}

type SnakeCase<Text extends string> = Text extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${SnakeCase<Tail>}`
  : Text;

type Cell<Type> = Type extends boolean ? number : Type extends string | number | Uint8Array | null ? Type : string;

/** The row of a table's record, as Kysely reads it. */
export type TableRow<Name extends TableName> = {
  [Property in keyof Records[Name] & string as SnakeCase<Property>]: Cell<Records[Name][Property]>;
};

type Rows = { [Name in TableName as SqlTableName<Name>]: TableRow<Name> };

/**
 * The database as reads see it. `position` is drawn inside the commit: it orders a customer's events, and the requests
 * in the log.
 */
export interface Database extends Rows {
  events: TableRow<"events"> & { position: number };
  requests: TableRow<"requests"> & { position: number };
  quarantined: QuarantinedRow;
}

/** An `UnreadableRow` in quarantine. `since` is real time; `parked` is 1 if the row was removed from its queue. */
export interface QuarantinedRow {
  table: TableName;
  id: string;
  customer_id: string | null;
  reason: string;
  since: number;
  parked: number;
}
