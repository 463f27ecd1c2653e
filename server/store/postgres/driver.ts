/** Kysely on PostgreSQL. It runs queries by a function that it is given. Reads only. */

import {
  type CompiledQuery,
  type DatabaseConnection,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  type RawNode,
} from "kysely";
import type { SqlQuery } from "../jobs/queries.ts";
import type { Database, SqlValue } from "../rows.ts";
import { inPostgres } from "../sql-dialects.ts";

const none = async () => {};

/** Compiles fragments that have a text for each dialect to that of PostgreSQL. */
class DialectCompiler extends PostgresQueryCompiler {
  protected override visitRaw(node: RawNode): void {
    super.visitRaw(inPostgres(node));
  }
}

/** Kysely that runs its queries by `run`. */
export function queryDatabase<Schema = Database>(run: (query: SqlQuery) => Promise<unknown[]>): Kysely<Schema> {
  const connection: DatabaseConnection = {
    async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
      return { rows: (await run({ sql: query.sql, parameters: query.parameters as SqlValue[] })) as Row[] };
    },
    streamQuery() {
      throw new Error("queries are not streamed");
    },
  };
  const refuse = async () => {
    throw new Error("reads need no transaction");
  };
  return new Kysely<Schema>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new DialectCompiler(),
      createDriver: () => ({
        init: none,
        acquireConnection: async () => connection,
        beginTransaction: refuse,
        commitTransaction: refuse,
        rollbackTransaction: refuse,
        releaseConnection: none,
        destroy: none,
      }),
    },
  });
}
