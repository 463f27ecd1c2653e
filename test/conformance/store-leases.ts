/** The store's suite: what each change does to a message that is due, leased, or in a send attempt. */

import assert from "node:assert/strict";
import type { Customer } from "../../server/core/customer.ts";
import type { Message } from "../../server/core/message.ts";
import { findLanesWithDueTimers, listAttempted, listInterrupted } from "../../server/store/messages.ts";
import type { MessageClaim } from "../../server/store/store.ts";
import { LEASE_END, LEASE_MS, NOW, type Promises, type Stage } from "./store-stage.ts";

/** A message in one of three states, with another one to the same recipient behind it. */
interface Scene {
  stage: Stage;
  customer: Customer;
  /** The message as it is on disk. */
  message: Message;
  next: Message;
  lease: number | null;
}

type State = "due" | "leased" | "in a send attempt";
const STATES: readonly State[] = ["due", "leased", "in a send attempt"];

async function sceneOf(stage: Stage, state: State, status: Message["status"] = "queued"): Promise<Scene> {
  const customer = await stage.addCustomer();
  const message = await stage.addMessage(customer, { status, dueAt: NOW });
  const scene: Scene = { stage, customer, message, next: message, lease: null };
  if (state !== "due") {
    const [claimed] = await stage.leaseMessages(stage.instanceId, 1);
    assert.deepEqual(claimed?.message, message);
    scene.lease = claimed?.lease ?? null;
  }
  if (state === "in a send attempt") {
    const attempt = { status: "pending", dueAt: null, claimedUntil: LEASE_END, sendAttempts: 1 } as const;
    assert.equal(await stage.update("messages", message, attempt), "ok");
    scene.message = await stage.one("messages", message.id);
  }
  scene.next = await stage.addMessage(customer, { dueAt: NOW });
  return scene;
}

/** Names of the messages that a claim leases. */
async function claimed(
  { stage, message, next }: Scene,
  lane = stage.instanceId,
  changes: Partial<MessageClaim> = {},
): Promise<string[]> {
  const found = await stage.leaseMessages(lane, 9, changes);
  return found.map(({ message: { id } }) => (id === message.id ? "it" : id === next.id ? "next" : id));
}

const change = (set: Partial<Message>) => async (scene: Scene) => scene.stage.update("messages", scene.message, set);

interface Row {
  what: string;
  status?: Message["status"];
  does(scene: Scene): Promise<unknown>;
  /** The result of the operation, and what the next claim leases, by the state before it. */
  ends: Partial<Record<State, [result: unknown, claimed: string[]]>>;
}

const LATER = NOW + 60_000;
const otherLane = "inst_0000000000000000000000000000000f";

