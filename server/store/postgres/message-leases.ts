/**
 * The statements that end leases of messages, and those that look for leased
 * pairs. A lease is in the message's row of `due_messages`, with its owner.
 */

import { DUE_COLUMNS, keepDueMessages, UNLEASED } from "./due-messages.ts";
import type { Sql, SqlParameter } from "./sql.ts";
import type { WriterConnections } from "./writer-connections.ts";

/**
 * Ends leases of a member, except those that have ended already. Their messages are then due as before, or in a send attempt
 * without a lease. `ids` names the messages of leases, by which they are found. Other leases are found among all leases.
 */
export async function releaseMessages(
  connections: Pick<WriterConnections, "alone">,
  owner: string,
  leases: readonly number[],
  ids: ReadonlyMap<number, string>,
): Promise<void> {
  const [known, others] = [leases.filter((lease) => ids.has(lease)), leases.filter((lease) => !ids.has(lease))];
  const end = (where: string, parameters: readonly SqlParameter[]) => {
    const text = endLeases(`d.owner = $1 and ${where}`, "skip locked");
    return connections.alone(["set local synchronous_commit = off"], { text, parameters: [owner, ...parameters] });
  };
  // A lease whose message is known is found by the message's id, and no index of leases is read for it.
  if (known.length > 0)
    await end("d.id = any($2::text[]) and coalesce(d.lease, 0) = any($3::bigint[])", [[...ids.values()], known]);
  if (others.length > 0) await end("d.lease = any($2::bigint[]) and d.lease is not null", [others]);
}

/**
 * A statement that ends the leases of rows `d` of the queue, and brings the rows in step with their messages
 * `m`. It looks each message up: for a join by ids the planner may read the queue in the order of ids.
 */
function endLeases(where: string, locking = ""): string {
  return `with ended as (
      select d.id, m.due_at, m.claimed_until from due_messages d
      left join lateral (select due_at, claimed_until from messages where id = d.id limit 1) m on true
      where ${where} for update of d ${locking}
    ), gone as (
      delete from due_messages
      where id = any(array(select id from ended where due_at is null and claimed_until is null))
    ), attempted as (
      update due_messages set ${UNLEASED}, due_at = null, is_queued = 0
      where id = any(array(select id from ended where due_at is null and claimed_until is not null))
    )
    update due_messages set ${UNLEASED} where id = any(array(select id from ended where due_at is not null))`;
}

/** SQL for whether the lease of a row of `due_messages` has not expired. */
const IS_LEASED = "lease is not null and (is_held = 1 or leased_until > clock_timestamp())";

/** The pairs with a leased message in the lane. */
export function leasedPairs(sql: Sql, lane: string): Promise<{ from: string; to: string }[]> {
  return sql.query(`select distinct "from", "to" from due_messages where lane = $1 and ${IS_LEASED}`, [lane]);
}

/**
 * SQL for whether a message of a pair is leased in a lane. The planner makes no
 * join of it. While `lockLanes` holds the lane, no further message is leased.
 */
export function isLeasedPair(lane: string, from: string, to: string): string {
  const leased = `d.lane = ${lane} and d."from" = ${from} and d."to" = ${to} and ${IS_LEASED}`;
  return `coalesce((select true from due_messages d where ${leased} limit 1), false)`;
}

/**
 * CTEs that follow a CTE named `ended` in a statement. They end the send attempts
 * of its messages, which become due. The CTE `changed` has these messages.
 */
function endAttempts(now: string): string {
  return `changed as (
      update messages set claimed_until = null, version = version + 1,
        due_at = case status when 'queued' then least(coalesce(scheduled_at, created_at), ${now}) else ${now} end
      where id = any(array(select id from ended))
      returning ${DUE_COLUMNS}, 'ends' as lease_effect
    ), ${keepDueMessages("changed")}`;
}

/** Ends all leases of a dead member, also those of its send attempts. The messages of the attempts become due at `now`. */
export async function endMessageLeases(sql: Sql, owner: string, now: number): Promise<void> {
  await sql.values(
    `with ended as (
       select m.id from messages m
       where m.id = any(array(select id from due_messages where lease is not null and owner = $1))
         and claimed_until is not null
       order by m.id for update of m
     ), ${endAttempts("$2")}
     select`,
    [owner, now],
  );
  await sql.values(endLeases("d.lease is not null and d.owner = $1"), [owner]);
}

/**
 * Ends leases as `releaseLeases` of a store promises. While a member lives, only the member
 * itself ends its leases on disk, since the clocks of hosts differ. The leases of a dead member
 * last until their time too, since its last write to a provider may still be on its way.
 */
export async function releaseMessageLeases(
  sql: Sql,
  { until, now, member }: { until: number; now: number; member: string },
): Promise<number> {
  const end = Math.min(until, Number.MAX_SAFE_INTEGER);
  const isOfOther = "(owner <> $2 and exists (select from members where members.id = owner))";
  const rows = await sql.values(
    `with ended as (
       select m.id from messages m
       where m.id = any(array(
           select id from due_messages where lease is not null and is_held = 1 and ($1 = ${Number.MAX_SAFE_INTEGER} or not ${isOfOther})
           union all select id from due_messages where due_at is null))
         and claimed_until < $1
       order by m.id for update of m
     ), ${endAttempts("$3")}
     select id from changed`,
    [end, member, now],
  );
  if (until === Number.POSITIVE_INFINITY)
    await sql.values(`update due_messages set ${UNLEASED} where id = any(array(
      select id from due_messages where lease is not null and is_held = 0 for update skip locked))`);
  return rows.length;
}
