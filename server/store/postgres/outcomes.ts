/** Outcomes of attempts on PostgreSQL, retries of deliveries by hand, and cancellations. */

import { retryByHand } from "../../core/delivery.ts";
import { type EncodedOutcome, encodePart, FINISHED_COLUMNS, type FinishedRow } from "../jobs/jobs.ts";
import { columnOf, decodeRecord, LAYOUT } from "../rows.ts";
import type { DeliveryLeases } from "./delivery-leases.ts";
import { HAS_EXPIRED, IS_FREE } from "./delivery-queue.ts";
import { NO_LEASE } from "./no-lease.ts";
import type { Sql, SqlParameter } from "./sql.ts";

const COLUMNS = LAYOUT.deliveries.map(({ column }) => `d."${column}"`).join(", ");

const SQL_TYPES = { text: "text", json: "text", number: "bigint", flag: "smallint", bytes: "bytea" } as const;

/** The properties that an outcome sets, as columns. */
const SET = FINISHED_COLUMNS.map((property) => {
  const { column, kind } = LAYOUT.deliveries.find((one) => one.property === property) ?? { column: "", kind: "text" };
  return { column, type: SQL_TYPES[kind] };
});

/** SQL for the outcomes of a round. */
const OUTCOMES = `json_to_recordset($1::json) as g (
  n int, lease bigint, id text, version bigint, ${SET.map(({ column, type }) => `${column} ${type}`).join(", ")})`;

/** SQL for whether a delivery is between the first and the last id of a round, which name the partitions to the planner. */
const IN_BOUNDS = "d.id between $2 and $3";

/** SQL for whether a delivery is one of a round. Without the list, a plan for any round may read all deliveries between the bounds. */
const IN_ROUND = `d.id = any($4) and ${IN_BOUNDS}`;

/**
 * SQL for the leases that deliveries of a round have. It joins nothing. The queue is empty most of the time: in a join, a plan made while
 * the queue is empty expects one row, and reads the whole queue once it has grown.
 */
const HELD = "select id, lease from due_deliveries where id = any($4)";

/**
 * SQL for a list of the values that written outcomes have in a column: of those with another attempt, or of the others. Lists of the same
 * outcomes have the same order, which is that of `written`.
 */
const listOf = (column: string, hasNext: boolean) =>
  `array(select ${column} from written where due_at is ${hasNext ? "not null" : "null"})`;

/**
 * SQL for whether a row of the queue has the lease of a written outcome. No lease is given twice, so ids and leases may be compared as two
 * lists. `coalesce`: no index of leases is read.
 */
const isOf = (hasNext: boolean) =>
  `q.id = any(${listOf("id", hasNext)}) and coalesce(q.lease, 0) = any(${listOf("lease", hasNext)})`;

/**
 * Writes the outcomes whose lease and version are still those of the delivery, and takes the deliveries out of the queue, or
 * gives them their next due time. Returns a row with the number of each outcome that was written, and one with null for each change of
 * the queue.
 */
const FINISH = `
  with given as materialized (select * from ${OUTCOMES}),
  held as materialized (${HELD}),
  written as (
    update deliveries d set ${SET.map(({ column }) => `${column} = g.${column}`).join(", ")},
      version = d.version + 1
    from given g join held h on h.id = g.id and h.lease = g.lease where d.id = g.id and ${IN_ROUND} and d.version = g.version
    returning g.n, g.id, g.lease, g.due_at
  ), ended as (
    delete from due_deliveries q where ${isOf(false)} returning 1
  ), again as (
    update due_deliveries q
    set due_at = (${listOf("due_at", true)})[array_position(${listOf("lease", true)}, q.lease)], ${NO_LEASE}
    where ${isOf(true)} returning 1
  )
  select n from written union all select null from ended union all select null from again`;

/** The deliveries of outcomes whose lease stands. */
const STANDING = `
  with held as materialized (${HELD})
  select g.n, ${COLUMNS} from ${OUTCOMES}
  join held h on h.id = g.id and h.lease = g.lease join deliveries d on d.id = g.id and ${IN_ROUND}`;

/** The lease of a delivery was given to another process while its outcome was being written: the SQL transaction is rolled back. */
class LeaseLost extends Error {
  /** As the database reports a transaction that others got in the way of. */
  readonly code = "40001";
}

/** Writes the outcomes of attempts whose lease and version are still theirs. */
export async function finishDeliveries(
  sql: Sql,
  leases: DeliveryLeases,
  outcomes: readonly EncodedOutcome[],
): Promise<FinishedRow[]> {
  const results: FinishedRow[] = outcomes.map(() => "gone");
  for (const round of roundsOf(outcomes)) {
    const written = await finishRound(sql, round);
    const refused = round.filter(({ n }) => !written.has(n));
    for (const { n } of round) if (written.has(n)) results[n] = "ok";
    if (refused.length === 0) continue;
    for (const [n, ...values] of await sql.values(STANDING, encode(refused))) results[Number(n)] = values;
  }
  for (const [n, [lease]] of outcomes.entries()) if (typeof results[n] === "string") leases.end(lease);
  return results;
}

