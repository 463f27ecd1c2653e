/** Replays, and the deliveries of each: all of them, and those that wait for an attempt. */

import { type Kysely, sql } from "kysely";

const STATEMENTS = [
  `create table replays (
    id text not null primary key,
    version bigint not null,
    customer_id text not null,
    endpoint_id text not null,
    status text not null,
    since bigint not null,
    until bigint,
    types text,
    only_failed bigint not null,
    position bigint not null,
    events_until bigint not null,
    deliveries bigint,
    made bigint not null,
    started_at bigint not null,
    ended_at bigint
  )`,
  "create unique index replays_endpoint on replays (endpoint_id)",
  "create index replays_customer on replays (customer_id)",
  "create index replays_running on replays (customer_id, id) where status = 'running'",
  "alter table deliveries add column replay_id text",
  "create index deliveries_replay on deliveries (replay_id, id) where replay_id is not null",
  "create index deliveries_replay_due on deliveries (replay_id) where replay_id is not null and due_at is not null",
];

/** Kysely runs it once, in a transaction. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
