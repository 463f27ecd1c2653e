/**
 * The statements that lease due messages. Claims of one lane run one after the other, so that no two of them lease messages of
 * one sender and recipient. Each claim reads a bounded number of rows, however many wait. The text of a claim depends only on
 * the number of lanes and on the rows to read. Everything else is a parameter, so that the server keeps the plans of claims.
 */

import pg from "pg";
import { type ClaimWalk, STEPS_MAX, WALK_BEGINS } from "../claim-walk.ts";
import { LAYOUT } from "../rows.ts";
import { storedColumn } from "../split-timeline.ts";
import type { MessageLane } from "../store.ts";
import {
  type BoundTerms,
  bind,
  type ClaimTerms,
  given,
  isDueAt,
  isDueById,
  isFree,
  isLookup,
  isNotWaiting,
} from "./claim-terms.ts";
import { UNLEASED } from "./due-messages.ts";
import { type LaneFloor, OLDEST_RUNNING, startOf } from "./lane-floors.ts";
import { leasesKey } from "./own-leases.ts";
import { type SqlParameter, type SqlStatement, StatementParameters } from "./sql.ts";

/** The most messages of one sender and recipient in a claim, unless the lane says another number. They are a run, which is sent in sequence. */
const RUN_MAX = 8;
/** Due messages that a claim reads at the front of a lane, besides its permits. */
const ROWS_PASSED_MAX = 64;
/** How long a claim waits for a transaction that requires that no message of a pair is leased. */
const WAIT_MS_MAX = 1_000;
/** Leased messages of a lane that a claim from the start lists. If there are more, the claim looks for all leases of each pair. */
const LEASED_MAX = 256;

/** A lane and the floor from which a claim reads it. Null: the claim ends the lane's expired leases, and reads from the start. */
export interface LookedLane extends MessageLane {
  floor: LaneFloor | null;
}

/** A lane in which a claim goes on behind the front. */
export interface WalkedLane extends LookedLane {
  walk: ClaimWalk;
}

/** A claim, and the statements without parameters that its SQL transaction runs first. */
export interface ClaimStatements {
  before: string[];
  claim: SqlStatement;
}

/** A claim's findings at the front of a lane. */
export interface FrontRead {
  /** Messages that the claim could lease, including those for which there was no permit. */
  found: number;
  /** Whether the lane may have due messages behind those that the claim has read. */
  isCut: boolean;
  /** The due time of the first message that the claim found; null if it found none. */
  dueAt: number | null;
  /** `since` of the lane's next floor. */
  since: string;
  /** Messages that were leased. Null if the claim did not read from the start, or if they are many. */
  leased: string[] | null;
}

/**
 * The beginning of a claim's row; the message's columns follow. `read` is
 * the same in each row of a lane, and null if the claim read nothing there.
 */
export type ClaimRowStart<Read> = [lane: string, read: Read | null, lease: number | null];
export const CLAIM_ROW_START = 3;

const text = (value: string) => `${pg.escapeLiteral(value)}::text`;

const valuesOf = (rows: readonly (readonly string[])[]) =>
  `(values ${rows.map((row) => `(${row.join(", ")})`).join(", ")})`;
const laneNames = (lanes: readonly MessageLane[]) => lanes.map(({ lane }) => text(lane)).join(", ");

/**
 * The most rows that a claim reads at the front of a lane. The limit is part of the text: with a parameter the planner
 * would expect to read the whole lane. The permits are rounded up to a power of two, so that there are few texts.
 */
function frontMax(lanes: readonly MessageLane[]): number {
  const permits = Math.max(1, ...lanes.map((lane) => lane.permits));
  return 2 ** Math.ceil(Math.log2(permits)) + ROWS_PASSED_MAX;
}

/**
 * SQL that locks lanes until the end of the SQL transaction, in an order that all
 * processes share. If the SQL transaction leases, it first locks the leases of `owner`.
 */
export function lockLanes(lanes: readonly string[], owner?: string): string {
  const names = valuesOf(lanes.map((lane) => [text(lane)]));
  const keys = `select distinct hashtextextended('messages ' || lane, 0) as key from ${names} lanes (lane) order by key`;
  const own = owner === undefined ? "" : `select ${leasesKey(owner)} union all `;
  return `select pg_advisory_xact_lock(key) from (${own}(${keys})) keys (key)`;
}

