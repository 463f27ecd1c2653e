/**
 * Keeps `due_messages` in step with `messages`, and lets a commit end or hold leases. The table has a row for each message with a due
 * time, and for each message in a send attempt (`claimed_until`). If the lease of a send attempt is gone, its row has no due time.
 */

import type { Sql } from "./sql.ts";

/** The columns of a message that `keepDueMessages` needs, to be followed by `lease_effect`. */
export const DUE_COLUMNS = `id, instance_id, "from", "to", due_at, status, claimed_until`;

/**
 * CTEs that follow a CTE named `changed` in a statement. `changed` has each message that was inserted, changed or
 * removed once: the values of `DUE_COLUMNS` after the change, and the `lease_effect`. The `lease_effect` is `holds`
 * if the change recorded a send attempt, otherwise `ends`. A removed message has neither time. An update that sets
 * none of status, due time, instance and `claimedUntil` is not in `changed`, and leaves the lease as it is.
 */
export function keepDueMessages(changed: string): string {
  return `
    due_messages_held as (
      update due_messages set is_held = 1
      where id = any(array(select id from ${changed} where lease_effect = 'holds')) and owner is not null
    ),
    due_messages_gone as (
      delete from due_messages
      where id = any(array(select id from ${changed} where due_at is null and claimed_until is null))
    ),
    due_messages_set as (
      insert into due_messages (id, lane, "from", "to", due_at, is_queued)
      ${dueRowsOf(`${changed} c`)}
        and (lease_effect = 'ends' or (select lease from due_messages d where d.id = c.id) is null)
      on conflict (id) do update set lane = excluded.lane, "from" = excluded."from", "to" = excluded."to",
        due_at = excluded.due_at, is_queued = excluded.is_queued, ${UNLEASED}
    )`;
}

/**
 * A query of the rows that messages have in the queue; further conditions may
 * follow. The recipient of a row is the `phoneKey` of the message's recipient.
 */
export function dueRowsOf(messages: string): string {
  return `select id, instance_id, "from", phone_key("to"), due_at, case when status = 'queued' and due_at is not null then 1 else 0 end
    from ${messages} where (due_at is not null or claimed_until is not null)`;
}

/** Keeps the row of one message in step after a change in the same SQL transaction. The change ends the message's lease. */
export async function keepDueMessage(sql: Sql, id: string): Promise<void> {
  await sql.values(
    `with changed as (
       select given.id, instance_id, "from", "to", due_at, status, claimed_until, 'ends' as lease_effect
       from (values ($1::text)) given (id) left join messages m on m.id = given.id
     ), ${keepDueMessages("changed")}
     select`,
    [id],
  );
}

/** Assignments that end the lease of a message, and its send attempt with it. */
export const UNLEASED =
  "lease = null, owner = null, leased_until = null, changed_in = pg_current_xact_id(), is_held = 0";
