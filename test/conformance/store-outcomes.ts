/** The store's suite: outcomes of attempts, and what each operation does to a delivery that is in hand. */

import assert from "node:assert/strict";
import { type Delivery, retryByHand, takenUp } from "../../server/core/delivery.ts";
import { type EndpointId, type EventId, hashedId, type ReplayId } from "../../server/core/id.ts";
import type { HeldDelivery } from "../../server/engine/queue/due-deliveries.ts";
import type { DeliveryOutcome, DueDelivery, FinishResult } from "../../server/store/due-deliveries.ts";
import type { Operation } from "../../server/store/store.ts";
import { attemptAt, NOW, type Promises, type Stage } from "./store-stage.ts";

/** The outcome of an attempt that succeeded. */
export function success({ delivery, row }: DueDelivery, changes: Partial<Delivery> = {}): DeliveryOutcome {
  const ended = { status: "succeeded", attemptCount: 1, attempts: [attemptAt(NOW)], dueAt: null } as const;
  return { id: delivery.id, row, version: delivery.version, set: { ...delivery, ...ended, ...changes } };
}

async function finish(stage: Stage, outcome: DeliveryOutcome): Promise<FinishResult> {
  const [result] = await stage.due.finish([outcome]);
  return result ?? assert.fail("there is no result");
}

/** The end of an attempt is written once, and no operation on its delivery is lost. */
export function outcomes(promise: Promises): void {
  cells(promise);
  promise("an outcome is written once, on the version that it was decided on", async (stage) => {
    const customer = await stage.addCustomer();
    const endpoint = await stage.addEndpoint(customer);
    for (let count = 0; count < 3; count += 1) await stage.addEvent(customer);
    const [first, second, third] = await stage.holdDeliveries(endpoint.id, 9);
    assert.ok(first && second && third);
    const retryAt = NOW + 30_000;
    const failed = success(second, { status: "pending", dueAt: retryAt, retryCount: 1, url: "https://new.example/" });
    const stale = { ...success(third), version: 7 };
    const unknown = { ...success(third), id: stage.newId("dlv") };
    const results = await stage.due.finish([success(first), failed, stale, unknown, success(first)]);
    assert.deepEqual(
      results.map(({ result }) => result),
      ["ok", "ok", "changed", "gone", "changed"],
    );
    assert.deepEqual(results[2], { result: "changed", delivery: third.delivery });
    for (const [before, { set }] of [[first, success(first)] as const, [second, failed] as const]) {
      const { url, status, attemptCount, attempts, retryCount, dueAt } = set;
      const expected = { ...before.delivery, url, status, attemptCount, attempts, retryCount, dueAt, version: 2 };
      assert.deepEqual(await stage.one("deliveries", before.delivery.id), expected);
    }
    assert.deepEqual(await finish(stage, success(third)), { result: "ok" }, "it is decided again");
    assert.deepEqual(await stage.claimDeliveries(endpoint.id, 9), []);
    const [again] = await stage.claimDeliveries(endpoint.id, 9, retryAt);
    assert.equal(again?.id, second.delivery.id);
  });
}

type State = "due" | "in hand" | "finished";

/** An operation on a delivery, and what it leaves behind for each state of the delivery. */
interface Cell {
  operation: string;
  run(stage: Stage, delivery: Delivery, held: readonly HeldDelivery[]): Promise<unknown>;
  /** Changes of the record; null: it is gone. */
  record: { [Key in State]: Partial<Delivery> | null };
  /** Whether it can be claimed afterwards. */
  isClaimable: { [Key in State]: boolean };
  /** The result of the end of an attempt, if it is in hand. */
  outcome: FinishResult["result"];
}

const DAY_MS = 86_400_000;
const KEPT = { due: {}, "in hand": {}, finished: {} };
const GONE = { due: null, "in hand": null, finished: null };
const ASKED = { byHand: true, retriesAsked: 1, version: 2, dueAt: NOW };
const CANCELLED = { status: "cancelled", dueAt: null, version: 2 } as const;
const ERASED = { attempts: [{ ...attemptAt(NOW), response: null }], version: 2 };

const REPLAY: ReplayId = "rpl_1";
const TAKEN_UP = { ...takenUp(REPLAY, NOW), version: 2 };
const STOPPED = { ...TAKEN_UP, ...CANCELLED, version: 3 };

async function takeUp(stage: Stage, id: Delivery["id"]): Promise<void> {
  const { version } = await stage.one("deliveries", id);
  await stage.ok([{ op: "update", table: "deliveries", id, version, set: takenUp(REPLAY, NOW) }]);
}

const byOwner = async (stage: Stage, { endpointId, customerId }: Delivery) => ({
  endpoint: await stage.one("endpoints", endpointId ?? ""),
  customerId,
});

