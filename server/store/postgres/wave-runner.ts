/** Runs the waves of transactions inside SQL transactions. */

import type { EncodedOperation } from "../jobs/jobs.ts";
import { LAYOUT, type SqlValue } from "../rows.ts";
import type { CommitResult } from "../store.ts";
import { TABLES } from "../tables.ts";
import { CONFLICT, DUPLICATE, STALE, type Unmet, type UsedRouting } from "./checks.ts";
import type { DeliveryLeases } from "./delivery-leases.ts";
import { changeRouting, customersOfEndpoints, EndpointCache } from "./endpoint-cache.ts";
import { type MadeDelivery, makeDeliveries } from "./made-deliveries.ts";
import { leasedAmong } from "./message-leases.ts";
import { addToQuarantine } from "./quarantine.ts";
import type { PlacedOperation } from "./shapes.ts";
import type { Sql } from "./sql.ts";
import { LEASE_ROW, placed, REFUSAL_ROW, writeWave } from "./wave-statement.ts";
import type { PendingTransaction, Wave } from "./waves.ts";

/** Undoes the SQL transaction of a wave of one transaction, which is refused after some of its changes. */
export class WaveUndone extends Error {
  readonly result: CommitResult;

  constructor(result: CommitResult) {
    super("a transaction was refused after some of its changes");
    this.result = result;
  }
}

/** The locks of scopes, most of which are customers. Locks of other kinds have other numbers, or keys of 64 bits. */
const SCOPE_LOCKS = 7_201;

/** The findings of a statement of a wave. */
interface StatementOutcome {
  refused: Map<number, CommitResult["result"]>;
  /** Transactions whose deliveries were made of old endpoints. */
  stale: Set<number>;
  /** Unique records that exist already. */
  taken: { transaction: number; number: number }[];
  /** Lanes of new deliveries that are not leased, by transaction. */
  lanes: Map<number, Set<string>>;
}

/** Needed before the SQL transaction of a wave begins. */
export interface WaveStart {
  /** SQL for the locks of scopes, in an order that all processes share. */
  locks: string[];
  /** Customers whose endpoints the wave changes. */
  changed: string[];
}

/** A wave with stages. */
type StagedWave = Wave & { stages: NonNullable<Wave["stages"]> };

/** A wave whose statement was sent. */
export interface SentWave {
  results: Promise<Map<number, CommitResult>>;
}

export class WaveRunner {
  readonly #leases: DeliveryLeases;
  readonly #endpoints = new EndpointCache();

  constructor(leases: DeliveryLeases) {
    this.#leases = leases;
  }

  /** Endpoints may be others than those that are cached: an SQL transaction was rolled back, or the rows have changed beside it. */
  forget(): void {
    this.#endpoints.clear();
  }

  async start(sql: Sql, { transactions, stages }: Wave): Promise<WaveStart> {
    const operations = transactions.flatMap((one) => one.operations);
    const changed = stages === null ? [] : await customersOfChanges(sql, operations);
    const scopes = [...changed, ...customersOfEvents(operations), ...requiredScopes(operations)];
    return { locks: scopes.length === 0 ? [] : [lockOf(scopes)], changed };
  }

  /**
   * Sends a wave, and resolves when statements that are to follow it may be sent. A transaction without a result is to be repeated. The
   * results reject with `WaveUndone` if the one transaction of a wave with stages is refused after some of its changes.
   */
  async send(sql: Sql, wave: Wave, start: WaveStart): Promise<SentWave> {
    const { transactions, stages } = wave;
    const all = transactions.flatMap(({ index, operations }) => placed(index, operations));
    const unmet = await unmetOf(sql, all);
    if (stages !== null) {
      const results = this.#runStages(sql, { transactions, stages }, start, all, unmet);
      // The next stage depends on the reply to the one before.
      await Promise.allSettled([results]);
      return { results };
    }
    const { outcome } = await this.#sendStatement(sql, all, all, unmet);
    return { results: this.#resultsOf(sql, transactions, all, outcome) };
  }

  async #resultsOf(
    sql: Sql,
    transactions: readonly PendingTransaction[],
    all: readonly PlacedOperation[],
    sent: Promise<StatementOutcome>,
  ): Promise<Map<number, CommitResult>> {
    const outcome = await sent;
    await removePartial(sql, all, outcome);
    return resultsOf(transactions, outcome);
  }

