/** Tests of how many deliveries a process leases at once, and of what a rolled back transaction leaves. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Delivery } from "../../core/delivery.ts";
import type { Event } from "../../core/event.ts";
import { DeliveryLeases, type LeasableDelivery } from "./delivery-leases.ts";

/** The leases of a process with a holder, and a delivery of a customer that they are offered. */
function scene(now: () => number = () => 0) {
  const leases = new DeliveryLeases("member", now);
  leases.hold(100);
  let made = 0;
  const offer = (lane: string, customerId = "cust_1", bytes = "{}", createdAt = 0): LeasableDelivery => {
    made += 1;
    const delivery = { id: `dlv_${made}`, lane, customerId, createdAt, attempts: [] } as unknown as Delivery;
    return leases.offer(delivery, { bytes, correlationId: "cor_1" } as Event);
  };
  return { leases, offer };
}

test("new deliveries are leased after COMMIT, in the order in which they were made", () => {
  const { leases, offer } = scene();
  const made = [offer("a"), offer("b"), offer("a")];
  assert.ok(made.every(({ isOffered }) => isOffered));
  for (const [index, delivery] of made.entries()) leases.settle(delivery, index === 1 ? null : 10 + index);
  assert.deepEqual(
    leases.apply().map(([, [id], bytes, correlationId]) => [id, bytes, correlationId]),
    [
      ["dlv_1", "{}", "cor_1"],
      ["dlv_3", "{}", "cor_1"],
    ],
  );
  assert.equal(leases.count, 2);
  leases.end("dlv_1");
  leases.apply();
  assert.deepEqual(
    leases.remove(["dlv_1", "dlv_3", "dlv_99"]).map(({ lease }) => lease),
    [12],
  );
  assert.equal(leases.count, 0);
});

test("a rollback revokes offers, and keeps the leases that its transaction would have ended", () => {
  const { leases, offer } = scene();
  leases.settle(offer("a"), 1);
  leases.apply();
  leases.settle(offer("a"), 2);
  offer("b");
  leases.end("dlv_1");
  leases.drop();
  assert.equal(leases.count, 1);
  assert.deepEqual(leases.apply(), []);
  assert.equal(leases.count, 1);
});

test("a lane gets 256 new deliveries, and those after the first that stays on disk stay there too", () => {
  const { leases, offer } = scene();
  const offered = Array.from({ length: 300 }, () => offer("a"));
  assert.equal(offered.filter(({ isOffered }) => isOffered).length, 256);
  for (const [index, delivery] of offered.entries()) leases.settle(delivery, delivery.isOffered ? index : null);
  leases.apply();
  // A lease that ends in a transaction makes room only for the next transaction.
  leases.end("dlv_1");
  assert.equal(offer("a").isOffered, false);
  assert.equal(offer("b").isOffered, true);
  leases.apply();
  assert.equal(offer("a").isOffered, true);
});

test("a lane may have as many more new deliveries as it ended within the last seconds, and 256 again after a rest", () => {
  let now = 0;
  const { leases, offer } = scene(() => now);
  let lease = 0;
  const all: string[] = [];
  const leaseMany = (lane: string) => {
    const offered = Array.from({ length: 300 }, () => offer(lane)).filter(({ isOffered }) => isOffered);
    all.push(...offered.map(({ id }) => id));
    const begun = offered.map((delivery) => {
      lease += 1;
      leases.settle(delivery, lease);
      return delivery.id;
    });
    leases.apply();
    return begun;
  };
  for (let group = 0; group < 2; group += 1) {
    now += 10;
    for (const ended of leaseMany("quick")) leases.end(ended);
    leases.apply();
  }
  now += 1_500;
  assert.equal(leaseMany("quick").length, 300);
  assert.equal(leaseMany("other").length, 256);
  leases.remove(all);
  now += 2_000;
  assert.equal(leaseMany("quick").length, 256);
});

test("a delivery whose lease somebody else has ended, and that is leased again, counts once", () => {
  const { leases } = scene();
  const place = { id: "dlv_1", lane: "a", customerId: "cust_1", size: 2 };
  for (const lease of [1, 2]) assert.equal(leases.add(place, lease, 100), true);
  assert.equal(leases.count, 1);
  assert.deepEqual(
    leases.remove(["dlv_1"]).map(({ lease }) => lease),
    [2],
  );
  assert.equal(leases.count, 0);
});

test("nothing is offered without a holder, nor to a customer who holds a full share", () => {
  const { leases, offer } = scene();
  leases.hold(null);
  assert.equal(offer("a").isOffered, false);
  leases.hold(100);
  leases.drop();
  const large = "x".repeat(1024 * 1024);
  const offered = Array.from({ length: 40 }, (_, lane) => offer(`lane ${lane}`, "cust_1", large));
  const count = offered.filter(({ isOffered }) => isOffered).length;
  assert.ok(count > 20 && count < 28, `${count} MiB of one customer`);
  assert.equal(offer("other", "cust_2", large).isOffered, true);
});

test("a lease ends by the monotonic clock, and its room is free again", () => {
  let now = 0;
  const { leases, offer } = scene(() => now);
  leases.settle(offer("a"), 1);
  leases.apply();
  now = 99;
  leases.expire();
  assert.equal(leases.count, 1);
  now = 100;
  leases.expire();
  assert.equal(leases.count, 0);
  assert.deepEqual(leases.remove(["dlv_1"]), []);
});

test("a claim finds the newest delivery due, also if the claim was asked for a little earlier, and not after a large step back", () => {
  const { leases, offer } = scene();
  offer("a", "cust_1", "{}", 10_000);
  assert.equal(leases.dueUntil(6_000), 10_000);
  assert.equal(leases.dueUntil(4_000), 4_000);
  assert.equal(leases.dueUntil(11_000), 11_000);
});
