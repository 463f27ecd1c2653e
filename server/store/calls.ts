/** Reads of FaceTime calls. */

import type { Kysely } from "kysely";
import type { CallStatus } from "../../sdk/wire.ts";
import type { Call } from "../core/call.ts";
import type { CallId, CustomerId, InstanceId } from "../core/id.ts";
import { type IndexedList, indexed, is, type ListPage, type PageStart, readPage } from "./list-windows.ts";
import { type Database, decode } from "./rows.ts";

/** The call with this reference of an instance's provider, of any customer. */
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

/** A customer's calls, newest first. */
export function listCalls(
  db: Kysely<Database>,
  customerId: CustomerId,
  status: CallStatus | undefined,
  start: PageStart,
  limit: number,
): Promise<ListPage<Call>> {
  const list: IndexedList<Call> = {
    db,
    table: "calls",
    column: "id",
    order: "newest",
    narrow: [indexed("customer_id", customerId)],
    filter: is("status", status),
    decode: (row) => decode("calls", row),
    placeOf: ({ id }) => id,
  };
  return readPage(list, start, limit);
}
