/**
 * Names statements that a connection runs often, and sets how the server plans them. It parses and plans a named one once and not at each
 * execution: planning was a quarter of its processor time. Behind a pooler such as PgBouncer nothing is named and nothing kept, since the
 * pooler may run each statement on another connection of the server.
 */

import type pg from "pg";
import { IN_TRANSACTION, type Setting, setLocal } from "./in-transaction.ts";
import { isOutOfStep } from "./sql.ts";

/**
 * How long a pool keeps connections whose statements are named. The server keeps each plan until its connection ends, and a plan fits the
 * sizes that tables had when it was made: a connection is replaced after so many transactions and claims. One that had nothing to do for so
 * long in milliseconds is closed.
 */
export const LIFE_OF_PLANS = { maxUses: 2_048, idleTimeoutMillis: 60_000 } as const;

/**
 * Settings with which the server finds rows by indexes: a table that was empty when the server counted its rows may have many now. A table
 * without an index for a statement then counts as expensive, and older servers would compile the statement for it.
 */
const BY_INDEX: readonly Setting[] = [
  ["enable_seqscan", "off"],
  ["jit", "off"],
];

/**
 * A setting with which the server plans statements for any parameters, and so keeps the first plan of those that are named. By itself it
 * would plan their first five uses each, and decide then. Such a plan must be a good one: `kept-plans.long.test.ts` has all of them.
 */
const FOR_ANY: Setting = ["plan_cache_mode", "force_generic_plan"];

/** A statement on a connection. */
interface KnownStatement {
  id: number;
  uses: number;
}

export class NamedStatements {
  /** The statements of each connection that leads to one and the same process of the server. */
  readonly #connections = new WeakMap<pg.ClientBase, Map<string, KnownStatement>>();

  /** Names statements on the connections that a pool opens from now on. */
  constructor(pool: pg.Pool) {
    pool.on("connect", (client) => void this.#admit(client).catch(() => {}));
  }

  /** The name for the next use of a statement; undefined if it has none. */
  nameOf(client: pg.ClientBase, text: string): string | undefined {
    const statements = this.#connections.get(client);
    if (statements === undefined) return undefined;
    let known = statements.get(text);
    if (known === undefined) {
      known = { id: statements.size, uses: 0 };
      statements.set(text, known);
    }
    known.uses += 1;
    const plan = planOf(known.uses);
    return plan === 0 ? undefined : `tb${known.id}_${plan}`;
  }

  /** Whether a connection has its settings as long as it lives, also outside of SQL transactions. */
  keepsSettings(client: pg.ClientBase): boolean {
    return this.#connections.has(client);
  }

  /** The settings for the beginning of an SQL transaction, where the connection does not keep them. */
  settings(client: pg.ClientBase): string[] {
    return this.keepsSettings(client) ? [] : [...IN_TRANSACTION, ...BY_INDEX].map(setLocal);
  }

  /** Names no more statements on a connection if an error says that the server has others under their names. */
  noteError(client: pg.ClientBase, error: unknown): void {
    if (isOutOfStep(error)) this.#connections.delete(client);
  }

  /**
   * A pooler names another process in its greeting than the one that runs the statements: there each SQL transaction has its settings. Any
   * other connection gets them before its first statement, since to send them with each costs the server more than many of the statements.
   */
  async #admit(client: pg.ClientBase & { processID?: number | null }): Promise<void> {
    const { rows } = await client.query(settingsIn(client.processID ?? 0));
    if (rows.length > 0) this.#connections.set(client, new Map());
  }
}

/** SQL that sets the settings as long as the connection lives if it leads to this process of the server; else it has no rows. */
function settingsIn(processId: number): string {
  const settings = [...IN_TRANSACTION, ...BY_INDEX, FOR_ANY].map(([name, value]) => `('${name}', '${value}')`);
  return `select set_config(name, value, false) from (values ${settings.join(", ")}) as setting (name, value)
    where pg_backend_pid() = ${processId}`;
}

/**
 * The number of the plan for a use of a statement; 0: it is planned for this use alone. Plans are made again at 2, 8, 32, … uses: tables
 * that fill by these statements have at most about four times the rows that they had when the plan was made.
 */
export function planOf(uses: number): number {
  return Math.floor((32 - Math.clz32(uses)) / 2);
}
