/**
 * Names statements that a connection runs often, and sets how the server plans them. The server parses and plans a named
 * statement once, and not at each execution: planning was a quarter of the server's processor time. Behind a pooler such as
 * PgBouncer nothing is named and no plan is kept, since the pooler may run each statement on another connection of the server.
 */

import type pg from "pg";
import { IN_TRANSACTION, type Setting, setLocal } from "./in-transaction.ts";
import { isOutOfStep } from "./sql.ts";

/**
 * How long a pool keeps connections with named statements. The server keeps each plan until its connection
 * ends, and a plan fits the sizes that tables had when the plan was made. So a connection is replaced
 * after `maxUses` transactions and claims. A connection that was idle for `idleTimeoutMillis` is closed.
 */
export const LIFE_OF_PLANS = { maxUses: 2_048, idleTimeoutMillis: 60_000 } as const;

/**
 * The server ends a statement of the writer before the process gives it up after 30 s (`QUERY_MS_MAX`). The commit that was sent
 * behind the statement then rolls back. If the process gave up first, the commit would follow at some time, and nobody would know.
 */
const BEFORE_GIVEN_UP: Setting = ["statement_timeout", "25s"];

/**
 * Settings that make the server find rows by indexes: a table that was empty when the server counted its rows may have
 * many now. A statement without an index for it then counts as expensive, and older servers would compile it (`jit`).
 */
const BY_INDEX: readonly Setting[] = [
  ["enable_seqscan", "off"],
  ["jit", "off"],
];

/**
 * A setting that makes the server plan statements for any parameters, and so keep the first plan of each name. By default the server would
 * plan the first five uses of a name, and decide then. The first plan must be a good one: `kept-plans.long.test.ts` checks all of them.
 */
const FOR_ANY: Setting = ["plan_cache_mode", "force_generic_plan"];

/** A statement on a connection. */
interface KnownStatement {
  id: number;
  uses: number;
}

export class NamedStatements {
  /** The statements of each connection that leads to only one process of the server. */
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

  /** Whether a connection keeps its settings as long as it lives, also outside of SQL transactions. */
  keepsSettings(client: pg.ClientBase): boolean {
    return this.#connections.has(client);
  }

  /** The settings to send at the beginning of an SQL transaction. None if the connection keeps its settings. */
  settings(client: pg.ClientBase): string[] {
    return this.keepsSettings(client) ? [] : [...IN_TRANSACTION, BEFORE_GIVEN_UP, ...BY_INDEX].map(setLocal);
  }

  /** Stops naming statements on a connection if an error says that the server has other statements under their names. */
  noteError(client: pg.ClientBase, error: unknown): void {
    if (isOutOfStep(error)) this.#connections.delete(client);
  }

  /**
   * Behind a pooler the process in the greeting is not the process that runs the statements, and
   * each SQL transaction sends its settings. Any other connection gets the settings before its
   * first statement: to send them each time costs the server more than many of the statements.
   */
  async #admit(client: pg.ClientBase & { processID?: number | null }): Promise<void> {
    const { rows } = await client.query(settingsIn(client.processID ?? 0));
    if (rows.length > 0) this.#connections.set(client, new Map());
  }
}

/**
 * SQL that sets the settings for the life of the connection if the connection
 * leads to this process of the server. Otherwise it returns no rows.
 */
function settingsIn(processId: number): string {
  const settings = [...IN_TRANSACTION, BEFORE_GIVEN_UP, ...BY_INDEX, FOR_ANY].map(
    ([name, value]) => `('${name}', '${value}')`,
  );
  return `select set_config(name, value, false) from (values ${settings.join(", ")}) as setting (name, value)
    where pg_backend_pid() = ${processId}`;
}

/**
 * The number of the plan for a use of a statement. 0: the statement has no name, and is planned for this use alone. New plans are made
 * at 2, 8, 32, … uses, so tables that these statements fill have at most about four times the rows that they had at the last plan.
 */
export function planOf(uses: number): number {
  return Math.floor((32 - Math.clz32(uses)) / 2);
}
