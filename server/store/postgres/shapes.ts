/** Groups the operations of a wave by their shape: operations of one kind that change the same columns of a table share a clause. Pure. */

import type { EncodedOperation } from "../jobs/jobs.ts";
import { packEnvelope } from "../packed-envelope.ts";
import type { TableName } from "../records.ts";
import { LAYOUT, type SqlValue } from "../rows.ts";
import { TABLES } from "../tables.ts";
import type { Clauses } from "./clauses.ts";
import { type InputColumn, inputColumn, numberColumn } from "./json-rows.ts";

/** An operation at its place: its transaction, and its number in it. */
export interface PlacedOperation {
  transaction: number;
  number: number;
  operation: EncodedOperation;
}

/** The operations of one shape, in the order of their keys; events in the order of their transactions. */
export interface Shape {
  kind: EncodedOperation[0];
  table: TableName;
  /** `properties` are changed; records are found by the properties of `where`. */
  properties: readonly string[];
  where: readonly string[];
  placed: PlacedOperation[];
}

/** Rows of a statement: a clause with columns `tx` and `op`, the columns of the properties, and those of `where`. */
export interface ShapeRows {
  clause: string;
  properties: readonly InputColumn[];
  where: readonly InputColumn[];
}

/** Tables in the order in which their rows are locked, deliveries last: a group ends attempts after its transactions. */
const RANKS = new Map(Object.keys(TABLES).map((table, index) => [table, table === "deliveries" ? Infinity : index]));

const namesOf = (properties: string) => (properties === "" ? [] : properties.split(","));
const allOf = (table: TableName) => LAYOUT[table].map(({ property }) => property);

export function shapesOf(placed: readonly PlacedOperation[]): Shape[] {
  const shapes = new Map<string, Shape>();
  for (const one of placed) {
    const name = nameOf(one.operation);
    const known = shapes.get(name);
    if (known === undefined) shapes.set(name, { ...shapeOf(one.operation), placed: [one] });
    else known.placed.push(one);
  }
  const sorted = [...shapes.values()].sort((a, b) => (RANKS.get(a.table) ?? 0) - (RANKS.get(b.table) ?? 0));
  for (const shape of sorted) if (shape.kind !== "event") sortByKey(shape);
  return sorted;
}

/** Whether an operation inserts an event without deliveries. Such an event has the shape of all events. */
function isEventAlone(operation: EncodedOperation): boolean {
  return operation[0] === "insert" && operation[1] === "events";
}

function nameOf(operation: EncodedOperation): string {
  if (isEventAlone(operation)) return "event";
  switch (operation[0]) {
    case "insert":
    case "insertUnique":
    case "put":
      return `${operation[0]} ${operation[1]}`;
    case "update":
    case "delete":
    case "require":
    case "requireNone":
      return `${operation[0]} ${operation[1]} ${operation[2]}`;
    case "set":
      return `set ${operation[1]} ${operation[2]} ${operation[3]}`;
    default:
      return operation[0];
  }
}

const EVENT: Omit<Shape, "placed"> = { kind: "event", table: "events", properties: allOf("events"), where: [] };

function shapeOf(operation: EncodedOperation): Omit<Shape, "placed"> {
  if (isEventAlone(operation)) return EVENT;
  switch (operation[0]) {
    case "insert":
    case "insertUnique":
    case "put":
      return { kind: operation[0], table: operation[1], properties: allOf(operation[1]), where: [] };
    case "update":
      return { kind: "update", table: operation[1], properties: namesOf(operation[2]), where: ["id"] };
    case "set":
      return { kind: "set", table: operation[1], properties: namesOf(operation[2]), where: namesOf(operation[3]) };
    case "delete":
    case "require":
    case "requireNone":
      return { kind: operation[0], table: operation[1], properties: [], where: namesOf(operation[2]) };
    case "event":
      return EVENT;
    case "rewrite":
      return { kind: "rewrite", table: "events", properties: ["bytes"], where: ["id"] };
    case "requireUnleased":
      return { kind: "requireUnleased", table: "messages", properties: [], where: ["instanceId", "from", "to"] };
    case "requireEpoch":
      return { kind: "requireEpoch", table: "memory", properties: [], where: ["key"] };
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
function valuesOf(operation: EncodedOperation): readonly SqlValue[] {
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
    case "require":
    case "requireNone":
      return operation[3];
    case "event":
      return operation[1];
    case "rewrite":
      return [operation[2], operation[1]];
    case "requireUnleased":
      return [operation[1], operation[2], operation[3]];
    case "requireEpoch":
      return [operation[1]];
  }
}

/** The version that an operation requires of a record, or the epoch that it requires of a lease. */
function versionOf(operation: EncodedOperation): number | null {
  if (operation[0] === "update") return operation[5];
  return operation[0] === "requireEpoch" ? operation[2] : null;
}

function sortByKey({ table, where, placed }: Shape): void {
  if (placed.length === 1) return;
  const layout = allOf(table);
  const key: readonly string[] = TABLES[table].key;
  const places = key.map((property) => layout.indexOf(property));
  const keyOf = ({ operation }: PlacedOperation) => {
    const values = valuesOf(operation);
    const own = where.length > 0 ? values.slice(values.length - where.length) : places.map((place) => values[place]);
    return own.length === 1 ? String(own[0]) : JSON.stringify(own);
  };
  const sorted = placed.map((one) => ({ one, key: keyOf(one) })).sort((a, b) => (a.key < b.key ? -1 : 1));
  placed.splice(0, placed.length, ...sorted.map(({ one }) => one));
}

/** The rows of shapes; each shape adds its rows to the statement once. */
export class ShapeInputs {
  readonly #clauses: Clauses;
  readonly #rows = new Map<PlacedOperation, { count: number; rows: ShapeRows }>();

  constructor(clauses: Clauses) {
    this.#clauses = clauses;
  }

  of(shape: Shape): ShapeRows {
    const [first] = shape.placed;
    if (first === undefined) throw new Error("a shape has an operation");
    const known = this.#rows.get(first);
    if (known?.count === shape.placed.length) return known.rows;
    const rows = this.#add(shape);
    this.#rows.set(first, { count: shape.placed.length, rows });
    return rows;
  }

  #add({ kind, table, properties, where, placed }: Shape): ShapeRows {
    const changed = properties.map((property, index) => inputColumn(table, property, `v${index}`));
    const found = where.map((property, index) => inputColumn(table, property, `k${index}`));
    const columns = [numberColumn("tx"), numberColumn("op"), numberColumn("version"), ...changed, ...found];
    const rows = placed.map(({ transaction, number, operation }) => [
      transaction,
      number,
      versionOf(operation),
      ...(kind === "event" ? packEvent(valuesOf(operation)) : valuesOf(operation)),
    ]);
    return { clause: this.#clauses.addRows(columns, rows), properties: changed, where: found };
  }
}
