/** Moves what Twilio instances of older versions remember of sent messages from their memory into notes of send attempts. */

import type { DatabaseSync } from "node:sqlite";

/** Entries `sent/<message>/<time of the attempt>` of Twilio instances, with their messages. */
const ENTRIES = `
  select e.instance_id, m.id, m.timeline, m.provider_message_id is e.value ->> '$.sid' as is_accepted, e.value,
    cast(substr(e.key, length('sent/') + length(m.id) + 2) as integer) as started_at
  from instances i join memory e on e.instance_id = i.id and e.key >= 'sent/' and e.key < 'sent0'
  join messages m on m.id = substr(e.key, length('sent/') + 1, 40)
  where i.provider = 'twilio' and json_valid(e.value) and json_type(e.value, '$.sid') = 'text'
    and json_type(e.value, '$.knownSince') = 'integer'`;

/**
 * An entry that has ended was kept for its sid only, which is among the provider references. A message may be in quarantine: its
 * timeline may be anything.
 */
const COPY = `
  insert or ignore into send_attempts
    (instance_id, reference, message_id, number, channel, state, started_at, ended_at, note)
  select instance_id, iif(is_accepted, value ->> '$.sid', 'attempt:' || id || '/' || number), id, number, 'sms',
    iif(is_accepted, 'accepted', 'open'), started_at, iif(is_accepted, value ->> '$.knownSince', null),
    json_object('sid', value ->> '$.sid', 'knownSince', value -> '$.knownSince')
  from (select *, (select count(*) from json_each(iif(json_valid(timeline), timeline, '[]')) as entry where
      iif(entry.type = 'object', entry.value ->> '$.status' = 'pending' and entry.value ->> '$.reason' is null
        and entry.value ->> '$.at' <= started_at, false)) as number from (${ENTRIES}))
  where value ->> '$.hasEnded' is null`;

const REMOVE = `
  delete from memory where key >= 'sent/' and key < 'sent0'
    and instance_id in (select id from instances where provider = 'twilio')`;

/** Moves all entries in one transaction, at most 100,000 for each instance; does nothing if there are none. */
export function moveNotes(database: DatabaseSync): void {
  database.exec("begin immediate");
  try {
    database.exec(COPY);
    database.exec(REMOVE);
    database.exec("commit");
  } catch (error) {
    if (database.isTransaction) database.exec("rollback");
    throw error;
  }
}
