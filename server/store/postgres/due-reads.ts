/** The statements that read due deliveries on PostgreSQL. */

import type { LaneRead } from "../due-deliveries.ts";
import type { DueRow } from "../jobs/jobs.ts";
import { unpackEnvelope } from "../packed-envelope.ts";
import { isNear, positionsNear } from "../positions.ts";
import { LAYOUT, type SqlValue } from "../rows.ts";
import { OLDEST } from "./lane-floors.ts";
import type { Sql } from "./sql.ts";

/** A read looks at so many rows that others have put into a lane since it was last seen. If there are as many, the read begins at the front. */
const PUT_MAX = 64;

const COLUMNS = LAYOUT.deliveries.map(({ column }) => `d."${column}"`).join(", ");
const indexOf = (property: string) => LAYOUT.deliveries.findIndex((column) => column.property === property);
const [ID, EVENT_ID, DUE_AT] = ["id", "eventId", "dueAt"].map(indexOf) as [number, number, number];

/**
 * The clocks of two processes differ by less than this, in milliseconds. A delivery of one process may
 * be due for another process only in a moment. Until then no later delivery of the lane may be pushed.
 */
const SOON_MS = 1_000;

/** The due rows of a lane. `hasSoon`: other processes have put rows there that become due in a moment. */
interface FoundLane {
  places: FoundPlace[];
  hasSoon: boolean;
}

/** A row of the queue. */
interface FoundPlace {
  id: string;
  dueAt: number;
  row: number;
}

/** A lane to read, and the snapshot in which it was last seen; null: it is read from the front. */
interface SeenLaneRead extends LaneRead {
  seen: string | null;
}

/**
 * SQL for the due times of the rows that other processes have put into a lane since a snapshot, by SQL transactions that began after it
 * or were in progress in it. Each of these yields at most `limit` rows. The condition on `changed_in` is always true: it names the index.
 */
function putByOthers(lane: string, snapshot: string, { putBy, limit }: { putBy: number; limit: number }): string {
  const rows = (isNew: string) => `(select q.due_at from due_deliveries q
    where q.lane = ${lane} and q.changed_in > '0'::xid8 and ${isNew} and q.put_by <> ${putBy} order by q.lane, q.changed_in limit ${limit})`;
  return `(${rows(`q.changed_in >= pg_snapshot_xmax(${snapshot})`)}
    union all select late.due_at from pg_snapshot_xip(${snapshot}) running (xid) cross join lateral ${rows("q.changed_in = running.xid")} late) put`;
}

/** A lane whose new deliveries may be pushed, unless another process has put something there since the snapshot `seen`. */
export interface CaughtUpLane {
  lane: string;
  seen: string;
}

/**
 * Asks into which lanes other processes have put something since the snapshots of the lanes. Returns
 * these lanes, and the snapshot of the statement.
 */
export async function findPassed(
  sql: Sql,
  lanes: readonly CaughtUpLane[],
  putBy: number,
): Promise<{ passed: string[]; snapshot: string }> {
  const others = putByOthers("f.lane", "f.seen", { putBy, limit: 1 });
  const rows = await sql.values(
    `select f.lane, coalesce((select true from ${others} limit 1), false)::int, pg_current_snapshot()::text
     from json_to_recordset($1::json) as f (lane text, seen pg_snapshot)`,
    [JSON.stringify(lanes)],
  );
  const passed = rows.flatMap(([lane, isPassed]) => (isPassed === 1 ? [String(lane)] : []));
  return { passed, snapshot: String(rows[0]?.[2]) };
}

/** SQL for whether a lane is that of an endpoint in quarantine. */
const isQuarantined = (lane: string) =>
  `exists (select 1 from quarantined u where u."table" = 'endpoints' and u.id = ${lane})`;

/**
 * Finds due rows of lanes behind a place, or from the first row that others have put before it meanwhile.
 * The bound limit stands behind a limit that the planner knows: without that the planner expects to read
 * the whole lane. Each lane that may be read has a row in the result, even if nothing is due there.
 */
function findStatement(limitMax: number, putBy: number): string {
  const isSeen = `put.rows < ${PUT_MAX} and r.seen is not null`;
  return `with wanted as materialized (
    select r.n, r.lane, r.size,
      case when not (${isSeen}) then ${OLDEST} when put.due_at <= r.due_at then put.due_at else r.due_at end as due_at,
      case when ${isSeen} and (put.due_at <= r.due_at) is not true then r.row else -1 end as row,
      coalesce((select true from due_deliveries s
        where s.lane = r.lane and s.due_at > $2 and s.due_at <= $2 + ${SOON_MS} and s.put_by <> ${putBy}
        order by s.due_at, s.row limit 1), false) as has_soon
    from json_to_recordset($1::json) as r (n int, lane text, due_at bigint, row bigint, size int, seen pg_snapshot)
    cross join lateral (
      select count(*) as rows, min(due_at) as due_at from ${putByOthers("r.lane", "r.seen", { putBy, limit: PUT_MAX })}
    ) put
    where not ${isQuarantined("r.lane")}
  )
  select w.n, q.id, q.due_at, q.row, pg_current_snapshot()::text, w.has_soon
  from wanted w left join lateral (
    select * from (select q.id, q.due_at, q.row from due_deliveries q
      where q.lane = w.lane and (q.due_at, q.row) > (w.due_at, w.row) and q.due_at <= $2 order by q.due_at, q.row limit ${limitMax}) first
    limit w.size
  ) q on true
  order by w.n, q.due_at, q.row`;
}

