/** The send attempts that another process began and has not ended, and attempts whose lease was released. */

import { type Kysely, sql } from "kysely";
import type { InstanceId, MessageId } from "../../core/id.ts";
import type { Database } from "../rows.ts";
import type { OpenAttempt } from "../shared-database.ts";

/** `SharedDatabase.listOpenAttempts` for the process with this name. */
export async function listOpenAttempts(
  db: Kysely<Database>,
  instanceId: InstanceId,
  member: string,
): Promise<OpenAttempt[]> {
  const { rows } = await sql<{ id: MessageId; from: string; to: string; claimed_until: number }>`
    select m.id, m."from", m."to", m.claimed_until from messages m
    where m.claimed_until is not null and m.id = any(array(
      select id from due_messages where lane = ${instanceId} and lease is not null and is_held = 1 and owner <> ${member}
      union all select id from due_messages where lane = ${instanceId} and lease is null and due_at is null))`.execute(
    db,
  );
  return rows.map(({ claimed_until: claimedUntil, ...row }) => ({ ...row, claimedUntil }));
}
