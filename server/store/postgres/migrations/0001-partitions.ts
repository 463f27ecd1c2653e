/**
 * The partitions of PostgreSQL's first migration: rows from before November 2026, and rows of no day. `partitions.ts` adds the days.
 * Each partition of events has a unique index of ids, which its table cannot have.
 */

/** The position and the id with which November 2026 begins, in days since 1970 times 2^33, and as `firstIdAt` writes it. */
const FIRST_POSITION = "178309862260736";
const FIRST_ID = "dlv_01a19467-e800-7";

export const PARTITIONS_0001 = `
  create table events_before partition of events for values from (minvalue) to (${FIRST_POSITION});

  create unique index events_before_id on events_before (id);

  create table deliveries_before partition of deliveries for values from (minvalue) to ('${FIRST_ID}');

  create table deliveries_default partition of deliveries default with (fillfactor = 50)`;
