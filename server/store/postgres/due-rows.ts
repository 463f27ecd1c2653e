/** Keeps the queues in step with their records: both change in one statement. */

import type { TableName } from "../records.ts";
import { DUE_COLUMNS, keepDueMessage } from "./due-messages.ts";
import type { Sql } from "./sql.ts";

/** The columns of a delivery that its row in the queue needs. */
const DUE_DELIVERY_COLUMNS = "id, lane, due_at, rowid, replay_id";

/** The columns of a record that its row in the queue needs. */
export const QUEUE_COLUMNS = { messages: DUE_COLUMNS, deliveries: DUE_DELIVERY_COLUMNS } as const;

/** `put_by` of rows that no writer has put into the queue, such as restored ones. No process takes them for its own. */
const NOBODY = 0;

/** The properties that decide about a record's row in the queue. An update of other properties leaves the row as it is. */
const DECISIVE = {
  messages: new Set(["status", "dueAt", "claimedUntil", "instanceId"]),
  deliveries: new Set(["dueAt"]),
} as const;

/** Whether an update of these properties changes the row in the queue. */
export function changesQueue(table: "messages" | "deliveries", properties: readonly string[]): boolean {
  return properties.some((property) => (DECISIVE[table] as ReadonlySet<string>).has(property));
}

/** SQL that puts the deliveries of a CTE with the columns of `QUEUE_COLUMNS` into the queue. `putBy`: SQL for the number of the process. */
export function putDeliveries(made: string, putBy: string): string {
  return `insert into due_deliveries (id, lane, due_at, row, replay_id, put_by)
    select id, lane, due_at, rowid, replay_id, ${putBy} from ${made} where due_at is not null`;
}

/**
 * CTEs that follow a CTE in a statement, which has the columns of `QUEUE_COLUMNS` of each
 * delivery that was changed or removed. A removed delivery has no due time. Other processes
 * look for `put_by` and `changed_in` of rows that get a due time.
 */
export function keepDueDeliveries(changed: string, putBy: string): string {
  return `
    due_deliveries_gone as (
      delete from due_deliveries where id = any(array(select id from ${changed} where due_at is null))
    ),
    due_deliveries_set as (
      ${putDeliveries(changed, putBy)}
      on conflict (id) do update set due_at = excluded.due_at, replay_id = excluded.replay_id,
        put_by = excluded.put_by, changed_in = excluded.changed_in
    )`;
}

/** Brings the row of one record in step after a change beside the transactions. Every process takes it for a row of another process. */
export async function keepDueRow(sql: Sql, table: TableName, id: string): Promise<void> {
  if (table === "messages") await keepDueMessage(sql, id);
  if (table !== "deliveries") return;
  await sql.values(
    `with changed as (
       select given.id, d.lane, d.due_at, d.rowid, d.replay_id
       from (values ($1::text)) given (id) left join deliveries d on d.id = given.id
     ), ${keepDueDeliveries("changed", String(NOBODY))}
     select`,
    [id],
  );
}
