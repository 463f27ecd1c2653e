/** Groups operations by their shape: operations of one kind that change the same columns of a table are one statement. Pure. */

import type { EncodedOperation } from "../jobs/jobs.ts";
import { packEnvelope } from "../packed-envelope.ts";
import type { TableName } from "../records.ts";
import { LAYOUT, type SqlValue } from "../rows.ts";
import { TABLES } from "../tables.ts";
import { type InputColumn, inputColumn, jsonRows } from "./json-rows.ts";
import type { SqlParameter } from "./sql.ts";
import { TouchedRecords, touchedBy } from "./touched-keys.ts";

/** Operations that change records. */
export type ChangingOperation = Exclude<
  EncodedOperation,
  ["require" | "requireNone" | "requireUnleased" | "requireEpoch", ...unknown[]]
>;

/** Operations of one shape. Those that lock rows are in the order of their keys; the others keep their order. */
export interface Shape {
  /** Shapes of one name differ in their operations only. */
  name: string;
  kind: ChangingOperation[0];
  table: TableName;
  /** `properties` are changed; records are found by the properties of `where`. */
  properties: readonly string[];
  where: readonly string[];
  operations: ChangingOperation[];
}

/** Tables in the order in which their rows are locked, deliveries last: a group ends attempts after its transactions. */
const RANKS = new Map(Object.keys(TABLES).map((table, index) => [table, table === "deliveries" ? Infinity : index]));

/** The place of a table in the order in which rows are locked. */
export function rankOf(table: TableName): number {
  return RANKS.get(table) ?? 0;
}

/** The properties of a list as an operation names them. */
export function propertiesOf(names: string): readonly string[] {
  return names === "" ? [] : names.split(",");
}

/**
 * The shapes of operations that are written one after the other. Operations that touch the same
 * record keep their order: the later one is in a later shape. All others are gathered in as few shapes as possible.
 */
export function shapesOf(operations: readonly EncodedOperation[]): Shape[] {
  return stagesOf(operations).flatMap(gather);
}

/** Operations in steps. The operations of a step touch different records, and each record is touched in the order of the operations. */
function stagesOf(operations: readonly EncodedOperation[]): ChangingOperation[][] {
  const stages: { operations: ChangingOperation[]; touched: TouchedRecords }[] = [];
  for (const operation of operations) {
    if (!isChanging(operation)) continue;
    const records = touchedBy(operation);
    const at = stages.findLastIndex(({ touched }) => records.some((record) => touched.has(record))) + 1;
    const stage = stages[at] ?? { operations: [], touched: new TouchedRecords() };
    stages[at] = stage;
    stage.operations.push(operation);
    for (const record of records) stage.touched.add(record);
  }
  return stages.map((stage) => stage.operations);
}

function isChanging(operation: EncodedOperation): operation is ChangingOperation {
  return !operation[0].startsWith("require");
}

function gather(operations: readonly ChangingOperation[]): Shape[] {
  const shapes = [...Map.groupBy(operations, nameOf)].flatMap(([name, own]) => {
    const [first] = own;
    return first === undefined ? [] : [{ ...shapeOf(first), name, operations: own }];
  });
  for (const shape of shapes) if (LOCKING.has(shape.kind)) sortByKey(shape);
  return shapes.sort((a, b) => rankOf(a.table) - rankOf(b.table));
}

/** Kinds that wait for rows or unique keys of other processes. */
const LOCKING: ReadonlySet<ChangingOperation[0]> = new Set([
  "insertUnique",
  "put",
  "update",
  "set",
  "delete",
  "rewrite",
]);

/** Whether an operation inserts an event without deliveries. That has the shape of every new event. */
function isEventAlone(operation: ChangingOperation): boolean {
  return operation[0] === "insert" && operation[1] === "events";
}

function nameOf(operation: ChangingOperation): string {
  if (isEventAlone(operation)) return "event";
  switch (operation[0]) {
    case "insert":
    case "insertUnique":
    case "put":
      return `${operation[0]} ${operation[1]}`;
    case "update":
    case "delete":
      return `${operation[0]} ${operation[1]} ${operation[2]}`;
    case "set":
      return `set ${operation[1]} ${operation[2]} ${operation[3]}`;
    case "event":
    case "rewrite":
      return operation[0];
  }
}

const allOf = (table: TableName) => LAYOUT[table].map(({ property }) => property);

const EVENT: Omit<Shape, "name" | "operations"> = {
  kind: "event",
  table: "events",
  properties: allOf("events"),
  where: [],
};