/**
 * The due rows of the lanes that may be read, in their order, and the snapshot of the read; null: no lane may be read. `until`: the latest time
 * that counts as due.
 */
export async function findDue(
  sql: Sql,
  lanes: readonly SeenLaneRead[],
  until: number,
  putBy: number,
): Promise<{ found: Map<string, FoundLane>; snapshot: string | null }> {
  const wanted = lanes.map(({ lane, after, limit: size, seen }, n) => ({
    n,
    lane,
    due_at: after.dueAt,
    row: after.row,
    size,
    seen,
  }));
  const limitMax = Math.max(1, ...lanes.map(({ limit }) => limit));
  const rows = await sql.values(findStatement(limitMax, putBy), [JSON.stringify(wanted), until]);
  const found = new Map<string, FoundLane>();
  for (const [n, id = null, dueAt, row, , hasSoon] of rows as unknown as [
    number,
    string,
    number,
    number,
    string,
    boolean,
  ][]) {
    const { lane } = lanes[n] ?? { lane: "" };
    const known = found.get(lane) ?? { places: [], hasSoon };
    found.set(lane, known);
    if (id !== null) known.places.push({ id, dueAt: Number(dueAt), row: Number(row) });
  }
  return { found, snapshot: rows[0] === undefined ? null : String(rows[0][4]) };
}

/** The query finds rows by their ids alone: a plan for an empty queue would read the lanes from end to end. */
const FIND_AT_ONCE = `
  select q.id, q.due_at, q.row from (select * from due_deliveries where id = any($1::text[]) offset 0) q
  where q.lane = any($2::text[]) and q.due_at <= $3 and not ${isQuarantined("q.lane")}
    and coalesce((select d.by_hand = 1 or (d.event_type = 'webhook.test' and d.attempt_count = 0) from deliveries d
      where d.id = q.id and d.id between $4 and $5 limit 1), false)`;

/** The due deliveries with these ids in these lanes that go at once (`goesAtOnce`), whatever is before them. */
export async function findAtOnce(
  sql: Sql,
  ids: readonly string[],
  lanes: readonly string[],
  until: number,
): Promise<FoundPlace[]> {
  const sorted = ids.toSorted();
  const parameters = [sorted, lanes, until, sorted[0] ?? "", sorted.at(-1) ?? ""];
  const found = sorted.length === 0 ? [] : await sql.values(FIND_AT_ONCE, parameters);
  return found.map(([id, dueAt, row]) => ({ id: String(id), dueAt: Number(dueAt), row: Number(row) }));
}

/** The columns of an event from which its bytes are unpacked. */
const EVENT_COLUMNS = "e.bytes, e.correlation_id, e.type, e.message_id";
const EVENT_COLUMNS_COUNT = 4;

/** Deliveries with their events. The bounds name the partitions to the planner. */
const READ = `
  select ${COLUMNS}, ${EVENT_COLUMNS} from deliveries d
  left join events e on e.id = d.event_id and ${isNear("e.position", "$4", "$5")}
  where d.id = any($1) and d.id between $2 and $3`;

const READ_EVENTS = `select e.id, ${EVENT_COLUMNS} from events e where e.id = any($1)`;

/**
 * The deliveries at these places with their events, in order. A delivery
 * with another due time by now is left out: its new place is found later.
 */
export async function readRecords(sql: Sql, places: readonly FoundPlace[]): Promise<DueRow[]> {
  if (places.length === 0) return [];
  const ids = places.map(({ id }) => id).sort();
  const { from, to } = positionsNear(ids);
  const rows = await sql.values(READ, [ids, ids[0] ?? "", ids.at(-1) ?? "", from, to]);
  if (rows.length < ids.length) await removeOrphans(sql, ids);
  const found = new Map(rows.map((values) => [String(values[ID]), values]));
  const events = await readEvents(sql, rows);
  return places.flatMap(({ id, dueAt, row }): DueRow[] => {
    const values = found.get(id);
    if (values === undefined || values[DUE_AT] !== dueAt) return [];
    const eventId = String(values[EVENT_ID]);
    const envelope = envelopeOf(eventId, events.get(eventId) ?? values.slice(-EVENT_COLUMNS_COUNT));
    return [[row, values.slice(0, -EVENT_COLUMNS_COUNT), ...envelope]];
  });
}

/** Removes rows of the queue whose deliveries were removed meanwhile, for example by pruning. Otherwise they would be read again and again. */
async function removeOrphans(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql.values(
    `delete from due_deliveries q where q.id = any($1::text[]) and (select true from deliveries d where d.id = q.id limit 1) is null`,
    [ids],
  );
}

/** The bytes of an event and its correlation id, by its columns. */
function envelopeOf(id: string, [bytes = null, correlation = null, type, message = null]: readonly SqlValue[]) {
  if (typeof bytes !== "string") return [bytes, correlation] as const;
  const messageId = message === null ? null : String(message);
  const columns = { id, type: String(type), messageId, correlationId: String(correlation) };
  return [unpackEnvelope(bytes, columns), correlation] as const;
}

/** Reads the events of deliveries that were made much later than their events, such as those of replays. */
async function readEvents(sql: Sql, rows: readonly SqlValue[][]): Promise<Map<string, SqlValue[]>> {
  const ids = new Set(rows.flatMap((row) => (row.at(-EVENT_COLUMNS_COUNT) === null ? [String(row[EVENT_ID])] : [])));
  const events = ids.size === 0 ? [] : await sql.values(READ_EVENTS, [[...ids]]);
  return new Map(events.map(([id, ...event]) => [String(id), event]));
}
