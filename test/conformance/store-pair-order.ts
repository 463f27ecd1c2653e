/** The store's suite: messages of one sender and recipient keep their order when leases end early, and after the repair of a row. */

import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { countQuarantined } from "../../server/store/quarantine.ts";
import type { Operation } from "../../server/store/store.ts";
import { LEASE_END, NOW, type Promises, type Stage } from "./store-stage.ts";

/** How long a row may take to get into quarantine, in milliseconds. */
const QUARANTINE_MS_MAX = 20_000;

const ATTEMPT = { status: "pending", dueAt: null, claimedUntil: LEASE_END } as const;
const SENT = { status: "sent", dueAt: null, claimedUntil: null } as const;
const idsOf = (records: readonly { id: string }[]) => records.map(({ id }) => id);

/** Commits due messages of one pair. */
async function addRun(stage: Stage, count: number) {
  const customer = await stage.addCustomer();
  const run = Array.from({ length: count }, () => stage.message(customer, { dueAt: NOW }));
  await stage.ok(run.map((record) => ({ op: "insert", table: "messages", record })));
  const add = () => stage.addMessage(customer, { dueAt: NOW });
  return { run, add };
}

async function set(stage: Stage, { id }: { id: string }, changes: object): Promise<void> {
  const { version } = await stage.one("messages", id);
  assert.equal(await stage.update("messages", { id, version }, changes), "ok");
}

/** No message of a pair is claimed beside one that is leased, and the claim after it takes the oldest first. */
export function ordersOfPairs(promise: Promises): void {
  promise(
    "the leases of a run that end while the attempt of its first message lasts leave the others in order",
    async (stage) => {
      const { run, add } = await addRun(stage, 3);
      const [first, ...others] = run;
      assert.ok(first !== undefined);
      assert.deepEqual(await stage.claimMessages(stage.instanceId, 9, { leaseMs: 0 }), run);
      await set(stage, first, ATTEMPT);
      const later = await add();
      assert.deepEqual(await stage.claimMessages(stage.instanceId, 9), []);
      await set(stage, first, SENT);
      assert.deepEqual(idsOf(await stage.claimMessages(stage.instanceId, 9)), idsOf([...others, later]));
    },
  );

  promise(
    "messages to both forms of a phone are one pair: claimed in the order of acceptance, and none beside a leased one",
    async (stage) => {
      const customer = await stage.addCustomer();
      const [former, present] = ["+22995123456", "+2290195123456"];
      const [first, second, third, fourth] = [former, present, former, present].map((to) =>
        stage.message(customer, { to, dueAt: NOW }),
      );
      assert.ok(first !== undefined && second !== undefined && third !== undefined && fourth !== undefined);
      for (const record of [first, second, third]) await stage.ok([{ op: "insert", table: "messages", record }]);
      assert.deepEqual(idsOf(await stage.claimMessages(stage.instanceId, 1)), idsOf([first]));
      await set(stage, first, ATTEMPT);
      await stage.ok([{ op: "insert", table: "messages", record: fourth }]);
      assert.deepEqual(await stage.claimMessages(stage.instanceId, 9), []);
      for (const to of [former, present]) {
        const required: Operation = { op: "requireUnleased", lane: stage.instanceId, from: first.from, to };
        assert.equal((await stage.store.commit([required])).result, "unmet", to);
      }
      await set(stage, first, SENT);
      assert.deepEqual(idsOf(await stage.claimMessages(stage.instanceId, 9)), idsOf([second, third, fourth]));
    },
  );

  for (const how of ["is released", "ends by time"])
    promise(
      `a message whose lease ${how} while a later one is sent is claimed after that one, and before the others`,
      async (stage) => {
        const { run, add } = await addRun(stage, 2);
        const [first, second] = run;
        assert.ok(first !== undefined && second !== undefined);
        const leaseMs = how === "is released" ? 60_000 : 0;
        const [lease] = await stage.leaseMessages(stage.instanceId, 9, { leaseMs });
        await set(stage, second, ATTEMPT);
        if (how === "is released") await stage.store.release([lease?.lease ?? 0]);
        const later = await add();
        assert.deepEqual(await stage.claimMessages(stage.instanceId, 9), []);
        await set(stage, second, SENT);
        assert.deepEqual(idsOf(await stage.claimMessages(stage.instanceId, 9)), idsOf([first, later]));
      },
    );

  promise(
    "a message that leaves quarantine waits for those that went on without it, and is before later ones",
    async (stage) => {
      const { run, add } = await addRun(stage, 3);
      const [first, second, third] = run;
      assert.ok(first !== undefined && second !== undefined && third !== undefined);
      assert.equal(await stage.update("messages", second, { channel: "pigeon" as never }), "ok");
      assert.deepEqual(await stage.claimMessages(stage.instanceId, 9), [first, third]);
      const until = performance.now() + QUARANTINE_MS_MAX;
      while ((await countQuarantined(stage.store.db)).length === 0) {
        assert.ok(performance.now() < until, "the row is not in quarantine");
        await setTimeout(5);
      }
      assert.equal(await stage.update("messages", { ...second, version: 3 }, { channel: second.channel }), "ok");
      assert.equal((await stage.store.recheck(null, 9, NOW)).mended.length, 1);
      const later = await add();
      await set(stage, first, SENT);
      assert.deepEqual(await stage.claimMessages(stage.instanceId, 9), [], "the third one is leased");
      await set(stage, third, SENT);
      assert.deepEqual(idsOf(await stage.claimMessages(stage.instanceId, 9)), idsOf([second, later]));
    },
  );
}