/** Statements that precede a claim in its SQL transaction. The commit has no fsync: a crash of the server may undo a lease. */
function before(lanes: readonly LookedLane[], owner: string): string[] {
  const full = lanes.filter(({ floor }) => floor === null);
  return [
    `set local synchronous_commit = off`,
    `set local lock_timeout = ${WAIT_MS_MAX}`,
    lockLanes(
      lanes.map(({ lane }) => lane),
      owner,
    ),
    ...(full.length === 0 ? [] : [endExpired(full)]),
  ];
}

/** SQL that ends the expired leases of lanes. */
function endExpired(lanes: readonly MessageLane[]): string {
  return `update due_messages set ${UNLEASED} where id = any(array(
    select id from due_messages where lane in (${laneNames(lanes)}) and lease is not null and is_held = 0
      and leased_until <= clock_timestamp() for update skip locked))`;
}

/**
 * Leases the oldest messages at the front of each lane. For a waiting pair it leases only
 * the messages that the pair waits for. The rows begin with `ClaimRowStart<FrontRead>`.
 */
export function claimFront(lanes: readonly LookedLane[], terms: ClaimTerms): ClaimStatements {
  const parameters = new StatementParameters();
  const bound = bind(parameters, terms);
  const max = frontMax(lanes);
  const { now, waiting } = bound;
  const isDue = `${isDueAt(now)} and due_at >= l.start`;
  const inOrder = `order by due_at, id limit ${max}`;
  const columns = `id, "from", "to", due_at, ${isLookup("due_messages")} as is_lookup`;
  const claim = `
    with lanes as materialized (${lanesOf(parameters, lanes)}),
    ${given(bound)}
    found as materialized (
      select l.lane, l.paused, d.* from lanes l cross join lateral (
        (select ${columns} from due_messages where not l.paused and lane = l.lane and ${isDue} ${inOrder})
        union all
        (select ${columns} from due_messages where l.paused and lane = l.lane and ${isDue} and is_queued = 0 ${inOrder})
      ) d
    ),
    ${awaited(parameters, terms, bound, { isDue, inOrder })}
    free_pairs as materialized (
      select lane, "from", "to" from (select distinct lane, "from", "to" from found where not is_lookup) p
      where ${isFree(bound, "p")}
    ),
    free as (
      select 1 as rank, lane, id, "from", "to", due_at, is_lookup,
        row_number() over (partition by lane, "from", "to", is_lookup order by due_at, id) as place
      from found f where (is_lookup or (lane, "from", "to") in (select lane, "from", "to" from free_pairs))
        and (paused or ${isNotWaiting(waiting, "f")})
    ),
    candidates as (
      select f.* from free f join lanes using (lane) where is_lookup or place <= run_max
      ${waiting === null ? "" : "union all select * from awaited where is_lookup or place = 1"}
    ),
    ${lease(bound)},
    reads as (
      select l.lane, jsonb_build_object('isCut', coalesce(f.count, 0) = ${max}, 'found', coalesce(o.count, 0), 'dueAt', f.due_at,
        'since', ${OLDEST_RUNNING}::text, 'leased', case when l.floor is null then ${leasedOf("l.lane")} end) as read
      from lanes l
      left join (select lane, count(*), min(due_at) as due_at from found group by lane) f using (lane)
      left join (select lane, count(*) from ordered group by lane) o using (lane)
    )
    ${result()}`;
  return { before: before(lanes, terms.owner), claim: { text: claim, parameters: parameters.values } };
}

/**
 * Leases behind the front of each lane, from the place where the last walk ended: runs of messages of the next
 * pairs with a `queued` message, the oldest first, and the next timers. In a paused lane it leases only timers. For
 * a waiting pair it leases only lookups and the first other timer. The rows begin with `ClaimRowStart<WalkedPart>`.
 */
