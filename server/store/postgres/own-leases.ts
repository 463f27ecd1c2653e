/**
 * Ends leases of this process that it does not know of: the reply to their claim was lost with a connection, the claim failed half-way, their
 * release failed, or a crash of the server undid it.
 */

import pg from "pg";
import type { Queue } from "../store.ts";
import { UNLEASED } from "./due-messages.ts";
import { NO_LEASE } from "./no-lease.ts";
import type { Sql } from "./sql.ts";

/**
 * SQL for the key of an advisory lock that every SQL transaction takes in which a process leases something. A connection that is lost
 * for the process may still be at work in the server: who waits for the lock sees what that work has leased.
 */
export function leasesKey(owner: string): string {
  return `hashtextextended('leases ' || ${pg.escapeLiteral(owner)}, 0)`;
}

/** The leases that a process knows. */
export interface KnownLeases {
  deliveries: readonly number[];
  messages: readonly number[];
}

/**
 * Ends the leases of a process that it does not know. Otherwise later deliveries of their lanes would pass them, and their messages
 * would wait, until their time is over. The lease of a send attempt stands: the attempt may have begun.
 */
export async function endUnknownLeases(sql: Sql, owner: string, { deliveries, messages }: KnownLeases): Promise<void> {
  // The leased rows are found first: in the order of ids, the planner may read the whole queue for them.
  const unknown = (queue: Queue, known: readonly number[]) =>
    `select id from due_${queue}
     where id = any(array(select id from due_${queue} where lease is not null and owner = ${pg.escapeLiteral(owner)}))
       and owner = ${pg.escapeLiteral(owner)} and not (coalesce(lease, 0) = any(array[${known.map(Number).join(", ")}]::bigint[]))`;
  await sql.script([
    `select pg_advisory_xact_lock(${leasesKey(owner)})`,
    `update due_deliveries set ${NO_LEASE} where id = any(array(
       ${unknown("deliveries", deliveries)} order by id for update))`,
    `update due_messages set ${UNLEASED} where id = any(array(
       ${unknown("messages", messages)} and is_held = 0 order by id for update))`,
  ]);
}
