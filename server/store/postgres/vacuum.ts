/** Removes dead rows from the queues: each of their rows is inserted and deleted within seconds, more often than the server looks. */

import type { Sql } from "./sql.ts";

/**
 * The tables are not made smaller, since that would lock out claims: the next rows need the room. A table that is being vacuumed
 * already is skipped.
 */
const VACUUM = "vacuum (truncate false, parallel 0, skip_locked) due_messages, due_deliveries";

/** Vacuums the queues. Not within an SQL transaction. The leader calls it every 15 s. */
export async function vacuumQueues(sql: Sql): Promise<void> {
  await sql.values(VACUUM);
}
