/** The store's suite: new deliveries that go to their holder, outcomes of attempts, and what each operation does to a leased one. */

import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import type { Delivery } from "../../server/core/delivery.ts";
import { type EventId, hashedId } from "../../server/core/id.ts";
import type {
  ClaimedDelivery,
  DeliveryHolder,
  DeliveryOutcome,
  FinishResult,
  Operation,
} from "../../server/store/store.ts";
import { attemptAt, LEASE_MS, NOW, type Promises, type Stage } from "./store-stage.ts";

/** A holder that notes what it gets. */
class Holder implements DeliveryHolder {
  readonly leaseMs = LEASE_MS;
  readonly pushed: ClaimedDelivery[] = [];

  push(claimed: ClaimedDelivery[]): void {
    this.pushed.push(...claimed);
  }
}

/** The outcome of an attempt that succeeded. */
function success({ delivery, lease }: ClaimedDelivery, changes: Partial<Delivery> = {}): DeliveryOutcome {
  const ended = { status: "succeeded", attemptCount: 1, attempts: [attemptAt(NOW)], dueAt: null } as const;
  return { id: delivery.id, lease, version: delivery.version, set: { ...delivery, ...ended, ...changes } };
}

async function finish(stage: Stage, outcome: DeliveryOutcome): Promise<FinishResult> {
  const [result] = await stage.store.finishDeliveries([outcome]);
  return result ?? assert.fail("there is no result");
}

const eventsOf = (claimed: readonly ClaimedDelivery[]) => claimed.map(({ delivery }) => delivery.eventId);

/** New deliveries reach the holder with their commit or wait on disk, each in one place. */
export function heldDeliveries(promise: Promises): void {
  pushing(promise);
  finishing(promise);
  cells(promise);
}

