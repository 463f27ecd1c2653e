/** Databases that the tests of a process use one after the other: to empty one costs a part of what a new one costs. */

import pg from "pg";
import type { FileServer, TestDatabase } from "./postgres.ts";

/** Tables with rows of their own: those of partitions, and not the tables that these are of. */
const TABLES = "pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace";
const SEQUENCES = "pg_class where relkind = 'S' and relnamespace = 'public'::regnamespace";

/** Copies the rows and the numbers of sequences of a new database. */
const KEEP = `do $$ declare found record; begin
  create schema kept;
  for found in select relname as name from ${TABLES} and pg_relation_size(oid) > 0 loop
    execute format('create table kept.%1$I as table public.%1$I', found.name);
  end loop;
  create schema numbers;
  create table numbers.kept (name text, value bigint, is_called boolean);
  for found in select relname as name from ${SEQUENCES} loop
    execute format('insert into numbers.kept select %1$L, last_value, is_called from %1$I', found.name);
  end loop;
end $$`;

/** Ends what is still connected, and makes every table and every sequence as it was. */
const CLEAN = `do $$ declare found record; begin
  set local lock_timeout = '10s';
  perform pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid();
  for found in select relname as name from ${TABLES} and pg_relation_size(oid) > 0 loop
    execute format('delete from public.%I', found.name);
  end loop;
  for found in select relname as name from pg_class where relkind = 'r' and relnamespace = 'kept'::regnamespace loop
    execute format('insert into public.%1$I overriding system value table kept.%1$I', found.name);
  end loop;
  perform setval(format('%I', name)::regclass, value, is_called) from numbers.kept;
end $$`;

/** The names of everything that a database has: a test may add or remove a partition. */
const SHAPE = `select string_agg(relname, ' ' order by relname) as shape from pg_class
  where relnamespace = 'public'::regnamespace`;

/**
 * Databases that `create` makes. The `drop` of one keeps it for the next test, emptied, or drops it if its tables are no more the same.
 */
export function cleanedDatabases({ create }: Pick<FileServer, "create">): () => Promise<TestDatabase> {
  const clean: TestDatabase[] = [];
  return async () => {
    const next = clean.pop();
    if (next !== undefined) return next;
    const made = await create();
    const shape = await ask(made.url, KEEP, SHAPE);
    const kept: TestDatabase = {
      ...made,
      async drop() {
        const isClean = await ask(made.url, CLEAN, SHAPE).then(
          (present) => present === shape,
          () => false,
        );
        if (isClean) clean.push(kept);
        else await made.drop();
      },
    };
    return kept;
  };
}

/** Executes a statement, and returns the shape that a query finds then. */
async function ask(url: string, statement: string, query: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
    return (await client.query(query)).rows[0]?.shape;
  } finally {
    await client.end();
  }
}