  async #runStages(
    sql: Sql,
    { transactions, stages }: StagedWave,
    { changed }: WaveStart,
    all: readonly PlacedOperation[],
    unmet: readonly Unmet[],
  ): Promise<Map<number, CommitResult>> {
    let outcome: StatementOutcome | null = null;
    for (const operations of stages) {
      const applied = placed(transactions[0]?.index ?? 0, operations);
      const made = await (await this.#sendStatement(sql, outcome === null ? all : [], applied, unmet)).outcome;
      const [refusal] = made.refused.values();
      const mayHaveChanged = outcome !== null || refusal === "duplicate";
      if (refusal !== undefined && refusal !== "ok" && mayHaveChanged) throw new WaveUndone({ result: refusal });
      outcome = merged(outcome, made);
      if (made.refused.size > 0 || made.stale.size > 0) break;
      await this.#afterStage(sql, operations, changed);
    }
    return outcome === null ? new Map() : resultsOf(transactions, outcome);
  }

  /** Changes that the operations of a stage make beside its statement. */
  async #afterStage(sql: Sql, operations: readonly EncodedOperation[], changed: readonly string[]): Promise<void> {
    if (changed.length > 0 && operations.some(([, table]) => table === "endpoints")) {
      await changeRouting(sql, changed);
      this.#endpoints.forget(changed);
    }
  }

  /** Resolves when the statement was sent. */
  async #sendStatement(
    sql: Sql,
    checked: readonly PlacedOperation[],
    applied: readonly PlacedOperation[],
    unmet: readonly Unmet[],
  ): Promise<{ outcome: Promise<StatementOutcome> }> {
    const customers = new Set(customersOfEvents(applied.map(({ operation }) => operation)));
    const { routing, unreadable } = await this.#endpoints.load(sql, customers);
    if (unreadable.length > 0)
      await addToQuarantine(
        sql,
        unreadable.map((row) => ({ ...row, isLeased: false })),
      );
    const { made, used } = makeDeliveries(applied, routing, this.#leases);
    const { owner, leaseMs, floors } = this.#leases;
    const floorOf = (lane: string) => floors.of(lane);
    const content = {
      checked,
      applied,
      deliveries: made,
      routing: used,
      unmet,
      owner,
      leaseMs,
      floorOf,
    };
    const { text, parameters } = writeWave(content);
    return { outcome: this.#outcomeOf(sql.values(text, parameters), made, used) };
  }

  async #outcomeOf(
    sent: Promise<SqlValue[][]>,
    made: readonly MadeDelivery[],
    used: readonly UsedRouting[],
  ): Promise<StatementOutcome> {
    const rows = (await sent) as [number, number, number, number, string | null][];
    const outcome: StatementOutcome = { refused: new Map(), stale: new Set(), taken: [], lanes: new Map() };
    for (const [kind, transaction, number, why] of rows)
      if (kind === REFUSAL_ROW) refuse(outcome, transaction, number, why);
    this.#endpoints.forget(used.flatMap((one) => (outcome.stale.has(one.transaction) ? [one.customerId] : [])));
    this.#settle(
      made,
      new Map(rows.flatMap(([kind, , , lease, id]) => (kind === LEASE_ROW ? [[id ?? "", lease]] : []))),
      outcome,
    );
    return outcome;
  }

  #settle(made: readonly MadeDelivery[], leases: ReadonlyMap<string, number>, { lanes }: StatementOutcome): void {
    for (const { transaction, delivery } of made) {
      const lease = leases.get(delivery.id) ?? null;
      this.#leases.settle(delivery, lease);
      if (lease !== null) continue;
      const known = lanes.get(transaction) ?? new Set();
      lanes.set(transaction, known.add(delivery.lane));
    }
  }
}

function refuse(outcome: StatementOutcome, transaction: number, number: number, why: number): void {
  if (why === STALE) outcome.stale.add(transaction);
  else if (!outcome.refused.has(transaction))
    outcome.refused.set(transaction, why === CONFLICT ? "conflict" : why === DUPLICATE ? "duplicate" : "unmet");
  if (why === DUPLICATE) outcome.taken.push({ transaction, number });
}

function merged(before: StatementOutcome | null, { refused, stale, taken, lanes }: StatementOutcome): StatementOutcome {
  if (before === null) return { refused, stale, taken, lanes };
  for (const [transaction, own] of lanes) {
    const known = before.lanes.get(transaction) ?? new Set();
    for (const lane of own) known.add(lane);
    before.lanes.set(transaction, known);
  }
  return { refused, stale, taken, lanes: before.lanes };
}

