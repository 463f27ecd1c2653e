/** Several stores of one database race for its messages, as the processes of a deployment do. */

import assert from "node:assert/strict";
import type { InstanceId } from "../../server/core/id.ts";
import { type Message, pairOf } from "../../server/core/message.ts";
import type { ClaimedMessage, Store } from "../../server/store/store.ts";
import { LEASE_END, LEASE_MS, NOW, type Stage } from "../conformance/store-stage.ts";

const PERMITS = 16;
/** A store releases one of so many messages that it claimed, without sending it. */
const RELEASE_EVERY = 20;
const INSERTED_AT_ONCE = 1_000;

/** Commits due messages to some recipients in turn, all of one lane. */
export async function addDueMessages(stage: Stage, count: number, pairs: number): Promise<InstanceId> {
  const customer = await stage.addCustomer();
  for (let from = 0; from < count; from += INSERTED_AT_ONCE) {
    const records = Array.from({ length: Math.min(INSERTED_AT_ONCE, count - from) }, (_, index) =>
      stage.message(customer, { dueAt: NOW, to: `+1500${String((from + index) % pairs).padStart(7, "0")}` }),
    );
    await stage.ok(records.map((record) => ({ op: "insert", table: "messages", record })));
  }
  return stage.instanceId;
}

/**
 * Has each store claim and send messages of a lane until `count` are sent. Fails if a message is sent twice, if two stores hold
 * messages of one pair, or if a pair's messages are not sent in the order of acceptance.
 */
export async function raceForMessages(stores: readonly Store[], lane: InstanceId, count: number): Promise<void> {
  const sent = new Set<string>();
  const lastOf = new Map<string, string>();
  const holders = new Map<string, { store: Store; leases: number }>();
  let claimed = 0;

  const begin = (store: Store, message: Message) => {
    const pair = pairOf(message);
    const holder = holders.get(pair) ?? { store, leases: 0 };
    assert.equal(holder.store, store, `two stores hold messages of ${pair}`);
    holder.leases += 1;
    holders.set(pair, holder);
  };
  /** The lease is about to end: from here on another store may claim the pair. */
  const end = (message: Message) => {
    const holder = holders.get(pairOf(message));
    assert.ok(holder !== undefined);
    holder.leases -= 1;
    if (holder.leases === 0) holders.delete(pairOf(message));
  };

  async function send(store: Store, { message, lease }: ClaimedMessage): Promise<boolean> {
    claimed += 1;
    if (claimed % RELEASE_EVERY === 0) {
      end(message);
      await store.release([lease]);
      return false;
    }
    const { id, version } = message;
    const pending = { status: "pending", dueAt: null, claimedUntil: LEASE_END } as const;
    const attempt = await store.commitGathered([{ op: "update", table: "messages", id, version, set: pending }]);
    assert.equal(attempt.result, "ok");
    assert.ok(!sent.has(id), `${id} is sent twice`);
    assert.ok((lastOf.get(pairOf(message)) ?? "") < id, `${id} is sent after a later message to its recipient`);
    sent.add(id);
    lastOf.set(pairOf(message), id);
    end(message);
    const set = { status: "sent", claimedUntil: null } as const;
    const outcome = await store.commitGathered([{ op: "update", table: "messages", id, version: version + 1, set }]);
    assert.equal(outcome.result, "ok");
    return true;
  }

  /** Claims of one lane wait for each other. One that waited too long leased nothing, and is repeated, as the loop of messages does. */
  async function claim(store: Store): Promise<ClaimedMessage[]> {
    try {
      const { claimed } = await store.claimMessages({
        lanes: [{ lane, permits: PERMITS }],
        now: NOW,
        leaseMs: LEASE_MS,
      });
      return claimed;
    } catch (error) {
      assert.match(String(error), /canceling statement due to lock timeout/);
      return [];
    }
  }

  /** Sends a run in sequence. After a message that goes back to the queue, the others go back too. */
  async function sendRun(store: Store, run: readonly ClaimedMessage[]): Promise<void> {
    for (const [index, one] of run.entries()) {
      if (await send(store, one)) continue;
      const others = run.slice(index + 1);
      for (const { message } of others) end(message);
      await store.release(others.map(({ lease }) => lease));
      return;
    }
  }

  async function work(store: Store): Promise<void> {
    while (sent.size < count) {
      const taken = await claim(store);
      for (const { message } of taken) begin(store, message);
      const runs = Map.groupBy(taken, ({ message }) => pairOf(message));
      await Promise.all([...runs.values()].map((run) => sendRun(store, run)));
    }
  }

  await Promise.all(stores.map(work));
  assert.equal(sent.size, count);
}
