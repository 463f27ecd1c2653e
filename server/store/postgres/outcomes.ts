/** Outcomes of attempts on PostgreSQL, and cancellations of deliveries. */

import { type EncodedOutcome, FINISHED_COLUMNS, type FinishedRow } from "../jobs/jobs.ts";
import { LAYOUT } from "../rows.ts";
import { keepDueDeliveries } from "./due-rows.ts";
import type { Sql, SqlParameter, SqlStatement } from "./sql.ts";

const COLUMNS = LAYOUT.deliveries.map(({ column }) => `d."${column}"`).join(", ");

const SQL_TYPES = { text: "text", json: "text", number: "bigint", flag: "smallint", bytes: "bytea" } as const;

/** The properties that an outcome sets, as columns. */
const SET = FINISHED_COLUMNS.map((property) => {
  const { column, kind } = LAYOUT.deliveries.find((one) => one.property === property) ?? { column: "", kind: "text" };
  return { column, type: SQL_TYPES[kind] };
});

/** SQL for the outcomes of a round. */
const OUTCOMES = `json_to_recordset($1::json) as g (
  n int, id text, version bigint, ${SET.map(({ column, type }) => `${column} ${type}`).join(", ")})`;

/** SQL for whether a delivery is between the first and the last id of a round. These bounds name the partitions to the planner. */
const IN_BOUNDS = "d.id between $2 and $3";

/** SQL for whether a delivery is one of a round. Without the list of ids, a plan for any round may read all deliveries between the bounds. */
const IN_ROUND = `d.id = any($4) and ${IN_BOUNDS}`;

/**
 * Writes each outcome whose version is still that of its delivery, and takes the delivery out of
 * the queue or gives it its next due time. The statement joins no row of the queue, which is empty
 * most of the time: a plan for the empty queue would read the whole queue once it has grown.
 */
const FINISH = `
  with given as materialized (select * from ${OUTCOMES}),
  written as (
    update deliveries d set ${SET.map(({ column }) => `${column} = g.${column}`).join(", ")},
      version = d.version + 1
    from given g where d.id = g.id and ${IN_ROUND} and d.version = g.version
    returning g.n, d.id, d.rowid, d.lane, d.replay_id, g.due_at
  ), ${keepDueDeliveries("written", "$5::int")}
  select n from written`;

/** The deliveries of outcomes, as they are on disk now. */
const STANDING = `select g.n, ${COLUMNS} from ${OUTCOMES} join deliveries d on d.id = g.id and ${IN_ROUND}`;

/**
 * The statements that write each outcome of an attempt whose version is still that of its
 * delivery. Their rows are the numbers of the written outcomes. `putBy`: the number of this process.
 */
export function endsOf(outcomes: readonly EncodedOutcome[], putBy: number): SqlStatement[] {
  return roundsOf(outcomes).map((round) => ({ text: FINISH, parameters: [...encode(round), putBy] }));
}

/** The deliveries of refused outcomes as they are on disk now. */
export async function standingOf(sql: Sql, outcomes: readonly EncodedOutcome[]): Promise<FinishedRow[]> {
  const results: FinishedRow[] = outcomes.map(() => "gone");
  for (const round of roundsOf(outcomes))
    for (const [n, ...values] of await sql.values(STANDING, encode(round))) results[Number(n)] = values;
  return results;
}

interface PlacedOutcome {
  n: number;
  outcome: EncodedOutcome;
}

/**
 * Outcomes in rounds. A round names each delivery once, and has the outcomes
 * in the order of ids, in which other processes lock deliveries too.
 */
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

/** The parameters of a statement: outcomes in the order of their ids, the first id, the last id, and all ids. */
function encode(round: readonly PlacedOutcome[]): SqlParameter[] {
  const rows = round.map(({ n, outcome: [, id, version, values] }) => {
    const set = SET.map(({ column }, index) => [column, values[index]]);
    return { n, id, version, ...Object.fromEntries(set) };
  });
  const ids = round.map(({ outcome: [, id] }) => id);
  return [JSON.stringify(rows), ids[0] ?? "", ids.at(-1) ?? "", ids];
}

/** Deliveries of an endpoint that is not active. */
const FIND_WAITING = `
  select id from (select id from due_deliveries where lane = $1 order by due_at, row limit $2) q
  where not exists (select 1 from endpoints e where e.id = $1 and e.active = 1)`;

/** Deliveries of a replay that were not tried since the replay made them or took them up. */
const FIND_UNTRIED = `
  select q.id from due_deliveries q cross join lateral (
    select status, retry_count from deliveries d where d.id = q.id offset 0) d
  where q.replay_id = $1 and d.status = 'pending' and d.retry_count = 0 limit $2`;

/**
 * Cancels deliveries. If the fourth parameter is 1, cancels only those that were not tried. A delivery that
 * succeeded before keeps that status. The statement locks records before their rows of the queue, as all others do.
 */
const CANCEL = `
  with locked as materialized (
    select id from deliveries d where id = any($1) and ${IN_BOUNDS}
      and ($4::int = 0 or status = 'pending' and retry_count = 0) order by id for update
  ), ended as (
    delete from due_deliveries q where q.id = any(array(select id from locked)) returning q.id
  )
  update deliveries d
  set status = case d.status when 'pending' then 'cancelled' else d.status end, due_at = null, by_hand = 0, resume_at = null,
    version = d.version + 1
  where d.id = any(array(select id from ended)) and ${IN_BOUNDS} returning d.id`;

/**
 * Cancels deliveries of an endpoint that is not active, or deliveries of a replay that were not
 * tried since. `ids`: the cancelled deliveries. `count`: their number; for a replay the number
 * of deliveries found, some of which another process may have ended meanwhile. More may be left.
 */
export async function cancelDeliveries(
  sql: Sql,
  endpointId: string,
  limit: number,
  replayId: string | null = null,
): Promise<{ ids: string[]; count: number }> {
  const isReplay = replayId !== null;
  const rows = await sql.values(isReplay ? FIND_UNTRIED : FIND_WAITING, [replayId ?? endpointId, limit]);
  const found = rows.map(([id]) => String(id)).sort();
  if (found.length === 0) return { ids: [], count: 0 };
  const cancelled = await sql.values(CANCEL, [found, found[0] ?? "", found.at(-1) ?? "", Number(isReplay)]);
  const ids = cancelled.map(([id]) => String(id));
  return { ids, count: isReplay ? found.length : ids.length };
}
