/** Longer tests of plans for an empty queue: those that the server itself keeps, for queues of 50,000 rows. */

import { test } from "node:test";
import { checkKeptPlans } from "../../../test/support/kept-plans.ts";
import { postgresForFile } from "../../../test/support/postgres.ts";

/** Its own server: while a transaction of any database is open, the entries of deleted rows are read again. */
const postgres = postgresForFile(["fsync=off", "autovacuum=off"]);

/** Queues of 50,000 rows. */
const ROWS = 50_000;
/** By itself the server plans five uses of a name each, and statements get new names at 2 and 8 uses. */
const USES = 14;

test("each statement of the queues reads a few pages a row by a plan that the server kept", async (t) => {
  await checkKeptPlans(t, await postgres.create(), { rows: ROWS, uses: USES, mode: "auto" });
});

test("each statement of the queues reads a few pages a row by a plan for a queue that had no pages", async (t) => {
  const planning = { rows: ROWS, uses: 2, mode: "force_generic_plan", isTruncated: true } as const;
  await checkKeptPlans(t, await postgres.create(), planning);
});
