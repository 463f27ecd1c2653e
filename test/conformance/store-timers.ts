/** The store's suite: claims of timers, which are due messages that are not `queued`, behind those of busy pairs. */

import assert from "node:assert/strict";
import type { Message } from "../../server/core/message.ts";
import type { MessageClaim, MessageLane } from "../../server/store/store.ts";
import { LEASE_MS, NOW, type Promises, type Stage } from "./store-stage.ts";

/** Timers of busy pairs in front: more than two claims read. */
const IN_FRONT = 700;
/** Claims one after the other in these tests at most. */
const CLAIMS_MAX = 20;

const to = (index: number) => `+1500555${String(index).padStart(4, "0")}`;
const idsOf = (records: readonly { id: string }[]) => records.map(({ id }) => id);

/** Commits timers. */
async function addTimers(stage: Stage, count: number, changes: Partial<Message>): Promise<Message[]> {
  const customer = await stage.addCustomer();
  const added = Array.from({ length: count }, () => stage.message(customer, { status: "sent", ...changes }));
  await stage.ok(added.map((record) => ({ op: "insert", table: "messages", record })));
  return added;
}

/** Has a pair leased, and puts its further timers in front of the lane. */
async function addBusyPair(stage: Stage, changes: Partial<Message>): Promise<Message[]> {
  await addTimers(stage, 1, { dueAt: NOW - 1_000, ...changes });
  assert.equal((await stage.claimMessages(stage.instanceId, 1)).length, 1);
  return addTimers(stage, IN_FRONT, { dueAt: NOW - 900, ...changes });
}

type Way = Pick<MessageClaim, "waiting"> & Pick<MessageLane, "paused" | "runMax">;

/** Claims of a lane, one after the other, as long as it may have more. Returns the messages of each that found any. */
async function claimAll(stage: Stage, permits: number, { waiting = [], ...way }: Way = {}): Promise<Message[][]> {
  const found: Message[][] = [];
  for (let claims = 1; ; claims += 1) {
    const lanes = [{ lane: stage.instanceId, permits, ...way }];
    const { claimed, more } = await stage.store.claimMessages({ lanes, now: NOW, leaseMs: LEASE_MS, waiting });
    if (claimed.length > 0) found.push(claimed.map(({ message }) => message));
    if (more.length === 0) return found;
    assert.ok(claims < CLAIMS_MAX, "a lane in which all that can be found was found has more");
  }
}

/** No timer waits for the leases of other pairs, however many timers these have in front of it. */
export function claimsOfTimers(promise: Promises): void {
  const waits = { from: "+15550000001", to: to(2), except: [] };
  const ways: readonly [where: string, Way][] = [
    ["a lane", {}],
    ["a paused lane", { paused: true }],
    ["a waiting pair", { waiting: [waits] }],
    ["a waiting pair in a paused lane", { waiting: [waits], paused: true }],
  ];
  for (const [where, way] of ways) {
    promise(
      `a timer of ${where} is claimed although ${IN_FRONT} timers of a busy pair are due before it`,
      async (stage) => {
        await addBusyPair(stage, { to: to(1) });
        const [timer] = await addTimers(stage, 1, { dueAt: NOW, to: to(2) });
        assert.deepEqual((await claimAll(stage, 16, way)).map(idsOf), [[timer?.id]]);
        assert.deepEqual(await claimAll(stage, 16, way), [], "the claims end");
      },
    );
  }

  promise("a timer that becomes due in front of those that were passed is claimed", async (stage) => {
    await addBusyPair(stage, { to: to(1) });
    await addTimers(stage, IN_FRONT, { dueAt: NOW - 500, to: to(1) });
    // By the last of these claims the walk has come to the later ones.
    for (let claims = 0; claims < 3; claims += 1) assert.deepEqual(await stage.claimMessages(stage.instanceId, 16), []);
    const [timer] = await addTimers(stage, 1, { dueAt: NOW - 700, to: to(2) });
    let found: Message[] = [];
    for (let claims = 0; found.length === 0; claims += 1) {
      assert.ok(claims < CLAIMS_MAX, "it is found");
      found = await stage.claimMessages(stage.instanceId, 16);
    }
    assert.deepEqual(found, [timer]);
  });

  for (const [where, way] of ways.slice(0, 2)) {
    promise(
      `timers of a pair of ${where} that were passed while it was busy are claimed before its later ones`,
      async (stage) => {
        const add = async (changes: Partial<Message>) => {
          const [message] = await addTimers(stage, 1, { to: to(2), ...changes });
          assert.ok(message !== undefined);
          return message;
        };
        await addBusyPair(stage, { to: to(1) });
        const first = await add({ dueAt: NOW - 2_000 });
        assert.deepEqual(await stage.claimMessages(stage.instanceId, 1), [first]);
        const passed = await add({ dueAt: NOW - 800 });
        await addTimers(stage, IN_FRONT, { dueAt: NOW - 700, to: to(1) });
        const later = await add({ dueAt: NOW - 600 });
        const claimed: string[] = [];
        for (let claims = 1; claimed.length < 2; claims += 1) {
          assert.ok(claims < CLAIMS_MAX, "both are found");
          const lanes = [{ lane: stage.instanceId, permits: 16, ...way }];
          const found = await stage.store.claimMessages({ lanes, now: NOW, leaseMs: LEASE_MS });
          for (const { message } of found.claimed) claimed.push(message.id);
          // By now a claim has passed the older one, and none has come to the later one.
          const done = claims === 4 ? [first] : found.claimed.map(({ message }) => message);
          for (const message of done) assert.equal(await stage.update("messages", message, { dueAt: null }), "ok");
        }
        assert.deepEqual(claimed, [passed.id, later.id]);
      },
    );
  }
}
