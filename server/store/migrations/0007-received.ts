/** Inbound messages are `received`; older versions stored them as `delivered`, in the status and in the timeline. */

import { type Kysely, sql } from "kysely";

/**
 * Kysely runs it once, in a transaction: a process that dies in between leaves the database as it was. One statement
 * reads every message once and rewrites the inbound ones; its memory does not grow with the table. A timeline that
 * cannot be read stays as it is.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    update messages set
      status = case status when 'delivered' then 'received' else status end,
      timeline = case
        when not json_valid(timeline) then timeline
        when timeline ->> '$[0].status' = 'delivered' then json_set(timeline, '$[0].status', 'received')
        else timeline
      end
    where direction = 'inbound'`.execute(db);
}
