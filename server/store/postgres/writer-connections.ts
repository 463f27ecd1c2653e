/** The connections of the writer of a process. Statements that run often are named. A connection goes back to the pool unless it is broken. */

import type pg from "pg";
import type { SqlValue } from "../rows.ts";
import { commitOn, transacting } from "./in-transaction.ts";
import { NamedStatements } from "./named-statements.ts";
import { failureOf, type Sql, type SqlStatement, sqlOn } from "./sql.ts";

/** Begins an SQL transaction, and runs statements without parameters in it. */
export type Begin = (statements: readonly string[]) => Promise<unknown>;

/** The beginning and the end of an SQL transaction. */
export interface TransactionControl {
  begin: Begin;
  commit: () => Promise<unknown>;
}

export class WriterConnections {
  readonly #pool: pg.Pool;
  readonly #named: NamedStatements;
  readonly #used: () => void;

  /** `used` is called once for each statement. */
  constructor(pool: pg.Pool, used: () => void) {
    this.#pool = pool;
    this.#named = new NamedStatements(pool);
    this.#used = used;
  }

  /** Runs statements on one connection, each in an SQL transaction of its own. */
  async run<Value>(work: (sql: Sql) => Promise<Value>): Promise<Value> {
    return await this.#onOne((sql, client) => {
      const committed = <Rows>(statement: () => Promise<Rows>) => this.#committed(sql, client, [], statement);
      return work({
        ...sql,
        query: (text, parameters) => committed(() => sql.query(text, parameters)),
        values: (text, parameters) => committed(() => sql.values(text, parameters)),
        script: (statements) => sql.script([...this.#named.settings(client), ...statements]),
      });
    });
  }

  async #onOne<Value>(work: (sql: Sql, client: pg.PoolClient) => Promise<Value>): Promise<Value> {
    const client = await this.#pool.connect();
    try {
      const value = await this.#on(client, (sql) => work(sql, client));
      client.release();
      return value;
    } catch (error) {
      client.release(failureOf(error) === "unavailable");
      throw error;
    }
  }

  /**
   * Commits the work of `work`, or nothing of it. `work` begins and commits. It need not wait for the reply to a
   * statement before it sends the next. If a statement failed, the commit behind it rolls back and does not fail.
   */
  async transaction<Outcome>(work: (sql: Sql, control: TransactionControl) => Promise<Outcome>): Promise<Outcome> {
    const client = await this.#pool.connect();
    const begin: Begin = (statements) =>
      client.query(["begin", ...this.#named.settings(client), ...statements].join(";"));
    const commit = () => commitOn(client);
    return await transacting(client, () => this.#on(client, (sql) => work(sql, { begin, commit })));
  }

  /**
   * Commits a statement after statements without parameters, and returns its rows. All are
   * sent at once, so the server never waits for this process while it holds their locks.
   */
  async alone(before: readonly string[], { text, parameters }: SqlStatement): Promise<SqlValue[][]> {
    return await this.#onOne((sql, client) => this.#committed(sql, client, before, () => sql.values(text, parameters)));
  }

  /** Sends a statement. If it needs settings or statements before it, sends the beginning and the end of its SQL transaction too. */
  async #committed<Rows>(
    sql: Sql,
    client: pg.PoolClient,
    before: readonly string[],
    statement: () => Promise<Rows>,
  ): Promise<Rows> {
    if (before.length === 0 && this.#named.keepsSettings(client)) return await statement();
    const steps = [
      sql.script(["begin", ...this.#named.settings(client), ...before]),
      statement(),
      sql.script(["commit"]),
    ] as const;
    // After an error `commit` rolls back.
    await Promise.allSettled(steps);
    const [, rows] = await Promise.all(steps);
    return rows;
  }

  /** Runs work on a connection, with names for the statements that repeat. */
  async #on<Value>(client: pg.PoolClient, work: (sql: Sql) => Promise<Value>): Promise<Value> {
    try {
      return await work(sqlOn(client, this.#used, (text) => this.#named.nameOf(client, text)));
    } catch (error) {
      this.#named.noteError(client, error);
      throw error;
    }
  }
}