function pushing(promise: Promises): void {
  promise(
    "new deliveries go to the holder leased, with their events, as soon as their lane has caught up",
    async (stage) => {
      const customer = await stage.addCustomer();
      const endpoint = await stage.addEndpoint(customer);
      const early = await stage.addEvent(customer);
      const holder = new Holder();
      const endHold = stage.store.hold(holder);
      const behind = await stage.addEvent(customer);
      assert.deepEqual([early.lanes, behind.lanes], [[endpoint.id], [endpoint.id]], "the lane has something to claim");
      const claimed = await stage.leaseDeliveries(endpoint.id, 9);
      assert.deepEqual(eventsOf(claimed), [early.event.id, behind.event.id]);
      const born = [await stage.addEvent(customer), await stage.addEvent(customer)];
      assert.deepEqual(
        born.map(({ lanes }) => lanes),
        [[], []],
      );
      await turn();
      assert.deepEqual(
        holder.pushed.map(({ delivery, bytes, correlationId }) => ({ delivery, bytes, correlationId })),
        born.map(({ event: { bytes, correlationId }, deliveries: [delivery] }) => ({ delivery, bytes, correlationId })),
      );
      assert.deepEqual(await stage.claimDeliveries(endpoint.id, 9), [], "they are leased");
      const leases = [...claimed, ...holder.pushed].map(({ lease }) => lease);
      assert.equal(new Set(leases).size, 4);
      await stage.store.release("deliveries", leases.slice(2, 3));
      const after = await stage.addEvent(customer);
      assert.deepEqual(after.lanes, [endpoint.id], "they wait behind what was given back");
      assert.deepEqual(await stage.claimDeliveries(endpoint.id, 9), [born[0]?.deliveries[0], after.deliveries[0]]);
      endHold();
      const last = await stage.addEvent(customer);
      await turn();
      assert.deepEqual(
        await stage.claimDeliveries(endpoint.id, 9),
        last.deliveries,
        "nobody holds new deliveries any more",
      );
      assert.equal(holder.pushed.length, 2);
    },
  );

  promise("a holder gets no more than 256 new deliveries of a lane, and the others wait in order", async (stage) => {
    const customer = await stage.addCustomer();
    const endpoint = await stage.addEndpoint(customer);
    const other = await stage.addEndpoint(customer, { events: ["facetime.incoming"] });
    const holder = new Holder();
    stage.store.hold(holder);
    for (const { id } of [endpoint, other]) assert.deepEqual(await stage.claimDeliveries(id, 1), []);
    const events = Array.from({ length: 300 }, () => stage.event(customer));
    const lanes = await Promise.all(events.map((event) => stage.ok([{ op: "event", event, callbackUrl: null }])));
    assert.equal(lanes.filter((names) => names.length === 0).length, 256);
    await stage.addEvent(customer, { type: "facetime.incoming" });
    await turn();
    const ofLane = (lane: string) => holder.pushed.filter(({ delivery }) => delivery.lane === lane);
    assert.deepEqual(
      eventsOf(ofLane(endpoint.id)),
      events.slice(0, 256).map(({ id }) => id),
    );
    assert.equal(ofLane(other.id).length, 1, "another lane is not affected");
    const results = await stage.store.finishDeliveries(ofLane(endpoint.id).map((claimed) => success(claimed)));
    assert.ok(results.every(({ result }) => result === "ok"));
    const rest = await stage.leaseDeliveries(endpoint.id, 128);
    assert.deepEqual(
      eventsOf(rest).slice(0, -1),
      events.slice(256).map(({ id }) => id),
    );
  });

  promise("new deliveries are pushed before those that a claim of the same time finds behind them", async (stage) => {
    const customer = await stage.addCustomer();
    const endpoint = await stage.addEndpoint(customer);
    const holder = new Holder();
    stage.store.hold(holder);
    assert.deepEqual(await stage.claimDeliveries(endpoint.id, 1), []);
    for (let count = 0; count < 255; count += 1) await stage.addEvent(customer);
    await turn();
    assert.equal(holder.pushed.length, 255);
    // The claim runs after the commit: one of the new deliveries fills the lane, and the other one stays on disk.
    const claim = stage.leaseDeliveries(endpoint.id, 9);
    const events = [stage.event(customer), stage.event(customer)];
    const commits = events.map((event) => stage.store.commitGathered([{ op: "event", event, callbackUrl: null }]));
    const claimed = await claim;
    const pushedBefore = holder.pushed.slice(255);
    await Promise.all(commits);
    assert.deepEqual(
      [pushedBefore, claimed].map(eventsOf),
      events.map(({ id }) => [id]),
    );
  });

  promise(
    "a new delivery that was leased before others were released is pushed before their release ends",
    async (stage) => {
      const customer = await stage.addCustomer();
      const endpoint = await stage.addEndpoint(customer);
      const holder = new Holder();
      stage.store.hold(holder);
      await stage.claimDeliveries(endpoint.id, 1);
      const first = await stage.addEvent(customer);
      await turn();
      const event = stage.event(customer);
      const released = stage.store.release("deliveries", [holder.pushed[0]?.lease ?? 0]);
      const committed = stage.ok([{ op: "event", event, callbackUrl: null }]);
      await released;
      assert.deepEqual(eventsOf(holder.pushed), [first.event.id, event.id]);
      assert.deepEqual(await committed, []);
      assert.deepEqual((await stage.addEvent(customer)).lanes, [endpoint.id]);
    },
  );

  promise("a commit that changes an endpoint or customer returns once the listener has applied it", async (stage) => {
    const applied: string[] = [];
    stage.store.watchReceivers(async (changes) => {
      for (let turns = 0; turns < 5; turns += 1) await turn();
      applied.push(...changes.map(({ table, id }) => `${table} ${id}`));
    });
    const customer = await stage.addCustomer();
    const endpoint = await stage.addEndpoint(customer);
    const expected = [`customers ${customer.id}`, `endpoints ${endpoint.id}`];
    assert.deepEqual(applied, expected);
    assert.equal(await stage.update("endpoints", endpoint, { active: false }), "ok");
    expected.push(`endpoints ${endpoint.id}`);
    assert.deepEqual(applied, expected);
    assert.equal(await stage.update("endpoints", endpoint, { active: true }), "conflict");
    await stage.addMessage(customer);
    assert.deepEqual(applied, expected);
  });

  promise(
    "a further store gets the new deliveries of the first one's commits, and records their attempts",
    async (stage) => {
      const customer = await stage.addCustomer();
      const endpoint = await stage.addEndpoint(customer);
      const further = stage.store.fork();
      const holder = new Holder();
      const endHold = further.hold(holder);
      const lanes = [{ lane: endpoint.id, permits: 9 }];
      const claim = { lanes, now: NOW, leaseMs: LEASE_MS };
      assert.deepEqual((await further.claimDeliveries(claim)).claimed, []);
      const made: string[] = [];
      for (let count = 0; count < 20; count += 1) made.push((await stage.addEvent(customer)).event.id);
      await further.arrived();
      assert.deepEqual(eventsOf(holder.pushed), made);
      const results = await further.finishDeliveries(holder.pushed.map((claimed) => success(claimed)));
      assert.ok(results.every(({ result }) => result === "ok"));
      endHold();
      await further.arrived();
      await further.close();
      assert.deepEqual((await stage.addEvent(customer)).lanes, [endpoint.id], "nobody holds new deliveries any more");
    },
  );
}

