/** An endpoint at a closed port, whose deliveries wait. */

import { test } from "node:test";
import { startTestService } from "../support/service.ts";
import { assertTriedAtOnce } from "../support/unreached.ts";

test("a test and a retry by hand of an endpoint that cannot be reached do not wait behind its other deliveries", async (t) => {
  const service = await startTestService();
  t.after(() => service.stop());
  await assertTriedAtOnce(service, service);
});
