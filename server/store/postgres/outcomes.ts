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
 * Writes the outcomes whose lease and version are still those of the delivery, and takes the deliveries out of the queue, or
 * gives them their next due time. Returns the number of each outcome that was written to the record, with 0, and to the queue, with 1.
 */
const FINISH = `
  with given as materialized (select * from ${OUTCOMES}),
  written as (
    update deliveries d set ${SET.map(({ column }) => `${column} = g.${column}`).join(", ")},
      version = d.version + 1
    from given g where d.id = g.id and ${IN_ROUND} and d.version = g.version
      and exists (select 1 from due_deliveries q where q.id = g.id and q.lease = g.lease)
    returning g.n, g.id, g.lease, g.due_at
  ), ended as (
    delete from due_deliveries q using written w where q.id = w.id and q.lease = w.lease and w.due_at is null returning w.n
  ), again as (
    update due_deliveries q set due_at = w.due_at, ${NO_LEASE}
    from written w where q.id = w.id and q.lease = w.lease and w.due_at is not null returning w.n
  )
  select n, 0 from written union all select n, 1 from ended union all select n, 1 from again`;

/** The deliveries of outcomes whose lease stands. */
const STANDING = `
  select g.n, ${COLUMNS} from ${OUTCOMES}
  join due_deliveries q on q.id = g.id and q.lease = g.lease join deliveries d on d.id = g.id and ${IN_ROUND}`;

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
  const written = new Set(rows.flatMap(([n, isQueue]) => (isQueue === 0 ? [Number(n)] : [])));
  if (rows.length !== 2 * written.size) throw new LeaseLost("a lease was lost while its outcome was written");
  return written;
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
  insert into due_deliveries as q (due_at, row, id, lane)
  select due_at, rowid, id, lane from deliveries where id = $1 and due_at is not null
  on conflict (id) do update set due_at = excluded.due_at, ${NO_LEASE}`;

/** Deliveries of an endpoint that is not active, except leased ones. */
const FIND_FREE = `
  select id from due_deliveries q where lane = $1 and lease is null
    and not exists (select 1 from endpoints e where e.id = $1 and e.active = 1)
  order by due_at, row limit $2`;

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

/** Cancels deliveries of an endpoint that is not active, except leased ones. Returns how many. */
export async function cancelDeliveries(sql: Sql, endpointId: string, limit: number): Promise<number> {
  const ids = (await sql.values(FIND_FREE, [endpointId, limit])).map(([id]) => String(id)).sort();
  if (ids.length === 0) return 0;
  return (await sql.values(CANCEL, [ids, ids[0] ?? "", ids.at(-1) ?? ""])).length;
}
