/** The code of the writer's thread: runs groups of jobs on PostgreSQL. */

import { parentPort, workerData } from "node:worker_threads";
import type { ThreadMessage } from "../jobs/database-thread.ts";
import { hostWriter } from "../jobs/host-writer.ts";
import { connectWriter, type WriterStart } from "./own-writer.ts";

if (parentPort === null) throw new Error("group-worker.ts runs in a worker thread only");
const port = parentPort;
const doubt = () => port.postMessage({ doubt: true } satisfies ThreadMessage);
hostWriter(port, connectWriter(workerData as WriterStart, doubt));
