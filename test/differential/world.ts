/** Two stores under the same steps: records to act on, chosen by a seeded generator, and the comparison of every answer. */

import assert from "node:assert/strict";
import { sql } from "kysely";
import type { Customer } from "../../server/core/customer.ts";
import type { Message } from "../../server/core/message.ts";
import type { Endpoint } from "../../server/core/webhook.ts";
import type { Records, TableName } from "../../server/store/records.ts";
import { decode } from "../../server/store/rows.ts";
import type { Queue, Store, Transaction } from "../../server/store/store.ts";
import { TABLES } from "../../server/store/tables.ts";
import { NOW, Stage } from "../conformance/store-stage.ts";
import { seeded } from "../support/load.ts";

/** A leased record: its lease in each store. */
export interface LeasedTwice {
  id: string;
  leases: readonly [number, number];
}

/** The answer of a store, or its refusal. */
type Answer<Value> = { value: Value } | { rejected: true };

/** Records beyond this number are forgotten, the oldest first: steps go on about the others. */
const KEPT_MAX = 40;

export class World {
  readonly stages: readonly [Stage, Stage];
  readonly customers: Customer[] = [];
  readonly endpoints: Endpoint[] = [];
  readonly messages: Message[] = [];
  readonly leased: Record<Queue, Map<string, LeasedTwice>> = { messages: new Map(), deliveries: new Map() };
  readonly #draw: () => number;
  steps = 0;
  /** The time of claims, which goes on. */
  now = NOW;

  constructor(stores: readonly [Store, Store], seed: number) {
    this.stages = [new Stage(stores[0]), new Stage(stores[1])];
    this.#draw = seeded(seed);
  }

  /** The stage that makes records; both stores get the same. */
  get maker(): Stage {
    return this.stages[0];
  }

  chance(probability: number): boolean {
    return this.#draw() < probability;
  }

  below(limit: number): number {
    return Math.floor(this.#draw() * limit);
  }

  pick<Value>(values: readonly Value[]): Value {
    const value = values[this.below(values.length)];
    assert.ok(value !== undefined);
    return value;
  }

  keep<Value>(values: Value[], value: Value): Value {
    values.push(value);
    if (values.length > KEPT_MAX) values.shift();
    return value;
  }

  /** The value that both stores answer, or null if both refuse; fails if they differ. `compare` makes answers comparable. */
  async both<Value>(
    what: string,
    ask: (store: Store, index: 0 | 1) => Promise<Value>,
    compare: (value: Value) => unknown = (value) => value,
  ): Promise<readonly [Value, Value] | null> {
    const answers = await Promise.all(this.stages.map(({ store }, index) => answerOf(ask(store, index as 0 | 1))));
    const [one, other] = answers as [Answer<Value>, Answer<Value>];
    const comparable = (answer: Answer<Value>) => ("value" in answer ? { value: compare(answer.value) } : answer);
    assert.deepEqual(comparable(other), comparable(one), `step ${this.steps}: ${what}`);
    return "value" in one && "value" in other ? [one.value, other.value] : null;
  }

  /** Commits transactions of one turn, which share a group; says which were taken. */
  async commit(transactions: readonly Transaction[], isGathered: boolean): Promise<boolean[]> {
    const results = await this.both(
      JSON.stringify(transactions),
      (store) =>
        Promise.all(transactions.map((one) => answerOf(isGathered ? store.commitGathered(one) : store.commit(one)))),
      (answers) =>
        answers.map((answer) => {
          if ("rejected" in answer) return "rejected";
          const { value } = answer;
          return value.result === "ok" ? { lanes: value.lanes.toSorted() } : "refused";
        }),
    );
    return (results?.[0] ?? []).map((answer) => "value" in answer && answer.value.result === "ok");
  }

  /** Notes what both claimed; the two have the same ids in the same order. */
  noteLeases(queue: Queue, claimed: readonly [readonly Leased[], readonly Leased[]]): void {
    for (const [index, { id, lease }] of claimed[0].entries()) {
      this.leased[queue].set(id, { id, leases: [lease, claimed[1][index]?.lease ?? -1] });
    }
  }

  /** Compares the contents of every table. */
  async compareTables(): Promise<void> {
    for (const table of Object.keys(TABLES) as TableName[]) {
      const [one, other] = await Promise.all(this.stages.map((stage) => stage.all(table)));
      assert.deepEqual(other, one, `step ${this.steps}: the table ${table}`);
    }
  }

  /** Records as both stores have them by now, without those that are gone. */
  async fresh<Name extends Drawn>(table: Name, ids: readonly string[]): Promise<Records[Name][]> {
    const { db } = this.maker.store;
    const { rows } =
      await sql<object>`select * from ${sql.table(table)} where id in (${sql.join([...ids, "none"])})`.execute(db);
    return rows.map((row) => decode(table, row));
  }

  /** A record of a table, by chance; null if it has none. */
  async draw<Name extends Drawn>(table: Name): Promise<Records[Name] | null> {
    const { db } = this.maker.store;
    const {
      rows: [counted],
    } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(db);
    const place = this.below(counted?.count ?? 0);
    const { rows } = await sql<object>`select * from ${sql.table(table)} order by id limit 1 offset ${place}`.execute(
      db,
    );
    const [row] = rows;
    return row === undefined ? null : decode(table, row);
  }
}

/** Tables from which steps take records. */
type Drawn = "deliveries" | "endpoints" | "events" | "messages";

/** A claimed record of either queue. */
export interface Leased {
  id: string;
  lease: number;
}

async function answerOf<Value>(asked: Promise<Value>): Promise<Answer<Value>> {
  return asked.then(
    (value) => ({ value }),
    () => ({ rejected: true }),
  );
}
