/** An endpoint at a closed port, whose deliveries wait, at a service of two processes. */

import { test } from "node:test";
import { startProcesses } from "../support/two-processes.ts";
import { assertTriedAtOnce } from "../support/unreached.ts";

test("a test and a retry by hand of an endpoint that cannot be reached go at once if another process than the one that is asked delivers", async (t) => {
  const { asked, owner, stop } = await startProcesses({}, { TB_SANDBOX_INBOX: "off" });
  t.after(stop);
  await assertTriedAtOnce(asked, owner);
});
