/** Numbers that are claimed at the very same moment. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { commitAll, testContext } from "../../../test/support/context.ts";
import { ApiError } from "../../core/error.ts";
import { findNumbers } from "../../store/numbers.ts";
import { newCustomer } from "./create-customer.ts";
import { addNumber, makeDefault, removeNumber } from "./numbers.ts";

test("whoever loses a race for a number is told NUMBER_TAKEN, with an idempotency key or without", async (t) => {
  const { deps, customer, close } = await testContext();
  t.after(close);
  const other = newCustomer(deps, { name: "other" });
  await commitAll(deps, other.transaction);
  const body = { provider: "sandbox", phoneNumber: "+15550001001" } as const;
  const claims = [null, "key", null, "other key"].map((idempotencyKey, index) =>
    addNumber(deps, index < 2 ? customer.id : other.customer.id, { idempotencyKey, body }),
  );
  const results = await Promise.allSettled(claims);
  const won = results.filter(({ status }) => status === "fulfilled");
  const lost = results.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  assert.equal(won.length, 1);
  for (const reason of lost) assert.ok(reason instanceof ApiError && reason.code === "NUMBER_TAKEN", String(reason));
});

test("numbers given to one customer at the same moment leave exactly one default", async (t) => {
  const { deps, close } = await testContext();
  t.after(close);
  const { customer, transaction } = newCustomer(deps, { name: "new" });
  await commitAll(deps, transaction);
  const claims = ["1", "2", "3"].map((last) => {
    const body = { provider: "sandbox", phoneNumber: `+1555000100${last}` } as const;
    return addNumber(deps, customer.id, { idempotencyKey: null, body });
  });
  await Promise.all(claims);
  const stored = await findNumbers(deps.store.db, customer.id);
  assert.deepEqual(
    stored.map(({ isDefault }) => isDefault),
    [true, false, false],
  );
});

test("what is known of a customer's numbers is never older than their last change", async (t) => {
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
