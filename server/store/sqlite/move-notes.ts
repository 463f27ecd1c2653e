/** Moves what instances of older versions remember of sent messages from their memory into notes of send attempts. */

import type { DatabaseSync } from "node:sqlite";
import { attemptBeginnings } from "./attempt-beginnings.ts";
import { moveMacNotes } from "./move-mac-notes.ts";

/** How the entries of a provider become notes: SQL over `value`, an entry as JSON. */
interface NoteMove {
  provider: string;
  /** Whether an entry can be read, and is needed still. */
  isNeeded: string;
  /** The provider's reference of the message. */
  reference: string;
  /** When the provider accepted the message; null if the entry does not say. */
  endedAt: string;
  note: string;
}

const MOVES: readonly NoteMove[] = [
  {
    provider: "twilio",
    // An entry that has ended was kept for its sid only, which is among the provider references.
    isNeeded: `json_type(value, '$.sid') = 'text' and json_type(value, '$.knownSince') = 'integer'
      and value ->> '$.hasEnded' is null`,
    reference: "value ->> '$.sid'",
    endedAt: "value ->> '$.knownSince'",
    note: "json_object('sid', value ->> '$.sid', 'knownSince', value -> '$.knownSince')",
  },
  {
    provider: "smpp",
    isNeeded: "json_type(value, '$.reference') = 'text' and json_type(value, '$.parts') = 'array'",
    reference: "value ->> '$.reference'",
    endedAt: "value ->> '$.at'",
    note: "json_remove(value, '$.messageId', '$.at')",
  },
];

/** Entries `sent/<message>/<time of the attempt>` of instances of the provider. */
const ENTRIES = `memory where key >= 'sent/' and key < 'sent0' and instance_id in (select id from instances where provider = ?)`;

/**
 * The entries with their messages. The attempt of an accepted message may have its row already.
 */
function copyOf({ isNeeded, reference, endedAt, note }: NoteMove): string {
  return `
    insert into send_attempts
      (instance_id, reference, message_id, number, channel, state, started_at, ended_at, note)
    select instance_id, iif(is_accepted, ${reference}, 'attempt:' || id || '/' || number), id, number, 'sms',
      iif(is_accepted, 'accepted', 'open'), started_at, iif(is_accepted, ${endedAt}, null), ${note}
    from (select *, (select count(*) from (${attemptBeginnings("timeline")}) where at <= started_at) as number
      from (select e.instance_id, m.id, m.timeline, e.value, m.provider_message_id is ${reference} as is_accepted,
          cast(substr(e.key, length('sent/') + length(m.id) + 2) as integer) as started_at
        from (select * from ${ENTRIES} and json_valid(value) and ${isNeeded}) e
        join messages m on m.id = substr(e.key, length('sent/') + 1, 40)))
    where true
    on conflict (instance_id, reference) do update set note = excluded.note`;
}

/** Moves all entries in one transaction, at most 100,000 for each instance; does nothing if there are none. */
export function moveNotes(database: DatabaseSync): void {
  database.exec("begin immediate");
  try {
    for (const move of MOVES) {
      database.prepare(copyOf(move)).run(move.provider);
      database.prepare(`delete from ${ENTRIES}`).run(move.provider);
    }
    moveMacNotes(database);
    database.exec("commit");
  } catch (error) {
    if (database.isTransaction) database.exec("rollback");
    throw error;
  }
}
