/** Keeps the queues in step with their records: both change in one statement. */

import type { TableName } from "../records.ts";
import { Clauses } from "./clauses.ts";
import { DUE_COLUMNS, dueRowsOf, keepDueMessage, keepDueMessages } from "./due-messages.ts";
import type { Sql } from "./sql.ts";

/** The columns of a delivery that its row in the queue needs. */
const DUE_DELIVERY_COLUMNS = "id, lane, due_at, rowid, replay_id";

/** SQL that gives the row of a delivery its new due time, and says who did so: other processes look for that. */
export const PUT_AGAIN = "due_at = excluded.due_at, put_by = excluded.put_by, changed_in = excluded.changed_in";

/** The columns of a record that its row in the queue needs. */
export const QUEUE_COLUMNS = { messages: DUE_COLUMNS, deliveries: DUE_DELIVERY_COLUMNS } as const;

/**
 * Queries of the messages and deliveries that a statement has changed or removed, and of those that it
 * has inserted. They have the columns of `QUEUE_COLUMNS`; changed messages have a `lease_effect` too.
 */
export interface ChangedQueues {
  messages: string[];
  deliveries: string[];
  inserted: { messages: string[]; deliveries: string[] };
}

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

/**
 * Adds the changes of both queues. `putBy`: the number of this process. Returns the clause of the
 * deliveries that existed before and have changed (`id`, `lane`, `due_at`); null if there is none.
 */
export function addDueRows(
  clauses: Clauses,
  { messages, deliveries, inserted }: ChangedQueues,
  putBy: number,
): string | null {
  for (const made of inserted.messages)
    clauses.add(`insert into due_messages (id, lane, "from", "to", due_at, is_queued)
      ${dueRowsOf(`(${made}) t`)}`);
  for (const made of inserted.deliveries)
    clauses.add(`insert into due_deliveries (id, lane, due_at, row, replay_id, put_by)
      select id, lane, due_at, rowid, replay_id, ${putBy} from (${made}) t where due_at is not null`);
  if (messages.length > 0)
    clauses.addWritten(keepDueMessages(clauses.add(messages.join("\nunion all\n"), "materialized")));
  if (deliveries.length === 0) return null;
  const changed = clauses.add(deliveries.join("\nunion all\n"), "materialized");
  clauses.add(`delete from due_deliveries where id = any(array(select id from ${changed} where due_at is null))`);
  clauses.add(`insert into due_deliveries (id, lane, due_at, row, replay_id, put_by)
    select id, lane, due_at, rowid, replay_id, ${putBy} from ${changed} where due_at is not null
    on conflict (id) do update set ${PUT_AGAIN}, replay_id = excluded.replay_id`);
  return changed;
}

/** Brings the row of one record in step after a change beside the waves. Every process takes it for a row of another process. */
export async function keepDueRow(sql: Sql, table: TableName, id: string): Promise<void> {
  if (table === "messages") await keepDueMessage(sql, id);
  if (table !== "deliveries") return;
  const clauses = new Clauses();
  const given = `(select ${clauses.parameter(id)}::text as id) i`;
  const columns = "i.id, t.lane, t.due_at, t.rowid, t.replay_id";
  const deliveries = [`select ${columns} from ${given} left join deliveries t on t.id = i.id`];
  addDueRows(clauses, { messages: [], inserted: { messages: [], deliveries: [] }, deliveries }, NOBODY);
  const { text, parameters } = clauses.statement("select");
  await sql.values(text, parameters);
}
