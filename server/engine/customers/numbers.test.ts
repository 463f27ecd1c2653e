/** The cached numbers of a customer. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { testContext } from "../../../test/support/context.ts";
import { addNumber, makeDefault, removeNumber } from "./numbers.ts";

test("the cached numbers of a customer are never older than their last change", async (t) => {
  const { deps, customer, number, close } = await testContext();
  t.after(close);
  const known = async () => (await deps.configCache.numbers(customer.id)).map(({ address }) => address);
  assert.deepEqual(await known(), [number.address]);
  const body = { provider: "sandbox", phoneNumber: "+15550001001" } as const;
  const added = await addNumber(deps, customer.id, { idempotencyKey: null, body });
  assert.deepEqual(await known(), [number.address, "+15550001001"]);
  await makeDefault(deps, customer.id, added.number.id);
  assert.deepEqual(await known(), ["+15550001001", number.address]);
  await removeNumber(deps, customer.id, added.number.id);
  assert.deepEqual(await known(), [number.address]);
});
