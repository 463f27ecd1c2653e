/**
 * Runs transactions of a group in one SQL transaction. It locks and checks, decides
 * in this process, and changes. So the process waits for the server twice: for the checks, and for the commit.
 */

import type { CustomerId } from "../../core/id.ts";
import { hashOf } from "../../core/rendezvous.ts";
import type { EncodedOperation } from "../jobs/jobs.ts";
import { LAYOUT, type SqlValue } from "../rows.ts";
import { type ChangeStatement, changesOf } from "./changes.ts";
import { checksOf, type Findings } from "./checks.ts";
import { lockLanes } from "./claim-messages.ts";
import { decide, type GroupDecision, type PendingTransaction } from "./decisions.ts";
import type { DeliveryQueue } from "./delivery-queue.ts";
import { changeRouting, customersOfEndpoints, ENDPOINT_VERSIONS, EndpointCache } from "./endpoint-cache.ts";
import { addToQuarantine } from "./quarantine.ts";
import { RoutingOfGroup } from "./routing.ts";
import { propertiesOf } from "./shapes.ts";
import { allEnded, type Sql, sendAll } from "./sql.ts";
import type { Begin } from "./writer-connections.ts";

/** The class of the advisory locks of scopes, most of which are customers. Other locks have other classes, or keys of 64 bits. */
const SCOPE_LOCKS = 7_201;

/** Decided transactions, their statements, and the customers whose endpoints they change. */
export interface CheckedTransactions extends GroupDecision {
  changes: readonly ChangeStatement[];
  changed: readonly CustomerId[];
}

/** Stands for the transactions of an SQL transaction that has only jobs. */
export const NO_TRANSACTIONS: CheckedTransactions = {
  results: new Map(),
  accepted: [],
  made: [],
  changes: [],
  changed: [],
};

export class TransactionRunner {
  readonly #queue: DeliveryQueue;
  readonly #endpoints = new EndpointCache();

  constructor(queue: DeliveryQueue) {
    this.#queue = queue;
  }

  /** Forgets the cached endpoints: something else has changed the rows. */
  forget(): void {
    this.#endpoints.clear();
  }

  /** Begins the SQL transaction, checks transactions, and decides at least the first. */
  async check(sql: Sql, begin: Begin, pending: readonly PendingTransaction[]): Promise<CheckedTransactions> {
    const operations = pending.flatMap((one) => one.operations);
    const changed = await customersOfChanges(sql, operations);
    const customers = new Set([...changed, ...customersOfEvents(operations)]);
    const checks = checksOf(operations);
    const [, versions, answers] = await allEnded([
      begin(locksOf([...customers, ...requiredScopes(operations)], requiredLanes(operations))),
      readVersions(sql, customers),
      sendAll(sql, checks),
    ]);
    const findings: Findings = { versions: new Map(), found: new Set(), unmet: new Set() };
    for (const [index, check] of checks.entries()) check.note(answers[index] ?? [], findings);
    const { endpoints, unreadable } = await this.#endpoints.load(sql, versions);
    if (unreadable.length > 0)
      await addToQuarantine(
        sql,
        unreadable.map((row) => ({ ...row, isLeased: false })),
      );
    const decision = decide(pending, findings, new RoutingOfGroup(endpoints));
    // The statements are written before the first of them is sent: an error here leaves nothing to commit.
    const inserts = decision.made.map(({ values }): EncodedOperation => ["insert", "deliveries", values]);
    const accepted = decision.accepted.flatMap((one) => one.operations);
    return { ...decision, changes: changesOf([...accepted, ...inserts], this.#queue.putBy), changed };
  }

  /**
   * Sends the changes of decided transactions, and resolves when the server has made them. `lanes`: for each transaction
   * the lanes of new deliveries that are not pushed, complete after COMMIT.
   */
  async change(sql: Sql, { accepted, made, changes, changed }: CheckedTransactions): Promise<Map<number, Set<string>>> {
    const looked = this.#queue.look(
      sql,
      made.map(({ delivery }) => delivery.lane),
    );
    const [, replies] = await allEnded([
      looked,
      sendAll(sql, changes),
      changed.length === 0 ? Promise.resolve() : changeRouting(sql, changed),
    ]);
    for (const [index, { returnsDue }] of changes.entries())
      if (returnsDue) for (const row of replies[index] ?? []) this.#noteChanged(row);
    for (const { operations } of accepted) for (const operation of operations) this.#noteInserted(operation);
    const lanes = new Map<number, Set<string>>();
    for (const { transaction, delivery, values, event } of made) {
      const kept = lanes.get(transaction) ?? new Set();
      lanes.set(transaction, kept);
      this.#queue.add(delivery, values, event, kept);
    }
    return lanes;
  }

  #noteChanged([dueAt, id, lane]: readonly SqlValue[]): void {
    this.#queue.changed(String(id), String(lane), dueAt === null || dueAt === undefined ? null : Number(dueAt));
  }