const ROWS: readonly Row[] = [
  {
    what: "nothing",
    does: async () => "nothing",
    ends: { due: ["nothing", ["it", "next"]], leased: ["nothing", []], "in a send attempt": ["nothing", []] },
  },
  {
    what: "cancel",
    status: "scheduled",
    does: change({ status: "cancelled", dueAt: null }),
    ends: { due: ["ok", ["next"]], leased: ["ok", ["next"]] },
  },
  {
    what: "another time",
    status: "scheduled",
    does: change({ scheduledAt: LATER, dueAt: LATER }),
    ends: { due: ["ok", ["next"]], leased: ["ok", ["next"]] },
  },
  {
    what: "another text",
    status: "scheduled",
    does: change({ text: "Changed" }),
    ends: { due: ["ok", ["it", "next"]], leased: ["ok", []] },
  },
  {
    what: "queued at its time",
    status: "scheduled",
    does: change({ status: "queued" }),
    ends: { due: ["ok", ["it", "next"]], leased: ["ok", ["it", "next"]] },
  },
  {
    what: "a failure and a retry by hand",
    does: async ({ stage, message }) => {
      const failed = { status: "failed", dueAt: null, claimedUntil: null } as const;
      assert.equal(await stage.update("messages", message, failed), "ok");
      const again = { status: "queued", dueAt: NOW, sendAttempts: 0 } as const;
      return stage.update("messages", await stage.one("messages", message.id), again);
    },
    ends: { due: ["ok", ["it", "next"]], leased: ["ok", ["it", "next"]], "in a send attempt": ["ok", ["it", "next"]] },
  },
  {
    what: "a deferral",
    does: change({ status: "queued", dueAt: LATER, claimedUntil: null }),
    ends: { due: ["ok", ["next"]], leased: ["ok", ["next"]], "in a send attempt": ["ok", ["next"]] },
  },
  {
    what: "a receipt, which may come before the response",
    does: change({ status: "delivered", dueAt: null, claimedUntil: null }),
    ends: { due: ["ok", ["next"]], leased: ["ok", ["next"]], "in a send attempt": ["ok", ["next"]] },
  },
  {
    what: "a note in the timeline",
    does: change({ timeline: [] }),
    ends: { due: ["ok", ["it", "next"]], leased: ["ok", []], "in a send attempt": ["ok", []] },
  },
  {
    what: "a move that requires that nothing of the pair is leased",
    does: async ({ stage, message: { id, version, instanceId: lane, from, to } }) => {
      const set = { instanceId: otherLane } as const;
      const answer = await stage.store.commit([
        { op: "update", table: "messages", id, version, set },
        { op: "requireUnleased", lane, from, to },
      ]);
      return answer.result;
    },
    ends: { due: ["ok", ["next"]], leased: ["unmet", []], "in a send attempt": ["unmet", []] },
  },
  {
    what: "the end of its record by a reset",
    does: async ({ stage, customer }) => {
      for (let removed = 1; removed > 0; ) removed = await stage.store.reset(customer.id, 10);
      const queued = await stage.addMessage(customer, { dueAt: NOW });
      return (await stage.all("messages")).length === 1 && queued.version;
    },
    ends: Object.fromEntries(STATES.map((state) => [state, [1, ["another"]]])),
  },
  {
    what: "an erasure",
    does: change({ text: null, status: "sent", dueAt: null, claimedUntil: null, deletedAt: NOW }),
    ends: { due: ["ok", ["next"]], leased: ["ok", ["next"]] },
  },
  {
    what: "a release",
    does: async ({ stage, lease }) => stage.store.release(lease === null ? [] : [lease, lease]),
    ends: { due: [undefined, ["it", "next"]], leased: [undefined, ["it", "next"]] },
  },
  {
    what: "a start",
    does: async ({ stage }) => stage.store.releaseLeases(Number.POSITIVE_INFINITY, NOW),
    ends: { due: [0, ["it", "next"]], leased: [0, ["it", "next"]], "in a send attempt": [1, ["it", "next"]] },
  },
  {
    what: "the end of its lease on disk",
    does: async ({ stage }) => stage.store.releaseLeases(LEASE_END + 1, NOW),
    ends: { due: [0, ["it", "next"]], leased: [0, []], "in a send attempt": [1, ["it", "next"]] },
  },
];

