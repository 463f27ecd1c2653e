/** Jobs of the writer, encoded as flat values, so that it costs little to pass them to the writer's thread. */

import type { Delivery } from "../../core/delivery.ts";
import type { Column } from "../column.ts";
import type { DeliveryOutcome, DueRead, HolderCredit } from "../due-deliveries.ts";
import type { MemberBeat } from "../members.ts";
import type { Records, TableName } from "../records.ts";
import { encodeValue, LAYOUT, type SqlValue, type UnreadableRow } from "../rows.ts";
import type {
  CommitResult,
  ErasedRequest,
  MessageClaim,
  Operation,
  RequestRemoval,
  RowKey,
  Transaction,
} from "../store.ts";
import { TABLES } from "../tables.ts";

/** The properties of a delivery that the outcome of an attempt sets, in the order of an `EncodedOutcome`. */
export const FINISHED_COLUMNS = [
  "url",
  "status",
  "attemptCount",
  "attempts",
  "retryCount",
  "dueAt",
  "byHand",
  "resumeAt",
] as const satisfies (keyof Delivery)[];

/** A row of a claim: the message's values, and the token of its lease. */
export interface LeasedRow {
  values: SqlValue[];
  lease: number;
}

/**
 * A row to quarantine. `isLeased`: a claim or read found the row in its queue. The writer takes it out of the queue.
 */
export interface QuarantineEntry extends UnreadableRow {
  isLeased: boolean;
}

/** An encoded operation. Properties are comma-separated: with the table they name one prepared statement. */
export type EncodedOperation =
  | ["insert" | "insertUnique" | "put", TableName, SqlValue[]]
  | ["update", TableName, properties: string, SqlValue[], id: string, version: number]
  | ["set", TableName, properties: string, where: string, SqlValue[]]
  | ["delete", TableName, properties: string, SqlValue[]]
  | ["require" | "requireNone", TableName, properties: string, SqlValue[], scope: string]
  | ["event", SqlValue[], callbackUrl: string | null]
  | ["rewrite", eventId: string, bytes: string]
  | ["requireUnleased", lane: string, from: string, to: string]
  | ["requireEpoch", lease: string, epoch: number];

/** A job that writes. The writing jobs of one group commit together. */
export type WritingJob =
  | ["commit", EncodedOperation[]]
  | ["commitAll", EncodedOperation[][]]
  | ["finishDeliveries", EncodedOutcome[]]
  | ["releaseLeases", until: number, now: number]
  | ["endMember", member: string, now: number]
  | ["cancelDeliveries", endpointId: string, limit: number, replayId: string | null]
  | ["prune", before: number, limit: number]
  | ["reset", customerId: string, limit: number, begins: boolean]
  | ["addUsage", batch: SqlValue[], hours: SqlValue[][]]
  | ["logRequests", SqlValue[][]]
  | ["removeRequests", RequestRemoval]
  | ["eraseRequests", readonly ErasedRequest[]]
  | ["quarantine", QuarantineEntry[]]
  | ["recheck", after: RowKey | null, limit: number, now: number]
  | ["probe", string];

/**
 * A job that writes no record and runs after the COMMIT of its group. It reads due deliveries, changes leases in
 * memory, or reads the counts of the writer.
 */
export type LeaseJob =
  | ["claimMessages", MessageClaim]
  | ["leasedPairs", lane: string]
  | ["release", leases: readonly number[]]
  | ["dueDeliveries", DueRead]
  | ["hold", isHeld: boolean]
  | ["credit", HolderCredit]
  | ["beat", MemberBeat]
  | ["leave", member: string]
  | ["counts"];

/** A job for the writer. */
export type Job = WritingJob | LeaseJob;

const LEASE_JOBS: ReadonlySet<Job[0]> = new Set<LeaseJob[0]>([
  "claimMessages",
  "leasedPairs",
  "release",
  "dueDeliveries",
  "hold",
  "credit",
  "beat",
  "leave",
  "counts",
]);

/** Jobs of the request log. Each is a group of its own, so that no job of the service's own work fails with it. */
const LONE_JOBS: ReadonlySet<Job[0]> = new Set<WritingJob[0]>(["logRequests", "removeRequests", "eraseRequests"]);

export function isLoneJob(job: Job): boolean {
  return LONE_JOBS.has(job[0]);
}

export function isLeaseJob(job: Job): job is LeaseJob {
  return LEASE_JOBS.has(job[0]);
}

