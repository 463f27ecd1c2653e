/** The store's suite: claims of due work lane by lane, the order they keep, and the leases they give. */

import assert from "node:assert/strict";
import type { Customer } from "../../server/core/customer.ts";
import { type Delivery, deliveriesOf } from "../../server/core/delivery.ts";
import type { Message } from "../../server/core/message.ts";
import type { Operation } from "../../server/store/store.ts";
import { LEASE_END, LEASE_MS, NOW, type Promises, type Stage } from "./store-stage.ts";

/** Commits deliveries of their own event each, to lanes that are named. */
export async function addDeliveries(stage: Stage, customer: Customer, wanted: readonly Partial<Delivery>[]) {
  const deliveries: Delivery[] = [];
  const transaction: Operation[] = [];
  for (const changes of wanted) {
    const event = stage.event(customer);
    const delivery = stage.delivery(event, changes);
    deliveries.push(delivery);
    transaction.push(
      { op: "insert", table: "events", record: event },
      { op: "insert", table: "deliveries", record: delivery },
    );
  }
  await stage.ok(transaction);
  return deliveries;
}

const PAIR_COUNT = 3;
const to = (index: number) => `+1500555${String(index).padStart(4, "0")}`;
const idsOf = (records: readonly { id: string }[]) => records.map(({ id }) => id);

