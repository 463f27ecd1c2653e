/**
 * Describes a table and its columns: the kind of their values, null, the values of an enumeration, the form of their
 * JSON.
 */

import { ATTEMPTS_PACKING, type Packing, TIMELINE_PACKING } from "./packing.ts";

/** How a column stores its value: unchanged, as 0 or 1 (`flag`), or as JSON text. */
export type ColumnKind = "text" | "number" | "flag" | "json" | "bytes";

/** Everything about a column but its property. */
export interface Column<Kind extends ColumnKind = ColumnKind, Nullable extends boolean = boolean> {
  readonly kind: Kind;
  readonly isNullable: Nullable;
  /** The values of an enumeration; null if any value is permitted. */
  readonly words: ReadonlySet<unknown> | null;
  /** The form of a JSON column; null for the others. */
  readonly form: Form | null;
  /** Whether the value changes in the life of its record. PostgreSQL has these columns at the end of a row. */
  readonly isHot: boolean;
}

/** The form of a JSON value: a check, a description for operators, and its packed form. */
export interface Form {
  readonly expected: string;
  readonly isList: boolean;
  /** How the items of a list are stored; null: as they are. */
  readonly packing: Packing | null;
  fits(value: unknown): boolean;
}

type ColumnKindOf<Value> = Value extends string
  ? "text"
  : Value extends number
    ? "number"
    : Value extends boolean
      ? "flag"
      : Value extends Uint8Array
        ? "bytes"
        : "json";

/** The columns of a record: one for each property, with the kind of its type, and nullable if the property is. */
export type ColumnsOf<Record_> = {
  readonly [Property in keyof Record_]-?: Column<
    ColumnKindOf<NonNullable<Record_[Property]>>,
    null extends Record_[Property] ? true : false
  >;
};

function column<Kind extends ColumnKind>(kind: Kind, more?: { words?: ReadonlySet<unknown>; form?: Form }) {
  const made: Column<Kind, false> = {
    kind,
    isNullable: false,
    words: more?.words ?? null,
    form: more?.form ?? null,
    isHot: false,
  };
  return made;
}

export const TEXT = column("text");
export const NUMBER = column("number");
export const FLAG = column("flag");
export const BYTES = column("bytes");

/** Text that is one of these words. */
export function oneOf(words: readonly string[]) {
  return column("text", { words: new Set(words) });
}

function json(form: Form) {
  return column("json", { form });
}

function listOf(items: string, fits: (item: unknown) => boolean, packing: Packing | null = null) {
  return json({
    expected: `a list of ${items}`,
    isList: true,
    packing,
    fits: (value) => Array.isArray(value) && value.every(fits),
  });
}

function objectWith(members: string, fits: (value: JsonObject) => boolean) {
  const is = (value: unknown) => isObject(value) && fits(value);
  return json({ expected: `an object${members}`, isList: false, packing: null, fits: is });
}

/** Makes a column whose values may be null. */
export function orNull<Kind extends ColumnKind>(of: Column<Kind, false>) {
  const made: Column<Kind, true> = { ...of, isNullable: true };
  return made;
}

/** Marks a column whose value changes in the life of its record. */
export function hot<Kind extends ColumnKind, Nullable extends boolean>(of: Column<Kind, Nullable>) {
  const made: Column<Kind, Nullable> = { ...of, isHot: true };
  return made;
}

type JsonObject = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const OBJECT = objectWith("", () => true);
export const TEXTS = listOf("texts", (item) => typeof item === "string");
export const OBJECTS = listOf("objects", isObject);
const isEntry = (item: unknown) =>
  isObject(item) &&
  typeof item.status === "string" &&
  Number.isSafeInteger(item.at) &&
  (item.aheadMs === undefined || Number.isSafeInteger(item.aheadMs));
/** Entries of a history: each with a status and an instant. */
export const HISTORY = listOf("entries with a status and an instant", isEntry);
/** The timeline of a message. */
export const TIMELINE = listOf("entries with a status and an instant", isEntry, TIMELINE_PACKING);
export const ATTEMPTS = listOf(
  "attempts, each with an instant and a duration",
  (item) =>
    isObject(item) &&
    Number.isSafeInteger(item.at) &&
    typeof item.durationMs === "number" &&
    (item.status === null || typeof item.status === "number") &&
    (item.response === null || typeof item.response === "string") &&
    (item.error === null || typeof item.error === "string") &&
    (item.retryAfterSeconds === undefined || typeof item.retryAfterSeconds === "number") &&
    (item.headers === undefined || typeof item.headers === "string") &&
    (item.aheadMs === undefined || Number.isSafeInteger(item.aheadMs)),
  ATTEMPTS_PACKING,
);
export const ROUTES = listOf(
  "routes, each with a prefix and an instanceId",
  (item) => isObject(item) && typeof item.prefix === "string" && typeof item.instanceId === "string",
);
export const QUIET_HOURS = objectWith(
  " with start, end and timeZone",
  ({ start, end, timeZone }) =>
    typeof start === "string" && typeof end === "string" && (timeZone === null || typeof timeZone === "string"),
);
export const OPT_OUT_SETTINGS = objectWith(
  " with scope, keywords and resume",
  ({ scope, keywords, resume }) => typeof scope === "string" && Array.isArray(keywords) && Array.isArray(resume),
);
export const RATE_LIMIT = objectWith(
  " with limit and windowSeconds",
  ({ limit, windowSeconds }) => typeof limit === "number" && typeof windowSeconds === "number",
);
export const SENT_PART = objectWith(
  " with reference and what",
  ({ reference, what }) => typeof reference === "string" && typeof what === "string",
);

/** A table: its name in SQL, the properties of its key, and its columns by property, in order. */
export interface Table<Record_, Name extends string = string, Columns extends ColumnsOf<Record_> = ColumnsOf<Record_>> {
  readonly name: Name;
  readonly key: readonly (keyof Record_ & string)[];
  /** The properties that `insertUnique` requires to be new: those of the key, or of a unique index. */
  readonly unique: readonly (keyof Record_ & string)[];
  readonly columns: Columns;
}

/** Declares a table. A column that its record does not have is an error. */
export function table<Record_, const Name extends string, Columns extends ColumnsOf<Record_>>(
  name: Name,
  key: readonly (keyof Record_ & string)[],
  columns: Columns & { readonly [Property in Exclude<keyof Columns, keyof Record_>]: never },
): Omit<Table<Record_, Name, Columns>, "unique"> {
  return { name, key, columns };
}
