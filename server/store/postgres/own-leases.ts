/**
 * Ends leases of messages of this process that it does not know of: the reply to their claim was lost with a connection, the claim failed
 * half-way, their release failed, or a crash of the server undid it.
 */

import pg from "pg";
import { UNLEASED } from "./due-messages.ts";
import type { Sql } from "./sql.ts";

/**
 * SQL for the key of an advisory lock that every SQL transaction takes in which a process leases something. A connection that is lost
 * for the process may still be at work in the server: who waits for the lock sees what that work has leased.
 */
export function leasesKey(owner: string): string {
  return `hashtextextended('leases ' || ${pg.escapeLiteral(owner)}, 0)`;
}

/**
 * Ends the leases of a process but `known` ones. Otherwise their messages would wait until the time of the leases is over. The lease of a send
 * attempt stands: the attempt may have begun.
 */
export async function endUnknownLeases(sql: Sql, owner: string, known: readonly number[]): Promise<void> {
  const name = pg.escapeLiteral(owner);
  // The leased rows are found first: in the order of ids, the planner may read the whole queue for them.
  await sql.script([
    `select pg_advisory_xact_lock(${leasesKey(owner)})`,
    `update due_messages set ${UNLEASED} where id = any(array(
       select id from due_messages where id = any(array(select id from due_messages where lease is not null and owner = ${name}))
         and owner = ${name} and not (coalesce(lease, 0) = any(array[${known.map(Number).join(", ")}]::bigint[]))
         and is_held = 0 order by id for update))`,
  ]);
}
