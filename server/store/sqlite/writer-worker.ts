/** The code of the writer's thread: runs groups of jobs. */

import { parentPort, workerData } from "node:worker_threads";
import type { ThreadMessage } from "../jobs/database-thread.ts";
import { hostWriter } from "../jobs/host-writer.ts";
import type { Job, WrittenGroup } from "../jobs/jobs.ts";
import type { ThreadStart } from "./thread.ts";
import { DiskFailed, SqliteWriter } from "./writer.ts";

const { path } = workerData as ThreadStart;
if (parentPort === null) throw new Error("writer-worker.ts runs in a worker thread only");
const port = parentPort;
const writer = new SqliteWriter(path);
let isLost = false;
hostWriter(port, { write, isServer: false, isLost: () => isLost, close: () => writer.close() });

function write(jobs: Job[]): WrittenGroup | Promise<WrittenGroup> {
  try {
    return writer.runGroup(jobs);
  } catch (error) {
    if (!(error instanceof DiskFailed)) throw error;
    isLost = true;
    port.postMessage({ fatal: error.message } satisfies ThreadMessage);
    // No later group is written.
    return new Promise(() => {});
  }
}