interface PlacedOutcome {
  n: number;
  outcome: EncodedOutcome;
}

/** Outcomes in rounds, in each of which a delivery is named once; in the order of their ids, in which others lock deliveries too. */
function roundsOf(outcomes: readonly EncodedOutcome[]): PlacedOutcome[][] {
  const rounds: PlacedOutcome[][] = [];
  const counts = new Map<string, number>();
  for (const [n, outcome] of outcomes.entries()) {
    const count = counts.get(outcome[1]) ?? 0;
    counts.set(outcome[1], count + 1);
    rounds[count] ??= [];
    rounds[count].push({ n, outcome });
  }
  for (const round of rounds) round.sort((a, b) => (a.outcome[1] < b.outcome[1] ? -1 : 1));
  return rounds;
}

async function finishRound(sql: Sql, round: readonly PlacedOutcome[]): Promise<Set<number>> {
  const rows = await sql.values(FINISH, encode(round));
  const numbers = rows.flatMap(([n]) => (typeof n === "number" ? [n] : []));
  if (rows.length !== 2 * numbers.length) throw new LeaseLost("a lease was lost while its outcome was written");
  return new Set(numbers);
}

/** The parameters of a statement: outcomes in the order of their ids, the first and the last id, and all of them. */
function encode(round: readonly PlacedOutcome[]): SqlParameter[] {
  const rows = round.map(({ n, outcome: [lease, id, version, values] }) => {
    const set = SET.map(({ column }, index) => [column, values[index]]);
    return { n, lease, id, version, ...Object.fromEntries(set) };
  });
  const ids = round.map(({ outcome: [, id] }) => id);
  return [JSON.stringify(rows), ids[0] ?? "", ids.at(-1) ?? "", ids];
}

/** An attempt at once, or after the one in flight. The caller has checked the version of the delivery, and has locked its row. */
export async function retryDelivery(sql: Sql, id: string, now: number): Promise<void> {
  const [values] = await sql.values(`select ${COLUMNS} from deliveries d where id = $1`, [id]);
  if (values === undefined) return;
  const queued = `select lease is not null and not (${HAS_EXPIRED}) from due_deliveries q where id = $1 for update`;
  const [[isLeased] = []] = (await sql.values(queued, [id])) as unknown as boolean[][];
  const change = retryByHand(decodeRecord("deliveries", values), isLeased === true, now);
  const [properties, set] = encodePart("deliveries", change);
  if (properties === "") return;
  const sets = properties.split(",").map((property, index) => `${columnOf(property)} = $${index + 2}`);
  await sql.values(`update deliveries set ${sets.join(", ")}, version = version + 1 where id = $1`, [id, ...set]);
  if (isLeased !== true) await sql.values(REQUEUE, [id]);
}

/** Puts a delivery into the queue by the due time of its record, without a lease. */
const REQUEUE = `
  insert into due_deliveries as q (due_at, row, id, lane, replay_id)
  select due_at, rowid, id, lane, replay_id from deliveries where id = $1 and due_at is not null
  on conflict (id) do update set due_at = excluded.due_at, ${NO_LEASE}`;

/** Deliveries of an endpoint that is not active, except leased ones. */
const FIND_FREE = `
  select id from due_deliveries q where lane = $1 and lease is null
    and not exists (select 1 from endpoints e where e.id = $1 and e.active = 1)
  order by due_at, row limit $2`;

/** Deliveries of a replay that were not tried since it made them or took them up, except leased ones. */
const FIND_UNTRIED = `
  select q.id from due_deliveries q cross join lateral (
    select status, retry_count from deliveries d where d.id = q.id offset 0) d
  where q.replay_id = $1 and q.lease is null and d.status = 'pending' and d.retry_count = 0 limit $2`;

/**
 * Cancels deliveries that are not leased. A delivery that succeeded before keeps that status. Records are locked before their rows
 * of the queue, as everywhere.
 */
const CANCEL = `
  with locked as materialized (
    select id from deliveries d where id = any($1) and ${IN_BOUNDS} order by id for update
  ), ended as (
    delete from due_deliveries q where q.id = any(array(select id from locked)) and ${IS_FREE} returning q.id
  )
  update deliveries d
  set status = case d.status when 'pending' then 'cancelled' else d.status end, due_at = null, by_hand = 0, resume_at = null,
    version = d.version + 1
  where d.id = any(array(select id from ended)) and ${IN_BOUNDS} returning 1`;

/**
 * Cancels deliveries of an endpoint that is not active, or those of a replay that were not tried since, except leased ones. Returns
 * how many.
 */
export async function cancelDeliveries(
  sql: Sql,
  endpointId: string,
  limit: number,
  replayId: string | null = null,
): Promise<number> {
  const found = replayId === null ? FIND_FREE : FIND_UNTRIED;
  const ids = (await sql.values(found, [replayId ?? endpointId, limit])).map(([id]) => String(id)).sort();
  if (ids.length === 0) return 0;
  return (await sql.values(CANCEL, [ids, ids[0] ?? "", ids.at(-1) ?? ""])).length;
}