const CELLS: readonly Cell[] = [
  {
    operation: "a retry by hand",
    async run(stage, { id }) {
      const delivery = await stage.one("deliveries", id);
      assert.equal(await stage.update("deliveries", delivery, retryByHand(delivery, NOW)), "ok");
    },
    record: {
      due: { ...ASKED, resumeAt: NOW },
      "in hand": { ...ASKED, resumeAt: NOW },
      finished: { ...ASKED, resumeAt: null },
    },
    isClaimable: { due: true, "in hand": false, finished: true },
    outcome: "changed",
  },
  {
    operation: "a pause of the endpoint",
    async run(stage, delivery) {
      const { endpoint } = await byOwner(stage, delivery);
      assert.equal(await stage.update("endpoints", endpoint, { active: false }), "ok");
      await stage.store.cancelDeliveries(endpoint.id, 9);
    },
    record: { due: CANCELLED, "in hand": CANCELLED, finished: {} },
    isClaimable: { due: false, "in hand": false, finished: false },
    outcome: "changed",
  },
  {
    operation: "a delete of the endpoint",
    async run(stage, delivery) {
      const { endpoint } = await byOwner(stage, delivery);
      await stage.ok([{ op: "delete", table: "endpoints", where: { id: endpoint.id } }]);
      await stage.store.cancelDeliveries(endpoint.id, 9);
    },
    record: { due: CANCELLED, "in hand": CANCELLED, finished: {} },
    isClaimable: { due: false, "in hand": false, finished: false },
    outcome: "changed",
  },
  {
    operation: "a reset of the customer",
    run: (stage, { customerId }) => stage.store.reset(customerId, 99),
    record: GONE,
    isClaimable: { due: false, "in hand": false, finished: false },
    outcome: "gone",
  },
  {
    operation: "an erasure of the event's text",
    run: (stage, { eventId }) => stage.ok([{ op: "rewrite", eventId, bytes: "{}" }]),
    record: { due: ERASED, "in hand": ERASED, finished: ERASED },
    isClaimable: { due: true, "in hand": false, finished: false },
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
    isClaimable: { due: true, "in hand": false, finished: false },
    outcome: "ok",
  },
  {
    operation: "a replay that takes it up",
    run: (stage, { id }) => takeUp(stage, id),
    record: { due: TAKEN_UP, "in hand": TAKEN_UP, finished: TAKEN_UP },
    isClaimable: { due: true, "in hand": false, finished: true },
    outcome: "changed",
  },
  {
    operation: "the stop of the replay that took it up",
    async run(stage, { id, endpointId }) {
      await takeUp(stage, id);
      assert.equal(await stage.store.cancelDeliveries(endpointId as EndpointId, 9, "rpl_other"), 0);
      await stage.store.cancelDeliveries(endpointId as EndpointId, 9, REPLAY);
    },
    record: { due: STOPPED, "in hand": STOPPED, finished: STOPPED },
    isClaimable: { due: false, "in hand": false, finished: false },
    outcome: "changed",
  },
  {
    operation: "pruning",
    run: (stage) => stage.store.prune(NOW, 99),
    record: { due: {}, "in hand": {}, finished: null },
    isClaimable: { due: true, "in hand": false, finished: false },
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
    isClaimable: { due: false, "in hand": false, finished: false },
    outcome: "gone",
  },
  {
    operation: "the end of all leases",
    run: (stage) => stage.store.releaseLeases(Number.POSITIVE_INFINITY, NOW),
    record: KEPT,
    isClaimable: { due: true, "in hand": false, finished: false },
    outcome: "ok",
  },
  {
    operation: "its return",
    run: async (stage, _delivery, held) => stage.due.giveUp(held),
    record: KEPT,
    isClaimable: { due: true, "in hand": true, finished: false },
    outcome: "ok",
  },
];

function cells(promise: Promises): void {
  for (const cell of CELLS) {
    for (const state of ["due", "in hand", "finished"] as const) {
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
  const held = state === "in hand" ? await stage.holdDeliveries(endpoint.id, 9) : [];
  await cell.run(stage, delivery, held);
  const claimed = await stage.holdDeliveries(endpoint.id, 9);
  assert.deepEqual(
    claimed.map((one) => one.delivery.id),
    cell.isClaimable[state] ? [delivery.id] : [],
  );
  const found = (await readable(stage)).find((one) => one.id === delivery.id);
  const changes = cell.record[state];
  assert.deepEqual(found, changes === null ? undefined : { ...delivery, ...changes });
  for (const one of held) assert.equal((await finish(stage, success(one))).result, cell.outcome);
  assert.deepEqual(await stage.claimDeliveries(endpoint.id, 9), [], "it is claimed once");
}

/** Deliveries whose rows can be decoded. */
async function readable(stage: Stage): Promise<Delivery[]> {
  try {
    return await stage.all("deliveries");
  } catch {
    return [];
  }
}
