/** Reads of deliveries and positions, on the real store. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { commitAll, testContext } from "../../test/support/context.ts";
import { addInbox, eventOf } from "../../test/support/webhooks.ts";
import { findDelivery, findDeliveryOf, listDeliveries } from "./deliveries.ts";
import { newestPosition } from "./events.ts";
import { FIRST_PAGE } from "./list-windows.ts";
import { findPositionAt, findPositionBefore } from "./replays.ts";

test("a delivery to the built-in inbox is found only without a customer", async (t) => {
  const made = await testContext();
  t.after(() => made.close());
  const { db } = made.deps.store;
  const inbox = await addInbox(made);
  await commitAll(made.deps, [{ op: "event", event: eventOf(made), callbackUrl: "https://c.example.com/cb" }]);
  const rows = await db.selectFrom("deliveries").select(["id", "endpoint_id"]).execute();
  const toInbox = rows.find((row) => row.endpoint_id === inbox.id);
  const callback = rows.find((row) => row.endpoint_id === null);
  assert.ok(toInbox !== undefined && callback !== undefined && rows.length === 2);
  assert.equal((await findDelivery(db, { id: toInbox.id, customerId: made.customer.id }))?.endpointId, inbox.id);
  assert.equal(await findDeliveryOf(db, made.customer.id, toInbox.id), null);
  assert.equal((await findDeliveryOf(db, made.customer.id, callback.id))?.id, callback.id);
  const listed = await listDeliveries(db, made.customer.id, {}, FIRST_PAGE, 10);
  assert.deepEqual(
    listed.records.map(({ id }) => id),
    [callback.id],
  );
});

test("a replay begins behind the last event before the given time, and ends at the customer's newest event", async (t) => {
  const made = await testContext();
  t.after(() => made.close());
  const { db } = made.deps.store;
  assert.deepEqual([await findPositionAt(db, 0), await newestPosition(db, made.customer.id)], [null, null]);
  const emit = () => commitAll(made.deps, [{ op: "event", event: eventOf(made), callbackUrl: null }]);
  await emit();
  await made.clock.advance(1_000);
  const at = made.clock.real();
  await emit();
  await emit();
  assert.deepEqual(
    [await findPositionAt(db, 0), await findPositionAt(db, at), await findPositionAt(db, at + 1)],
    [1, 2, null],
  );
  assert.deepEqual(
    [await findPositionBefore(db, 0), await findPositionBefore(db, at), await findPositionBefore(db, at + 1)],
    [0, 1, 3],
  );
  assert.equal(await newestPosition(db, made.customer.id), 3);
  const other = await made.addTenant("Other");
  assert.equal(await newestPosition(db, other.customer.id), null);
});
