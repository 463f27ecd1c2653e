/**
 * The SQL transaction that last gave a row of a queue its due time, lane or lease, by which a claim finds what was put into a lane
 * since the claim before (`lane-floors.ts`). The second condition of its indexes is always true: no other statement has it, so that
 * the planner takes them for no other.
 */

export const LANE_FLOORS_0007 = `
  alter table due_messages add column changed_in xid8 not null default pg_current_xact_id();

  alter table due_deliveries add column changed_in xid8 not null default pg_current_xact_id();

  create index due_messages_changed on due_messages (lane, changed_in) where lease is null and changed_in > '0'::xid8;

  create index due_deliveries_changed on due_deliveries (lane, changed_in) where lease is null and changed_in > '0'::xid8;

  drop index due_messages_leased;

  create index due_messages_leased on due_messages (lane, "from", "to", changed_in) where lease is not null`;
