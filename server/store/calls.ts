/** Reads of FaceTime calls. */

import type { Kysely } from "kysely";
import type { CallStatus } from "../../sdk/wire.ts";
import type { Call } from "../core/call.ts";
import type { CallId, CustomerId, InstanceId } from "../core/id.ts";
import { type Database, decode } from "./rows.ts";

/** The call that an instance's provider has this name for, whoever's it is. */
export async function findCallByUuid(
  db: Kysely<Database>,
  instanceId: InstanceId,
  callUuid: string,
): Promise<Call | null> {
  const row = await db
    .selectFrom("calls")
    .selectAll()
    .where("instance_id", "=", instanceId)
    .where("call_uuid", "=", callUuid)
    .executeTakeFirst();
  return row === undefined ? null : decode("calls", row);
}

/** A customer's call; null for another customer's. */
export async function findCallOf(db: Kysely<Database>, customerId: CustomerId, id: string): Promise<Call | null> {
  const row = await db
    .selectFrom("calls")
    .selectAll()
    .where("id", "=", id as CallId)
    .where("customer_id", "=", customerId)
    .executeTakeFirst();
  return row === undefined ? null : decode("calls", row);
}

/** A customer's calls, newest first: those older than the call `before` (an id), or from the newest on when null. */
export async function listCalls(
  db: Kysely<Database>,
  customerId: CustomerId,
  status: CallStatus | undefined,
  { before, limit }: { before: string | null; limit: number },
): Promise<Call[]> {
  let query = db.selectFrom("calls").selectAll().where("customer_id", "=", customerId);
  if (status !== undefined) query = query.where("status", "=", status);
  if (before !== null) query = query.where("id", "<", before as CallId);
  return (await query.orderBy("id", "desc").limit(limit).execute()).map((row) => decode("calls", row));
}