/** Deliveries are claimed by lane, in order, once, and with all that an attempt needs. */
export function claimedDeliveries(promise: Promises): void {
  promise("a claim takes the oldest due deliveries of the lanes named, at most the permits of each", async (stage) => {
    const customer = await stage.addCustomer();
    const dueAts = [NOW - 10, NOW - 30, NOW, NOW - 20];
    const lanes = ["a", "b", "c"];
    const wanted = lanes.flatMap((lane) => dueAts.map((dueAt) => ({ lane, dueAt })));
    const [a0, a1, , a3, , b1] = idsOf(await addDeliveries(stage, customer, wanted));
    const { items, more } = await stage.due.claim([
      { lane: "a", permits: 3 },
      { lane: "b", permits: 1 },
      { lane: "none", permits: 5 },
    ]);
    const claimed = items.map(({ delivery }) => delivery);
    assert.deepEqual(more, ["a", "b"], "lanes that got as many as they asked for may have more");
    assert.deepEqual(
      lanes.map((lane) => idsOf(claimed.filter((delivery) => delivery.lane === lane))),
      [[a1, a3, a0], [b1], []],
    );
  });

  promise("a claimed delivery comes with its event, and nothing of it changes on disk", async (stage) => {
    const customer = await stage.addCustomer();
    const endpoint = await stage.addEndpoint(customer);
    const correlationId = `cor_${"a".repeat(32)}`;
    const callback = "https://callback.example/x";
    const { event, deliveries } = await stage.addEvent(customer, { correlationId, createdAt: NOW - 5 }, callback);
    assert.equal(await stage.update("endpoints", endpoint, { active: false }), "ok");
    const lanes = deliveries.map(({ lane }) => ({ lane, permits: 4 }));
    const { items } = await stage.due.claim(lanes);
    assert.equal(items.length, 2);
    for (const one of items) {
      const made = deliveries.find(({ id }) => id === one.delivery.id);
      assert.ok(made);
      assert.deepEqual(one.delivery, made);
      assert.deepEqual(await stage.one("deliveries", made.id), made);
      assert.deepEqual([one.bytes, one.correlationId], [event.bytes, correlationId]);
    }
  });

  promise(
    "a delivery in hand is not claimed again, and a record that is due later not before its time",
    async (stage) => {
      const customer = await stage.addCustomer();
      const wanted = [NOW, NOW + 1, NOW + 1_000, null].map((dueAt) => ({ lane: "a", dueAt }));
      const [now, soon, later] = idsOf(await addDeliveries(stage, customer, wanted));
      assert.deepEqual(idsOf(await stage.claimDeliveries("a", 9)), [now]);
      assert.deepEqual(await stage.claimDeliveries("a", 9), []);
      assert.deepEqual(idsOf(await stage.claimDeliveries("a", 9, NOW + 1)), [soon]);
      assert.deepEqual(idsOf(await stage.claimDeliveries("a", 9, NOW + 1_000)), [later]);
      assert.deepEqual(await stage.claimDeliveries("a", 9, NOW + 86_400_000), []);
    },
  );

  promise("after the clock was set back, a claim takes no delivery before its time", async (stage) => {
    const customer = await stage.addCustomer();
    const endpoint = await stage.addEndpoint(customer);
    const { event } = await stage.addEvent(customer);
    for (const dueAt of [NOW + 3_000, NOW + 3_000]) {
      const record = stage.delivery(event, { endpointId: endpoint.id, lane: endpoint.id, dueAt });
      await stage.ok([{ op: "insert", table: "deliveries", record }]);
    }
    assert.equal((await stage.claimDeliveries(endpoint.id, 2, NOW + 3_000)).length, 2);
    assert.equal((await stage.claimDeliveries(endpoint.id, 5, NOW + 1_000)).length, 0);
    assert.equal((await stage.claimDeliveries(endpoint.id, 5, NOW + 3_000)).length, 1);
  });

  promise("claims of several lanes that race get each delivery once", async (stage) => {
    const customer = await stage.addCustomer();
    const lanes = ["a", "b", "c"];
    const wanted = Array.from({ length: 60 }, (_, index) => ({ lane: lanes[index % 3] ?? "" }));
    const deliveries = await addDeliveries(stage, customer, wanted);
    const claimed: Delivery[] = [];
    for (let round = 0; round < 5; round += 1)
      claimed.push(...(await Promise.all(lanes.map((lane) => stage.claimDeliveries(lane, 4)))).flat());
    assert.deepEqual(idsOf(claimed).sort(), idsOf(deliveries).sort());
  });

  promise(
    "events of one lane are claimed by their times, and those of one time in the order in which they were made",
    async (stage) => {
      const customer = await stage.addCustomer();
      const [here, there] = [await stage.addEndpoint(customer), await stage.addEndpoint(customer)];
      const message = await stage.addMessage(customer);
      const times = [[1, NOW - 3] as const, [2, NOW - 3] as const, [4, NOW - 1] as const, [3, NOW - 2] as const];
      for (const [sequence, createdAt] of times) await stage.addEvent(message, { sequence, createdAt });
      for (const { id } of [here, there]) {
        const claimed = await stage.claimDeliveries(id, 2);
        assert.deepEqual(
          [...claimed, ...(await stage.claimDeliveries(id, 2))].map(({ sequence }) => sequence),
          [1, 2, 3, 4],
        );
      }
    },
  );

  promise("events without a message do not wait for each other", async (stage) => {
    const customer = await stage.addCustomer();
    const endpoint = await stage.addEndpoint(customer);
    for (let count = 0; count < 3; count += 1) await stage.addEvent(customer);
    assert.equal((await stage.claimDeliveries(endpoint.id, 16)).length, 3);
  });

  promise("10,000 deliveries that wait at one lane do not delay the other lanes", async (stage) => {
    const customer = await stage.addCustomer();
    const event = stage.event(customer);
    await stage.ok([{ op: "insert", table: "events", record: event }]);
    const [template] = deliveriesOf(event, [], "https://callback.example/");
    assert.ok(template);
    for (let page = 0; page < 20; page += 1) {
      const records = Array.from({ length: 1_000 }, (_, index): Delivery => {
        const lane = index % 2 === 0 ? "hanging" : `lane ${((index - 1) / 2) % 100}`;
        const dueAt = lane === "hanging" ? NOW - 1_000_000 + index : NOW - index;
        return { ...template, id: stage.newId("dlv"), lane, dueAt };
      });
      await stage.ok(records.map((record) => ({ op: "insert", table: "deliveries", record })));
    }
    const due = await stage.store.dueLanes("deliveries", NOW);
    assert.equal(due.length, 101);
    const lanes = Array.from({ length: 64 }, (_, index) => ({ lane: `lane ${index}`, permits: 4 }));
    const { items } = await stage.due.claim(lanes);
    assert.equal(items.length, 64 * 4);
    assert.ok(items.every(({ delivery }) => delivery.lane !== "hanging"));
  });
}