/** Counts the pieces of work in a job. Each transaction or outcome of an attempt is one. */
export function countWork(job: Job): number {
  return job[0] === "commitAll" || job[0] === "finishDeliveries" ? job[1].length : 1;
}

/** Counts the transactions of a group. All `commitAll` jobs together count as one. */
export function countTransactions(jobs: readonly WritingJob[]): number {
  const gathered = jobs.filter(([kind]) => kind === "commitAll").length;
  return jobs.length - Math.max(gathered - 1, 0);
}

/** The result of a job: its value, or the error that prevented it. */
export type JobResult =
  | { value: unknown }
  | { error: "full" }
  | { error: "unavailable"; message: string }
  | { error: "failed"; message: string };

/** The results of a group of jobs, and the changes of due deliveries by its commits, in the order of the commits. */
export interface WrittenGroup {
  results: JobResult[];
  pushed: PushedRow[];
}

/**
 * Whether a job has certainly written. Success is not enough: a claim that finds nothing succeeds on a full disk too.
 */
export function hasWritten(job: Job, result: JobResult | undefined): boolean {
  if (result === undefined || "error" in result) return false;
  if (job[0] === "probe") return true;
  if (job[0] === "commitAll") return (result.value as JobResult[]).some((one, index) => isWritten(job[1][index], one));
  return job[0] === "commit" && isWritten(job[1], result);
}

function isWritten(operations: readonly EncodedOperation[] = [], result: JobResult): boolean {
  return "value" in result && operations.length > 0 && (result.value as CommitResult).result === "ok";
}

/** Claimed messages as passed between threads. */
export interface ClaimedMessageRows {
  rows: LeasedRow[];
  more: string[];
}

/** Due deliveries as passed between threads. */
export interface DueRows {
  rows: DueRow[];
  more: string[];
}

/** A due delivery with its event. */
export type DueRow = [row: number, values: SqlValue[], bytes: SqlValue, correlationId: SqlValue];

/** A `PushedChange` as passed between threads. */
export type PushedRow =
  | ["new", ...DueRow]
  | ["due", id: string | null, lane: string, dueAt: number, row: number]
  | ["gone", id: string]
  | ["all"];

/** The outcome of a delivery's attempt. The values are in the order of `FINISHED_COLUMNS`. */
export type EncodedOutcome = [row: number, id: string, version: number, SqlValue[]];

/** The result of writing an outcome: `ok`, `gone`, or the delivery's row if the delivery has changed meanwhile. */
export type FinishedRow = "ok" | "gone" | SqlValue[];

export function encodeOutcome({ id, row, version, set }: DeliveryOutcome): EncodedOutcome {
  const columns = TABLES.deliveries.columns;
  return [row, id, version, FINISHED_COLUMNS.map((property) => encodeValue(columns[property], set[property]))];
}

/** Encodes a record as values in the order of its table's columns. */
export function encodeRecord<Name extends TableName>(table: Name, record: Records[Name]): SqlValue[] {
  const values = record as unknown as Record<string, unknown>;
  return LAYOUT[table].map((column) => encodeValue(column, values[column.property]));
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
    case "set": {
      const [properties, values] = encodePart(operation.table, operation.set);
      const [where, keys] = encodePart(operation.table, operation.where);
      return ["set", operation.table, properties, where, [...values, ...keys]];
    }
    case "delete":
      return ["delete", operation.table, ...encodePart(operation.table, operation.where)];
    case "require":
    case "requireNone":
      return [operation.op, operation.table, ...encodePart(operation.table, operation.where), operation.scope];
    case "event":
      return ["event", encodeRecord("events", operation.event), operation.callbackUrl];
    case "rewrite":
      return ["rewrite", operation.eventId, operation.bytes];
    case "requireUnleased":
      return ["requireUnleased", operation.lane, operation.from, operation.to];
    case "requireEpoch":
      return ["requireEpoch", operation.lease, operation.epoch];
  }
}

/** Some properties of a record: their names, and their values. */
function encodePart(table: TableName, part: object): [string, SqlValue[]] {
  const columns: Readonly<Record<string, Column>> = TABLES[table].columns;
  const properties: string[] = [];
  const values: SqlValue[] = [];
  for (const property in part) {
    const column = columns[property];
    if (column === undefined) throw new Error(`${table} has no ${property}`);
    if (property === "version") continue;
    properties.push(property);
    values.push(encodeValue(column, part[property as keyof typeof part]));
  }
  return [properties.join(","), values];
}
