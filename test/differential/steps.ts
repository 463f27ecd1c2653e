/** The steps of the differential test: every operation, claim and chore of a store, with how often each is drawn. */

import assert from "node:assert/strict";
import type { CustomerId, EndpointId } from "../../server/core/id.ts";
import type { Endpoint } from "../../server/core/webhook.ts";
import type { DeliveryOutcome } from "../../server/store/due-deliveries.ts";
import type { ClaimedMessage, Queue, Store, Transaction } from "../../server/store/store.ts";
import { attemptAt, NOW } from "../conformance/store-stage.ts";
import { FRONT } from "../support/due.ts";
import { boundsOf, checkBounds } from "./claim-bounds.ts";
import { ADDRESSES, LANES, transactionOf } from "./operations.ts";
import type { World } from "./world.ts";

type Step = (world: World) => Promise<void>;

/** No lease ends by time during a run: the two databases claim at different moments. */
const LEASE_MS = 86_400_000;

/** How often a step is drawn, and what it does. */
const STEPS: readonly (readonly [weight: number, step: Step])[] = [
  [30, commitSome],
  [12, claimMessages],
  [12, claimDeliveries],
  [10, finish],
  [4, release],
  [3, dueLanes],
  [2, leasedPairs],
  [1, changeEndpoint],
  [1, cancel],
  [1, releaseLeases],
  [1, addUsage],
  [1, logRequests],
  [0.3, prune],
  [0.1, reset],
];

const TOTAL = STEPS.reduce((sum, [weight]) => sum + weight, 0);

/** Draws a step and runs it on both stores. */
export async function runStep(world: World): Promise<void> {
  let left = world.below(TOTAL * 1_000) / 1_000;
  world.steps += 1;
  for (const [weight, step] of STEPS) {
    left -= weight;
    if (left < 0) return step(world);
  }
}

async function commitSome(world: World): Promise<void> {
  const isGathered = world.chance(0.5);
  const made: Transaction[] = [];
  for (let left = 1 + world.below(4); left > 0; left -= 1) made.push(await transactionOf(world));
  await world.commit(made, isGathered);
}

/**
 * Which pairs share scarce permits, and where a run in a long lane is cut short, is each database's own choice within the bounds of
 * a claim: both are held to these, and release what they claimed. With a permit for every message both claim the same.
 */
async function claimMessages(world: World): Promise<void> {
  const isScarce = world.chance(0.3);
  const lanes = LANES.filter(() => world.chance(0.8)).map((lane) => ({
    lane,
    permits: isScarce ? 1 + world.below(5) : 10_000,
    ...(world.chance(0.2) ? { paused: true } : {}),
    ...(world.chance(0.3) ? { runMax: 1 + world.below(3) } : {}),
  }));
  const waiting = world.chance(0.3)
    ? [
        {
          from: world.pick(ADDRESSES),
          to: world.pick(ADDRESSES),
          // The engine names one at most: of several that are due, a database may claim either.
          except: world.messages.slice(0, 1).map(({ id }) => id),
        },
      ]
    : [];
  world.now += world.below(500);
  const claim = { lanes, now: world.now, leaseMs: LEASE_MS, waiting };
  const bounds = isScarce ? await boundsOf(world.maker, claim) : [];
  const claimed = await world.both(
    `claim ${JSON.stringify(claim)}`,
    (store) => store.claimMessages(claim),
    ({ claimed: all }) => (isScarce ? null : all.map(({ message }) => message).toSorted(byId)),
  );
  if (claimed === null) return;
  for (const { claimed: all } of claimed) {
    for (const bound of bounds) checkBounds(bound, all, `step ${world.steps}: claim ${JSON.stringify(claim)}`);
  }
  for (const { claimed: all } of claimed) checkRuns(all);
  if (isScarce) {
    await world.both("release", (store, index) => store.release(claimed[index].claimed.map(({ lease }) => lease)));
    return;
  }
  const [one, other] = claimed.map(({ claimed: all }) =>
    all.map(({ message, lease }) => ({ id: message.id, lease })).toSorted(byId),
  );
  world.noteLeases("messages", [one ?? [], other ?? []]);
}

function byId(one: { id: string }, other: { id: string }): number {
  return one.id < other.id ? -1 : 1;
}

