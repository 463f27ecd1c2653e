/** Counts what the next start does with the work that a restored database has. */

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
