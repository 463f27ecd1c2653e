/** The declaration of a table. */

import type { ColumnsOf } from "./column.ts";

/** A table: its name in SQL, the properties of its key, and its columns by property, in order. */
export interface Table<Record_, Name extends string = string, Columns extends ColumnsOf<Record_> = ColumnsOf<Record_>> {
  readonly name: Name;
  readonly key: readonly (keyof Record_ & string)[];
  /** The properties that `insertUnique` requires to be new. */
  readonly unique: readonly (keyof Record_ & string)[];
  readonly columns: Columns;
}

/** Declares a table. A column that its record does not have is an error. */
export function table<Record_, const Name extends string, Columns extends ColumnsOf<Record_>>(
  name: Name,
  key: readonly (keyof Record_ & string)[],
  unique: readonly (keyof Record_ & string)[],
  columns: Columns & { readonly [Property in Exclude<keyof Columns, keyof Record_>]: never },
): Table<Record_, Name, Columns> {
  return { name, key, unique, columns };
}
