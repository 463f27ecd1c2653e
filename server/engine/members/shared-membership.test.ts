/** Members on one store, with simulated time: who holds which lease after starts, deaths, stops and a suspension. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import type { InstanceId } from "../../core/id.ts";
import { shardOf } from "../../core/shard.ts";
import type { MemberRole } from "../../store/members.ts";
import { openSqliteInProcess } from "../../store/sqlite/store.ts";
import type { Store } from "../../store/store.ts";
import { SharedMembership } from "./shared-membership.ts";

const INSTANCES = Array.from({ length: 8 }, (_, index): InstanceId => `inst_${index}`);
const TAKEOVER_MS_MAX = 60_000;

/** A member with its use of leases: connecting and disconnecting take no time, unless work on an instance is held. */
class TestMember {
  readonly membership: SharedMembership;
  readonly faults: unknown[] = [];
  readonly running = new Set<InstanceId>();
  readonly busy = new Set<InstanceId>();
  shardsInUse: ReadonlySet<number> = new Set();
  /** Its beats fail. */
  isCutOff = false;
  /** Beats that have begun, and what they wait for. */
  beats = 0;
  gate: Promise<void> = Promise.resolve();

  constructor(store: Store, clock: SimulatedClock, id: string, role: MemberRole = "worker") {
    const beat: Store["beat"] = async (given) => {
      this.beats += 1;
      await this.gate;
      if (this.isCutOff) throw new Error("the database cannot be reached");
      return store.beat(given);
    };
    this.membership = new SharedMembership({
      member: { id, role },
      url: () => null,
      store: { beat, leave: (member) => store.leave(member) },
      clock,
      skew: { ms: 0 },
      fault: (_, error) => void this.faults.push(error),
    });
  }

  async start(): Promise<void> {
    const { membership } = this;
    await membership.start({
      leases: async () =>
        INSTANCES.map((id) => ({ lease: id, state: JSON.stringify({ [id]: { isUp: this.running.has(id) } }) })),
      leaseOf: (id) => (INSTANCES.includes(id) ? id : null),
      follow: async () => {
        for (const id of INSTANCES) {
          if (membership.servesSince(id) === null) this.running.delete(id);
          else this.running.add(id);
        }
      },
      isUsed: (lease) => this.running.has(lease as InstanceId) || this.busy.has(lease as InstanceId),
      shardsInUse: () => this.shardsInUse,
    });
  }

  get owned(): InstanceId[] {
    return INSTANCES.filter((id) => this.membership.owns(id));
  }
}

async function stage(t: TestContext) {
  const clock = new SimulatedClock();
  const store = await openSqliteInProcess(":memory:", undefined, undefined, () => clock.monotonic());
  t.after(() => store.close());
  const member = (id: string, role?: MemberRole) => new TestMember(store, clock, id, role);
  return { clock, store, member };
}

/** Each instance runs in exactly one of the members. */
function assertPartition(members: readonly TestMember[]): void {
  const running = members.flatMap((one) => [...one.running]).toSorted();
  assert.deepEqual(running, INSTANCES);
  for (const one of members) assert.deepEqual([...one.running].toSorted(), one.owned);
}

test("a member alone owns every instance and leads", async (t) => {
  const { member } = await stage(t);
  const a = member("a");
  await a.start();
  assert.deepEqual(a.owned, INSTANCES);
  assert.equal(a.membership.isLeader, true);
  assert.equal(a.membership.ownerOf("inst_0")?.id, "a");
  assert.deepEqual(a.membership.epochOf("inst_0"), { lease: "inst_0", epoch: 1 });
});

test("a member that joins gets its share, only after the owner has ended its work", async (t) => {
  const { clock, member } = await stage(t);
  const [a, b] = [member("a"), member("b")];
  await a.start();
  for (const id of INSTANCES) a.busy.add(id);
  await b.start();
  for (let seconds = 0; seconds < 60; seconds += 1) await clock.advance(1_000);
  assert.deepEqual(b.owned, []);
  assert.deepEqual(a.owned, INSTANCES, "it renews the leases of work that has not ended");
  assert.ok(a.running.size < INSTANCES.length, "nothing new begins on those that it gives up");
  a.busy.clear();
  for (let seconds = 0; seconds < 15; seconds += 1) await clock.advance(1_000);
  assert.ok(a.owned.length > 0 && b.owned.length > 0);
  assertPartition([a, b]);
  const [moved] = b.owned;
  assert.equal(b.membership.epochOf(moved ?? "inst_0")?.epoch, 2);
  assert.equal(a.membership.ownerOf(moved ?? "inst_0")?.id, "b");
  assert.deepEqual(a.membership.reportOf(moved ?? "inst_0"), { isUp: true });
  assert.equal([a, b].filter(({ membership }) => membership.isLeader).length, 1);
});

