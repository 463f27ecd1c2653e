/**
 * The days that a read of events or deliveries asks first. PostgreSQL has them in partitions by the day, and plans each
 * partition that a statement may need: one that names the last days costs a tenth of one that names none. On SQLite no
 * days are named.
 */

import { type Kysely, PostgresAdapter, sql } from "kysely";
import { dayOfPosition, FIRST_DAY } from "./positions.ts";
import type { Database } from "./rows.ts";

/**
 * Days before the newest one, or behind another, with which a read begins. Most pages are full before the last of them.
 */
const STEPS = [1, 8];

/** Positions that tell the day. Days since 1970. */
export interface DailyPositions<At> {
  /** NaN if a position tells none. */
  dayOf(at: At): number;
  /** The least position of a day. */
  beginningOf(day: number): At;
}

/** `days` of a list, if its table has partitions. */
export function onPartitions<At>(days: DailyPositions<At>, db: Kysely<Database>): { days?: DailyPositions<At> } {
  return hasPartitions(db) ? { days } : {};
}

function hasPartitions(db: Kysely<Database>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter;
}

/**
 * The days with which the parts of a list end, in the order of the list; behind the last one everything is asked for.
 * `day`: where the read begins; null: at the end of the list, from which `newest` goes back.
 */
export async function daysToAsk(
  { db, order }: { db: Kysely<Database>; order: "newest" | "oldest" },
  day: number | null,
): Promise<number[]> {
  if (!hasPartitions(db) || (day === null && order === "oldest")) return [];
  const begin = day ?? (await newestDay(db));
  const days = STEPS.map((step) => (order === "newest" ? begin - step : begin + 1 + step));
  return days.filter((one) => one > FIRST_DAY);
}

/** The day of the next event's position. A clock that is off costs time only. */
async function newestDay(db: Kysely<Database>): Promise<number> {
  const { rows } = await sql<{ last: number }>`select last_value as last from event_positions`.execute(db);
  return dayOfPosition(rows[0]?.last ?? 0);
}
