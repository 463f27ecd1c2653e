/** The queue of due messages: claims, and the ends of leases. A lease is in the message's row of `due_messages`, with its owner. */

import { sql as query, type RawBuilder } from "kysely";
import pg from "pg";
import type { ClaimedMessageRows, LeasedRow } from "../jobs/jobs.ts";
import { LAYOUT, type SqlValue } from "../rows.ts";
import type { MessageClaim, MessageLane } from "../store.ts";
import {
  CLAIM_ROW_START,
  type ClaimRowStart,
  type ClaimTerms,
  claimFront,
  claimPairs,
  FIRST_PAIR,
  frontMax,
  lockLanes,
  PAIRS_READ_MAX,
  type WalkedLane,
} from "./claim-messages.ts";
import { DUE_COLUMNS, keepDueMessages, UNLEASED } from "./due-messages.ts";
import type { Sql } from "./sql.ts";

/** The tokens of leases in a block, of which a member takes one for itself. */
const BLOCK = 2 ** 32;
/** Lanes whose walks are kept. A lost walk begins again. */
const LANES_MAX = 1_000;
/** Claims one after the other that walk through pairs and find nothing to lease. */
const IDLE_WALKS_MAX = 40;

/** The walk through the pairs of a lane, which goes on with each claim that needs it. */
interface PairWalk {
  after: typeof FIRST_PAIR;
  /** Claims since one leased a message. */
  idle: number;
}

/** The result of a claim in a lane. */
interface LaneClaim {
  /** Messages that it could lease, those beyond the permits included. */
  found: number;
  rowsRead: number;
  pairsRead: number;
  last: typeof FIRST_PAIR;
  rows: LeasedRow[];
}

const NOTHING: LaneClaim = { found: 0, rowsRead: 0, pairsRead: 0, last: FIRST_PAIR, rows: [] };

/** Index of a message's property in the values of its row. */
const indexOf = (name: string) => LAYOUT.messages.findIndex(({ property }) => property === name);
const [ID, FROM, TO] = ["id", "from", "to"].map(indexOf) as [number, number, number];

/** The queue as one member uses it. */
export class MessageQueue {
  readonly #owner: string;
  /** The token of the next lease; null before the first. */
  #nextLease: number | null = null;
  readonly #walks = new Map<string, PairWalk>();
  /** The leases whose claim this process has got, until they are released or their time is over (monotonic time). */
  readonly #known = new Map<number, number>();
  readonly #now: () => number;
  readonly #failed: (error: unknown) => void;

  /** `owner` names the member in its leases. `now`: the monotonic clock. `failed` is called if a part of a claim failed that goes on. */
  constructor(owner: string, now: () => number, failed: (error: unknown) => void = () => {}) {
    this.#owner = owner;
    this.#now = now;
    this.#failed = failed;
  }

  /** The leases of this process. */
  known(): number[] {
    this.#expire();
    return [...this.#known.keys()];
  }

  /** Ends leases, as `release` of a store promises. */
  async release(sql: Sql, leases: readonly number[]): Promise<void> {
    for (const lease of leases) this.#known.delete(lease);
    await releaseMessages(sql, this.#owner, leases);
  }

  #expire(): void {
    const now = this.#now();
    for (const [lease, endsAt] of this.#known) {
      if (endsAt > now) return;
      this.#known.delete(lease);
    }
  }

  #keep(rows: readonly LeasedRow[], leaseMs: number): void {
    this.#expire();
    const endsAt = this.#now() + leaseMs;
    for (const { lease } of rows) this.#known.set(lease, endsAt);
  }

