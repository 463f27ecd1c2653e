/** The queue of deliveries on PostgreSQL: leases due ones, and ends leases without a change of their deliveries. */

import { IN_HAND_MAX } from "../../core/delivery-budget.ts";
import type { DueRead } from "../due-deliveries.ts";
import type { DueRow, DueRows } from "../jobs/jobs.ts";
import { unpackEnvelope } from "../packed-envelope.ts";
import { isNear, positionsNear } from "../positions.ts";
import { LAYOUT, type SqlValue } from "../rows.ts";
import type { SqlStatement } from "./clauses.ts";
import { type DeliveryLeases, NO_ROW } from "./delivery-leases.ts";
import { OLDEST_RUNNING, startOf } from "./lane-floors.ts";
import { NO_LEASE } from "./no-lease.ts";
import { leasesKey } from "./own-leases.ts";
import type { Sql } from "./sql.ts";
import type { WriterConnections } from "./writer-connections.ts";

const COLUMNS = LAYOUT.deliveries.map(({ column }) => `d."${column}"`).join(", ");
const indexOf = (property: string) => LAYOUT.deliveries.findIndex((column) => column.property === property);
const [ID, LANE, CUSTOMER_ID, EVENT_ID] = ["id", "lane", "customerId", "eventId"].map(indexOf) as [
  number,
  number,
  number,
  number,
];

/** SQL for whether the lease of a row of the queue has ended by its time. A claim replaces it; until then its holder may use it. */
const HAS_EXPIRED = "q.lease is not null and q.leased_until <= statement_timestamp()";

/**
 * SQL for whether another process than `owner` holds a lease in a lane. The next home of a lane waits for the end of those leases,
 * so that no delivery overtakes one before it.
 */
const isHeldByOther = (lane: string, owner: string) =>
  isLeasedByOther(lane, owner, "and q.leased_until > statement_timestamp()");

/** SQL for whether a row of a lane has a lease of another process than `owner`, ended or not. Each half asks the index for the first row. */
export function isLeasedByOther(lane: string, owner: string, until = ""): string {
  const isAny = (
    than: string,
  ) => `coalesce((select true from due_deliveries q where q.lane = ${lane} and q.lease is not null
    and q.owner ${than} ${owner} ${until} limit 1), false)`;
  return `(${isAny("<")} or ${isAny(">")})`;
}

/**
 * SQL for whether a row of the queue that is found by its id or place may be leased. A leased row has an owner: the indexes of leased rows,
 * and of those that are not, would be read for it from end to end.
 */
const IS_FREE = "(q.owner is null or q.leased_until <= statement_timestamp())";

/**
 * SQL for the first rows of a lane `w` that may be leased, by due time and then insertion. The bound limit is behind one that the planner
 * knows: without it the planner expects to read the whole lane.
 */
function firstRows(limitMax: number): string {
  const rows = (where: string, order: string) => `
    (select * from (select q.ctid as place, q.due_at, q.row from due_deliveries q
      where q.lane = w.lane and ${where} and q.due_at <= $2 order by ${order} limit ${limitMax}) first limit w.permits)`;
  return `select place, due_at, row from (
    ${rows("q.lease is null and q.due_at >= w.start", "q.due_at, q.row")}
    union all ${rows(`w.may_expire and ${HAS_EXPIRED}`, "q.owner, q.leased_until")}
  ) found order by due_at, row limit w.permits`;
}

/**
 * Leases due deliveries of lanes, each at most its permits. Deliveries to an endpoint in quarantine wait until its row is repaired,
 * and those of a lane in which another process holds leases until they have ended. A row that somebody is changing is not waited
 * for, and those behind it in its lane keep their place. In a lane with a floor this process has no lease whose time is over. Each
 * lane that may be claimed has a row, also without a lease.
 */
