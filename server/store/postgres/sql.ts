/** Runs statements on one connection to PostgreSQL, and tells its errors apart. */

import type pg from "pg";
import type { SqlValue } from "../rows.ts";

/** A parameter of a statement. A list of texts or numbers is an array in SQL. */
export type SqlParameter = SqlValue | readonly (SqlValue | undefined)[];

/** A statement and its parameters. */
export interface SqlStatement {
  text: string;
  parameters: SqlParameter[];
}

/** The parameters of a statement while its text is written. */
export class StatementParameters {
  readonly #values: SqlParameter[] = [];

  /** Adds a parameter. Returns the SQL that names it. */
  add(value: SqlParameter): string {
    this.#values.push(value);
    return `$${this.#values.length}`;
  }

  get values(): SqlParameter[] {
    return this.#values;
  }
}

/** The statements of a job: in the SQL transaction of its group if the job writes, otherwise each by itself. */
export interface Sql {
  /** The rows of a statement as objects. */
  query<Row extends object>(text: string, parameters?: readonly SqlParameter[]): Promise<Row[]>;
  /** The rows of a statement as lists of their values. */
  values(text: string, parameters?: readonly SqlParameter[]): Promise<SqlValue[][]>;
  /**
   * The rows of the last of several statements without parameters, as lists of their values. The statements are sent
   * together. If no SQL transaction has begun, they are one. Each statement sees what was committed before it began.
   */
  script(statements: readonly string[]): Promise<SqlValue[][]>;
}

/**
 * Runs statements on a connection, or each statement on any connection of a pool. `used` is called
 * once for each. `nameOf` returns the name under which the server keeps a statement with parameters.
 */
export function sqlOn(
  connection: Pick<pg.Pool, "query">,
  used: () => void,
  nameOf: (text: string) => string | undefined = () => undefined,
): Sql {
  const configOf = (text: string, parameters: readonly SqlParameter[]) => {
    used();
    const name = nameOf(text);
    return { text, values: [...parameters], ...(name === undefined ? {} : { name }) };
  };
  return {
    async query<Row extends object>(text: string, parameters: readonly SqlParameter[] = []) {
      const { rows } = await connection.query<Row>(configOf(text, parameters));
      return rows;
    },
    async values(text, parameters = []) {
      const { rows } = await connection.query<SqlValue[]>({ ...configOf(text, parameters), rowMode: "array" });
      return rows;
    },
    async script(statements) {
      for (const _ of statements) used();
      const results: unknown = await connection.query<SqlValue[]>({ text: statements.join(";\n"), rowMode: "array" });
      const last = (Array.isArray(results) ? results.at(-1) : results) as pg.QueryArrayResult<SqlValue[]>;
      return last.rows;
    },
  };
}

/**
 * The values of steps whose statements are on their way together. The steps are in the order in which their statements
 * were sent. If one fails, throws after all have ended, since a rollback has to come after all of their statements. Throws
 * the error of the first that failed: the server has aborted the SQL transaction, so the statements behind it fail too.
 */
export async function allEnded<const Values extends readonly unknown[]>(
  steps: {
    [Index in keyof Values]: Promise<Values[Index]>;
  },
): Promise<Values> {
  for (const step of await Promise.allSettled(steps as readonly Promise<unknown>[]))
    if (step.status === "rejected") throw step.reason;
  return (await Promise.all(steps as readonly Promise<unknown>[])) as unknown as Values;
}

/** Sends statements at once. Returns the rows of each. */
export function sendAll(sql: Sql, statements: readonly SqlStatement[]): Promise<SqlValue[][][]> {
  return allEnded(statements.map(({ text, parameters }) => sql.values(text, parameters)));
}

/** SQLSTATEs of a disk without room and of a server without memory. A later try may succeed. */
const FULL = new Set(["53100", "53200"]);
/** SQLSTATEs of a named statement that the server does not have, has already, or cannot run since a table was changed. */
const OUT_OF_STEP: readonly string[] = ["26000", "42P05", "0A000"];
/** SQLSTATEs of SQL transactions that others got in the way of, or whose process was suspended. They changed nothing, and may be repeated. */
const INTERRUPTED = new Set(["40001", "40P01", "25P03", ...OUT_OF_STEP]);
/** The SQLSTATE of a unique key that is taken. */
const TAKEN = "23505";
/** Classes of SQLSTATE: the connection failed, the server has become a standby, has too many connections, or ends this connection. */
const UNAVAILABLE = /^(08|25006|53300|57P0)/;
/** The SQLSTATE of a cancelled statement. */
const CANCELLED = "57014";
/** The message of a server that has ended a statement after `statement_timeout`. Its SQLSTATE is that of any cancelled statement. */
const STATEMENT_TIMEOUT = /statement timeout/;
/** Codes of Node.js for sockets, look-ups of names, and TLS. */
function isOfNode(code: string): boolean {
  if (/^ERR_(SSL|TLS|SOCKET|STREAM)_|CERT/.test(code)) return true;
  // `ERR_INVALID_ARG_TYPE` is a mistake in a statement's parameters.
  return /^E[A-Z_]+$/.test(code) && !code.startsWith("ERR_");
}

export type SqlFailure = "full" | "interrupted" | "unavailable" | "failed";

/** Whether an error says that the server has other statements under their names than this process thinks. */
export function isOutOfStep(error: unknown): boolean {
  return error instanceof Error && "code" in error && OUT_OF_STEP.includes(String(error.code));
}

/** Whether a statement failed because a unique key is taken. */
export function isTaken(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === TAKEN;
}

/** Why a statement failed. An error without an SQLSTATE comes from the connection, unless a parameter of the statement is wrong. */
export function failureOf(error: unknown): SqlFailure {
  const code = error instanceof Error && "code" in error ? String(error.code) : null;
  if (code === null) return isOfConnection(error) ? "unavailable" : "failed";
  if (FULL.has(code)) return "full";
  if (INTERRUPTED.has(code)) return "interrupted";
  if (error instanceof Error && code === CANCELLED && STATEMENT_TIMEOUT.test(error.message)) return "unavailable";
  return UNAVAILABLE.test(code) || isOfNode(code) ? "unavailable" : "failed";
}

/** Errors of `pg` and of sockets that have no code. */
function isOfConnection(error: unknown): boolean {
  return error instanceof Error && /connection|timeout|Client was closed|not queryable/i.test(error.message);
}