/** A transaction that is neither refused nor to be repeated is committed. */
function resultsOf(transactions: readonly PendingTransaction[], outcome: StatementOutcome): Map<number, CommitResult> {
  const results = new Map<number, CommitResult>();
  for (const { index } of transactions) {
    const refused = outcome.refused.get(index);
    if (outcome.stale.has(index)) continue;
    if (refused !== undefined && refused !== "ok") results.set(index, { result: refused });
    else results.set(index, { result: "ok", lanes: [...(outcome.lanes.get(index) ?? [])] });
  }
  return results;
}

/** Removes what a transaction has inserted if somebody else had inserted another unique record of it meanwhile. */
async function removePartial(sql: Sql, all: readonly PlacedOperation[], { taken }: StatementOutcome): Promise<void> {
  const byTransaction = Map.groupBy(taken, ({ transaction }) => transaction);
  for (const { transaction, number, operation } of all) {
    const own = byTransaction.get(transaction);
    if (operation[0] !== "insertUnique" || own === undefined || own.some((one) => one.number === number)) continue;
    const [, table, values] = operation;
    const { name, key } = TABLES[table];
    const places = LAYOUT[table].flatMap(({ property, column }, index) =>
      key.some((one) => one === property) ? [{ column, value: values[index] ?? null }] : [],
    );
    // Rows that this SQL transaction did not insert are not its own to remove.
    const where = places.map(({ column }, index) => `"${column}" = $${index + 1}`).join(" and ");
    await sql.values(
      `delete from ${name} where ${where} and xmin = pg_current_xact_id()::xid`,
      places.map(({ value }) => value),
    );
  }
}

/** The operations that require that no message of a pair is leased, while one is. */
async function unmetOf(sql: Sql, all: readonly PlacedOperation[]): Promise<Unmet[]> {
  const required = all.flatMap(({ transaction, number, operation }) =>
    operation[0] === "requireUnleased"
      ? [{ transaction, number, lane: operation[1], from: operation[2], to: operation[3] }]
      : [],
  );
  if (required.length === 0) return [];
  const areLeased = await leasedAmong(sql, required);
  return required.filter((_, index) => areLeased[index] === true);
}

function customersOfEvents(operations: readonly EncodedOperation[]): string[] {
  return operations.flatMap((operation) => {
    if (operation[0] === "event") return [String(operation[1][PLACES.events])];
    return operation[0] === "insert" && operation[1] === "events" ? [String(operation[2][PLACES.events])] : [];
  });
}

const PLACES = { events: placeOf("events"), endpoints: placeOf("endpoints") };

function placeOf(table: "events" | "endpoints"): number {
  return LAYOUT[table].findIndex(({ property }) => property === "customerId");
}

/** The customers whose endpoints some operations change. */
async function customersOfChanges(sql: Sql, operations: readonly EncodedOperation[]): Promise<string[]> {
  const ids: string[] = [];
  const customers = new Set<string>();
  for (const operation of operations) {
    if (operation[1] !== "endpoints") continue;
    if (operation[0] === "update") ids.push(operation[4]);
    else if (operation[0] === "delete") ids.push(String(operation[3][0]));
    else if (operation[0] === "insert" || operation[0] === "insertUnique" || operation[0] === "put")
      customers.add(String(operation[2][PLACES.endpoints]));
  }
  if (ids.length > 0) for (const id of await customersOfEndpoints(sql, ids)) customers.add(id);
  return [...customers];
}

function requiredScopes(operations: readonly EncodedOperation[]): string[] {
  return operations.flatMap((operation) =>
    operation[0] === "require" || operation[0] === "requireNone" ? [operation[4]] : [],
  );
}

/** SQL that locks scopes until the end of the SQL transaction, in an order that all processes share. */
export function lockOf(scopes: readonly string[]): string {
  const sorted = [...new Set(scopes.map(lockKey))].sort((a, b) => a - b).join(",");
  return `select pg_advisory_xact_lock(${SCOPE_LOCKS}, k) from unnest('{${sorted}}'::int[]) as keys (k)`;
}

/** A scope's number among the locks (FNV-1a); two with one number only wait for each other. */
function lockKey(scope: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < scope.length; index += 1) {
    hash = Math.imul(hash ^ scope.charCodeAt(index), 0x01000193);
  }
  return hash;
}
