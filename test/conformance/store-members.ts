/** The store's suite: members, their leases, and transactions and claims that require an epoch. */

import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import type { Member, MemberBeat, MembersAfterBeat } from "../../server/store/members.ts";
import { NOW, type Promises, type Stage } from "./store-stage.ts";

const LONG_MS = 60_000;
const SHORT_MS = 200;

function beatOf(id: string, leases: string[], changes: Partial<MemberBeat> = {}): MemberBeat {
  const member: Member = { id, role: "worker", url: `http://${id}:1` };
  const wanted = leases.map((lease) => ({ lease, state: `state of ${id}` }));
  return { member, leases: wanted, leaseMs: LONG_MS, deadAfterMs: LONG_MS, ...changes };
}

/** The leases as `name owner epoch`. */
function held({ leases }: MembersAfterBeat): string[] {
  return leases.map(({ lease, owner, epoch }) => `${lease} ${owner} ${epoch}`).toSorted();
}

async function resultOf(stage: Stage, lease: string, epoch: number): Promise<string> {
  const record = { name: `${lease} ${epoch}`, value: "set" };
  const { result } = await stage.store.commit([
    { op: "requireEpoch", lease, epoch },
    { op: "put", table: "settings", record },
  ]);
  return result;
}

export function members(promise: Promises): void {
  promise("a beat shows its member and acquires every lease that it wants and nobody holds", async (stage) => {
    const { store } = stage;
    const first = await store.beat(beatOf("a", ["leader", "x"]));
    assert.deepEqual(held(first), ["leader a 1", "x a 1"]);
    assert.deepEqual(first.members, [{ id: "a", role: "worker", url: "http://a:1" }]);
    assert.ok(first.now === null || Math.abs(first.now - Date.now()) < LONG_MS);
    const second = await store.beat(beatOf("b", ["leader", "x", "y"]));
    assert.deepEqual(held(second), ["leader a 1", "x a 1", "y b 1"]);
    assert.deepEqual(second.members.map(({ id }) => id).toSorted(), ["a", "b"]);
    assert.equal(second.leases.find(({ lease }) => lease === "x")?.state, "state of a");
  });

  promise("a beat renews leases without a new epoch, and replaces what the others see of its member", async (stage) => {
    const { store } = stage;
    await store.beat(beatOf("a", ["x"], { leaseMs: SHORT_MS }));
    const member: Member = { id: "a", role: "api", url: null };
    const leases = [{ lease: "x", state: null }];
    const again = await store.beat({ ...beatOf("a", []), member, leases });
    assert.deepEqual(again.members, [member]);
    assert.deepEqual(again.leases, [{ lease: "x", owner: "a", epoch: 1, state: null }]);
    await setTimeout(2 * SHORT_MS);
    assert.deepEqual(held(await store.beat(beatOf("b", ["x"]))), ["x a 1"]);
  });

  promise(
    "a lease that its member no longer wants is free at once, and its next owner has a new epoch",
    async (stage) => {
      const { store } = stage;
      await store.beat(beatOf("a", ["x", "y"]));
      assert.deepEqual(held(await store.beat(beatOf("a", ["y"]))), ["y a 1"]);
      assert.deepEqual(held(await store.beat(beatOf("b", ["x", "y"]))), ["x b 2", "y a 1"]);
      assert.deepEqual(held(await store.beat(beatOf("a", []))), ["x b 2"]);
      assert.deepEqual(held(await store.beat(beatOf("a", ["y"]))), ["x b 2", "y a 2"]);
    },
  );

  promise("a lease that was not renewed ends, also for its own member, which acquires it anew", async (stage) => {
    const { store } = stage;
    await store.beat(beatOf("a", ["x", "y"], { leaseMs: SHORT_MS }));
    await setTimeout(2 * SHORT_MS);
    assert.deepEqual(held(await store.beat(beatOf("b", ["x"]))), ["x b 2"]);
    assert.deepEqual(held(await store.beat(beatOf("a", ["x", "y"]))), ["x b 2", "y a 2"]);
  });

  promise(
    "a member that leaves or does not beat is gone, and a member that leaves frees its leases at once",
    async (stage) => {
      const { store } = stage;
      await store.beat(beatOf("a", ["x"]));
      await store.beat(beatOf("b", ["y"]));
      await store.leave("a");
      await setTimeout(2 * SHORT_MS);
      const after = await store.beat(beatOf("c", ["x", "y"], { deadAfterMs: SHORT_MS }));
      assert.deepEqual(held(after), ["x c 2", "y b 1"]);
      assert.deepEqual(
        after.members.map(({ id }) => id),
        ["c"],
      );
    },
  );

  promise(
    "a lifelong lease lasts as long as its member beats, and is free with the beat that finds the member dead",
    async (stage) => {
      const { store } = stage;
      const lifelong = (id: string, names: string[], changes: Partial<MemberBeat> = {}) =>
        store.beat({
          ...beatOf(id, []),
          leases: names.map((lease) => ({ lease, state: null, isLifelong: true })),
          ...changes,
        });
      await lifelong("a", ["x", "y"], { leaseMs: 1 });
      await setTimeout(SHORT_MS);
      assert.deepEqual(held(await lifelong("b", ["x", "y"])), ["x a 1", "y a 1"], "it has no time of its own");
      assert.deepEqual(held(await lifelong("a", ["x"])), ["x a 1"], "one that is not wanted any more is free");
      assert.deepEqual(held(await lifelong("b", ["x", "y"])), ["x a 1", "y b 2"]);
      await setTimeout(2 * SHORT_MS);
      assert.deepEqual(held(await lifelong("b", ["x", "y"], { deadAfterMs: SHORT_MS })), ["x b 2", "y b 2"]);
      assert.deepEqual(held(await lifelong("a", ["x", "y"])), ["x b 2", "y b 2"], "its former member is a new one");
      await store.leave("b");
      assert.deepEqual(held(await lifelong("a", ["x", "y"])), ["x a 3", "y a 3"]);
    },
  );

  promise("exactly one of the members that want a lease at once gets it", async (stage) => {
    const names = Array.from({ length: 8 }, (_, index) => `m${index}`);
    const seen = await Promise.all(names.map((name) => stage.store.beat(beatOf(name, ["leader", name]))));
    const last = await stage.store.beat(beatOf("m0", ["leader", "m0"]));
    const [leader] = last.leases.filter(({ lease }) => lease === "leader");
    assert.equal(leader?.epoch, 1);
    for (const { leases } of seen)
      for (const one of leases) if (one.lease === "leader") assert.equal(one.owner, leader.owner);
    assert.equal(last.leases.length, 9);
  });

  promise("a transaction that requires an epoch is unmet after another member acquired the lease", async (stage) => {
    const { store } = stage;
    assert.equal(await resultOf(stage, "x", 1), "unmet");
    await store.beat(beatOf("a", ["x"]));
    assert.equal(await resultOf(stage, "x", 1), "ok");
    await store.leave("a");
    await store.beat(beatOf("b", ["x"]));
    const results = await Promise.all([1, 2, 3].map((epoch) => resultOf(stage, "x", epoch)));
    assert.deepEqual(results, ["unmet", "ok", "unmet"]);
    const settings = await stage.all("settings");
    assert.deepEqual(settings.map(({ name }) => name).toSorted(), ["x 1", "x 2"]);
  });
}

export function claimsWithEpoch(promise: Promises): void {
  promise("a claim takes messages of a lane only with the epoch that it requires", async (stage) => {
    const { store, instanceId } = stage;
    const { id } = await stage.addMessage(await stage.addCustomer(), { dueAt: NOW });
    await store.beat(beatOf("a", ["x"]));
    const claim = async (epoch: number) => {
      const lanes = [{ lane: instanceId, permits: 9, required: { lease: "x", epoch } }];
      const { claimed } = await store.claimMessages({ lanes, now: NOW, leaseMs: LONG_MS });
      return claimed.map(({ message }) => message.id);
    };
    assert.deepEqual(await claim(2), []);
    assert.deepEqual(await claim(1), [id]);
  });
}