test("a member that joins sees at once what runs at the others, and they see within seconds what it has taken over", async (t) => {
  const { clock, member } = await stage(t);
  const a = member("a");
  await a.start();
  await clock.advance(1);
  const b = member("b");
  await b.start();
  for (const id of INSTANCES) assert.deepEqual(b.membership.reportOf(id), { isUp: true }, id);
  let unseenMs = 0;
  for (let ms = 0; ms < 15_000; ms += 100) {
    await clock.advance(100);
    const isSeen = (one: TestMember, id: InstanceId) =>
      one.running.has(id) || one.membership.reportOf(id)?.isUp === true;
    if (!INSTANCES.every((id) => isSeen(a, id) && isSeen(b, id))) unseenMs += 100;
  }
  assertPartition([a, b]);
  assert.ok(a.owned.length > 0 && b.owned.length > 0);
  assert.ok(unseenMs <= 3_000, `an instance was seen nowhere for ${unseenMs} ms`);
});

test("an api member owns nothing, and knows the owners", async (t) => {
  const { clock, member } = await stage(t);
  const [api, worker] = [member("api", "api"), member("worker")];
  await api.start();
  await worker.start();
  await clock.advance(5_000);
  assert.deepEqual([api.owned, worker.owned], [[], INSTANCES]);
  assert.equal(api.membership.isLeader, false);
  assert.equal(api.membership.ownerOf("inst_0")?.id, "worker");
  assert.equal(api.membership.ownsLane("wh_1"), false);
  assert.equal(api.membership.ownerOfLane("wh_1")?.id, "worker");
});

test("a member knows for how long lanes have had no owner: from the end of their worker to the takeover", async (t) => {
  const { clock, member } = await stage(t);
  const [api, a, b] = [member("api", "api"), member("a"), member("b")];
  await api.start();
  await clock.advance(3_000);
  assert.equal(api.membership.unownedLanesMs(), 3_000, "there is no worker");
  await a.start();
  for (let seconds = 0; seconds < 10; seconds += 1) await clock.advance(1_000);
  assert.equal(api.membership.unownedLanesMs(), 0);
  await a.membership.stop();
  for (let seconds = 0; seconds < 10; seconds += 1) await clock.advance(1_000);
  assert.ok(api.membership.unownedLanesMs() >= 4_000);
  await b.start();
  for (let seconds = 0; seconds < 10; seconds += 1) await clock.advance(1_000);
  assert.deepEqual([api.membership.unownedLanesMs(), b.membership.unownedLanesMs()], [0, 0]);
});

test("a member that stops frees its leases at once; the next beat of another takes them over", async (t) => {
  const { clock, member } = await stage(t);
  const [a, b] = [member("a"), member("b")];
  await a.start();
  await b.start();
  for (let seconds = 0; seconds < 15; seconds += 1) await clock.advance(1_000);
  await a.membership.stop();
  a.running.clear();
  for (let seconds = 0; seconds < 11; seconds += 1) await clock.advance(1_000);
  assertPartition([b]);
});

test("a member that cannot beat stops 5 s before its leases end, and another one takes over within a minute", async (t) => {
  const { clock, member } = await stage(t);
  const [a, b] = [member("a"), member("b")];
  await a.start();
  await b.start();
  for (let seconds = 0; seconds < 15; seconds += 1) await clock.advance(1_000);
  a.isCutOff = true;
  const before = a.owned;
  let endedMs = 0;
  for (let ms = 0; ms < TAKEOVER_MS_MAX && b.owned.length < INSTANCES.length; ms += 500) {
    await clock.advance(500);
    for (const id of before) assert.ok(!(a.membership.owns(id) && b.membership.owns(id)), `both own ${id}`);
    if (a.owned.length > 0) endedMs = ms;
    else assert.equal(a.running.size, 0);
  }
  assert.deepEqual(b.owned, INSTANCES);
  assert.ok(endedMs >= 15_000 && endedMs <= 25_000, `it stopped after ${endedMs} ms`);
  assert.equal(a.faults.length, 1, "a failure is reported once");
  a.isCutOff = false;
  for (let seconds = 0; seconds < 15; seconds += 1) await clock.advance(1_000);
  assertPartition([a, b]);
});

test("after an outage of the database nobody counts as dead who could not beat meanwhile, and who stays away does", async (t) => {
  const { clock, store, member } = await stage(t);
  const [a, b] = [member("a"), member("b")];
  await a.start();
  await b.start();
  for (let seconds = 0; seconds < 15; seconds += 1) await clock.advance(1_000);
  for (const one of [a, b]) one.isCutOff = true;
  for (let seconds = 0; seconds < 40; seconds += 1) await clock.advance(1_000);
  a.isCutOff = false;
  await clock.advance(1_000);
  assert.deepEqual(
    a.membership.others().map(({ id }) => id),
    ["b"],
    "the first member that beats again leaves the other one alive",
  );
  // The other member stays away.
  const seen = async () =>
    (await store.beat({ member: { id: "c", role: "api", url: null }, leases: [], leaseMs: 1, deadAfterMs: 1e9 }))
      .members;
  let seconds = 0;
  while ((await seen()).some(({ id }) => id === "b")) {
    assert.ok(++seconds < TAKEOVER_MS_MAX / 1_000, "a member that does not beat again is dead");
    await clock.advance(1_000);
  }
});

const LANES = Array.from({ length: 500 }, (_, index) => `wh_${index}`);

