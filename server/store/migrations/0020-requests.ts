/** The request log. A position is never used twice, so that a cursor stays right after the newest requests were removed. */

import { type Kysely, sql } from "kysely";

const STATEMENTS = [
  `create table requests (
    position integer primary key autoincrement,
    id text not null,
    customer_id text,
    key_id text not null,
    method text not null,
    path text not null,
    route text,
    status bigint not null,
    duration_us bigint not null,
    correlation_id text not null,
    error_code text,
    created_at bigint not null,
    logged_at bigint not null,
    request_cut bigint not null,
    response_cut bigint not null,
    request text,
    response text
  )`,
  "create index requests_id on requests (id)",
  "create index requests_list on requests (customer_id)",
  "create index requests_errors on requests (position) where error_code is not null",
];

/** Kysely runs it once, in a transaction. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
