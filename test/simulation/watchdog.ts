/** Ends the process if a world runs without end, and says where: such a world may never let a timer of its thread fire. */

import { once } from "node:events";
import { Worker } from "node:worker_threads";

/** A world takes about half a second of processor time; a sabotaged one, some seconds. */
const CPU_MS_MAX = 90_000;

/** The world that the watchdog watches now; null: none. */
export type Watched = { seed: string; cpuMsMax: number } | null;

let watchdog: Promise<Worker> | null = null;

/** Starts the thread. It needs turns of this thread until it is ready. */
async function start(): Promise<Worker> {
  const worker = new Worker(new URL("./watchdog-thread.ts", import.meta.url), { execArgv: [] });
  await once(worker, "message");
  worker.unref();
  return worker;
}

/** Does the work of a seed. Ends the process with the seed and the present calls if that takes too much processor time. */
export async function watched<Value>(
  seed: string,
  work: () => Promise<Value>,
  cpuMsMax: number = CPU_MS_MAX,
): Promise<Value> {
  watchdog ??= start();
  const thread = await watchdog;
  thread.postMessage({ seed, cpuMsMax } satisfies Watched);
  try {
    return await work();
  } finally {
    thread.postMessage(null satisfies Watched);
  }
}