/** Each change ends a lease or leaves it, and the message and those behind it are claimed accordingly. */
export function leasesOfMessages(promise: Promises): void {
  for (const { what, status, does, ends } of ROWS) {
    for (const state of STATES) {
      const expected = ends[state];
      if (expected === undefined) continue;
      promise(
        `${what} while a message is ${state}: ${expected[1].join(" and ") || "nothing"} can be claimed`,
        async (stage) => {
          const scene = await sceneOf(stage, state, status);
          const result = await does(scene);
          const found = (await claimed(scene)).map((name) => (name.startsWith("msg_") ? "another" : name));
          assert.deepEqual([result, found], expected);
        },
      );
    }
  }

  promise("a moved message is claimed in its new lane, and no message of a leased pair is moved", async (stage) => {
    const scene = await sceneOf(stage, "due");
    const { id, version, instanceId: lane, from, to } = scene.message;
    const set = { instanceId: otherLane } as const;
    const require = { op: "requireUnleased", lane, from, to } as const;
    assert.deepEqual(await stage.store.leasedPairs(lane), []);
    await stage.ok([require, { op: "update", table: "messages", id, version, set }]);
    assert.deepEqual(await claimed(scene, otherLane), ["it"]);
    assert.deepEqual(await claimed(scene), ["next"]);
    assert.deepEqual(await stage.store.leasedPairs(lane), [{ from, to }]);
    assert.deepEqual(await stage.store.commit([require]), { result: "unmet" });
  });

  promise("a message in a send attempt is in no list of interrupted or due messages", async (stage) => {
    const { message } = await sceneOf(stage, "in a send attempt", "pending");
    const { instanceId } = message;
    const within = { now: NOW, withinMs: 1_000 };
    assert.deepEqual(await listInterrupted(stage.store.db, instanceId, within), []);
    assert.deepEqual(await findLanesWithDueTimers(stage.store.db, [instanceId], NOW), []);
    await stage.store.releaseLeases(Number.POSITIVE_INFINITY, NOW);
    assert.deepEqual(await findLanesWithDueTimers(stage.store.db, [instanceId], NOW), [instanceId]);
    const { id, from, to } = message;
    const interrupted = [{ id, from, to, unknownSince: null }];
    assert.deepEqual(await listInterrupted(stage.store.db, instanceId, within), interrupted);
  });

  promise("messages that were attempted and put off are listed from the end of the queue", async (stage) => {
    const customer = await stage.addCustomer();
    const add = async (changes: Partial<Message>) =>
      await stage.addMessage(customer, { sendAttempts: 1, updatedAt: NOW - 1, ...changes });
    const due = await add({ dueAt: NOW - 1 });
    const later = await add({ dueAt: LATER - 1 });
    await add({ dueAt: NOW, sendAttempts: 0 });
    await add({ dueAt: NOW - 2 });
    await add({ dueAt: NOW, status: "pending", unknownSince: NOW });
    await add({ dueAt: LATER });
    const { records, next } = await listAttempted(stage.store.db, stage.instanceId, { dueAt: LATER, id: "msg_" });
    const listed = [later, due].map(({ id, from, to, dueAt }) => ({ id, from, to, dueAt }));
    assert.deepEqual([records, next], [listed, null]);
  });

  promise("a list of attempted messages reads 500 messages of the queue at a time", async (stage) => {
    const customer = await stage.addCustomer();
    const oldest = await stage.addMessage(customer, { sendAttempts: 1, updatedAt: NOW, dueAt: NOW });
    const record = () => stage.message(customer, { dueAt: NOW + 1 });
    await stage.ok(Array.from({ length: 500 }, () => ({ op: "insert", table: "messages", record: record() })));
    const { db } = stage.store;
    const { records, next } = await listAttempted(db, stage.instanceId, { dueAt: LATER, id: "msg_" });
    assert.deepEqual([records, next?.dueAt], [[], NOW + 1]);
    const rest = await listAttempted(db, stage.instanceId, next ?? assert.fail());
    assert.deepEqual([rest.records.map(({ id }) => id), rest.next], [[oldest.id], null]);
  });

  promise("a leased message of a paused lane stays leased, and a released one is not claimed", async (stage) => {
    const scene = await sceneOf(stage, "leased");
    const paused = { lanes: [{ lane: stage.instanceId, permits: 9, paused: true }] };
    assert.deepEqual(await claimed(scene, stage.instanceId, paused), []);
    await stage.store.release([scene.lease ?? 0]);
    assert.deepEqual(await claimed(scene, stage.instanceId, paused), []);
    assert.deepEqual(await claimed(scene), ["it", "next"]);
  });

  promise(
    "a lease ends after its time, but not during a send attempt, and the first of two holders to commit wins",
    async (stage) => {
      const customer = await stage.addCustomer();
      const message = await stage.addMessage(customer, { dueAt: NOW });
      const over = { leaseMs: 0 };
      const [first] = await stage.leaseMessages(stage.instanceId, 9, over);
      const [second] = await stage.leaseMessages(stage.instanceId, 9, over);
      assert.deepEqual([first?.message, second?.message], [message, message]);
      assert.notEqual(first?.lease, second?.lease);
      const attempt = { status: "pending", dueAt: null, claimedUntil: LEASE_END } as const;
      const [third] = await stage.leaseMessages(stage.instanceId, 9, { leaseMs: 20 });
      assert.equal(await stage.update("messages", message, attempt), "ok");
      assert.equal(await stage.update("messages", message, attempt), "conflict");
      await new Promise((resolve) => setTimeout(resolve, 40));
      const next = await stage.addMessage(customer, { dueAt: NOW });
      assert.deepEqual(await stage.leaseMessages(stage.instanceId, 9), []);
      await stage.store.release([first?.lease ?? 0, second?.lease ?? 0]);
      assert.deepEqual(await stage.leaseMessages(stage.instanceId, 9), [], "the leases of before mean nothing");
      await stage.store.release([third?.lease ?? 0]);
      const [after] = await stage.leaseMessages(stage.instanceId, 9, { leaseMs: LEASE_MS });
      assert.equal(after?.message.id, next.id);
    },
  );

  promise("a queued message whose lease was left behind is claimed before later messages", async (stage) => {
    const customer = await stage.addCustomer();
    const ids = async () => (await stage.claimMessages(stage.instanceId, 1)).map(({ id }) => id);
    // Deferred once, or sent another way.
    const at = { createdAt: NOW - 20, updatedAt: NOW - 5 };
    const first = await stage.addMessage(customer, { ...at, dueAt: null, claimedUntil: LEASE_END });
    const next = await stage.addMessage(customer, { dueAt: NOW - 10, createdAt: NOW - 10 });
    assert.equal(await stage.store.releaseLeases(Number.POSITIVE_INFINITY, NOW + 60_000), 1);
    assert.equal((await stage.one("messages", first.id)).dueAt, NOW - 20);
    assert.deepEqual(await ids(), [first.id]);
    assert.deepEqual(await stage.claimMessages(stage.instanceId, 1), []);
    assert.equal(await stage.update("messages", await stage.one("messages", first.id), { dueAt: null }), "ok");
    assert.deepEqual(await ids(), [next.id]);
  });
}
