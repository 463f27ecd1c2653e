/** Deliveries that requests changed, for the Wire of other processes (`announced-deliveries.ts`). Unlogged: it costs no log, and a crash empties it. */

export const ANNOUNCED_DELIVERIES_0006 = `
  create unlogged table announced_deliveries (
    at timestamptz not null default clock_timestamp(),
    customer_id text collate "C" not null,
    ids text collate "C" not null
  )`;
