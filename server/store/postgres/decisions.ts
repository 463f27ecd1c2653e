/**
 * Decides the transactions of a group in their order: by what the checks have found,
 * and by what the accepted transactions before them change. Pure.
 */

import type { Delivery } from "../../core/delivery.ts";
import type { Event } from "../../core/event.ts";
import { type EncodedOperation, encodeRecord } from "../jobs/jobs.ts";
import type { TableName } from "../records.ts";
import { LAYOUT, type SqlValue } from "../rows.ts";
import type { CommitResult } from "../store.ts";
import type { Findings } from "./checks.ts";
import type { RoutingOfGroup } from "./routing.ts";
import { keyName, named, TouchedRecords, touchedBy, uniqueName } from "./touched-keys.ts";

/** A transaction of a group, and its place in it. */
export interface PendingTransaction {
  index: number;
  operations: readonly EncodedOperation[];
}

/** A new delivery of an event of a transaction. */
export interface MadeDelivery {
  transaction: number;
  delivery: Delivery;
  values: SqlValue[];
  event: Event;
}

/** The decisions about the first transactions of a group. Those that have no result depend on changes of the others that nobody knows before they are made. */
export interface GroupDecision {
  results: Map<number, CommitResult>;
  accepted: PendingTransaction[];
  /** The deliveries of the accepted events, in order. */
  made: MadeDelivery[];
}

type RefusedFor = Exclude<CommitResult["result"], "ok">;

/** Decides at least the first transaction. `routing`: the endpoints of the customers whose events or endpoints the transactions have. */
export function decide(
  pending: readonly PendingTransaction[],
  findings: Findings,
  routing: RoutingOfGroup,
): GroupDecision {
  const decision: GroupDecision = { results: new Map(), accepted: [], made: [] };
  const seen = new SeenRecords(findings);
  for (const transaction of pending) {
    const { index, operations } = transaction;
    const refusal = refusalOf(operations, seen);
    if (refusal === "unknown") break;
    if (refusal !== null) {
      decision.results.set(index, { result: refusal });
      continue;
    }
    decision.results.set(index, { result: "ok", lanes: [] });
    decision.accepted.push(transaction);
    for (const operation of operations) {
      seen.note(operation);
      routing.note(operation);
      if (operation[0] !== "event") continue;
      const { event, deliveries } = routing.deliveriesOf(operation);
      for (const delivery of deliveries) {
        const values = encodeRecord("deliveries", delivery);
        decision.made.push({ transaction: index, delivery, values, event });
        seen.noteDelivery(values);
      }
    }
  }
  return decision;
}

/** The reason to refuse a transaction: that of its first operation whose requirement does not hold. All are judged by the state before it. */
function refusalOf(operations: readonly EncodedOperation[], seen: SeenRecords): RefusedFor | "unknown" | null {
  for (const operation of operations) {
    const refusal = seen.refusalOf(operation);
    if (refusal !== null) return refusal;
  }
  return null;
}

const VERSIONS = Object.fromEntries(
  Object.entries(LAYOUT).map(([table, columns]) => [
    table,
    columns.findIndex(({ property }) => property === "version"),
  ]),
) as Record<TableName, number>;

/** The records of a group as its next transaction sees them. */
class SeenRecords {
  readonly #findings: Findings;
  /** Versions of records that the group has changed; null: the record is gone. */
  readonly #versions = new Map<string, number | null>();
  /** Whether a unique key is taken, if the group has changed that. */
  readonly #taken = new Map<string, boolean>();
  readonly #changed = new TouchedRecords();

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  /** The refusal of an operation; `unknown`: only the database knows whether a change of the group decides about it, so the group is cut here. */
  refusalOf(operation: EncodedOperation): RefusedFor | "unknown" | null {
    const { found, unmet } = this.#findings;
    switch (operation[0]) {
      case "insertUnique": {
        const [, table, values] = operation;
        if (this.#changed.isWhole(table)) return "unknown";
        return (this.#taken.get(uniqueName(table, values)) ?? found.has(operation)) ? "duplicate" : null;
      }
      case "update":
        if (this.#changed.isWhole(operation[1])) return "unknown";
        return this.#versionOf(named(operation[1], [operation[4]])) === operation[5] ? null : "conflict";
      case "require":
      case "requireNone":
        if (touchedBy(operation).some((record) => this.#changed.has(record))) return "unknown";
        return found.has(operation) === (operation[0] === "require") ? null : "conflict";
      case "requireUnleased":
      case "requireEpoch":
        return unmet.has(operation) ? "unmet" : null;
      default:
        return null;
    }
  }

  #versionOf(name: string): number | null | undefined {
    const changed = this.#versions.get(name);
    return changed === undefined ? this.#findings.versions.get(name) : changed;
  }

  /** Notes a delivery that an event of an accepted transaction makes. */
  noteDelivery(values: SqlValue[]): void {
    this.note(["insert", "deliveries", values]);
  }

  /** Notes an operation of an accepted transaction. */
  note(operation: EncodedOperation): void {
    if (operation[0].startsWith("require")) return;
    for (const record of touchedBy(operation)) this.#changed.add(record);
    switch (operation[0]) {
      case "insert":
      case "insertUnique":
      case "put": {
        const [, table, values] = operation;
        const version = values[VERSIONS[table]];
        if (typeof version === "number") this.#versions.set(keyName(table, values), version);
        this.#taken.set(uniqueName(table, values), true);
        break;
      }
      case "update":
        this.#versions.set(named(operation[1], [operation[4]]), operation[5] + 1);
        break;
      case "delete":
        // If the operation names no single record, the table counts as touched whole.
        for (const { keys } of touchedBy(operation))
          for (const key of keys ?? []) {
            this.#versions.set(key, null);
            this.#taken.set(key, false);
          }
        break;
    }
  }
}
