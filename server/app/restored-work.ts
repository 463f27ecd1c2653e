/** Marks a restored database, and counts what the next start does with the work that it has. */

import { RESTORED_BACKUP } from "../engine/messages/held.ts";
import type { SettingEntry } from "../store/records.ts";

/** Numbers of messages and deliveries, by what the next start does with them. */
export interface RestoredWork {
  /** May have been sent since the backup. */
  held: number;
  /** Go as planned. */
  scheduled: number;
  /** `sent`, and fall back no more. */
  withoutFallback: number;
  /** Webhooks that are sent again. */
  deliveries: number;
}

/** The setting that says that the database was restored from a backup, so that the next start holds messages. Real epoch milliseconds. */
export function restoredMark(takenAt: number, restoredAt: number): SettingEntry {
  return { name: RESTORED_BACKUP, value: JSON.stringify({ takenAt, restoredAt, heldAt: null }) };
}

const OUTBOUND = "select count(*) as count from messages where direction = 'outbound'";

/** Counts the work by `count`, which runs a query. `until` is the shifted time of the restore. */
export async function countRestoredWork(
  until: number,
  count: (sql: string) => number | Promise<number>,
): Promise<RestoredWork> {
  const isDue = `due_at <= ${Math.floor(until)}`;
  return {
    held: await count(`${OUTBOUND} and (status in ('queued', 'pending') or status = 'scheduled' and ${isDue})`),
    scheduled: await count(`${OUTBOUND} and status = 'scheduled' and not ${isDue}`),
    withoutFallback: await count(
      `${OUTBOUND} and status = 'sent' and (due_at is not null or "fallback" = 1 and channels_left <> '[]')`,
    ),
    deliveries: await count("select count(*) as count from deliveries where due_at is not null"),
  };
}
