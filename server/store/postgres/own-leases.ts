/**
 * Ends leases of messages that the database has for this process, and that the process does not know. The reply to their claim
 * was lost with a connection, the claim failed half-way, their release failed, or a crash of the server undid the release.
 */

import pg from "pg";
import { UNLEASED } from "./due-messages.ts";
import type { Sql } from "./sql.ts";

/**
 * SQL for the key of an advisory lock that every SQL transaction takes in which a process leases something. After a
 * connection is lost, its work may go on in the server. A process that waits for the lock sees the leases of that work.
 */
export function leasesKey(owner: string): string {
  return `hashtextextended('leases ' || ${pg.escapeLiteral(owner)}, 0)`;
}

/**
 * Ends the leases of a process except the `known` ones. Otherwise their messages would wait
 * until the leases expire. The lease of a send attempt stays, since the attempt may have begun.
 */
export async function endUnknownLeases(sql: Sql, owner: string, known: readonly number[]): Promise<void> {
  const name = pg.escapeLiteral(owner);
  // The leased rows are found first: if the planner sorts by id, it may read the whole queue for them.
  await sql.script([
    `select pg_advisory_xact_lock(${leasesKey(owner)})`,
    `update due_messages set ${UNLEASED} where id = any(array(
       select id from due_messages where id = any(array(select id from due_messages where lease is not null and owner = ${name}))
         and owner = ${name} and not (coalesce(lease, 0) = any(array[${known.map(Number).join(", ")}]::bigint[]))
         and is_held = 0 order by id for update))`,
  ]);
}