function leaseStatement(permitsMax: number, owner: string): string {
  return `with own as materialized (
    select pg_advisory_xact_lock(${leasesKey(owner)})
  ), wanted as materialized (
    select r.*, ${startOf("due_deliveries", "r.lane", "r.floor", "r.since")} as start,
      r.floor is null or ${isLeasedByOther("r.lane", "$3")} as may_expire
    from json_to_recordset($1::json) as r (n int, lane text, permits int, floor bigint, since xid8)
    where exists (select from own) and not exists (select 1 from quarantined u where u."table" = 'endpoints' and u.id = r.lane)
      and not ${isHeldByOther("r.lane", "$3")}
  ), front as materialized (
    select w.n, first.* from wanted w cross join lateral (${firstRows(permitsMax)}) first
  ), locked as materialized (
    select q.ctid as place from due_deliveries q
    where q.ctid = any(array(select place from front)) and ${IS_FREE} for update skip locked
  ), leased as (
    update due_deliveries q
    set lease = nextval('leases'), owner = $3, leased_until = statement_timestamp() + $4 * interval '1 millisecond',
      changed_in = pg_current_xact_id()
    where q.ctid = any(array(
      select place from (
        select place, bool_and(place in (select place from locked)) over (partition by n order by due_at, row) as is_whole from front
      ) run where is_whole))
    returning q.lease, q.id, q.lane, q.due_at, q.row
  )
  select l.lease, l.id, w.n, f.due_at, ${OLDEST_RUNNING}::text, l.row
  from wanted w left join (select n, min(due_at) as due_at from front group by n) f using (n) left join leased l on l.lane = w.lane
  order by w.n, l.due_at, l.row`;
}

/**
 * Leases due deliveries that go at once (`goesAtOnce`), whatever is before them in their lanes. Those to an endpoint in quarantine wait until
 * its row is repaired, and a row that somebody is changing is left out.
 */
function leaseAtOnceStatement(owner: string): string {
  return `with own as materialized (
    select pg_advisory_xact_lock(${leasesKey(owner)})
  ), locked as materialized (
    select q.ctid as place from due_deliveries q
    where exists (select from own) and q.id = any($1::text[]) and q.lane = any($2::text[]) and q.due_at <= $3 and ${IS_FREE}
      and not exists (select 1 from quarantined u where u."table" = 'endpoints' and u.id = q.lane)
      and coalesce((select d.by_hand = 1 or (d.event_type = 'webhook.test' and d.attempt_count = 0) from deliveries d
        where d.id = q.id and d.id between $6 and $7 limit 1), false)
    for update skip locked
  )
  update due_deliveries q
  set lease = nextval('leases'), owner = $4, leased_until = statement_timestamp() + $5 * interval '1 millisecond',
    changed_in = pg_current_xact_id()
  where q.ctid = any(array(select place from locked)) returning q.lease, q.id`;
}

/** The columns of an event that its bytes are unpacked from. */
const EVENT_COLUMNS = "e.bytes, e.correlation_id, e.type, e.message_id";
const EVENT_COLUMNS_COUNT = 4;

/** Deliveries with their events. The bounds name the partitions to the planner. */
const READ = `
  select ${COLUMNS}, ${EVENT_COLUMNS} from deliveries d
  left join events e on e.id = d.event_id and ${isNear("e.position", "$4", "$5")}
  where d.id = any($1) and d.id between $2 and $3`;

const READ_EVENTS = `select e.id, ${EVENT_COLUMNS} from events e where e.id = any($1)`;

/** A delivery that a claim has leased. */
interface ClaimedPlace {
  lease: number;
  id: string;
  row: number;
}

/** A delivery that a claim has leased, as its row. */
interface LeasedDelivery {
  lease: number;
  row: DueRow;
}

function idOf([, values]: DueRow): string {
  return String(values[ID]);
}

/**
 * Leases due deliveries, at most as many as this process may hold. If it fails, what it may have leased is not known to `leases`, and
 * is ended by `endUnknownLeases`.
 */