/** Messages are claimed by lane, and those of one number to one recipient in the order of acceptance. */
export function claimedMessages(promise: Promises): void {
  promise("a claim takes the oldest due messages of the lanes named, at most the permits of each", async (stage) => {
    const customer = await stage.addCustomer();
    const instanceId = stage.newId("inst");
    const dueAts = [NOW - 10, NOW - 30, NOW, NOW + 1, NOW - 20];
    const messages: Message[] = [];
    for (const [index, dueAt] of dueAts.entries()) {
      messages.push(await stage.addMessage(customer, { dueAt, to: to(index) }));
      await stage.addMessage(customer, { dueAt, to: to(index), instanceId });
    }
    const [first, second, , future, fourth] = messages;
    assert.ok(first && second && future && fourth);
    const claimed = await stage.claimMessages(stage.instanceId, 3);
    assert.deepEqual(claimed, [second, fourth, first]);
    assert.deepEqual(await stage.one("messages", second.id), second, "a claim writes nothing");
    assert.equal((await stage.claimMessages(stage.instanceId, 9)).length, 1);
    assert.deepEqual(idsOf(await stage.claimMessages(stage.instanceId, 9, { now: NOW + 1 })), [future.id]);
    assert.deepEqual(await stage.claimMessages("inst_none", 9), []);
    assert.equal((await stage.claimMessages(instanceId, 9)).length, 4);
  });

  promise("a due message of any status is claimed: to be queued, reconciled or given up", async (stage) => {
    const customer = await stage.addCustomer();
    const statuses = ["scheduled", "queued", "pending", "sent"] as const;
    for (const [index, status] of statuses.entries()) {
      await stage.addMessage(customer, { status, dueAt: NOW, to: to(index) });
    }
    const claimed = await stage.claimMessages(stage.instanceId, 9);
    assert.deepEqual(
      claimed.map(({ status }) => status),
      statuses,
    );
  });

  promise("no queued message of a paused lane is claimed, but all its other due work is", async (stage) => {
    const customer = await stage.addCustomer();
    const others = ["scheduled", "pending", "sent"] as const;
    for (let index = 0; index < 100; index += 1) await stage.addMessage(customer, { dueAt: NOW - 100, to: to(index) });
    const wanted: string[] = [];
    for (const [index, status] of others.entries()) {
      const at = { status, to: to(100 + index) };
      wanted.push((await stage.addMessage(customer, { ...at, dueAt: NOW - index })).id);
      await stage.addMessage(customer, { ...at, dueAt: NOW + 1 });
    }
    const instanceId = stage.newId("inst");
    const elsewhere = await stage.addMessage(customer, { dueAt: NOW, instanceId });
    const held = { lane: stage.instanceId, paused: true };
    const claim = async (permits: number) => {
      const lanes = [
        { ...held, permits },
        { lane: instanceId, permits, paused: false },
      ];
      const { claimed } = await stage.store.claimMessages({ lanes, now: NOW, leaseMs: LEASE_MS });
      return claimed.map(({ message }) => message);
    };
    assert.deepEqual(idsOf(await claim(2)), [...wanted.toReversed().slice(0, 2), elsewhere.id]);
    assert.deepEqual(idsOf(await claim(9)), wanted.slice(0, 1));
    assert.deepEqual(await claim(9), []);
    assert.equal((await stage.claimMessages(stage.instanceId, 9)).length, 9, "and all of it once it is not held");
  });

  promise(
    "messages between one number and recipient are claimed in order, and none while one is leased",
    async (stage) => {
      const customer = await stage.addCustomer();
      const accepted: string[] = [];
      for (let index = 0; index < 30; index += 1) accepted.push((await stage.addMessage(customer, { dueAt: NOW })).id);
      const handedOver: string[] = [];
      for (let round = 0; handedOver.length < accepted.length; round += 1) {
        assert.ok(round < accepted.length);
        const run = await stage.claimMessages(stage.instanceId, 16);
        assert.ok(run.length > 0);
        handedOver.push(...idsOf(run));
        for (const message of run) {
          assert.deepEqual(await stage.claimMessages(stage.instanceId, 16), []);
          assert.equal(await stage.update("messages", message, { status: "pending", dueAt: null }), "ok");
        }
      }
      assert.deepEqual(handedOver, accepted);
    },
  );

  promise("a message that had to wait is claimed before later messages to the same recipient", async (stage) => {
    const customer = await stage.addCustomer();
    const deferred = await stage.addMessage(customer, { dueAt: NOW - 1 });
    const elsewhere = await stage.addMessage(customer, { dueAt: NOW - 2, to: to(1) });
    const next = await stage.addMessage(customer, { dueAt: NOW - 3 });
    const claimed = idsOf(await stage.claimMessages(stage.instanceId, 16));
    assert.deepEqual(
      claimed.filter((id) => id !== elsewhere.id),
      [deferred.id, next.id],
    );
    assert.equal(claimed.length, 3);
  });

  promise("a waiting message delays neither the next message nor another recipient", async (stage) => {
    const customer = await stage.addCustomer();
    await stage.addMessage(customer, { dueAt: NOW + 60_000 });
    const next = await stage.addMessage(customer, { dueAt: NOW });
    const others = [
      await stage.addMessage(customer, { dueAt: NOW, to: to(1) }),
      await stage.addMessage(customer, { dueAt: NOW, from: "+15550000002" }),
    ];
    assert.deepEqual(idsOf(await stage.claimMessages(stage.instanceId, 1)), [next.id]);
    assert.deepEqual(idsOf(await stage.claimMessages(stage.instanceId, 9)), idsOf(others));
  });

  promise("a run that a long queue cuts short goes on with the claims after it, in order", async (stage) => {
    const customer = await stage.addCustomer();
    const add = async (count: number, changes: Partial<Message>) => {
      const added = Array.from({ length: count }, () => stage.message(customer, { status: "queued", ...changes }));
      await stage.ok(added.map((record) => ({ op: "insert", table: "messages", record })));
      return idsOf(added);
    };
    // More messages of a busy recipient than a claim reads lie between those of the other recipient.
    await add(200, { dueAt: NOW - 50, to: to(1) });
    assert.equal((await stage.claimMessages(stage.instanceId, 1)).length, 1);
    const wanted = [...(await add(4, { dueAt: NOW - 100, to: to(2) })), ...(await add(4, { dueAt: NOW, to: to(2) }))];
    const claimed: string[] = [];
    while (claimed.length < wanted.length) {
      const run = await stage.claimMessages(stage.instanceId, 5);
      assert.ok(run.length > 0, "no claim comes back empty while the recipient has a due message");
      assert.deepEqual(await stage.claimMessages(stage.instanceId, 5), []);
      claimed.push(...idsOf(run));
      for (const message of run)
        assert.equal(await stage.update("messages", message, { status: "sent", dueAt: null }), "ok");
    }
    assert.deepEqual(claimed, wanted);
  });

  promise("racing claims get each message once, and a recipient's messages only in one of them", async (stage) => {
    const customer = await stage.addCustomer();
    const transaction = Array.from({ length: 60 }, (_, index): Operation => {
      return {
        op: "insert",
        table: "messages",
        record: stage.message(customer, { dueAt: NOW, to: to(index % PAIR_COUNT) }),
      };
    });
    await stage.ok(transaction);
    const claims = await Promise.all(Array.from({ length: 20 }, () => stage.claimMessages(stage.instanceId, 4)));
    const ids = idsOf(claims.flat());
    assert.equal(new Set(ids).size, ids.length);
    for (let index = 0; index < PAIR_COUNT; index += 1) {
      const holders = claims.filter((claim) => claim.some((message) => message.to === to(index)));
      assert.equal(holders.length, 1);
    }
  });
}