function shapeOf(operation: ChangingOperation): Omit<Shape, "name" | "operations"> {
  if (isEventAlone(operation)) return EVENT;
  switch (operation[0]) {
    case "insert":
    case "insertUnique":
    case "put":
      return { kind: operation[0], table: operation[1], properties: allOf(operation[1]), where: [] };
    case "update":
      return { kind: "update", table: operation[1], properties: propertiesOf(operation[2]), where: ["id"] };
    case "set":
      return {
        kind: "set",
        table: operation[1],
        properties: propertiesOf(operation[2]),
        where: propertiesOf(operation[3]),
      };
    case "delete":
      return { kind: "delete", table: operation[1], properties: [], where: propertiesOf(operation[2]) };
    case "event":
      return EVENT;
    case "rewrite":
      return { kind: "rewrite", table: "events", properties: ["bytes"], where: ["id"] };
  }
}

const [ID, TYPE, MESSAGE_ID, CORRELATION_ID, BYTES] = (
  ["id", "type", "messageId", "correlationId", "bytes"] as const
).map((property) => allOf("events").indexOf(property)) as [number, number, number, number, number];

/** The values of a new event, with its bytes as the row has them. */
function packEvent(values: readonly SqlValue[]): readonly SqlValue[] {
  const messageId = values[MESSAGE_ID] ?? null;
  const columns = {
    id: String(values[ID]),
    type: String(values[TYPE]),
    messageId: messageId === null ? null : String(messageId),
    correlationId: String(values[CORRELATION_ID]),
  };
  return values.with(BYTES, packEnvelope(String(values[BYTES]), columns));
}

/** The values of an operation: those of the properties, and then those of `where`. */
function valuesOf(operation: ChangingOperation): readonly SqlValue[] {
  if (isEventAlone(operation)) return packEvent(operation[2] as SqlValue[]);
  switch (operation[0]) {
    case "insert":
    case "insertUnique":
    case "put":
      return operation[2];
    case "update":
      return [...operation[3], operation[4]];
    case "set":
      return operation[4];
    case "delete":
      return operation[3];
    case "event":
      return packEvent(operation[1]);
    case "rewrite":
      return [operation[2], operation[1]];
  }
}

function sortByKey({ table, where, operations }: Shape): void {
  if (operations.length === 1) return;
  const layout = allOf(table);
  const key: readonly string[] = TABLES[table].key;
  const places = key.map((property) => layout.indexOf(property));
  const keyOf = (operation: ChangingOperation) => {
    const values = valuesOf(operation);
    const own = where.length > 0 ? values.slice(values.length - where.length) : places.map((place) => values[place]);
    return own.length === 1 ? String(own[0]) : JSON.stringify(own);
  };
  const sorted = operations.map((one) => ({ one, key: keyOf(one) })).sort((a, b) => (a.key < b.key ? -1 : 1));
  operations.splice(0, operations.length, ...sorted.map(({ one }) => one));
}

/** SQL for whether a value is in the list of a parameter. */
export function isListed(value: string, type: InputColumn["type"], parameter: number): string {
  return `${value} = any($${parameter}::${type}[])`;
}

/** SQL for whether an id is between those of two parameters. */
export function isBetween(id: string, first: number): string {
  return `${id} between $${first} and $${first + 1}`;
}

/** Whether deliveries are found by their ids: a list of ids is followed by its first and its last. */
export function isById(table: TableName, where: readonly string[]): boolean {
  return table === "deliveries" && where.join() === "id";
}

/** Ids of a table in their order. Of deliveries also the first and the last: these name the partitions to the planner, and the list alone does not. */
export function listOfIds(table: TableName, ids: readonly SqlValue[]): SqlParameter[] {
  const sorted = [...new Set(ids)].sort();
  return table === "deliveries" ? [sorted, sorted[0] ?? "", sorted.at(-1) ?? ""] : [sorted];
}

/** The values by which a shape finds its records, a list for each property of `where`. */
export function listsOf({ table, where, operations }: Shape): SqlParameter[] {
  const rows = operations.map((operation) => valuesOf(operation).slice(-where.length));
  const lists = where.map((_, index) => [...new Set(rows.map((values) => values[index] ?? null))].sort());
  return isById(table, where) ? listOfIds(table, lists[0] ?? []) : lists;
}

/** The columns of the rows of a shape: those of its properties, and those of `where`. */
export interface ShapeColumns {
  set: readonly InputColumn[];
  where: readonly InputColumn[];
}

export function columnsOfShape({ table, properties, where }: Shape): ShapeColumns {
  return {
    set: properties.map((property, index) => inputColumn(table, property, `v${index}`)),
    where: where.map((property, index) => inputColumn(table, property, `k${index}`)),
  };
}

/** The rows of a shape as a parameter, one for each operation. */
export function rowsOfShape(shape: Shape, { set, where }: ShapeColumns): string {
  return jsonRows([...set, ...where], shape.operations.map(valuesOf));
}
