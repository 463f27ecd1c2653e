/** The code of a reader's thread: runs queries. It loads little, since every reader is a heap of its own. */

import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import type { PortRequest, ThreadMessage } from "../jobs/database-thread.ts";
import type { SqlQuery } from "../jobs/queries.ts";
import { openReader } from "./connection.ts";
import { createReader, readAll } from "./query.ts";
import type { ThreadStart } from "./thread.ts";

const { path } = workerData as ThreadStart;
if (parentPort === null) throw new Error("reader-worker.ts runs in a worker thread only");
hostReader(parentPort);

function hostReader(first: MessagePort): void {
  const database = openReader(path);
  const read = createReader(database);
  const ports = [first];
  first.on("message", (message: SqlQuery[] | PortRequest | null) => {
    if (message === null) {
      database.close();
      for (const port of ports) port.close();
    } else if ("open" in message) {
      const { open } = message;
      ports.push(open);
      open.on("message", (queries: SqlQuery[]) => open.postMessage(readAll(read, queries)));
    } else first.postMessage({ reply: readAll(read, message) } satisfies ThreadMessage);
  });
}
