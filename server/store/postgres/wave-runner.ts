/** Runs the waves of transactions inside SQL transactions. */

import { hashOf } from "../../core/rendezvous.ts";
import type { EncodedOperation } from "../jobs/jobs.ts";
import { LAYOUT, type SqlValue } from "../rows.ts";
import type { CommitResult } from "../store.ts";
import { TABLES } from "../tables.ts";
import { CONFLICT, DUPLICATE, STALE, type Unmet, type UsedRouting } from "./checks.ts";
import type { CaughtUpLane, DeliveryQueue } from "./delivery-queue.ts";
import { changeRouting, customersOfEndpoints, EndpointCache } from "./endpoint-cache.ts";
import { type MadeDelivery, makeDeliveries } from "./made-deliveries.ts";
import { leasedAmong } from "./message-leases.ts";
import { addToQuarantine } from "./quarantine.ts";
import type { PlacedOperation } from "./shapes.ts";
import type { Sql } from "./sql.ts";
import {
  CHANGED_ROW,
  PASSED_ROW,
  placed,
  REFUSAL_ROW,
  SNAPSHOT_ROW,
  type WaveContent,
  writeWave,
} from "./wave-statement.ts";
import type { PendingTransaction, Wave } from "./waves.ts";

/** Thrown to undo the SQL transaction of a wave whose one transaction is refused after some of its changes. */
export class WaveUndone extends Error {
  readonly result: CommitResult;

  constructor(result: CommitResult) {
    super("a transaction was refused after some of its changes");
    this.result = result;
  }
}

/** The class of the advisory locks of scopes, most of which are customers. Other locks have other classes, or keys of 64 bits. */
const SCOPE_LOCKS = 7_201;

/** The findings of a statement of a wave. */
interface StatementOutcome {
  refused: Map<number, CommitResult["result"]>;
  /** Transactions whose deliveries were made from old endpoints. */
  stale: Set<number>;
  /** Unique records that exist already. */
  taken: { transaction: number; number: number }[];
}
/** The parts of the statement of a wave, or of one of its stages. */
interface SentStatement {
  applied: readonly PlacedOperation[];
  made: readonly MadeDelivery[];
  used: readonly UsedRouting[];
  caughtUp: readonly CaughtUpLane[];
  /** Gets the lanes of new deliveries. */
  lanes: Map<number, Set<string>>;
}

/** The parts of a wave that are needed before its SQL transaction begins. */
export interface WaveStart {
  /** SQL for the locks of scopes, in an order that all processes share. */
  locks: string[];
  /** Customers whose endpoints the wave changes. */
  changed: string[];
}

/** A wave with stages. */
type StagedWave = Wave & { stages: NonNullable<Wave["stages"]> };

/**
 * A wave whose statement was sent. `lanes`: for each transaction the lanes
 * of new deliveries that are not pushed. They are complete after COMMIT.
 */
export interface SentWave {
  results: Promise<Map<number, CommitResult>>;
  lanes: ReadonlyMap<number, ReadonlySet<string>>;
}

export class WaveRunner {
  readonly #queue: DeliveryQueue;
  readonly #endpoints = new EndpointCache();

  constructor(queue: DeliveryQueue) {
    this.#queue = queue;
  }

