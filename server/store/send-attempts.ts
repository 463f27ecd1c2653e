/** Reads of send attempts, and of messages by their providers' references. */

import { type Kysely, sql } from "kysely";
import type { InstanceId } from "../core/id.ts";
import type { SendAttempt } from "../core/send-attempt.ts";
import { decodeRows } from "./quarantine.ts";
import type { Database } from "./rows.ts";
import { valuesOf } from "./sql-dialects.ts";

/** The message that a provider's reference names. */
export interface ReferencedMessage {
  messageId: string;
}

/**
 * The message with this reference, sent by a send attempt or received; null if there is none. The reference of a
 * rejected attempt names no message: its receipt could be taken for the receipt of a later attempt.
 */
export async function findProviderReference(
  db: Kysely<Database>,
  instanceId: InstanceId,
  reference: string,
): Promise<ReferencedMessage | null> {
  const { rows } = await sql<ReferencedMessage>`
    select message_id as "messageId" from send_attempts
    where instance_id = ${instanceId} and reference = ${reference} and state <> 'rejected'
    union all
    select message_id from provider_references where instance_id = ${instanceId} and reference = ${reference}
    limit 1`.execute(db);
  return rows[0] ?? null;
}

/** The references, among these, that belong to a message that was sent, rejected or received. */
export async function listKnownReferences(
  db: Kysely<Database>,
  instanceId: InstanceId,
  references: readonly string[],
): Promise<Set<string>> {
  const { rows } = await sql<{ reference: string }>`
    select reference from send_attempts where instance_id = ${instanceId} and reference in ${valuesOf(references)}
    union
    select reference from provider_references where instance_id = ${instanceId} and reference in ${valuesOf(references)}`.execute(
    db,
  );
  return new Set(rows.map(({ reference }) => reference));
}

/** Attempts of an instance with a note, in the order in which they began. */
export async function listNoted(db: Kysely<Database>, instanceId: InstanceId): Promise<SendAttempt[]> {
  const rows = await db
    .selectFrom("send_attempts")
    .selectAll()
    .where("instance_id", "=", instanceId)
    .where("note", "is not", null)
    .orderBy("started_at")
    .execute();
  return decodeRows(db, "sendAttempts", rows);
}
