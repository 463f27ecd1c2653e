/** Cuts the transactions of a group into waves, each of which is one statement. Pure. */

import type { EncodedOperation } from "../jobs/jobs.ts";
import type { CommitResult } from "../store.ts";
import { keyName, named, type Touched, TouchedRecords, touchedBy, uniqueName } from "./touched-keys.ts";

/** A transaction of a group and its place in it. */
export interface PendingTransaction {
  index: number;
  operations: readonly EncodedOperation[];
}

/**
 * Transactions in order, no two of which touch the same record or unique key. `stages`: if a transaction touches a record twice,
 * its operations in steps that each touch a record once. Each step is a statement. A wave with several stages has one transaction.
 */
export interface Wave {
  transactions: PendingTransaction[];
  stages: readonly (readonly EncodedOperation[])[] | null;
}

/** The first wave of some transactions: at least one transaction. */
export function cutWave(pending: readonly PendingTransaction[]): Wave {
  const touched = new TouchedRecords();
  const transactions: PendingTransaction[] = [];
  for (const transaction of pending) {
    const stages = stagesOf(transaction.operations);
    if (stages.length > 1 || isAlone(transaction.operations)) {
      return transactions.length > 0 ? { transactions, stages: null } : { transactions: [transaction], stages };
    }
    const records = recordsOf(transaction.operations);
    if (records.some((one) => touched.has(one))) break;
    for (const one of records) touched.add(one);
    transactions.push(transaction);
  }
  return { transactions, stages: null };
}

/** Whether a transaction changes endpoints: the other transactions of its wave would not see the change. */
function isAlone(operations: readonly EncodedOperation[]): boolean {
  return operations.some(([, table]) => table === "endpoints");
}

/**
 * Whether a wave changes existing deliveries. Ends of attempts then have
 * another SQL transaction, since they would lock deliveries in a second order.
 */
export function changesDeliveries({ transactions }: Wave): boolean {
  return transactions.some(({ operations }) =>
    operations.some(
      ([kind, table]) => kind === "rewrite" || (table === "deliveries" && kind !== "insertUnique" && kind !== "insert"),
    ),
  );
}

function recordsOf(operations: readonly EncodedOperation[]): Touched[] {
  return operations.flatMap(touchedBy);
}

/** Operations in steps. The operations of a step touch different records, and each record is touched in the order of the operations. */
function stagesOf(operations: readonly EncodedOperation[]): EncodedOperation[][] {
  const stages: { operations: EncodedOperation[]; touched: TouchedRecords }[] = [];
  for (const operation of operations) {
    // All requirements are checked in the first stage.
    const records = touchedBy(operation).filter(({ isRead }) => isRead !== true);
    const last = stages.findLastIndex(({ touched }) => records.some((record) => touched.has(record)));
    const routing = operation[0] === "event" ? stages.findLastIndex((one) => one.operations.some(isOfEndpoints)) : -1;
    const at = Math.max(last, routing) + 1;
    const stage = stages[at] ?? { operations: [], touched: new TouchedRecords() };
    stages[at] = stage;
    stage.operations.push(operation);
    for (const record of records) stage.touched.add(record);
  }
  return stages.map((stage) => stage.operations);
}

/** Whether an operation changes endpoints. The deliveries of an event are made from the endpoints as earlier operations leave them. */
function isOfEndpoints([, table]: EncodedOperation): boolean {
  return table === "endpoints";
}

/**
 * The refusals that follow from earlier waves of a group: an updated record has another version, and
 * an inserted unique key is taken. So 200 transactions about one record take two waves and not 200.
 */
export class KnownRefusals {
  readonly #versions = new Map<string, number>();
  readonly #taken = new Set<string>();

  /** The result of a transaction that is refused; null if only the database can tell. */
  of(operations: readonly EncodedOperation[]): CommitResult | null {
    const first = operations.find(
      ([kind]) => kind === "insertUnique" || kind === "update" || kind.startsWith("require"),
    );
    if (first?.[0] === "insertUnique" && this.#taken.has(uniqueName(first[1], first[2])))
      return { result: "duplicate" };
    if (first?.[0] !== "update") return null;
    const version = this.#versions.get(named(first[1], [first[4]]));
    return version === undefined || version === first[5] ? null : { result: "conflict" };
  }

  /** Notes what a transaction has committed. */
  note(operations: readonly EncodedOperation[]): void {
    for (const operation of operations) {
      if (operation[0] === "update") this.#versions.set(named(operation[1], [operation[4]]), operation[5] + 1);
      else if (operation[0] === "insertUnique") this.#taken.add(uniqueName(operation[1], operation[2]));
      else if (operation[0] === "delete") this.#forget();
      // The deliveries of the event get other versions too.
      else if (operation[0] === "rewrite") this.#versions.clear();
      else if (operation[0] === "put") this.#versions.delete(keyName(operation[1], operation[2]));
    }
  }

  #forget(): void {
    this.#versions.clear();
    this.#taken.clear();
  }
}
