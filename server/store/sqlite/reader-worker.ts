/** The code of a reader's thread: runs queries. It loads little, since every reader is a heap of its own. */

import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { openReader } from "./connection.ts";
import { createReader, readAll, type SqlQuery } from "./query.ts";
import type { ThreadMessage, ThreadStart } from "./thread.ts";

const { path } = workerData as ThreadStart;
if (parentPort === null) throw new Error("reader-worker.ts runs in a worker thread only");
hostReader(parentPort);

function hostReader(port: MessagePort): void {
  const database = openReader(path);
  const read = createReader(database);
  port.on("message", (queries: SqlQuery[] | null) => {
    if (queries !== null) return port.postMessage({ reply: readAll(read, queries) } satisfies ThreadMessage);
    database.close();
    port.close();
  });
}
