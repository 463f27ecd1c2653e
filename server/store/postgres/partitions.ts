/**
 * The daily partitions of events and deliveries. Adds partitions ahead of time, and drops those that are past retention. Events
 * are partitioned by position: each day begins at a position of its own. Deliveries are partitioned by the time in their id.
 */

import type pg from "pg";
import { firstIdAt } from "../../core/id.ts";
import { boundsBeside, isApart } from "../deliveries-of-event.ts";
import { DAY_MS, dayOf, FIRST_DAY, firstPositionOf } from "../positions.ts";
import { inTransaction } from "./in-transaction.ts";
import { failureOf, type Sql } from "./sql.ts";

/** Days after today that have partitions. */
const DAYS_AHEAD = 2;
/** If there would be more partitions than this, each has several days: a read that names no range plans all partitions. */
const PARTITIONS_MAX = 30;
/** Days of a partition if its rows are never dropped. */
const DAYS_FOR_EVER = 30;
/** Deliveries of dropped events that one SQL transaction deletes. */
const REMOVED_AT_ONCE = 1_000;
/** The time between two tries to drop partitions, in milliseconds. */
const DROP_EVERY_MS = 60_000;
/** The advisory lock of every transaction that adds or drops partitions. */
const LOCK = "select pg_advisory_xact_lock(7236914582)";
/** The lock of a transaction that names partitions: no partition is dropped before the transaction ends. */
export const KEEP_PARTITIONS = "select pg_advisory_xact_lock_shared(7236914582)";

/** The tables with partitions. */
type Partitioned = "events" | "deliveries";

/** The days of a partition: usually one. */
export interface PartitionDays {
  first: number;
  days: number;
}

const endOf = ({ first, days }: PartitionDays) => first + days;

/** The name of a partition: its first day, and the number of its days unless it has one. */
export function partitionOf(table: Partitioned, { first, days }: PartitionDays): string {
  const date = new Date(first * DAY_MS).toISOString().slice(0, 10).replaceAll("-", "");
  return `${table}_${date}${days === 1 ? "" : `_${days}`}`;
}

/** The days of a partition. A table then never has many more than `PARTITIONS_MAX`. Null: rows are kept for ever. */
function daysFor(retentionMs: number | null): number {
  if (retentionMs === null) return DAYS_FOR_EVER;
  return Math.min(DAYS_FOR_EVER, Math.max(1, Math.ceil(retentionMs / DAY_MS / PARTITIONS_MAX)));
}

/** The partitions of a table that have days, in the order of their days. */
export async function listPartitions(sql: Sql, table: Partitioned): Promise<PartitionDays[]> {
  const rows = await sql.values(
    `select c.relname::text from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = $1::text::regclass`,
    [table],
  );
  const partitions = rows.flatMap(([name]) => {
    const [, year, month, date, days] = /_(\d{4})(\d\d)(\d\d)(?:_(\d+))?$/.exec(String(name)) ?? [];
    if (year === undefined) return [];
    return [{ first: Date.UTC(Number(year), Number(month) - 1, Number(date)) / DAY_MS, days: Number(days ?? 1) }];
  });
  return partitions.sort((a, b) => a.first - b.first);
}

/**
 * How the rows of a partition are stored. More than half of each page of deliveries is left free
 * for second versions of its rows, which the ends of attempts write. Within its page a second
 * version needs no new entries of indexes, and a delivery writes a quarter less to the log.
 */
const STORAGE = { events: "fillfactor = 100", deliveries: "fillfactor = 45" } as const;

/** Adds a partition for a day that has none. The partition has up to `days` days. */
export async function addPartition(sql: Sql, table: Partitioned, day: number, days: number): Promise<void> {
  const present = await listPartitions(sql, table);
  const before = present.findLast(({ first }) => first <= day);
  if (day < FIRST_DAY || (before !== undefined && endOf(before) > day)) return;
  const aligned = Math.floor(day / days) * days;
  const first = Math.max(aligned, FIRST_DAY, before === undefined ? 0 : endOf(before));
  const next = present.find((one) => one.first > day)?.first ?? Number.POSITIVE_INFINITY;
  const partition = { first, days: Math.min(aligned + days, next) - first };
  const [from, to] =
    table === "events"
      ? [String(firstPositionOf(first)), String(firstPositionOf(endOf(partition)))]
      : idsOf(partition).map((id) => `'${id}'`);
  if (table === "deliveries") {
    // The clock of a process was far ahead. Its rows stay in the default partition, and so do all others of these days.
    const stray = await sql.values(`select 1 from deliveries_default where id >= ${from} and id < ${to} limit 1`);
    if (stray.length > 0) return;
  }
  const name = partitionOf(table, partition);
  await sql.values(`create table ${name} (like ${table} including defaults) with (${STORAGE[table]})`);
  // The index keeps an event from being inserted twice. A table that is partitioned by position can have no unique index of ids itself.
  if (table === "events") await sql.values(`create unique index on ${name} (id)`);
  await sql.values(`alter table ${table} attach partition ${name} for values from (${from}) to (${to})`);
}

