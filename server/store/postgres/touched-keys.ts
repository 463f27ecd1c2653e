/** Names the records and unique keys that an operation reads or changes, so that operations about one record keep their order. Pure. */

import type { EncodedOperation } from "../jobs/jobs.ts";
import type { TableName } from "../records.ts";
import type { SqlValue } from "../rows.ts";
import { TABLES } from "../tables.ts";

/** The records of a table that an operation touches: the records with these keys, or any record. */
export interface Touched {
  table: TableName;
  /** Null: any record of the table. */
  keys: readonly string[] | null;
  /** Whether the operation only requires something of the records. */
  isRead?: true;
  /** Whether other operations that say so too may touch the records in any order. */
  isShared?: true;
}

/** Places of a table's columns in the values of a record. */
interface KeyPlaces {
  key: readonly number[];
  /** Places of the unique properties; null if they are the key. */
  unique: readonly number[] | null;
}

const PLACES = Object.fromEntries(
  Object.entries(TABLES).map(([name, { key, unique, columns }]) => {
    const properties = Object.keys(columns);
    const placesOf = (names: readonly string[]) => names.map((one) => properties.indexOf(one));
    const isKey = name === "deliveries" || key.join() === unique.join();
    return [name, { key: placesOf(key), unique: isKey ? null : placesOf(unique) }];
  }),
) as unknown as Record<TableName, KeyPlaces>;

/** The name of a record's key. */
export function keyName(table: TableName, values: readonly SqlValue[]): string {
  return nameOf(table, PLACES[table].key, values);
}

/** The name of the key that `insertUnique` requires to be new. */
export function uniqueName(table: TableName, values: readonly SqlValue[]): string {
  const { key, unique } = PLACES[table];
  return unique === null ? nameOf(table, key, values) : `unique ${nameOf(table, unique, values)}`;
}

function nameOf(table: TableName, places: readonly number[], values: readonly SqlValue[]): string {
  return named(
    table,
    places.map((place) => values[place] ?? null),
  );
}

/** The name of a record by the values of its key. */
export function named(table: TableName, values: readonly SqlValue[]): string {
  return `${table} ${values.length === 1 ? values[0] : JSON.stringify(values)}`;
}

/** The records that an operation touches. Requirements about leases touch none. */
export function touchedBy(operation: EncodedOperation): Touched[] {
  switch (operation[0]) {
    case "insert":
    case "insertUnique":
    case "put": {
      const [, table, values] = operation;
      const names = [keyName(table, values)];
      if (PLACES[table].unique !== null) names.push(uniqueName(table, values));
      return [{ table, keys: names }];
    }
    case "update":
      return [{ table: operation[1], keys: [named(operation[1], [operation[4]])] }];
    case "set": {
      const [, table, , where, values] = operation;
      return [keysOf(table, where, values.slice(values.length - where.split(",").length))];
    }
    case "delete":
      return [
        PLACES[operation[1]].unique === null
          ? keysOf(operation[1], operation[2], operation[3])
          : { table: operation[1], keys: null },
      ];
    case "event":
      return [{ table: "events", keys: [keyName("events", operation[1])] }];
    case "rewrite":
      // A rewrite erases the responses of all deliveries of the event.
      return [
        { table: "events", keys: [named("events", [operation[1]])] },
        { table: "deliveries", keys: null, isShared: true },
      ];
    case "require":
    case "requireNone":
      return [{ ...keysOf(operation[1], operation[2], operation[3]), isRead: true }];
    case "requireUnleased":
    case "requireEpoch":
      return [];
  }
}

/** If these properties are the key, the record with these values; otherwise any record. */
function keysOf(table: TableName, properties: string, values: readonly SqlValue[]): Touched {
  const names = properties.split(",");
  const key: readonly string[] = TABLES[table].key;
  if (names.length !== key.length || !key.every((property) => names.includes(property))) return { table, keys: null };
  return {
    table,
    keys: [
      named(
        table,
        key.map((property) => values[names.indexOf(property)] ?? null),
      ),
    ],
  };
}

/** The records that some operations touch. Operations that all only require something of a record, or that share it, are no trouble to each other. */
export class TouchedRecords {
  readonly #changed = new TouchedKeys();
  readonly #shared = new TouchedKeys();

  has(touched: Touched): boolean {
    return this.#changed.has(touched) || (!isShared(touched) && this.#shared.has(touched));
  }

  /** Whether an operation may touch any record of the table. */
  isWhole(table: TableName): boolean {
    return this.#changed.isWhole(table) || this.#shared.isWhole(table);
  }

  add(touched: Touched): void {
    (isShared(touched) ? this.#shared : this.#changed).add(touched);
  }
}

function isShared({ isRead, isShared }: Touched): boolean {
  return isRead === true || isShared === true;
}

class TouchedKeys {
  readonly #keys = new Set<string>();
  readonly #tables = new Set<TableName>();
  /** Tables of which an operation may touch any record. */
  readonly #whole = new Set<TableName>();

  has({ table, keys }: Touched): boolean {
    if (this.#whole.has(table)) return true;
    return keys === null ? this.#tables.has(table) : keys.some((key) => this.#keys.has(key));
  }

  isWhole(table: TableName): boolean {
    return this.#whole.has(table);
  }

  add({ table, keys }: Touched): void {
    this.#tables.add(table);
    if (keys === null) this.#whole.add(table);
    else for (const key of keys) this.#keys.add(key);
  }
}

/** The properties that `insertUnique` requires to be new together. */
export function uniqueProperties(table: TableName): string[] {
  const properties = Object.keys(TABLES[table].columns);
  return uniquePlaces(table).map((place) => properties[place] ?? "");
}

/** Their values in a record. */
export function uniqueValues(table: TableName, values: readonly SqlValue[]): SqlValue[] {
  return uniquePlaces(table).map((place) => values[place] ?? null);
}

function uniquePlaces(table: TableName): readonly number[] {
  const { key, unique } = PLACES[table];
  return unique ?? key;
}