export function claimBehind(lanes: readonly WalkedLane[], terms: ClaimTerms): ClaimStatements {
  const parameters = new StatementParameters();
  const bound = bind(parameters, terms);
  const { now, waiting } = bound;
  const isDue = isDueAt(now);
  const runMax = Math.max(...lanes.map(runMaxOf));
  const next = (lane: string, after: string) => `
    select "from", "to", due_at from due_messages
    where lane = ${lane} and lease is null and is_queued = 1 and ("from", "to") > (${after}."from", ${after}."to")
      and due_at >= ${after}.start
    order by "from", "to", due_at, id limit 1`;
  const claim = `
    with recursive lanes as materialized (${lanesOf(parameters, lanes)}),
    ${given(bound)}
    pairs as (
      select l.lane, p."from", p."to", p.due_at, l.start, 1 as step from lanes l cross join lateral (${next("l.lane", "l")}) p
      where not l.paused
      union all
      select q.lane, p."from", p."to", p.due_at, q.start, q.step + 1 from pairs q cross join lateral (${next("q.lane", "q")}) p
      where q.step < ${STEPS_MAX}
    ),
    heads as (
      select p.*, row_number() over (partition by lane order by due_at, "from", "to") as turn from pairs p
      where due_at <= ${now} and ${isFree(bound, "p")} and ${isNotWaiting(waiting, "p")}
    ),
    queued as (
      select h.lane, d.id, h."from", h."to", d.due_at from heads h join lanes l using (lane) cross join lateral (
        select id, due_at from due_messages
        where lane = h.lane and lease is null and is_queued = 1
          and ("from", "to", due_at) >= (h."from", h."to", h.start) and ("from", "to", due_at) <= (h."from", h."to", ${now})
        order by "from", "to", due_at, id limit ${runMax}
      ) d where h.turn <= l.permits
    ),
    timers as (
      select l.lane, d.*, d."from" || ' ' || d."to" as name, row_number() over (partition by l.lane order by d.due_at, d.id) as step
      from lanes l cross join lateral (
        select id, "from", "to", due_at, ${isLookup("due_messages")} as is_lookup from due_messages
        where lane = l.lane and ${isDue} and due_at >= l.start and is_queued = 0 and (due_at, id) > (l.due_at, l.id)
        order by due_at, id limit ${STEPS_MAX}
      ) d
    ),
    free_pairs as materialized (
      select lane, "from", "to" from (
        select distinct t.lane, t."from", t."to" from timers t join lanes l using (lane)
        where not t.is_lookup and name <> all(l.passed)
      ) p where ${isFree(bound, "p")}
    ),
    free as (
      select 1 as rank, lane, id, "from", "to", due_at, is_lookup,
        row_number() over (partition by lane, "from", "to", is_lookup order by due_at, id) as place
      from (
        select lane, id, "from", "to", due_at, false as is_lookup from queued
        union all
        select t.lane, t.id, t."from", t."to", t.due_at, t.is_lookup from timers t join lanes l using (lane)
        where t.is_lookup or (name <> all(l.passed) and (t.lane, t."from", t."to") in (select lane, "from", "to" from free_pairs))
      ) found
    ),
    candidates as (
      select f.* from free f join lanes using (lane)
      where is_lookup or (place <= run_max and (place = 1 or paused or ${isNotWaiting(waiting, "f")}))
    ),
    ${lease(bound)},
    reads as (
      select l.lane, jsonb_build_object('pair', p.place, 'timer', t.place, 'passed', coalesce(b.names, '[]')) as read
      from lanes l
      left join (select lane, jsonb_build_array("from", "to") as place from pairs where step = ${STEPS_MAX}) p using (lane)
      left join (select lane, jsonb_build_array(due_at, id) as place from timers where step = ${STEPS_MAX}) t using (lane)
      left join (
        select lane, jsonb_agg(distinct name) as names from timers
        where not is_lookup and id not in (select id from leased) group by lane
      ) b using (lane)
    )
    ${result()}`;
  return { before: [IN_ORDER, ...before(lanes, terms.owner)], claim: { text: claim, parameters: parameters.values } };
}

/**
 * A setting of a claim that reads pairs in the order of their index. If the planner takes the queue for
 * empty, all indexes cost the same, and it would sort the rows that it finds at the front of a lane.
 */
const IN_ORDER = "set local enable_sort = off";

const runMaxOf = ({ runMax = RUN_MAX }: Pick<MessageLane, "runMax">) => runMax;

/** The places before all pairs and before all timers. */
const [FIRST_PAIR, FIRST_TIMER] = [
  ["", ""],
  [Number.MIN_SAFE_INTEGER, ""],
] as const;