export async function readDueDeliveries(
  sql: Sql,
  leases: DeliveryLeases,
  { lanes, now, inHandMs: leaseMs, atOnce }: DueRead,
): Promise<DueRows> {
  leases.expire();
  if (atOnce !== undefined) {
    const ids = atOnce.slice(0, Math.max(0, IN_HAND_MAX - leases.count)).toSorted();
    return ids.length === 0
      ? { rows: [], more: [] }
      : await leaseAtOnce(sql, leases, ids, { lanes, now, inHandMs: leaseMs });
  }
  const startedAt = leases.now();
  const wanted = lanes.flatMap(({ lane, limit }) => {
    const asked = Math.min(limit, leases.roomOf(lane));
    return asked > 0 ? [{ lane, limit, asked }] : [];
  });
  if (wanted.length === 0) return { rows: [], more: [] };
  const permitsMax = Math.max(...wanted.map(({ asked }) => asked));
  const places = wanted.map(({ lane, asked: permits }, n) => ({
    n,
    lane,
    permits,
    ...floorOf(leases, lane, startedAt),
  }));
  const dueUntil = leases.dueUntil(now);
  const found = await sql.values(leaseStatement(permitsMax, leases.owner), [
    JSON.stringify(places),
    dueUntil,
    leases.owner,
    leaseMs,
  ]);
  keepFloors(leases, places, found, { dueUntil, startedAt });
  const { rows, counts } = await addLeased(sql, leases, found, leaseMs);
  return { rows, more: wanted.filter(({ lane, limit }) => counts.get(lane) === limit).map(({ lane }) => lane) };
}

/** Leases those of some deliveries, named in order, that are in the lanes, due, and go at once. */
async function leaseAtOnce(
  sql: Sql,
  leases: DeliveryLeases,
  ids: readonly string[],
  { lanes, now, inHandMs: leaseMs }: Pick<DueRead, "lanes" | "now" | "inHandMs">,
): Promise<DueRows> {
  const names = lanes.map(({ lane }) => lane);
  const bounds = [ids[0] ?? "", ids.at(-1) ?? ""];
  const parameters = [ids, names, leases.dueUntil(now), leases.owner, leaseMs, ...bounds];
  const found = await sql.values(leaseAtOnceStatement(leases.owner), parameters);
  return { rows: (await addLeased(sql, leases, found, leaseMs)).rows, more: [] };
}

/** Reads and adds what a claim has leased, as many as there is room for. `counts`: how many of each lane. */
async function addLeased(sql: Sql, leases: DeliveryLeases, found: readonly SqlValue[][], leaseMs: number) {
  const leased = found.flatMap(([lease = null, id, , , , row]): ClaimedPlace[] =>
    lease === null ? [] : [{ lease: Number(lease), id: String(id), row: Number(row ?? NO_ROW) }],
  );
  const read = await readLeased(sql, leased);
  if (read.length < leased.length) await removeOrphans(sql, leased);
  const { rows, refused, counts } = addAll(leases, read, leaseMs);
  try {
    if (refused.length > 0) {
      const { text, parameters } = freeStatement(refused);
      await sql.values(text, parameters);
    }
  } catch (error) {
    leases.remove(rows.map(idOf));
    throw error;
  }
  return { rows, counts };
}

/** Where a claim of a lane begins to look; nulls: at the start. */
function floorOf(leases: DeliveryLeases, lane: string, now: number): { floor: number | null; since: string | null } {
  const known = leases.hasExpired(lane) || leases.floors.isFullDue(lane, now) ? null : leases.floors.of(lane);
  return { floor: known?.dueAt ?? null, since: known?.since ?? null };
}

/** Keeps where the next claims of lanes begin, by the rows of a claim. */
function keepFloors(
  leases: DeliveryLeases,
  places: readonly { lane: string; floor: number | null }[],
  rows: readonly SqlValue[][],
  { dueUntil, startedAt }: { dueUntil: number; startedAt: number },
): void {
  if (places.some(({ floor }) => floor === null)) leases.floors.fullEnded(startedAt, leases.now());
  for (const [, , n, dueAt = null, since] of rows) {
    const place = places[Number(n)];
    if (place === undefined) continue;
    const floor = { dueAt: Number(dueAt ?? dueUntil), since: String(since) };
    leases.floors.keep(place.lane, floor, place.floor === null ? startedAt : null);
    if (place.floor === null) leases.foundExpired(place.lane);
  }
}

/** Removes the rows of leased deliveries whose records were removed meanwhile, by pruning for example: they would be claimed again and again. */
async function removeOrphans(sql: Sql, leased: readonly ClaimedPlace[]): Promise<void> {
  await sql.values(
    `delete from due_deliveries q where q.id = any($1::text[]) and q.lease = any($2::bigint[])
       and (select true from deliveries d where d.id = q.id limit 1) is null`,
    [leased.map(({ id }) => id), leased.map(({ lease }) => lease)],
  );
}