/** Messages of one sender and recipient are claimed in the order of acceptance; lookups have no order. */
function checkRuns(claimed: readonly ClaimedMessage[]): void {
  const others = claimed.filter(({ message }) => message.status !== "pending");
  const runs = Map.groupBy(others, ({ message: { instanceId, from, to } }) => `${instanceId} ${from} ${to}`);
  for (const run of runs.values()) {
    const ids = run.map(({ message }) => message.id);
    assert.deepEqual(ids, ids.toSorted());
  }
}

async function claimDeliveries(world: World): Promise<void> {
  const callbacks = world.customers.map(({ id }) => `${id} https://callback.example`);
  const lanes = [...world.endpoints.map(({ id }) => id as string), ...callbacks]
    .filter(() => world.chance(0.6))
    .map((lane) => ({ lane, after: FRONT, limit: 1 + world.below(5) }));
  world.now += world.below(500);
  const inHand = world.leased.deliveries;
  const found = await world.both(
    `read ${JSON.stringify(lanes)}`,
    async (store) => {
      // A store does not know what is in hand.
      const reads = lanes.map((lane) => ({ ...lane, limit: lane.limit + inHand.size }));
      const read = await store.dueDeliveries({ lanes: reads, now: world.now, bytesMax: 2 ** 30 });
      const left = new Map(lanes.map(({ lane, limit }) => [lane, limit]));
      return read.found.filter(({ delivery: { id, lane } }) => {
        if (inHand.has(id)) return false;
        const room = left.get(lane) ?? 0;
        left.set(lane, room - 1);
        return room > 0;
      });
    },
    (all) =>
      all.map(({ delivery, bytes, correlationId }) =>
        process.env.DIFF_DEBUG
          ? `${delivery.id} ${delivery.lane} due ${(delivery.dueAt ?? 0) - NOW} by ${delivery.byHand} v${delivery.version}`
          : { delivery, bytes, correlationId },
      ),
  );
  if (found === null) return;
  world.noteLeases(
    "deliveries",
    found.map((all) => all.map(({ delivery, row }) => ({ id: delivery.id, lease: row }))) as never,
  );
}

async function finish(world: World): Promise<void> {
  const chosen = [...world.leased.deliveries.values()].filter(() => world.chance(0.5));
  const found = await world.fresh(
    "deliveries",
    chosen.map(({ id }) => id),
  );
  const deliveries = new Map(found.map((delivery) => [delivery.id as string, delivery]));
  const outcomes = chosen.flatMap(({ id, leases }) => {
    const delivery = deliveries.get(id);
    if (delivery === undefined) return [];
    const isOver = world.chance(0.6);
    const set: DeliveryOutcome["set"] = {
      url: delivery.url,
      status: isOver ? "succeeded" : "pending",
      attemptCount: delivery.attemptCount + 1,
      attempts: [...delivery.attempts, attemptAt(NOW)].slice(-5),
      retryCount: delivery.retryCount + 1,
      dueAt: isOver ? null : world.now + world.below(5) * 1_000,
      byHand: false,
      resumeAt: null,
    };
    const version = delivery.version + (world.chance(0.1) ? 1 : 0);
    return [{ leases, outcome: { id: delivery.id, version, set } }];
  });
  const finished = await world.both("finish", (store, index) =>
    store.finishDeliveries(outcomes.map(({ leases, outcome }) => ({ ...outcome, row: leases[index] }))),
  );
  for (const [index, { outcome }] of outcomes.entries()) {
    if (finished?.[0][index]?.result !== "changed") world.leased.deliveries.delete(outcome.id);
  }
}

async function release(world: World): Promise<void> {
  const queue: Queue = world.pick(["messages", "deliveries"]);
  const chosen = [...world.leased[queue].values()].filter(() => world.chance(0.4));
  const leasesOf = (index: 0 | 1) => chosen.map(({ leases }) => leases[index]);
  if (queue === "messages") await world.both("release", (store, index) => store.release(leasesOf(index)));
  for (const { id } of chosen) world.leased[queue].delete(id);
}

/** PostgreSQL leaves out lanes of messages in which everything that is due is leased. */
async function dueLanes(world: World): Promise<void> {
  const queue: Queue = world.pick(["messages", "deliveries"]);
  const asked = await world.both(
    `due lanes of ${queue}`,
    (store) => store.dueLanes(queue, world.now),
    () => null,
  );
  const [all = [], free = []] = (asked ?? []).map((lanes) => lanes.map(({ lane }) => lane));
  assert.deepEqual(
    free.filter((lane) => !all.includes(lane)),
    [],
  );
  if (queue === "deliveries" || world.leased.messages.size === 0)
    assert.equal(free.length, all.length, `due lanes of ${queue}`);
}

