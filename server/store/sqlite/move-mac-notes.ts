/** Moves what BlueBubbles instances of older versions remember of sent messages from their memory into notes of send attempts. */

import type { DatabaseSync } from "node:sqlite";
import { attemptBeginnings } from "./attempt-beginnings.ts";

/** Entries of BlueBubbles instances whose keys begin with a word and `/`. */
function entriesOf(word: string): string {
  return `memory where key >= '${word}/' and key < '${word}0'
    and instance_id in (select id from instances where provider = 'bluebubbles')`;
}

const BEGINNINGS = `from (${attemptBeginnings("m.timeline")})`;

/** Entries `attempt/<message>/<channel>` with their messages; `value` is JSON. */
const ATTEMPTS = `
  select e.instance_id, m.id, m.status, e.value, substr(e.key, length('attempt/') + 42) as channel,
    (select count(*) ${BEGINNINGS}) as number,
    coalesce((select at ${BEGINNINGS} order by place desc limit 1), e.value ->> '$.startedAt') as started_at,
    m.instance_id is e.instance_id and m.channel is substr(e.key, length('attempt/') + 42)
      and m.send_attempts is e.value ->> '$.attempt'
      and (m.status = 'pending' or m.error_code is 'OUTCOME_UNKNOWN') as is_present
  from (select * from ${entriesOf("attempt")} and iif(json_valid(value), json_type(value), '') = 'object') e
  join messages m on m.id = substr(e.key, length('attempt/') + 1, 40)
  where e.value ->> '$.startedAt' is not null`;

/** The present attempt of a message without an outcome keeps its note. */
const OPEN = `
  insert or ignore into send_attempts
    (instance_id, reference, message_id, number, channel, state, started_at, ended_at, note)
  select instance_id, 'attempt:' || id || '/' || number, id, number, channel, iif(status = 'pending', 'open', 'unknown'),
    started_at, null, json_remove(value, '$.attempt')
  from (${ATTEMPTS}) where is_present
    and (status = 'pending' or value ->> '$.isOpen' or (value ->> '$.textGuid' is not null and value ->> '$.guid' is null))`;

/** Rows at which Messages failed stay known as ours. */
const REFUSED = `
  insert or ignore into send_attempts
    (instance_id, reference, message_id, number, channel, state, started_at, ended_at, note)
  select instance_id, value ->> '$.guid', id, number, channel, 'rejected', started_at, value ->> '$.startedAt', null
  from (${ATTEMPTS}) where value ->> '$.guid' is not null and value ->> '$.error' <> 0`;

/** Entries `watch/<guid>`: `value` is the channel, and when the message was sent. */
const POLLED = `
  select instance_id, substr(key, length('watch/') + 1) as guid,
    json_object('sentAt', cast(substr(value, instr(value, ' ') + 1) as integer)) as note from ${entriesOf("watch")}`;

const NOTE_SENT = `
  update send_attempts set note = polled.note from (${POLLED}) as polled
  where send_attempts.instance_id = polled.instance_id and send_attempts.reference = polled.guid
    and send_attempts.state <> 'rejected'`;

/** Messages that were sent before there were rows of send attempts. */
const NOTE_SENT_BEFORE = `
  insert or ignore into send_attempts
    (instance_id, reference, message_id, number, channel, state, started_at, ended_at, note)
  select r.instance_id, r.reference, r.message_id, (select count(*) ${BEGINNINGS}), r.channel, 'accepted', r.created_at,
    r.created_at, polled.note
  from (${POLLED}) as polled
  join provider_references r on r.instance_id = polled.instance_id and r.reference = polled.guid
  join messages m on m.id = r.message_id`;

/** Moves all entries, in the transaction of the caller; does nothing if there are none. */
export function moveMacNotes(database: DatabaseSync): void {
  for (const statement of [OPEN, REFUSED, NOTE_SENT, NOTE_SENT_BEFORE]) database.exec(statement);
  for (const word of ["attempt", "watch"]) database.exec(`delete from ${entriesOf(word)}`);
}
