/** Tests that each statement of the queues reads what it handles, and not the queue, also if it was planned while the queue was empty. */

import { test } from "node:test";
import { checkKeptPlans } from "../../../test/support/kept-plans.ts";
import { sharedPostgresForFile } from "../../../test/support/postgres.ts";

const postgres = sharedPostgresForFile();

test("each statement of the queues reads a few pages a row, also by a plan for a queue that was empty", async (t) => {
  await checkKeptPlans(t, await postgres.create(), { rows: 8_000, uses: 2, mode: "force_generic_plan" });
});