function finishing(promise: Promises): void {
  promise(
    "an outcome is written once, by the holder of the lease, on the version that it was decided on",
    async (stage) => {
      const customer = await stage.addCustomer();
      const endpoint = await stage.addEndpoint(customer);
      for (let count = 0; count < 3; count += 1) await stage.addEvent(customer);
      const [first, second, third] = await stage.leaseDeliveries(endpoint.id, 9);
      assert.ok(first && second && third);
      const retryAt = NOW + 30_000;
      const failed = success(second, { status: "pending", dueAt: retryAt, retryCount: 1, url: "https://new.example/" });
      const stale = { ...success(third), version: 7 };
      const unknown = { ...success(third), lease: 1_000_000 };
      const results = await stage.store.finishDeliveries([success(first), failed, stale, unknown, success(first)]);
      assert.deepEqual(
        results.map(({ result }) => result),
        ["ok", "ok", "changed", "gone", "gone"],
      );
      assert.deepEqual(results[2], { result: "changed", delivery: third.delivery });
      for (const [before, { set }] of [[first, success(first)] as const, [second, failed] as const]) {
        const { url, status, attemptCount, attempts, retryCount, dueAt } = set;
        const expected = { ...before.delivery, url, status, attemptCount, attempts, retryCount, dueAt, version: 2 };
        assert.deepEqual(await stage.one("deliveries", before.delivery.id), expected);
      }
      assert.deepEqual(
        await finish(stage, success(third)),
        { result: "ok" },
        "it is decided again under the same lease",
      );
      assert.deepEqual(await stage.claimDeliveries(endpoint.id, 9), []);
      const [again] = await stage.claimDeliveries(endpoint.id, 9, { now: retryAt });
      assert.equal(again?.id, second.delivery.id);
    },
  );
}

type State = "due" | "leased" | "finished";

/** An operation on a delivery, and what it leaves behind for each state of the delivery. */
interface Cell {
  operation: string;
  run(stage: Stage, delivery: Delivery): Promise<unknown>;
  /** Changes of the record; null: it is gone. */
  record: { [Key in State]: Partial<Delivery> | null };
  /** Whether it can be claimed afterwards. */
  isClaimable: { [Key in State]: boolean };
  /** The result of the outcome that the holder of its lease reports. */
  outcome: FinishResult["result"];
}

const DAY_MS = 86_400_000;
const KEPT = { due: {}, leased: {}, finished: {} };
const GONE = { due: null, leased: null, finished: null };
const ASKED = { byHand: true, version: 2, dueAt: NOW };
const CANCELLED = { status: "cancelled", dueAt: null, version: 2 } as const;
const ERASED = { attempts: [{ ...attemptAt(NOW), response: null }], version: 2 };

const byOwner = async (stage: Stage, { endpointId, customerId }: Delivery) => ({
  endpoint: await stage.one("endpoints", endpointId ?? ""),
  customerId,
});