  /** Leases due messages of lanes, as `claimMessages` of a store promises. */
  async claim(sql: Sql, { lanes, now, leaseMs, waiting = [] }: MessageClaim): Promise<ClaimedMessageRows> {
    if (lanes.length === 0) return { rows: [], more: [] };
    const terms = { now, leaseMs, waiting };
    const fronts = await this.#run(sql, terms, lanes, claimFront);
    const full = lanes.flatMap((lane): WalkedLane[] => {
      const { rows, rowsRead } = fronts.get(lane.lane) ?? NOTHING;
      if (lane.paused === true || rowsRead < frontMax(lanes) || rows.length >= lane.permits) return [];
      return [{ ...lane, permits: lane.permits - rows.length, after: this.#walk(lane.lane).after }];
    });
    const walked = await this.#walkPairs(sql, terms, full, fronts);
    const more = lanes.filter((lane) => {
      const walk = full.find((one) => one.lane === lane.lane);
      if (walk !== undefined) return this.#endWalk(walk, walked.get(lane.lane) ?? NOTHING);
      const { found, rows, rowsRead } = fronts.get(lane.lane) ?? NOTHING;
      return rows.length >= lane.permits && (found > lane.permits || rowsRead === frontMax(lanes));
    });
    const rowsOf = ({ lane }: MessageLane) =>
      [fronts, walked].flatMap((claimed) => inOrderOfAcceptance((claimed.get(lane) ?? NOTHING).rows));
    const rows = lanes.flatMap(rowsOf);
    this.#keep(rows, leaseMs);
    return { rows, more: more.map(({ lane }) => lane) };
  }

  /** Walks through the pairs of lanes. A failure is thrown only if no message was claimed before: those would stay leased. */
  async #walkPairs(
    sql: Sql,
    terms: Pick<ClaimTerms, "now" | "leaseMs" | "waiting">,
    lanes: readonly WalkedLane[],
    fronts: ReadonlyMap<string, LaneClaim>,
  ): Promise<Map<string, LaneClaim>> {
    try {
      return lanes.length === 0 ? new Map() : await this.#run(sql, terms, lanes, claimPairs);
    } catch (error) {
      if (![...fronts.values()].some(({ rows }) => rows.length > 0)) throw error;
      this.#failed(error);
      return new Map();
    }
  }

  async #run<Lane extends MessageLane>(
    sql: Sql,
    terms: Pick<ClaimTerms, "now" | "leaseMs" | "waiting">,
    lanes: readonly Lane[],
    statements: (lanes: readonly Lane[], terms: ClaimTerms) => string[],
  ): Promise<Map<string, LaneClaim>> {
    const firstLease = this.#nextLease ?? (await takeBlock(sql));
    this.#nextLease = firstLease + lanes.reduce((sum, { permits }) => sum + permits, 0);
    const rows = await sql.script(statements(lanes, { ...terms, owner: this.#owner, firstLease }));
    return new Map([...Map.groupBy(rows, ([lane]) => String(lane))].map(([lane, each]) => [lane, laneClaimOf(each)]));
  }

  #walk(lane: string): PairWalk {
    const known = this.#walks.get(lane);
    if (known !== undefined) return known;
    if (this.#walks.size >= LANES_MAX) this.#walks.clear();
    const walk = { after: FIRST_PAIR, idle: 0 };
    this.#walks.set(lane, walk);
    return walk;
  }

  /** Keeps how far a walk has come. Returns whether the next claim may find more in the lane. */
  #endWalk({ lane, permits, after }: WalkedLane, { rows, pairsRead, last }: LaneClaim): boolean {
    const isOver = pairsRead < PAIRS_READ_MAX;
    const idle = rows.length > 0 ? 0 : this.#walk(lane).idle + 1;
    const mayGoOn = rows.length >= permits || (idle < IDLE_WALKS_MAX && (!isOver || after !== FIRST_PAIR));
    this.#walks.set(lane, { after: isOver ? FIRST_PAIR : last, idle: mayGoOn ? idle : 0 });
    return mayGoOn;
  }
}

/** Tokens that no other member has, nor this one has had: the sequence is on disk before the first of them is used. */
async function takeBlock(sql: Sql): Promise<number> {
  const [[block] = []] = await sql.values("select nextval('lease_blocks')");
  return Number(block) * BLOCK;
}

function laneClaimOf(rows: readonly SqlValue[][]): LaneClaim {
  const [, found, rowsRead, pairsRead, lastFrom, lastTo] = (rows[0] ?? []) as unknown as ClaimRowStart;
  return {
    found,
    rowsRead,
    pairsRead,
    last: [lastFrom, lastTo],
    rows: rows.flatMap((row) => {
      const lease = row[CLAIM_ROW_START - 1];
      const values = row.slice(CLAIM_ROW_START);
      return typeof lease === "number" && values[ID] !== null ? [{ values, lease }] : [];
    }),
  };
}

/** Leased messages with those of each pair in the order of acceptance, which is the order of ids. */
function inOrderOfAcceptance(rows: readonly LeasedRow[]): LeasedRow[] {
  const pairOf = ({ values }: LeasedRow) => `${values[FROM]} ${values[TO]}`;
  const runs = Map.groupBy(
    rows.toSorted((a, b) => (String(a.values[ID]) < String(b.values[ID]) ? -1 : 1)),
    pairOf,
  );
  return rows.map((row) => runs.get(pairOf(row))?.shift() ?? row);
}

/** Ends leases of a member, except those that have ended already. Their messages are due as before, or in a send attempt without a lease. */
async function releaseMessages(sql: Sql, owner: string, leases: readonly number[]): Promise<void> {
  const list = leases.filter((lease) => Number.isSafeInteger(lease)).join(", ");
  await sql.script([
    `set local synchronous_commit = off`,
    endLeases(
      `d.lease = any(array[${list}]::bigint[]) and d.lease is not null and d.owner = ${pg.escapeLiteral(owner)}`,
      "skip locked",
    ),
  ]);
}

/** A statement that ends the leases of rows `d` of the queue, and makes the rows as their messages `m` say. */
function endLeases(where: string, locking = ""): string {
  return `with ended as (
      select d.id, m.due_at, m.claimed_until from due_messages d left join messages m on m.id = d.id
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

/** SQL for whether the lease of a row of `due_messages` has not ended by time. */
const IS_LEASED = "lease is not null and (is_held = 1 or leased_until > clock_timestamp())";

/** The pairs with a leased message in the lane. */
export function leasedPairs(sql: Sql, lane: string): Promise<{ from: string; to: string }[]> {
  return sql.query(`select distinct "from", "to" from due_messages where lane = $1 and ${IS_LEASED}`, [lane]);
}

/** SQL for whether a message of a pair is leased in a lane, which the planner does not make a join of. While `lockLanes` holds the lane, no further one is leased. */
function isLeasedPair(lane: string, from: string, to: string): string {
  const leased = `d.lane = ${lane} and d."from" = ${from} and d."to" = ${to} and ${IS_LEASED}`;
  return `coalesce((select true from due_messages d where ${leased} limit 1), false)`;
}

/** Whether a message of each pair is leased in its lane. No further one is leased until the SQL transaction ends. */
export async function leasedAmong(
  sql: Sql,
  pairs: readonly { lane: string; from: string; to: string }[],
): Promise<boolean[]> {
  await sql.script([lockLanes(pairs.map(({ lane }) => lane))]);
  const rows = await sql.values(
    `select (${isLeasedPair("p.lane", 'p."from"', 'p."to"')})::int
     from unnest($1::text[], $2::text[], $3::text[]) with ordinality p (lane, "from", "to", place) order by place`,
    [pairs.map(({ lane }) => lane), pairs.map(({ from }) => from), pairs.map(({ to }) => to)],
  );
  return rows.map(([isLeased]) => isLeased === 1);
}

/** CTEs that follow one named `ended` in a statement: its messages are in no attempt any more, and due. `changed` are those messages. */
function endAttempts(now: string): string {
  return `changed as (
      update messages set claimed_until = null, version = version + 1,
        due_at = case status when 'queued' then least(coalesce(scheduled_at, created_at), ${now}) else ${now} end
      where id = any(array(select id from ended))
      returning ${DUE_COLUMNS}, 'ends' as lease_effect
    ), ${keepDueMessages("changed")}`;
}

/** Ends all leases of a dead member, also those of its send attempts, whose messages become due at `now`. */
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
 * Ends leases as `releaseLeases` of a store promises. While another member lives, only itself ends its leases on disk: the clocks of
 * hosts differ. Those of a dead member last as long, since its last write to a provider may still be on its way.
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

/** The query for the lanes with a due message, leased or not: one step per lane, and one row per lease. */
export function dueMessageLanes(now: number): RawBuilder<{ lane: string; due_at: number }> {
  return query`
    with recursive lanes (lane) as (
      (select lane from due_messages where lease is null order by lane limit 1)
      union all
      select (select lane from due_messages d where lease is null and d.lane > lanes.lane order by lane limit 1)
      from lanes where lanes.lane is not null
    )
    select lane, min(due_at) as due_at from (
      select lane, (select due_at from due_messages d where lease is null and d.lane = lanes.lane order by due_at limit 1) as due_at
      from lanes where lane is not null
      union all
      select lane, due_at from due_messages where lease is not null and is_held = 0
    ) due where due_at <= ${now} group by lane`;
}