/** The bounds of the ids of a partition's deliveries: the first id, and the id at which the next partition begins. */
function idsOf(partition: PartitionDays): [from: string, to: string] {
  return [firstIdAt("dlv", partition.first * DAY_MS), firstIdAt("dlv", endOf(partition) * DAY_MS)];
}

/** The partitions of a database. No call waits for a lock for long: a step that fails is tried again at the next look. */
export class Partitions {
  readonly #pool: pg.Pool;
  /** Resolves at the end of the last call: calls run one after another. */
  #running: Promise<void> = Promise.resolve();
  /** Days of a new partition. */
  readonly #days: number;
  /** First days of partitions past retention that stay, since one of their deliveries is open. */
  #held: ReadonlySet<number> = new Set();
  readonly #now: () => number;
  #dropBeganAt = Number.NEGATIVE_INFINITY;

  /** `retentionMs`: how long rows are kept; null: for ever. `now`: the monotonic clock. */
  constructor(pool: pg.Pool, retentionMs: number | null, now = () => performance.now()) {
    this.#pool = pool;
    this.#days = daysFor(retentionMs);
    this.#now = now;
  }

  /** First days of partitions whose events have to be deleted one by one. */
  get held(): ReadonlySet<number> {
    return this.#held;
  }

  /** Adds the partitions of today and the days after, and begins today's positions. `now`: the time, if not that of the database. */
  keep(now: number | null = null): Promise<void> {
    return this.#next(() => this.#keep(now));
  }

  /** Drops the partitions in which everything is older than `before` and no delivery is open. */
  drop(before: number): Promise<void> {
    return this.#next(() => this.#drop(before));
  }

  /** Calls `keep` without waiting for it. If it fails, the next look tries again. */
  beginKeep(): void {
    this.keep().catch(() => {});
  }

  /**
   * Calls `drop` without waiting for it, at most once a minute. A partition cannot be dropped while a transaction,
   * such as that of a backup, reads the tables. Statements that come after a try to drop it wait with the try.
   */
  beginDrop(before: number): void {
    const now = this.#now();
    if (now - this.#dropBeganAt < DROP_EVERY_MS) return;
    this.#dropBeganAt = now;
    this.drop(before).catch(() => {});
  }

  /** Resolves once nothing runs any more. */
  idle(): Promise<void> {
    return this.#running;
  }

  #next(work: () => Promise<void>): Promise<void> {
    const next = this.#running.then(work);
    this.#running = next.catch(() => {});
    return next;
  }

  async #keep(now: number | null): Promise<void> {
    const clock = "select (extract(epoch from clock_timestamp()) * 1000)::bigint";
    const at = now ?? (await this.#try(async (sql) => Number((await sql.values(clock))[0]?.[0])));
    if (at === null) return;
    const today = dayOf(at);
    for (const table of ["events", "deliveries"] as const) {
      await this.#try(async (sql) => {
        for (let day = today; day <= today + DAYS_AHEAD; day += 1) await addPartition(sql, table, day, this.#days);
      });
    }
    await this.#try(async (sql) => {
      const position = firstPositionOf(today);
      const partitions = await listPartitions(sql, "events");
      if (!partitions.some((one) => one.first <= today && today < endOf(one))) return;
      await sql.values(
        `select setval('event_positions', ${position}) from event_positions where last_value < ${position}`,
      );
    });
  }

  async #drop(before: number): Promise<void> {
    const partitions = await this.#try(async (sql) => {
      const all = [...(await listPartitions(sql, "events")), ...(await listPartitions(sql, "deliveries"))];
      const byName = new Map(all.map((one) => [partitionOf("events", one), one]));
      return [...byName.values()].sort((a, b) => a.first - b.first);
    });
    const held = new Set(this.#held);
    for (const partition of partitions ?? []) {
      if (endOf(partition) * DAY_MS > before) continue;
      let dropping: Dropping | null = "more";
      while (dropping === "more") dropping = await this.#try((sql) => dropPartition(sql, partition, before));
      // The lock covers all partitions, so the others cannot be dropped now either.
      if (dropping === null) break;
      if (dropping === "open") held.add(partition.first);
      else held.delete(partition.first);
    }
    this.#held = held;
  }

  /** Runs work in a transaction. Returns null if others held a lock for too long, or if the server is away: the next look tries again. */
  async #try<Outcome>(work: (sql: Sql) => Promise<Outcome>): Promise<Outcome | null> {
    try {
      return await inTransaction(this.#pool, async (sql) => {
        await sql.values("set local lock_timeout = '200ms'");
        await sql.values(LOCK);
        return await work(sql);
      });
    } catch (error) {
      if (isForLater(error)) return null;
      throw error;
    }
  }
}