/** The query of `lanes` and the places of their walks. It leaves out a lane whose claim requires another epoch. */
function lanesOf(given: StatementParameters, lanes: readonly (LookedLane & Partial<WalkedLane>)[]): string {
  const rows = lanes.map(({ lane, permits, paused = false, required, floor, walk = WALK_BEGINS, ...rest }) => {
    const [[from, to], [dueAt, id]] = [walk.pairs.last ?? FIRST_PAIR, walk.timers.last ?? FIRST_TIMER];
    const values: readonly (readonly [value: SqlParameter, type: string])[] = [
      [lane, "text"],
      [permits, "int"],
      [runMaxOf(rest), "int"],
      [String(paused), "boolean"],
      [from, "text"],
      [to, "text"],
      [dueAt, "bigint"],
      [id, "text"],
      [walk.passed, "text[]"],
      [required?.lease ?? null, "text"],
      [required?.epoch ?? null, "bigint"],
      [floor?.dueAt ?? null, "bigint"],
      [floor?.since ?? null, "xid8"],
    ];
    return values.map(([value, type]) => `${given.add(value)}::${type}`);
  });
  return `select *, ${startOf("l.lane", "l.floor", "l.since")} as start from ${valuesOf(rows)}
      l (lane, permits, run_max, paused, "from", "to", due_at, id, passed, required, epoch, floor, since)
    where required is null or exists (select from member_leases m where m.lease = l.required and m.epoch = l.epoch)`;
}

/** SQL for the ids of the leased messages of a lane; null if they are many. */
function leasedOf(lane: string): string {
  return `(select case when count(*) <= ${LEASED_MAX} then coalesce(jsonb_agg(b.id), '[]') end
    from (select id from due_messages where lane = ${lane} and lease is not null limit ${LEASED_MAX + 1}) b)`;
}

/** The CTE of messages of waiting pairs that may be leased: the named messages, and timers. */
function awaited(
  given: StatementParameters,
  { waiting }: ClaimTerms,
  bound: BoundTerms,
  { isDue, inOrder }: { isDue: string; inOrder: string },
): string {
  if (waiting.length === 0) return "";
  const columns = `id, "from", "to", due_at, is_queued, is_held`;
  const ids = `${given.add(waiting.flatMap(({ except }) => except))}::text[]`;
  const named = `select 0 as rank, lane, ${columns} from due_messages
    where id = any(${ids}) and ${isDueById(bound.now)} and lane in (select lane from lanes where not paused)`;
  const timers = `select 1 as rank, l.lane, d.* from lanes l cross join lateral (
      select ${columns} from due_messages where lane = l.lane and ${isDue} and is_queued = 0 ${inOrder}) d
    where not l.paused and d.id <> all(${ids})`;
  return `awaited as (
      select 0 as rank, lane, id, "from", "to", due_at, is_lookup,
        row_number() over (partition by lane, "from", "to", is_lookup order by rank, due_at, id) as place
      from (select a.*, ${isLookup("a")} as is_lookup from (${named} union all ${timers}) a) a
      where ("from", "to") in (select "from", "to" from waiting) and (is_lookup or ${isFree(bound, "a")})
    ),`;
}

/**
 * The CTEs that lease `candidates`, in each lane as many as its permits. If another process
 * is changing a message, its run ends before it, and the messages behind it keep their place.
 */
function lease({ now, leaseMs, owner, firstLease }: BoundTerms): string {
  return `
    ordered as (
      select *, row_number() over (partition by lane order by rank, due_at, id) as ordinal from candidates
    ),
    chosen as (select o.* from ordered o join lanes using (lane) where ordinal <= permits),
    locked as (
      select id from due_messages where id = any(array(select id from chosen)) and ${isDueById(now)} for update skip locked
    ),
    runs as (
      select *, bool_and(id in (select id from locked)) over (partition by lane, "from", "to", is_lookup order by due_at, id) as is_whole
      from chosen
    ),
    tokens as (select array(select id from runs where is_whole) as ids),
    leased as (
      update due_messages set owner = ${owner}, leased_until = clock_timestamp() + ${leaseMs} * interval '1 ms',
        lease = ${firstLease} - 1 + array_position((select ids from tokens), id), changed_in = pg_current_xact_id()
      where id = any(array(select id from runs where is_whole))
      returning id, lease
    )`;
}

/** The rows of a claim, those of a lane in the order of its queue. A lane in which nothing is leased has one row without a lease. */
function result(): string {
  const columns = LAYOUT.messages.map(({ column }) => storedColumn("messages", column, "m")).join(", ");
  return `
    select l.lane, r.read, c.lease, ${columns}
    from lanes l left join reads r on r.lane = l.lane
    left join (select ordinal, lane, lease, id from runs join leased using (id)) c on c.lane = l.lane
    left join lateral (select * from messages where id = c.id limit 1) m on true
    order by l.lane, c.ordinal`;
}
