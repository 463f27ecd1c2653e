/**
 * Keeps `due_messages` in step with `messages`, and has a commit end or hold leases. It has exactly the messages with a due time,
 * and those with a `claimed_until`: in a send attempt. Such a row has no due time once its lease is gone.
 */

import type { Sql } from "./sql.ts";

/** The columns of a message that `keepDueMessages` needs, to be followed by `lease_effect`. */
export const DUE_COLUMNS = `id, instance_id, "from", "to", due_at, status, claimed_until`;

/**
 * CTEs that follow one named `changed` in a statement. It has the messages that were inserted or changed, each once: the values of
 * `DUE_COLUMNS` after the change, and the `lease_effect`. It is `holds` if the change recorded a send attempt, otherwise `ends`. A
 * message that was removed is in it with `ends` and neither time. An update that sets neither status, due time, instance nor
 * `claimedUntil` leaves the lease as it is.
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

/** A query of the rows that messages have in the queue, to be followed by further conditions. Their recipient is its `phoneKey`. */
export function dueRowsOf(messages: string): string {
  return `select id, instance_id, "from", phone_key("to"), due_at, case when status = 'queued' and due_at is not null then 1 else 0 end
    from ${messages} where (due_at is not null or claimed_until is not null)`;
}

/** Keeps the row of one message in step after a change in the same SQL transaction, which ends its lease. */
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
