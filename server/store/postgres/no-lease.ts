/** Assignments that end the lease of a row of either queue. A row is leased while it has a `lease`, an `owner` and an end. */

export const NO_LEASE = "lease = null, owner = null, leased_until = null, changed_in = pg_current_xact_id()";
