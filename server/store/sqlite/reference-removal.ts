/** The SQL that removes providers' references of messages, and notes about send attempts. */

/** The tables with providers' references of messages; their keys are alike. */
export type ReferenceTable = "providerReferences" | "sendAttempts";

/** Selects the key of a reference: the one behind a key, after a number of others. `table` is the name in SQL. */
export function referenceAfter(table: string): string {
  return `select instance_id, reference from ${table} where (instance_id, reference) > (?, ?)
    order by instance_id, reference limit 1 offset ? + 0`;
}

/** Deletes the references of a customer's messages after one key and up to another. */
export function deleteReferences(table: string): string {
  return `delete from ${table} where (instance_id, reference) > (?2, ?3) and (instance_id, reference) <= (?4, ?5)
    and exists (select 1 from messages m where m.id = ${table}.message_id and m.customer_id = ?1)`;
}

export const DELETE_UNNAMED = `delete from send_attempts where instance_id = ?1
  and reference >= 'attempt:' || ?2 || '/' and reference < 'attempt:' || ?2 || '0'`;

/** Attempts with a note that began before a time. The rest of the inner query, and its bracket, have to follow. */
const OLD_NOTED = `(instance_id, reference) in (
  select instance_id, reference from send_attempts where note is not null and started_at < ?`;

export const DELETE_OLD_UNNAMED = `delete from send_attempts where ${OLD_NOTED} and reference like 'attempt:%'
  and not exists (select 1 from messages m where m.id = message_id and m.status = 'pending') limit ?)`;

export const DELETE_OLD_NOTES = `update send_attempts set note = null where ${OLD_NOTED}
  and reference not like 'attempt:%' limit ?)`;
