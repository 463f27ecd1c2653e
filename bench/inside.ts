/** Loaded into the service before its own code (`--import`): tells the benchmark its processor time and the counts of its store. */

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
  // Or the service would not end by itself.
  process.channel?.unref();
}