const CELLS: readonly Cell[] = [
  {
    operation: "a retry by hand",
    async run(stage, { id }) {
      const { version } = await stage.one("deliveries", id);
      await stage.ok([{ op: "retryDelivery", id, version, now: NOW }]);
    },
    record: {
      due: { ...ASKED, resumeAt: NOW },
      leased: { retryRequested: true, version: 2 },
      finished: { ...ASKED, resumeAt: null },
    },
    isClaimable: { due: true, leased: false, finished: true },
    outcome: "changed",
  },
  {
    operation: "a pause of the endpoint",
    async run(stage, delivery) {
      const { endpoint } = await byOwner(stage, delivery);
      assert.equal(await stage.update("endpoints", endpoint, { active: false }), "ok");
      await stage.store.cancelDeliveries(endpoint.id, 9);
    },
    record: { due: CANCELLED, leased: {}, finished: {} },
    isClaimable: { due: false, leased: false, finished: false },
    outcome: "ok",
  },
  {
    operation: "a delete of the endpoint",
    async run(stage, delivery) {
      const { endpoint } = await byOwner(stage, delivery);
      await stage.ok([{ op: "delete", table: "endpoints", where: { id: endpoint.id } }]);
      await stage.store.cancelDeliveries(endpoint.id, 9);
    },
    record: { due: CANCELLED, leased: {}, finished: {} },
    isClaimable: { due: false, leased: false, finished: false },
    outcome: "ok",
  },
  {
    operation: "a reset of the customer",
    run: (stage, { customerId }) => stage.store.reset(customerId, 99),
    record: GONE,
    isClaimable: { due: false, leased: false, finished: false },
    outcome: "gone",
  },
  {
    operation: "an erasure of the event's text",
    run: (stage, { eventId }) => stage.ok([{ op: "rewrite", eventId, bytes: "{}" }]),
    record: { due: ERASED, leased: ERASED, finished: ERASED },
    isClaimable: { due: true, leased: false, finished: false },
    outcome: "changed",
  },
  {
    operation: "a replay of the event",
    async run(stage, delivery) {
      const record = { ...delivery, id: stage.newId("dlv"), lane: "replay", dueAt: NOW, version: 1 };
      await stage.ok([{ op: "insertUnique", table: "deliveries", record }]);
      assert.deepEqual(await stage.claimDeliveries("replay", 9), [record]);
    },
    record: KEPT,
    isClaimable: { due: true, leased: false, finished: false },
    outcome: "ok",
  },
  {
    operation: "pruning",
    run: (stage) => stage.store.prune(NOW, 99),
    record: { due: {}, leased: {}, finished: null },
    isClaimable: { due: true, leased: false, finished: false },
    outcome: "ok",
  },
  {
    operation: "a quarantine of its row",
    async run(stage, { id }) {
      const { version } = await stage.one("deliveries", id);
      const set = { eventType: "message.flew" as never };
      await stage.ok([{ op: "update", table: "deliveries", id, version, set } as Operation]);
    },
    record: GONE,
    isClaimable: { due: false, leased: false, finished: false },
    outcome: "gone",
  },
  {
    operation: "the end of all leases",
    run: (stage) => stage.store.releaseLeases(Number.POSITIVE_INFINITY, NOW),
    record: KEPT,
    isClaimable: { due: true, leased: true, finished: false },
    outcome: "gone",
  },
  {
    operation: "a release of its lease",
    run: (stage) => stage.store.release("deliveries", [1, 2, 3]),
    record: KEPT,
    isClaimable: { due: true, leased: true, finished: false },
    outcome: "gone",
  },
];

function cells(promise: Promises): void {
  for (const cell of CELLS) {
    for (const state of ["due", "leased", "finished"] as const) {
      promise(`${cell.operation}, of a delivery that is ${state}`, (stage) => checkCell(stage, cell, state));
    }
  }
}

async function checkCell(stage: Stage, cell: Cell, state: State): Promise<void> {
  const customer = await stage.addCustomer();
  const endpoint = await stage.addEndpoint(customer);
  const id: EventId = hashedId("evt", NOW - 40 * DAY_MS, "old");
  const event = stage.event(customer, { id });
  const target = { endpointId: endpoint.id, lane: endpoint.id, attempts: [attemptAt(NOW)], attemptCount: 1 };
  const ended = state === "finished" ? ({ status: "succeeded", dueAt: null } as const) : {};
  const delivery = stage.delivery(event, { ...target, ...ended });
  await stage.ok([
    { op: "insert", table: "events", record: event },
    { op: "insert", table: "deliveries", record: delivery },
  ]);
  const [leased] = state === "leased" ? await stage.leaseDeliveries(endpoint.id, 9) : [];
  await cell.run(stage, delivery);
  const claimed = await stage.leaseDeliveries(endpoint.id, 9);
  assert.deepEqual(
    claimed.map((one) => one.delivery.id),
    cell.isClaimable[state] ? [delivery.id] : [],
  );
  const found = (await readable(stage)).find((one) => one.id === delivery.id);
  const changes = cell.record[state];
  assert.deepEqual(found, changes === null ? undefined : { ...delivery, ...changes });
  if (leased !== undefined) assert.equal((await finish(stage, success(leased))).result, cell.outcome);
  assert.deepEqual(await stage.claimDeliveries(endpoint.id, 9), [], "it is leased once");
}

/** Deliveries whose rows can be decoded. */
async function readable(stage: Stage): Promise<Delivery[]> {
  try {
    return await stage.all("deliveries");
  } catch {
    return [];
  }
}
