/** The promises of every store: the test of each database runs this suite. */

import { test } from "node:test";
import { addUsage } from "../support/usage.ts";
import { claimedAtOnce } from "./store-at-once.ts";
import { sendAttempts } from "./store-attempts.ts";
import { claimedDeliveries, claimedMessages, leases } from "./store-claims.ts";
import { heldDeliveries } from "./store-deliveries.ts";
import { eventsAndDeliveries } from "./store-events.ts";
import { keeping } from "./store-keeping.ts";
import { leasesOfMessages } from "./store-leases.ts";
import { lists } from "./store-lists.ts";
import { claimsOfLookups } from "./store-lookups.ts";
import { claimsWithEpoch, members } from "./store-members.ts";
import { model } from "./store-model.ts";
import { outcomes } from "./store-outcomes.ts";
import { ordersOfPairs } from "./store-pair-order.ts";
import { filteredQueues } from "./store-queues.ts";
import { reads } from "./store-reads.ts";
import { requirements } from "./store-requirements.ts";
import { resetting } from "./store-reset.ts";
import { type Promises, Stage, type StoreUnderTest } from "./store-stage.ts";
import { claimsOfTimers } from "./store-timers.ts";
import { transactions } from "./store-transactions.ts";
import { claimsOfWaitingPairs } from "./store-waiting.ts";

/** The groups of the suite. */
const GROUPS = [
  transactions,
  eventsAndDeliveries,
  reads,
  lists,
  filteredQueues,
  claimedDeliveries,
  claimedAtOnce,
  claimedMessages,
  claimsOfTimers,
  claimsOfWaitingPairs,
  heldDeliveries,
  outcomes,
  leases,
  leasesOfMessages,
  ordersOfPairs,
  claimsOfLookups,
  keeping,
  sendAttempts,
  resetting,
  requirements,
  members,
  claimsWithEpoch,
  model,
] satisfies ((promise: Promises) => void)[];

/** Runs the suite; `open` is called for every test, and opens a store with nothing in it. */
export function storeConformance(name: string, open: () => Promise<StoreUnderTest>): void {
  const promise: Promises = (title, run) =>
    test(`${name}: ${title}`, async (deps) => {
      const opened = await open();
      const stage = new Stage(opened.store);
      try {
        await run(stage, deps);
      } finally {
        await stage.store.close();
        await opened.remove();
      }
    });
  for (const group of GROUPS) group(promise);
  endings(name, open);
}

function endings(name: string, open: () => Promise<StoreUnderTest>): void {
  test(`${name}: closing completes pending transactions, and a reopened store has every committed record`, async (t) => {
    const opened = await open();
    try {
      const stage = new Stage(opened.store);
      const customer = await stage.addCustomer();
      const handedIn = Array.from({ length: 300 }, () => stage.message(customer)).map((record) =>
        stage.store.commit([{ op: "insert", table: "messages", record }]),
      );
      const usage = addUsage(stage.store, []);
      await stage.store.close();
      for (const answered of await Promise.all(handedIn)) t.assert.equal(answered.result, "ok");
      await usage;
      if (opened.reopen === undefined) return t.diagnostic("not opened again: its data does not outlive it");
      stage.store = await opened.reopen();
      t.assert.equal((await stage.all("messages")).length, handedIn.length);
      t.assert.deepEqual(await stage.all("customers"), [customer]);
      await stage.store.close();
    } finally {
      await opened.remove();
    }
  });
}
