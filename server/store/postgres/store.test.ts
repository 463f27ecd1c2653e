/** The store on PostgreSQL under the store's conformance suite. */

import { type StoreGroup, storeConformance } from "../../../test/conformance/store.ts";
import { postgresForFile } from "../../../test/support/postgres.ts";
import { openPostgres } from "./store.ts";

/** Stores that were opened: each is a member of its own. */
let opened = 0;
const postgres = postgresForFile(["fsync=off"], async (url) => {
  await (await openPostgres(url, "member_0")).close();
});

/** The groups of the suite whose jobs are there. */
const GROUPS: readonly StoreGroup[] = [
  "transactions",
  "eventsAndDeliveries",
  "reads",
  "lists",
  "filteredQueues",
  "claimedDeliveries",
  "claimedMessages",
  "claimsOfTimers",
  "claimsOfWaitingPairs",
  "heldDeliveries",
  "leases",
  "leasesOfMessages",
  "keeping",
  "sendAttempts",
  "resetting",
  "requirements",
  "members",
  "claimsWithEpoch",
  "model",
  "endings",
];

storeConformance(
  "PostgreSQL",
  async () => {
    const { url, drop } = await postgres.create();
    const open = () => {
      opened += 1;
      return openPostgres(url, `member_${opened}`);
    };
    return { store: await open(), reopen: open, remove: drop };
  },
  GROUPS,
);
