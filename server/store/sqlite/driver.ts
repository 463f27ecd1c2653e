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

/** Kysely over `run`. Only migrations begin SQL transactions, on a connection of their own. */
export function queryDatabase<Schema = Database>(run: (query: SqlQuery) => Promise<unknown[]>): Kysely<Schema> {
  return new Kysely<Schema>({ dialect: dialectOver(run) });
}

/** Kysely's own adapter serializes all queries behind one mutex; readers need none. */
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
