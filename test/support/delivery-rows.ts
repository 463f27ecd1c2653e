/** Rows of due deliveries on PostgreSQL, made by the server, for tests and benchmarks with many of them. */

import type pg from "pg";

/** The due time of the first delivery. */
export const DUE_AT = Date.UTC(2026, 10, 2);
/** The event of all of them. */
const EVENT_ID = "evt_01a19467-e800-7000-8000-000000000000";
/** Rows of a statement, which has to end within the time that the pool gives it. */
const ROWS_AT_ONCE = 50_000;

/** The name of a lane by its number. */
export function laneName(number: number): string {
  return `wh_${String(number).padStart(32, "0")}`;
}

/** How many deliveries to insert, in turn to each of some lanes. Only the first `records` of the queue have a record. */
export interface DeliveryRows {
  count: number;
  lanes: number;
  records?: number;
}

/** Inserts due deliveries of one event; a delivery is due 1 ms after the one before it. */
export async function insertDeliveries(pool: pg.Pool, { count, lanes, records = count }: DeliveryRows): Promise<void> {
  await pool.query(
    `insert into events (position, sequence, created_at, id, customer_id, type, correlation_id, bytes)
     values (1, 1, $1, '${EVENT_ID}', 'cust_1', 'message.queued', 'cor_1', '{}') on conflict do nothing`,
    [DUE_AT],
  );
  for (let first = 0; first < count; first += ROWS_AT_ONCE) {
    const last = Math.min(first + ROWS_AT_ONCE, count) - 1;
    await pool.query(
      `insert into due_deliveries (id, row, due_at, lane)
       select 'dlv_01a19467-e800-7000-8000-' || lpad(i::text, 12, '0'), i, $1 + i, 'wh_' || lpad((i % $4)::text, 32, '0')
       from generate_series($2::bigint, $3::bigint) i order by i`,
      [DUE_AT, first, last, lanes],
    );
    await pool.query(
      `insert into deliveries (id, version, sequence, attempt_count, retry_count, created_at, by_hand, retries_asked, customer_id,
         event_id, event_type, url, lane, status, attempts, due_at)
       select 'dlv_01a19467-e800-7000-8000-' || lpad(i::text, 12, '0'), 1, 1, 0, 0, $1 + i, 0, 0, 'cust_1', '${EVENT_ID}',
         'message.queued', 'https://receiver.example/', 'wh_' || lpad((i % $4)::text, 32, '0'), 'pending', '[]', $1 + i
       from generate_series($2::bigint, $3::bigint) i order by i`,
      [DUE_AT, first, Math.min(last, records - 1), lanes],
    );
  }
}
