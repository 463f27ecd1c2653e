import assert from "node:assert/strict";
import { test } from "node:test";
import { testContext } from "../../test/support/context.ts";
import { ApiError } from "../core/error.ts";
import { idempotent } from "./idempotency.ts";

test("a repeat during its first request gets the first result, even if it would be refused by itself", async (t) => {
  const { deps, customer, close } = await testContext();
  t.after(close);
  const request = { key: "key", customerId: customer.id, route: "POST /v1/messages", body: {} };
  const checked = Promise.withResolvers<void>();
  const first = idempotent(deps, request, async () => {
    await checked.promise;
    return { transaction: null, value: "made", result: "msg_1" };
  });
  // Between the two requests the time of a scheduled message has passed.
  const repeat = idempotent<string>(deps, request, () =>
    Promise.reject(new ApiError("SCHEDULED_IN_PAST", "scheduledAt: is not in the future.")),
  );
  setImmediate(() => checked.resolve());
  assert.deepEqual(await Promise.all([first, repeat]), [
    { repeated: false, value: "made" },
    { repeated: true, firstResult: "msg_1" },
  ]);
});

test("a repeat during a first request that is refused does the work itself", async (t) => {
  const { deps, customer, close } = await testContext();
  t.after(close);
  const request = { key: "key", customerId: customer.id, route: "POST /v1/messages", body: {} };
  const refused = assert.rejects(
    idempotent(deps, request, () => Promise.reject(new ApiError("RECIPIENT_OPTED_OUT", "no"))),
    { code: "RECIPIENT_OPTED_OUT" },
  );
  const repeat = idempotent(deps, request, async () => ({ transaction: null, value: "made", result: "msg_1" }));
  await refused;
  assert.deepEqual(await repeat, { repeated: false, value: "made" });
});