const OF_EVENTS = "event_id >= $1 and event_id <= $2";

/**
 * A query of deliveries outside a partition of deliveries whose events are inside the partition of
 * events. The events are from $1 to $2, and the partition of deliveries is from $3 to $4. Such deliveries
 * are those on the other side of midnight, whose ids are between $5 and $6, and those of replays.
 */
const ELSEWHERE = [
  `id > $5 and id < $3 and ${OF_EVENTS}`,
  `id >= $4 and id < $6 and ${OF_EVENTS}`,
  `${OF_EVENTS} and ${isApart("d")} and (id < $3 or id >= $4)`,
]
  .map((where) => `select id, due_at from deliveries d where ${where}`)
  .join(" union all ");

/**
 * How far the drop of a partition is. `open`: a delivery is still open. `later`:
 * something else has to happen first. `more`: some rows were deleted, and more are left.
 */
type Dropping = "dropped" | "open" | "later" | "more";

/** Drops the partitions of events and of deliveries of some days, and deletes later replays of those events. */
async function dropPartition(sql: Sql, partition: PartitionDays, before: number): Promise<Dropping> {
  const [events, deliveries] = [partitionOf("events", partition), partitionOf("deliveries", partition)];
  const [from, to] = idsOf(partition);
  const isAny = async (query: string, parameters: string[]) => (await sql.values(query, parameters)).length > 0;
  if (await isAny("select 1 from due_deliveries where id >= $1 and id < $2 limit 1", [from, to])) return "open";
  if (await isAny("select 1 where to_regclass($1) is not null", [events])) {
    const isOver = `select 1 from event_positions where last_value >= ${firstPositionOf(endOf(partition))}`;
    if (!(await isAny(isOver, []))) return "later";
    const [[first, last] = []] = await sql.values(`select min(id), max(id) from ${events}`);
    if (typeof first === "string" && typeof last === "string") {
      if (last >= firstIdAt("evt", before)) return "later";
      const elsewhere = [first, last, from, to, ...boundsBeside(first, last)];
      if (await isAny(`select 1 from (${ELSEWHERE}) d where due_at is not null limit 1`, elsewhere)) return "open";
      const removed = await sql.values(
        `delete from deliveries where id = any(array(select id from (${ELSEWHERE}) d limit ${REMOVED_AT_ONCE})) returning 1`,
        elsewhere,
      );
      if (removed.length === REMOVED_AT_ONCE) return "more";
    }
  }
  // A day without a partition has its deliveries in the default partition: one of them came first.
  const strays = await sql.values(
    `delete from deliveries_default where id = any(array(
       select id from deliveries_default where id >= $1 and id < $2 limit ${REMOVED_AT_ONCE})) returning 1`,
    [from, to],
  );
  if (strays.length === REMOVED_AT_ONCE) return "more";
  await sql.values(`drop table if exists ${events}, ${deliveries}`);
  return "dropped";
}

/** SQLSTATEs of a lock that others hold, and of a table that another process made or dropped meanwhile. */
const FOR_LATER = new Set(["55P03", "42P07", "42P01", "23514"]);

function isForLater(error: unknown): boolean {
  const failure = failureOf(error);
  if (failure === "interrupted" || failure === "unavailable" || failure === "full") return true;
  return error instanceof Error && "code" in error && FOR_LATER.has(String(error.code));
}
