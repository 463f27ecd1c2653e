/** The store's suite: lookups of unknown outcomes neither wait for the other messages of their pair nor hold them up. */

import assert from "node:assert/strict";
import type { Message } from "../../server/core/message.ts";
import type { MessageClaim, MessageLane } from "../../server/store/store.ts";
import { LEASE_END, LEASE_MS, NOW, type Promises, type Stage } from "./store-stage.ts";

/** Messages of a busy pair in front of a lookup: more than a claim reads at the front of a lane. */
const IN_FRONT = 700;
/** Claims one after the other in these tests at most. */
const CLAIMS_MAX = 20;
/** The most messages of one sender and recipient in a claim. */
const RUN_MAX = 8;

const PAIR = { from: "+15550000001", to: "+15005550100" };
const LOOKUP = { status: "pending", unknownSince: NOW - 5_000, dueAt: NOW - 100 } as const;
const ATTEMPT = { status: "pending", dueAt: null, claimedUntil: LEASE_END } as const;
const idsOf = (records: readonly { id: string }[]) => records.map(({ id }) => id).toSorted();

type Way = Pick<MessageClaim, "waiting"> & Pick<MessageLane, "paused">;

async function add(stage: Stage, count: number, changes: Partial<Message>): Promise<Message[]> {
  const customer = await stage.addCustomer();
  const added = Array.from({ length: count }, () => stage.message(customer, { dueAt: NOW, ...changes }));
  await stage.ok(added.map((record) => ({ op: "insert", table: "messages", record })));
  return added;
}

/** Claims of a lane, one after the other, as long as it may have more. Returns the ids of what they found. */
async function claimAll(stage: Stage, { waiting = [], ...way }: Way = {}, permits = 16): Promise<string[]> {
  const found: Message[] = [];
  for (let claims = 1; ; claims += 1) {
    const lanes = [{ lane: stage.instanceId, permits, ...way }];
    const { claimed, more } = await stage.store.claimMessages({ lanes, now: NOW, leaseMs: LEASE_MS, waiting });
    found.push(...claimed.map(({ message }) => message));
    if (more.length === 0) return idsOf(found);
    assert.ok(claims < CLAIMS_MAX, "a lane in which all that can be found was found has more");
  }
}

/** A pair with a send attempt in progress, which was claimed as usual. */
async function addAttempt(stage: Stage): Promise<Message> {
  const [next] = await add(stage, 1, { dueAt: NOW - 50 });
  assert.ok(next !== undefined);
  assert.deepEqual(idsOf(await stage.claimMessages(stage.instanceId, 1)), [next.id]);
  assert.equal(await stage.update("messages", next, ATTEMPT), "ok");
  return next;
}

/** Lookups are claimed as they become due, and the order of sends does not know them. */
export function claimsOfLookups(promise: Promises): void {
  const ways: readonly [where: string, Way][] = [
    ["", {}],
    [" in a paused lane", { paused: true }],
    [" and the pair waits", { waiting: [{ ...PAIR, except: [] }] }],
  ];
  for (const [where, way] of ways) {
    promise(`a due lookup is claimed while the next of its pair is leased${where}`, async (stage) => {
      const lookups = await add(stage, 3, { ...LOOKUP, dueAt: NOW + 1_000 });
      await addAttempt(stage);
      for (const lookup of lookups) assert.equal(await stage.update("messages", lookup, { dueAt: NOW }), "ok");
      const claimed = await stage.leaseMessages(stage.instanceId, 9, {
        lanes: [{ lane: stage.instanceId, permits: 9, ...way }],
        waiting: way.waiting ?? [],
      });
      assert.deepEqual(idsOf(claimed.map(({ message }) => message)), idsOf(lookups));
      assert.deepEqual(await claimAll(stage, way), [], "a leased lookup is not claimed");
      const [first] = claimed;
      await stage.store.release([first?.lease ?? 0]);
      assert.deepEqual(await claimAll(stage, way), [first?.message.id], "a released lookup is claimed again");
    });
  }

  promise("messages are claimed in order while lookups of earlier ones of their pair are leased", async (stage) => {
    const lookups = await add(stage, 3, LOOKUP);
    assert.deepEqual(idsOf(await stage.claimMessages(stage.instanceId, 9)), idsOf(lookups));
    const run = await add(stage, RUN_MAX + 1, {});
    const claimed = await stage.claimMessages(stage.instanceId, 16);
    assert.deepEqual(
      claimed.map(({ id }) => id),
      run.slice(0, RUN_MAX).map(({ id }) => id),
    );
    assert.deepEqual(await claimAll(stage), [], "the others wait for those that are leased");
    for (const sent of claimed)
      assert.equal(await stage.update("messages", sent, { status: "sent", dueAt: null }), "ok");
    assert.deepEqual(await claimAll(stage), idsOf(run.slice(RUN_MAX)));
  });

  promise("lookups take no place in the run of their pair", async (stage) => {
    const lookups = await add(stage, RUN_MAX + 1, LOOKUP);
    const run = await add(stage, RUN_MAX, {});
    assert.deepEqual(await claimAll(stage, {}, 64), idsOf([...lookups, ...run]));
  });

  promise("a run is claimed although more lookups of its pair than permits are due before it", async (stage) => {
    const lookups = await add(stage, 20, LOOKUP);
    const run = await add(stage, 2, {});
    assert.deepEqual(await claimAll(stage, {}, 4), idsOf([...lookups, ...run]));
  });

  promise(`a lookup is claimed behind ${IN_FRONT} messages of its busy pair`, async (stage) => {
    await addAttempt(stage);
    await add(stage, IN_FRONT, { dueAt: NOW - 40 });
    const [lookup] = await add(stage, 1, { ...LOOKUP, dueAt: NOW });
    assert.deepEqual(await claimAll(stage), [lookup?.id]);
  });

  promise("a message that a lookup finds unsent waits for the next of its pair, which is leased", async (stage) => {
    const [lookup] = await add(stage, 1, { ...LOOKUP, dueAt: NOW + 1_000 });
    assert.ok(lookup !== undefined);
    const next = await addAttempt(stage);
    assert.equal(await stage.update("messages", lookup, { dueAt: NOW }), "ok");
    const [claimed] = await stage.claimMessages(stage.instanceId, 9);
    assert.equal(claimed?.id, lookup.id);
    const again = { status: "queued", dueAt: NOW - 1_000, unknownSince: null } as const;
    assert.equal(await stage.update("messages", claimed, again), "ok");
    assert.deepEqual(await claimAll(stage), []);
    const { version } = await stage.one("messages", next.id);
    assert.equal(
      await stage.update("messages", { id: next.id, version }, { status: "sent", claimedUntil: null }),
      "ok",
    );
    assert.deepEqual(await claimAll(stage), [lookup.id]);
  });

  promise(
    "a scheduled message that becomes due holds up the messages of its pair, and waits for them",
    async (stage) => {
      const [scheduled] = await add(stage, 1, { status: "scheduled", dueAt: NOW - 100 });
      assert.deepEqual(idsOf(await stage.claimMessages(stage.instanceId, 9)), [scheduled?.id]);
      await add(stage, 1, { dueAt: NOW - 50 });
      await add(stage, 1, { status: "scheduled" });
      assert.deepEqual(await claimAll(stage), []);
    },
  );
}