  /** Notes a new delivery that no event of its transaction made, such as one of a replay. */
  #noteInserted(operation: EncodedOperation): void {
    if ((operation[0] !== "insert" && operation[0] !== "insertUnique") || operation[1] !== "deliveries") return;
    const [id, lane, dueAt] = [DELIVERY.id, DELIVERY.lane, DELIVERY.dueAt].map((place) => operation[2][place]);
    if (typeof dueAt === "number") this.#queue.changed(String(id), String(lane), dueAt, true);
  }
}

const DELIVERY = {
  id: placeOf("deliveries", "id"),
  lane: placeOf("deliveries", "lane"),
  dueAt: placeOf("deliveries", "dueAt"),
};

const CUSTOMERS = { events: placeOf("events", "customerId"), endpoints: placeOf("endpoints", "customerId") };

function placeOf(table: "deliveries" | "events" | "endpoints", property: string): number {
  return LAYOUT[table].findIndex((column) => column.property === property);
}

/** The versions of the endpoints of customers that are locked. */
async function readVersions(sql: Sql, customers: ReadonlySet<CustomerId>): Promise<Map<CustomerId, number>> {
  const versions = new Map([...customers].map((id) => [id, 0]));
  if (customers.size === 0) return versions;
  for (const [id, version] of await sql.values(ENDPOINT_VERSIONS, [[...customers]]))
    versions.set(id as CustomerId, Number(version));
  return versions;
}

function customersOfEvents(operations: readonly EncodedOperation[]): CustomerId[] {
  return operations.flatMap((operation) => {
    if (operation[0] === "event") return [operation[1][CUSTOMERS.events] as CustomerId];
    return operation[0] === "insert" && operation[1] === "events" ? [operation[2][CUSTOMERS.events] as CustomerId] : [];
  });
}

/** The customers whose endpoints some operations change. */
async function customersOfChanges(sql: Sql, operations: readonly EncodedOperation[]): Promise<CustomerId[]> {
  const ids: string[] = [];
  const customers = new Set<CustomerId>();
  for (const operation of operations) {
    if (operation[1] !== "endpoints") continue;
    if (operation[0] === "update") ids.push(operation[4]);
    else if (operation[0] === "delete") ids.push(String(operation[3][propertiesOf(operation[2]).indexOf("id")]));
    else if (operation[0] === "insert" || operation[0] === "insertUnique" || operation[0] === "put")
      customers.add(operation[2][CUSTOMERS.endpoints] as CustomerId);
  }
  if (ids.length > 0) for (const id of await customersOfEndpoints(sql, ids)) customers.add(id);
  return [...customers];
}

function requiredScopes(operations: readonly EncodedOperation[]): string[] {
  return operations.flatMap((operation) =>
    operation[0] === "require" || operation[0] === "requireNone" ? [operation[4]] : [],
  );
}

function requiredLanes(operations: readonly EncodedOperation[]): string[] {
  return operations.flatMap((operation) => (operation[0] === "requireUnleased" ? [operation[1]] : []));
}

/** SQL for the locks that precede all others, in an order that all processes share. */
function locksOf(scopes: readonly string[], lanes: readonly string[]): string[] {
  return [...(scopes.length === 0 ? [] : [lockOf(scopes)]), ...(lanes.length === 0 ? [] : [lockLanes(lanes)])];
}

/** SQL that locks scopes until the end of the SQL transaction, in an order that all processes share. */
export function lockOf(scopes: readonly string[]): string {
  const sorted = [...new Set(scopes.map(lockKey))].sort((a, b) => a - b).join(",");
  return `select pg_advisory_xact_lock(${SCOPE_LOCKS}, k) from unnest('{${sorted}}'::int[]) as keys (k)`;
}

/** A scope's number among the locks. If two scopes have one number, they only wait for each other. */
function lockKey(scope: string): number {
  return hashOf(scope) | 0;
}