async function leasedPairs(world: World): Promise<void> {
  const lane = world.pick(LANES);
  await world.both(
    "leased pairs",
    (store) => store.leasedPairs(lane),
    (pairs) => pairs.map(({ from, to }) => `${from} ${to}`).toSorted(),
  );
}

async function changeEndpoint(world: World): Promise<void> {
  const { id } = world.pick(world.endpoints);
  const [fresh] = await world.fresh("endpoints", [id]);
  const events = world.pick<Endpoint["events"]>([["*"], ["message.sent"], ["message.failed", "message.queued"]]);
  const set = { active: world.chance(0.7), events };
  await world.commit([[{ op: "update", table: "endpoints", id, version: fresh?.version ?? 1, set }]], false);
}

async function cancel(world: World): Promise<void> {
  const id = world.pick(world.endpoints).id as EndpointId;
  await world.both("cancel", (store) => store.cancelDeliveries(id, 1_000));
}

async function releaseLeases(world: World): Promise<void> {
  const until = world.chance(0.3) ? Number.POSITIVE_INFINITY : NOW + 40_000 + world.below(10_000);
  await world.both("release leases", (store) => store.releaseLeases(until, world.now));
  if (until === Number.POSITIVE_INFINITY)
    for (const queue of ["messages", "deliveries"] as const) world.leased[queue].clear();
}

async function addUsage(world: World): Promise<void> {
  const hour = { subject: world.pick(world.customers).id, at: NOW - (NOW % 3_600_000), requests: 1, rateLimited: 0 };
  const sent = {
    messagesSent: world.below(3),
    segments: 1,
    messagesReceived: 0,
    webhooksDelivered: 2,
    webhooksFailed: 0,
  };
  const batch = { owner: world.pick(["one", "other"]), number: world.below(3), hours: [{ ...hour, ...sent }] };
  await world.both("usage", (store) => store.addUsage(batch, NOW));
}

const ROUTES = [null, "/v1/messages", "/v1/admin/keys", "/v1/admin/held"];

async function logRequests(world: World): Promise<void> {
  const requests = Array.from({ length: world.below(4) }, (_, index) => {
    const customerId = world.chance(0.2) ? null : (world.pick(world.customers).id as CustomerId);
    const texts = { id: `req_${world.steps}_${index}`, keyId: "key_1", method: "GET", path: "/v1/messages" } as const;
    const numbers = { status: 200, durationUs: world.below(1_000), createdAt: NOW, loggedAt: NOW + world.below(10) };
    const bodies = { request: "{}", response: null, requestCut: false, responseCut: world.chance(0.5) };
    return {
      ...texts,
      ...numbers,
      ...bodies,
      customerId,
      route: world.pick(ROUTES),
      correlationId: "cor_1",
      errorCode: null,
    };
  });
  await world.both("log requests", (store) => store.logRequests(requests));
  const owners = [...world.customers.slice(0, 2).map(({ id }) => id as CustomerId), null];
  const oldest = owners.map((owner) => [owner, world.below(3)] as const);
  const removal = { before: NOW + world.below(12), oldest, limit: world.below(5) };
  await world.both("remove requests", (store) => store.removeRequests(removal));
  const position = world.below(world.steps + 1);
  const erased = { position, path: "/v1/chats/***", request: world.pick(['"erased"', null]), response: null };
  await world.both("erase requests", (store) => store.eraseRequests([erased]));
}

async function prune(world: World): Promise<void> {
  // Every id is of the same day: nothing is older, and then everything that has ended.
  const before = world.chance(0.5) ? NOW - 1_000 : NOW + 86_400_000;
  await untilNothing(world, "prune", (store) => store.prune(before, 500));
}

async function reset(world: World): Promise<void> {
  const customerId = world.pick(world.customers).id as CustomerId;
  await untilNothing(world, "reset", (store) => store.reset(customerId, 500));
}

/** Repeats a chore until it finds nothing: how much it does at a time is the database's own. */
async function untilNothing(world: World, what: string, chore: (store: Store) => Promise<number>): Promise<void> {
  await world.both(what, async (store) => {
    while ((await chore(store)) > 0);
  });
}
