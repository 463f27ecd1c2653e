/** Removes dead rows from the queues. Rows are inserted and deleted there within seconds, and the server's own vacuum comes too rarely. */

import type { Sql } from "./sql.ts";

/**
 * The vacuum does not make the tables smaller: that would lock out claims, and
 * the next rows need the room. It skips a table that is being vacuumed already.
 */
const VACUUM = "vacuum (truncate false, parallel 0, skip_locked) due_messages, due_deliveries";

/** Vacuums the queues, outside of SQL transactions. The leader calls this every 15 s. */
export async function vacuumQueues(sql: Sql): Promise<void> {
  await sql.values(VACUUM);
}