/** Lanes with something due are found, and a lease ends by time or at a start. */
export function leases(promise: Promises): void {
  promise("lanes with something due are named with the time since when, later ones are not", async (stage) => {
    const customer = await stage.addCustomer();
    const wanted: Partial<Delivery>[] = [];
    for (let index = 0; index < 200; index += 1) {
      const lane = `lane ${String(index).padStart(3, "0")}`;
      const dueAt = NOW - 1_000 + index * 10;
      wanted.push({ lane, dueAt }, { lane, dueAt: dueAt + 5 }, { lane, dueAt: null });
    }
    await addDeliveries(stage, customer, [...wanted, { lane: "over", dueAt: null, status: "succeeded" }]);
    const found = await stage.store.dueLanes("deliveries", NOW);
    assert.deepEqual(
      found.sort((a, b) => (a.lane < b.lane ? -1 : 1)),
      Array.from({ length: 101 }, (_, index) => ({
        lane: `lane ${String(index).padStart(3, "0")}`,
        dueAt: NOW - 1_000 + index * 10,
      })),
    );
    assert.deepEqual(await stage.store.dueLanes("messages", NOW), []);
    const instances = Array.from({ length: 20 }, () => stage.newId("inst"));
    for (const [index, instanceId] of instances.entries())
      await stage.addMessage(customer, { instanceId, dueAt: index % 2 === 0 ? NOW - index : NOW + index });
    await stage.addMessage(customer);
    assert.deepEqual(
      (await stage.store.dueLanes("messages", NOW)).sort((a, b) => b.dueAt - a.dueAt),
      instances.flatMap((lane, index) => (index % 2 === 0 ? [{ lane, dueAt: NOW - index }] : [])),
    );
  });

  promise("an expired lease makes its record due at once, and its old holder can complete nothing", async (stage) => {
    const customer = await stage.addCustomer();
    const attempt = { status: "pending", dueAt: null, claimedUntil: LEASE_END, sendAttempts: 1 } as const;
    const message = await stage.addMessage(customer, attempt);
    assert.equal(await stage.store.releaseLeases(LEASE_END, NOW), 0);
    const later = NOW + 60_000;
    assert.equal(await stage.store.releaseLeases(LEASE_END + 1, later), 1);
    const givenBack = { claimedUntil: null, version: 2 };
    assert.deepEqual(await stage.one("messages", message.id), { ...message, ...givenBack, dueAt: later });
    assert.equal(await stage.update("messages", message, { status: "sent" }), "conflict");
    assert.equal(await stage.store.releaseLeases(LEASE_END + 1, later), 0);
    assert.deepEqual(idsOf(await stage.claimMessages(stage.instanceId, 1, { now: later })), [message.id]);
  });

  promise("only expired leases are released, and all leases at a start", async (stage) => {
    const customer = await stage.addCustomer();
    const untils = [NOW + 1, NOW + 2, NOW + 3];
    for (const [index, claimedUntil] of untils.entries()) {
      await stage.addMessage(customer, { status: "pending", claimedUntil, to: to(index) });
    }
    await stage.addMessage(customer, { status: "delivered" });
    assert.equal(await stage.store.releaseLeases(NOW + 3, NOW), 2);
    assert.equal(await stage.store.releaseLeases(Number.POSITIVE_INFINITY, NOW), 1);
    assert.deepEqual(
      (await stage.all("messages")).map(({ status, dueAt }) => `${status} ${dueAt}`),
      [...untils.map(() => `pending ${NOW}`), "delivered null"],
    );
  });
}
