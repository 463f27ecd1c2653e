/**
 * Loaded into the service before its own code (`--import`): reports its processor time and its store's counts to the
 * benchmark.
 */

import { subscribe } from "node:diagnostics_channel";
import { isMainThread } from "node:worker_threads";
import type { Store, StoreCounts } from "../server/store/store.ts";

/** Resources that the service has used, and work it has done, since its start. */
export interface Spent {
  /** Of all threads, in seconds. */
  processorSeconds: number;
  counts: StoreCounts;
}

// Node loads this file in every thread; the main one has the store.
if (isMainThread) {
  subscribe("tightbeam:store", (store) => answerWith(store as Store));
}

function answerWith(store: Store): void {
  process.on("message", async () => {
    const { user, system } = process.cpuUsage();
    process.send?.({ processorSeconds: (user + system) / 1e6, counts: await store.counts() } satisfies Spent);
  });
  // Otherwise the service would not end by itself.
  process.channel?.unref();
}