  /** Forgets the cached endpoints: an SQL transaction was rolled back, or something else has changed the rows. */
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
   * Sends a wave, and resolves when the statements that follow it may be sent. A transaction without a result is
   * repeated. The results reject with `WaveUndone` if a wave with stages is refused after some of its changes.
   */
  async send(sql: Sql, wave: Wave, start: WaveStart): Promise<SentWave> {
    const { transactions, stages } = wave;
    const all = transactions.flatMap(({ index, operations }) => placed(index, operations));
    const unmet = await unmetOf(sql, all);
    const lanes = new Map<number, Set<string>>();
    if (stages !== null) {
      const results = this.#runStages(sql, { transactions, stages }, start, { all, unmet, lanes });
      // The next stage depends on the reply to the one before.
      await Promise.allSettled([results]);
      return { results, lanes };
    }
    const { outcome } = await this.#sendStatement(sql, { checked: all, applied: all, unmet, lanes });
    return { results: this.#resultsOf(sql, transactions, all, outcome), lanes };
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
    {
      all,
      unmet,
      lanes,
    }: Pick<WaveContent, "unmet"> & Pick<SentStatement, "lanes"> & { all: readonly PlacedOperation[] },
  ): Promise<Map<number, CommitResult>> {
    let outcome: StatementOutcome | null = null;
    for (const operations of stages) {
      const applied = placed(transactions[0]?.index ?? 0, operations);
      const checked: readonly PlacedOperation[] = outcome === null ? all : [];
      const made: StatementOutcome = await (await this.#sendStatement(sql, { checked, applied, unmet, lanes })).outcome;
      const [refusal] = made.refused.values();
      const mayHaveChanged = outcome !== null || refusal === "duplicate";
      if (refusal !== undefined && refusal !== "ok" && mayHaveChanged) throw new WaveUndone({ result: refusal });
      outcome = made;
      if (made.refused.size > 0 || made.stale.size > 0) break;
      await this.#afterStage(sql, operations, changed);
    }
    return outcome === null ? new Map() : resultsOf(transactions, outcome);
  }

  /** Makes the changes of a stage that are not in its statement. */
  async #afterStage(sql: Sql, operations: readonly EncodedOperation[], changed: readonly string[]): Promise<void> {
    if (changed.length > 0 && operations.some(([, table]) => table === "endpoints")) {
      await changeRouting(sql, changed);
      this.#endpoints.forget(changed);
    }
  }

  /** Resolves when the statement was sent. */
  async #sendStatement(
    sql: Sql,
    {
      checked,
      applied,
      unmet,
      lanes,
    }: Pick<WaveContent, "checked" | "applied" | "unmet"> & Pick<SentStatement, "lanes">,
  ): Promise<{ outcome: Promise<StatementOutcome> }> {
    const customers = new Set(customersOfEvents(applied.map(({ operation }) => operation)));
    const { routing, unreadable } = await this.#endpoints.load(sql, customers);
    if (unreadable.length > 0)
      await addToQuarantine(
        sql,
        unreadable.map((row) => ({ ...row, isLeased: false })),
      );
    const { made, used } = makeDeliveries(applied, routing);
    const caughtUp = this.#queue.caughtUp(made.map(({ delivery }) => delivery.lane));
    const { putBy } = this.#queue;
    const { text, parameters } = writeWave({
      checked,
      applied,
      deliveries: made,
      routing: used,
      unmet,
      putBy,
      caughtUp,
    });
    const sent = sql.values(text, parameters);
    return { outcome: this.#outcomeOf(sent, { applied, made, used, caughtUp, lanes }) };
  }

  async #outcomeOf(
    sent: Promise<SqlValue[][]>,
    { applied, made, used, caughtUp, lanes }: SentStatement,
  ): Promise<StatementOutcome> {
    const rows = (await sent) as [number, number, number, number, string, string][];
    const outcome: StatementOutcome = { refused: new Map(), stale: new Set(), taken: [] };
    const passed: string[] = [];
    let snapshot = "";
    for (const [kind, transaction, number, value, id, lane] of rows) {
      if (kind === REFUSAL_ROW) refuse(outcome, transaction, number, value);
      else if (kind === CHANGED_ROW) this.#queue.changed(id, lane, value);
      else if (kind === PASSED_ROW) passed.push(lane);
      else if (kind === SNAPSHOT_ROW) snapshot = id;
    }
    this.#endpoints.forget(used.flatMap((one) => (outcome.stale.has(one.transaction) ? [one.customerId] : [])));
    if (caughtUp.length > 0) this.#queue.looked(caughtUp, passed, snapshot);
    const isDone = (transaction: number) => !outcome.refused.has(transaction) && !outcome.stale.has(transaction);
    for (const { transaction, operation } of applied) if (isDone(transaction)) this.#noteInserted(operation);
    for (const { transaction, delivery, values, event } of made) {
      if (!isDone(transaction)) continue;
      const kept = lanes.get(transaction) ?? new Set();
      lanes.set(transaction, kept);
      this.#queue.add(delivery, values, event, kept);
    }
    return outcome;
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

function refuse(outcome: StatementOutcome, transaction: number, number: number, why: number): void {
  if (why === STALE) outcome.stale.add(transaction);
  else if (!outcome.refused.has(transaction))
    outcome.refused.set(transaction, why === CONFLICT ? "conflict" : why === DUPLICATE ? "duplicate" : "unmet");
  if (why === DUPLICATE) outcome.taken.push({ transaction, number });
}

/** The results of transactions. A transaction is committed unless it is refused or to be repeated. */
function resultsOf(transactions: readonly PendingTransaction[], outcome: StatementOutcome): Map<number, CommitResult> {
  const results = new Map<number, CommitResult>();
  for (const { index } of transactions) {
    const refused = outcome.refused.get(index);
    if (outcome.stale.has(index)) continue;
    if (refused !== undefined && refused !== "ok") results.set(index, { result: refused });
    else results.set(index, { result: "ok", lanes: [] });
  }
  return results;
}

/** Removes records that a transaction has inserted if another process has meanwhile inserted another unique record of the transaction. */
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
    // Removes only rows that this SQL transaction has inserted.
    const where = places.map(({ column }, index) => `"${column}" = $${index + 1}`).join(" and ");
    await sql.values(
      `delete from ${name} where ${where} and xmin = pg_current_xact_id()::xid`,
      places.map(({ value }) => value),
    );
  }
}

/** The operations that require that no message of a pair is leased although one is. */
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

const PLACES = { events: placeOf("events", "customerId"), endpoints: placeOf("endpoints", "customerId") };

function placeOf(table: "deliveries" | "events" | "endpoints", property: string): number {
  return LAYOUT[table].findIndex((column) => column.property === property);
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

/** A scope's number among the locks. If two scopes have one number, they only wait for each other. */
function lockKey(scope: string): number {
  return hashOf(scope) | 0;
}