/** How many lanes each member owns. No lane has two owners. */
function lanesOf(members: readonly TestMember[]): number[] {
  for (const lane of LANES) {
    const owners = members.filter(({ membership }) => membership.ownsLane(lane));
    assert.ok(owners.length <= 1, `${owners.length} members own ${lane}`);
  }
  return members.map(({ membership }) => LANES.filter((lane) => membership.ownsLane(lane)).length);
}

const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0);

test("each lane of deliveries has one owner while members join, retire and leave", async (t) => {
  const { clock, member } = await stage(t);
  const [a, b, c] = [member("a"), member("b"), member("c")];
  const all = [a, b, c];
  const settle = async () => {
    for (let seconds = 0; seconds < 15; seconds += 1) {
      await clock.advance(1_000);
      lanesOf(all);
    }
    return lanesOf(all);
  };
  await a.start();
  assert.deepEqual(lanesOf(all), [LANES.length, 0, 0]);
  await b.start();
  await c.start();
  const shares = await settle();
  assert.equal(sum(shares), LANES.length);
  assert.ok(Math.min(...shares) > LANES.length / 6, `${shares.join(", ")} lanes`);
  assert.equal(a.membership.ownerOfLane(LANES.find((lane) => b.membership.ownsLane(lane)) ?? "")?.id, "b");
  const before = b.membership.lanesEpoch;
  const retired = b.membership.retire();
  await clock.advance(1_000);
  await retired;
  assert.equal(lanesOf(all)[1], 0, "it begins nothing more");
  assert.ok(b.membership.lanesEpoch > before);
  assert.equal(sum(await settle()), LANES.length);
  await b.membership.stop();
  assert.equal(sum(await settle()), LANES.length);
});

test("a shard with attempts in flight stays with the member that gives it up until they have ended", async (t) => {
  const { clock, member } = await stage(t);
  const [a, b] = [member("a"), member("b")];
  await a.start();
  a.shardsInUse = new Set(LANES.map(shardOf));
  await b.start();
  for (let seconds = 0; seconds < 15; seconds += 1) await clock.advance(1_000);
  const [kept = 0, none] = lanesOf([a, b]);
  assert.ok(kept > 0 && kept < LANES.length, `it begins nothing in ${LANES.length - kept} lanes`);
  assert.equal(none, 0);
  a.shardsInUse = new Set();
  for (let seconds = 0; seconds < 15; seconds += 1) await clock.advance(1_000);
  assert.deepEqual(lanesOf([a, b]), [kept, LANES.length - kept]);
});

test("a member that cannot beat stops with its lanes 5 s before another one takes them over, and knows nothing of them afterwards", async (t) => {
  const { clock, member } = await stage(t);
  const [a, b] = [member("a"), member("b")];
  await a.start();
  await b.start();
  for (let seconds = 0; seconds < 15; seconds += 1) await clock.advance(1_000);
  const epoch = a.membership.lanesEpoch;
  a.isCutOff = true;
  let [stoppedMs, takenMs] = [0, 0];
  for (let ms = 500; takenMs === 0; ms += 500) {
    assert.ok(ms < TAKEOVER_MS_MAX);
    await clock.advance(500);
    const [own = 0, others = 0] = lanesOf([a, b]);
    if (own === 0 && stoppedMs === 0) stoppedMs = ms;
    if (others === LANES.length) takenMs = ms;
  }
  assert.ok(stoppedMs > 0 && stoppedMs <= takenMs - 5_000, `${stoppedMs} and ${takenMs} ms`);
  // 20 s after its last beat, which was just before it was cut off.
  assert.ok(takenMs <= 21_000, `${takenMs} ms`);
  a.isCutOff = false;
  for (let seconds = 0; seconds < 15; seconds += 1) {
    await clock.advance(1_000);
    lanesOf([a, b]);
  }
  assert.equal(sum(lanesOf([a, b])), LANES.length);
  assert.ok(a.membership.lanesEpoch > epoch, "it has acquired them anew");
});

test("a member whose machine has slept begins nothing before its next beat", async (t) => {
  const { clock, member } = await stage(t);
  const a = member("a");
  await a.start();
  assert.equal(a.membership.ownsLane("wh_1"), true);
  // The monotonic clock has stood still.
  clock.step(60_000);
  assert.equal(a.membership.ownsLane("wh_1"), false);
  await clock.advance(5_100);
  assert.equal(a.membership.ownsLane("wh_1"), true);
});

test("a refresh that is asked for while another one beats has a beat of its own, which sees what was changed before it", async (t) => {
  const { clock, member } = await stage(t);
  const a = member("a");
  await a.start();
  await clock.advance(1_000);
  const before = a.beats;
  const gate = Promise.withResolvers<void>();
  a.gate = gate.promise;
  const first = [a.membership.refresh(), a.membership.refresh()];
  await clock.advance(100);
  assert.equal(a.beats, before + 1, "those that were asked for before a beat share it");
  const second = a.membership.refresh();
  gate.resolve();
  await Promise.all(first);
  await clock.advance(100);
  await second;
  assert.equal(a.beats, before + 2);
});