/** Reads leased deliveries with their events, in their order. */
async function readLeased(sql: Sql, leased: readonly ClaimedPlace[]): Promise<LeasedDelivery[]> {
  if (leased.length === 0) return [];
  const ids = leased.map(({ id }) => id).sort();
  const { from, to } = positionsNear(ids);
  const rows = await sql.values(READ, [ids, ids[0] ?? "", ids.at(-1) ?? "", from, to]);
  const found = new Map(rows.map((values) => [String(values[ID]), values]));
  const events = await readEvents(sql, rows);
  return leased.flatMap(({ lease, id, row: place }): LeasedDelivery[] => {
    const row = found.get(id);
    if (row === undefined) return [];
    const values = row.slice(0, -EVENT_COLUMNS_COUNT);
    const eventId = String(values[EVENT_ID]);
    const envelope = envelopeOf(eventId, events.get(eventId) ?? row.slice(-EVENT_COLUMNS_COUNT));
    return [{ lease, row: [place, values, ...envelope] }];
  });
}

/** The bytes of an event and its correlation id, by its columns. */
function envelopeOf(id: string, [bytes = null, correlation = null, type, message = null]: readonly SqlValue[]) {
  if (typeof bytes !== "string") return [bytes, correlation] as const;
  const messageId = message === null ? null : String(message);
  const columns = { id, type: String(type), messageId, correlationId: String(correlation) };
  return [unpackEnvelope(bytes, columns), correlation] as const;
}

/** Reads the events of deliveries that are not of the time of their delivery, such as those of replays. */
async function readEvents(sql: Sql, rows: readonly SqlValue[][]): Promise<Map<string, SqlValue[]>> {
  const ids = new Set(rows.flatMap((row) => (row.at(-EVENT_COLUMNS_COUNT) === null ? [String(row[EVENT_ID])] : [])));
  const events = ids.size === 0 ? [] : await sql.values(READ_EVENTS, [[...ids]]);
  return new Map(events.map(([id, ...event]) => [String(id), event]));
}

/** Adds the leases of a claim. When there is no room for one of a lane, this one and those behind it are refused. */
function addAll(leases: DeliveryLeases, found: readonly LeasedDelivery[], leaseMs: number) {
  const refused: { id: string; lease: number }[] = [];
  const counts = new Map<string, number>();
  const full = new Set<string>();
  const rows = found.flatMap(({ lease, row }) => {
    const [, values, bytes] = row;
    const [id, lane, customerId] = [String(values[ID]), String(values[LANE]), String(values[CUSTOMER_ID])];
    const size = typeof bytes === "string" ? bytes.length : 0;
    if (full.has(lane) || !leases.add({ id, lane, customerId, size }, lease, leaseMs)) {
      full.add(lane);
      refused.push({ id, lease });
      return [];
    }
    counts.set(lane, (counts.get(lane) ?? 0) + 1);
    return [row];
  });
  return { rows, refused, counts };
}

/** Ends leases without a change of their deliveries, which are due as before. Leases that have ended already are left out. */
export async function releaseDeliveries(
  connections: Pick<WriterConnections, "alone">,
  leases: DeliveryLeases,
  released: readonly string[],
): Promise<void> {
  const own = leases.remove(released);
  if (own.length > 0) await connections.alone([], freeStatement(own));
}

/** Ends all leases of some processes, such as those that died. */
export async function releaseOwners(sql: Sql, leases: DeliveryLeases, owners: readonly string[]): Promise<void> {
  if (owners.includes(leases.owner)) leases.expire(true);
  await sql.values(`update due_deliveries set ${NO_LEASE} where lease is not null and owner = any($1)`, [owners]);
}

/**
 * Ends leases of rows that their ids lead to. It joins nothing, and reads no index of leases: no lease is given twice, so ids and leases
 * may be compared as two lists. A plan made while the queue is empty is right for a full one.
 */
function freeStatement(leases: readonly { id: string; lease: number }[]): SqlStatement {
  return {
    text: `update due_deliveries set ${NO_LEASE} where ctid = any(array(
      select q.ctid from due_deliveries q where q.id = any($1::text[]) and coalesce(q.lease, 0) = any($2::bigint[])
      order by q.id for update of q))`,
    parameters: [leases.map(({ id }) => id), leases.map(({ lease }) => lease)],
  };
}
