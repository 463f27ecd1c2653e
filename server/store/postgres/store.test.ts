/** The store on PostgreSQL under the store's conformance suite. */

import { storeConformance } from "../../../test/conformance/store.ts";
import { sharedPreparedPostgres } from "../../../test/support/service-database.ts";
import { openPostgres } from "./store.ts";

/** Stores that were opened: each is a member of its own. */
let opened = 0;

storeConformance("PostgreSQL", async () => {
  const { create } = await sharedPreparedPostgres();
  const { url, drop } = await create();
  const open = () => {
    opened += 1;
    return openPostgres(url, `member_${opened}`);
  };
  return { store: await open(), reopen: open, remove: drop };
});
