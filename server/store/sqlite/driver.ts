/** Kysely on a SQLite connection in another thread: compiles queries here and runs them there. Reads only. */

import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import type { SqlQuery } from "../jobs/queries.ts";
import type { Database, SqlValue } from "../rows.ts";

/** Makes a Kysely that runs its queries by `run`. Nobody begins a SQL transaction on it. */
export function queryDatabase<Schema = Database>(run: (query: SqlQuery) => Promise<unknown[]>): Kysely<Schema> {
  return new Kysely<Schema>({ dialect: dialectOver(run) });
}

/** Kysely's own adapter serializes all queries behind one mutex. Readers do not need the mutex. */
class UnlockedAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

function dialectOver(run: (query: SqlQuery) => Promise<unknown[]>): Dialect {
  return {
    createAdapter: () => new UnlockedAdapter(),
    createDriver: () => driverOver(run),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

function driverOver(run: (query: SqlQuery) => Promise<unknown[]>): Driver {
  const connection: DatabaseConnection = {
    async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
      return { rows: (await run({ sql: query.sql, parameters: query.parameters as SqlValue[] })) as Row[] };
    },
    streamQuery() {
      throw new Error("queries are not streamed");
    },
  };
  const exec = (sql: string) => async () => void (await run({ sql, parameters: [] }));
  return {
    init: async () => {},
    acquireConnection: async () => connection,
    beginTransaction: exec("begin immediate"),
    commitTransaction: exec("commit"),
    rollbackTransaction: exec("rollback"),
    releaseConnection: async () => {},
    destroy: async () => {},
  };
}
