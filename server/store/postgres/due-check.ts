/** Compares the rows of the queues with their records, for `tightbeam doctor`. Reads only, a window of rows at a time. */

import type { Sql } from "./sql.ts";

/** Rows that one statement compares. */
const WINDOW_ROWS = 20_000;
/** Ids that a result names. */
const NAMED_MAX = 5;

/** The differences between a queue and its records. */
export interface DueComparison {
  table: "messages" | "deliveries";
  /** Records and rows of the queue that were compared, the newest first. */
  compared: number;
  /** Whether the time was enough for all. */
  isComplete: boolean;
  /** Records with a due time that have no row in the queue, so that no claim finds them. */
  missing: number;
  /** Rows of the queue that disagree with their record. */
  wrong: number;
  ids: string[];
}

interface QueueTables {
  table: DueComparison["table"];
  /** SQL for whether a record that belongs into the queue has no row there. */
  missing: string;
  /** SQL for whether a row has no record with that due time in that lane. During its send attempt a leased message has no due time. */
  wrong: string;
}

const QUEUES: readonly QueueTables[] = [
  {
    table: "messages",
    missing: `(r.due_at is not null or r.claimed_until is not null)
      and not exists (select 1 from due_messages q where q.id = r.id)`,
    wrong: `not exists (select 1 from messages m where m.id = r.id and m.instance_id = r.lane
      and (r.is_held = 1 or m.due_at is not distinct from r.due_at and (m.due_at is not null or m.claimed_until is not null)
        and (m.status = 'queued' and m.due_at is not null) = (r.is_queued = 1)))`,
  },
  {
    table: "deliveries",
    missing: "r.due_at is not null and not exists (select 1 from due_deliveries q where q.id = r.id)",
    wrong: "not exists (select 1 from deliveries d where d.id = r.id and d.lane = r.lane and d.due_at = r.due_at)",
  },
];

/** Compares both queues, for at most `msMax` of the monotonic clock `now`. */
export async function compareDueRows(sql: Sql, now: () => number, msMax: number): Promise<DueComparison[]> {
  const until = now() + msMax;
  const compared: DueComparison[] = [];
  for (const { table, missing, wrong } of QUEUES) {
    const queue = await findDifferences(sql, `due_${table}`, wrong, () => now() > until);
    const records = await findDifferences(sql, table, missing, () => now() > until);
    compared.push({
      table,
      compared: queue.compared + records.compared,
      isComplete: queue.isComplete && records.isComplete,
      missing: records.found,
      wrong: queue.found,
      ids: [...records.ids, ...queue.ids].slice(0, NAMED_MAX),
    });
  }
  return compared;
}

/** Counts the rows of a table that meet a condition, from the newest id on, until `isOver`. */
async function findDifferences(sql: Sql, table: string, condition: string, isOver: () => boolean) {
  const ids: string[] = [];
  let [compared, found] = [0, 0];
  for (let before: string | null = null; ; ) {
    if (isOver()) return { compared, found, ids, isComplete: false };
    const read = `select * from ${table} where ($1::text is null or id < $1) order by id desc limit ${WINDOW_ROWS}`;
    const [row]: { last: string | null; rows: number; found: number; ids: string[] | null }[] = await sql.query(
      `select min(id) as last, count(*) as rows, count(*) filter (where ${condition}) as found,
         (array_agg(id order by id) filter (where ${condition}))[1:${NAMED_MAX}] as ids from (${read}) r`,
      [before],
    );
    if (row === undefined || row.last === null) return { compared, found, ids, isComplete: true };
    compared += row.rows;
    found += row.found;
    ids.push(...(row.ids ?? []));
    if (row.rows < WINDOW_ROWS) return { compared, found, ids, isComplete: true };
    before = row.last;
  }
}
