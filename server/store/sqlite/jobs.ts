/** Jobs of the writer, encoded as flat values, so that passing them to its thread costs little. */

import type { Column } from "../column.ts";
import type { Records, TableName } from "../records.ts";
import { encodeValue, LAYOUT, type SqlValue } from "../rows.ts";
import { TABLES } from "../schema.ts";
import type { Claim, Operation, RowKey, Transaction } from "../store.ts";
import type { QuarantineEntry, ReturnedDelivery } from "./quarantine.ts";

/** An encoded operation. Properties are comma-separated: with the table they name one prepared statement. */
export type EncodedOperation =
  | ["insert" | "insertUnique" | "put", TableName, SqlValue[]]
  | ["update", TableName, properties: string, SqlValue[], id: string, version: number]
  | ["delete", TableName, properties: string, SqlValue[]]
  | ["event", SqlValue[], callbackUrl: string | null]
  | ["rewrite", eventId: string, bytes: string];

/** A job for the writer. All jobs of one group commit together. */
export type Job =
  | ["commit", EncodedOperation[]]
  | ["claimMessages", Claim]
  | ["claimDeliveries", Claim]
  | ["releaseLeases", until: number, now: number]
  | ["cancelDeliveries", endpointId: string, limit: number]
  | ["prune", before: number, limit: number]
  | ["reset", customerId: string, limit: number]
  | ["addUsage", SqlValue[][]]
  | ["quarantine", QuarantineEntry[], ReturnedDelivery[]]
  | ["recheck", after: RowKey | null, limit: number, now: number]
  | ["probe", string];

/** The result of a job: its value, or the error that prevented it. */
export type JobResult = { value: unknown } | { error: "full" } | { error: "failed"; message: string };

/** Claimed deliveries as passed between threads: rows as values, each endpoint and customer once. */
export interface ClaimedRows {
  deliveries: { values: SqlValue[]; dueAt: number; bytes: SqlValue; correlationId: SqlValue }[];
  endpoints: SqlValue[][];
  customers: SqlValue[][];
}

/** Encodes a record as values in the order of its table's columns. */
export function encodeRecord<Name extends TableName>(table: Name, record: Records[Name]): SqlValue[] {
  const values = record as unknown as Record<string, unknown>;
  return LAYOUT[table].map(({ property, kind }) => encodeValue(kind, values[property]));
}

export function encodeTransaction(transaction: Transaction): EncodedOperation[] {
  return transaction.map(encodeOperation);
}

function encodeOperation(operation: Operation): EncodedOperation {
  switch (operation.op) {
    case "insert":
    case "insertUnique":
    case "put":
      return [operation.op, operation.table, encodeRecord(operation.table, operation.record)];
    case "update": {
      const { table, id, version, set } = operation;
      const [properties, values] = encodePart(table, set);
      return ["update", table, properties, values, id, version];
    }
    case "delete":
      return ["delete", operation.table, ...encodePart(operation.table, operation.where)];
    case "event":
      return ["event", encodeRecord("events", operation.event), operation.callbackUrl];
    case "rewrite":
      return ["rewrite", operation.eventId, operation.bytes];
  }
}

function encodePart(table: TableName, part: object): [string, SqlValue[]] {
  const columns: Readonly<Record<string, Column>> = TABLES[table].columns;
  const properties: string[] = [];
  const values: SqlValue[] = [];
  for (const [property, value] of Object.entries(part)) {
    const column = columns[property];
    if (column === undefined) throw new Error(`${table} has no ${property}`);
    if (property === "version") continue;
    properties.push(property);
    values.push(encodeValue(column.kind, value));
  }
  return [properties.join(","), values];
}
