/** The store on PostgreSQL under the store's conformance suite. */

import { storeConformance } from "../../../test/conformance/store.ts";
import { cleanedDatabases } from "../../../test/support/cleaned-databases.ts";
import { sharedPostgresForFile } from "../../../test/support/postgres.ts";
import { openPostgres } from "./store.ts";

/** Stores that were opened: each is a member of its own. */
let opened = 0;
const postgres = sharedPostgresForFile(async (url) => {
  await (await openPostgres(url, "member_0")).close();
});
const create = cleanedDatabases(postgres);

storeConformance("PostgreSQL", async () => {
  const { url, drop } = await create();
  const open = () => {
    opened += 1;
    return openPostgres(url, `member_${opened}`);
  };
  return { store: await open(), reopen: open, remove: drop };
});
