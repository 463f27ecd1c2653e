/** Routes and quiet hours of customers; what a message has tried; claims of a lane whose instance is down. */

import { type Kysely, sql } from "kysely";

const STATEMENTS = [
  "alter table customers add column routes text not null default '[]'",
  "alter table customers add column quiet_hours text",
  "alter table messages add column instances_tried text not null default '[]'",
  // Due timers of a paused lane: schedules, fallback times, unknown outcomes.
  `create index messages_due_beside on messages (instance_id, due_at, id) where due_at is not null and status <> 'queued'`,
];

/** Kysely runs it once, in a transaction. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
