/**
 * Reads of replays: their records, the deliveries of a page, and how many of their deliveries wait or have ended. Each
 * statement is bounded and uses an index. Ids have the time, and are made shortly before the position is drawn; a
 * caller subtracts or adds how far the two may be apart.
 */

import { type Kysely, type SqlBool, sql } from "kysely";
import {
  type CustomerId,
  type DeliveryId,
  type EndpointId,
  type EventId,
  firstIdAt,
  idBeside,
  type ReplayId,
} from "../core/id.ts";
import type { Replay, ReplayTally, StandingDelivery } from "../core/replay.ts";
import { isApart } from "./deliveries-of-event.ts";
import { positionsNear } from "./positions.ts";
import { decodeRows } from "./quarantine.ts";
import { DELIVERY_QUEUE } from "./queue-rows.ts";
import { type Database, decode } from "./rows.ts";
import { ofCustomer } from "./rows-of-customer.ts";
import { perDialect } from "./sql-dialects.ts";

/** The last replay of an endpoint; null if there was none. */
export async function findReplay(
  db: Kysely<Database>,
  customerId: CustomerId,
  endpointId: string,
): Promise<Replay | null> {
  const query = db
    .selectFrom("replays")
    .selectAll()
    .where("endpoint_id", "=", endpointId as EndpointId);
  const row = await query.where("customer_id", "=", customerId).executeTakeFirst();
  return row === undefined ? null : decode("replays", row);
}

/** Up to `limit` replays that run, of all customers, by customer and then the oldest, after one of them. */
export async function listRunningReplays(
  db: Kysely<Database>,
  { customerId, id }: Pick<Replay, "customerId" | "id">,
  limit: number,
): Promise<Replay[]> {
  const query = db.selectFrom("replays").selectAll().where(sql<SqlBool>`status = 'running'`);
  const after = sql<SqlBool>`(customer_id, id) > (${customerId}, ${id})`;
  const rows = await query.where(after).orderBy("customer_id").orderBy("id").limit(limit).execute();
  return decodeRows(db, "replays", rows);
}

/** The deliveries of some events to an endpoint. */
export async function listDeliveriesTo(
  db: Kysely<Database>,
  customerId: CustomerId,
  endpointId: EndpointId,
  events: readonly EventId[],
): Promise<StandingDelivery[]> {
  if (events.length === 0) return [];
  const columns = sql`id, version, event_id as "eventId", status, attempt_count as "attemptCount"`;
  const firsts = events.map((event): DeliveryId => idBeside("dlv", event, endpointId));
  const beside = await sql<StandingDelivery>`select ${columns} from deliveries
    where ${ofCustomer(customerId)} and id in (${sql.join(firsts)})`.execute(db);
  const apart = await sql<StandingDelivery>`select ${columns} from deliveries d
    where event_id in (${sql.join(events)}) and ${sql.raw(isApart("d"))} and endpoint_id = ${endpointId}`.execute(db);
  return [...beside.rows, ...apart.rows];
}

/** How many deliveries of a replay wait for an attempt; `limit` if there are more. */
export async function countWaiting(db: Kysely<Database>, replayId: ReplayId, limit: number): Promise<number> {
  return countRows(db, sql`${DELIVERY_QUEUE.replayId} = ${replayId}`, limit);
}

/** How many deliveries of a lane are due at `now`; `limit` if there are more. */
export async function countDue(db: Kysely<Database>, lane: string, now: number, limit: number): Promise<number> {
  return countRows(db, sql`${DELIVERY_QUEUE.lane} = ${lane} and ${DELIVERY_QUEUE.dueAt} <= ${now}`, limit);
}

async function countRows(db: Kysely<Database>, where: ReturnType<typeof sql>, limit: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from
    (select 1 as one from ${DELIVERY_QUEUE.rows} where ${where} and ${DELIVERY_QUEUE.dueAt} is not null limit ${limit} + 0) found`.execute(
    db,
  );
  return Number(rows[0]?.count ?? 0);
}

/** Deliveries that one statement counts. */
const TALLIED_AT_ONCE = 5_000;

/**
 * How many of a replay's deliveries have ended, among those that still exist. Reads in pages, so that a reader can stop
 * between two pages.
 */
export async function tallyReplay(db: Kysely<Database>, replayId: ReplayId): Promise<ReplayTally> {
  const tally: ReplayTally = { succeeded: 0, failed: 0 };
  let after: string | null = "";
  while (after !== null) {
    const page: TallyRow = await tallyPage(db, replayId, after);
    tally.succeeded += Number(page.succeeded);
    tally.failed += Number(page.failed);
    after = Number(page.read) < TALLIED_AT_ONCE ? null : page.last;
  }
  return tally;
}

async function tallyPage(db: Kysely<Database>, replayId: ReplayId, after: string): Promise<TallyRow> {
  const { rows } = await sql<TallyRow>`
    select count(*) as read, max(id) as last, sum(case when status = 'succeeded' then 1 else 0 end) as succeeded,
      sum(case when status in ('exhausted', 'cancelled') then 1 else 0 end) as failed
    from (select id, status from deliveries where replay_id = ${replayId} and id > ${after}
      order by id limit ${TALLIED_AT_ONCE} + 0) page`.execute(db);
  const [page] = rows;
  if (page === undefined) throw new Error("an aggregate has one row");
  return page;
}

interface TallyRow {
  read: number;
  last: string | null;
  succeeded: number | null;
  failed: number | null;
}

/**
 * Position of the oldest event of any customer whose id was made at or after `at` (real time); null if there is none.
 */
export async function findPositionAt(db: Kysely<Database>, at: number): Promise<number | null> {
  const query = db
    .selectFrom("events")
    .select("position")
    .where("id", ">=", firstIdAt("evt", at) as EventId);
  const row = await query.orderBy("id").limit(1).executeTakeFirst();
  return row?.position ?? null;
}

/**
 * Position of the newest event of any customer whose id was made before `at` (real time); 0 if there is none. All
 * events of `at` or later have later positions, also those that are not committed yet: the position before the first
 * event of `at` that can be seen is no such bound, since on PostgreSQL another customer's event may be committed with
 * an earlier one afterwards.
 */
export async function findPositionBefore(db: Kysely<Database>, at: number): Promise<number> {
  const id = firstIdAt("evt", at) as EventId;
  // On PostgreSQL it is mostly in the partition of its day. An earlier position is a bound too.
  const { from, to } = positionsNear([id]);
  const isNear = sql<SqlBool>`position >= ${from} and position < ${to}`;
  for (const where of [perDialect<SqlBool>(sql`true`, isNear), perDialect<SqlBool>(sql`false`, sql`true`)]) {
    const query = db.selectFrom("events").select("position").where("id", "<", id).where(where);
    const row = await query.orderBy("id", "desc").limit(1).executeTakeFirst();
    if (row !== undefined) return row.position;
  }
  return 0;
}
