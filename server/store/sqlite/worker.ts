/** The code of a database thread: a writer runs groups of jobs, a reader runs queries. */

import type { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { openReader } from "./connection.ts";
import type { Job } from "./jobs.ts";
import { createReader, readAll, type SqlQuery } from "./query.ts";
import { COUNTS, type ThreadReply, type ThreadStart } from "./thread.ts";
import { DiskFailed, SqliteWriter } from "./writer.ts";

const start = workerData as ThreadStart;
const port = parentPort;
if (port === null) throw new Error("worker.ts runs in a worker thread only");

const host = start.role === "writer" ? hostWriter(new SqliteWriter(start.path)) : hostReader(openReader(start.path));

port.on("message", ({ id, request }: { id: number; request: unknown }) => {
  if (request === null) {
    host.close();
    port.close();
    return;
  }
  port.postMessage(reply(id, request));
});

function reply(id: number, request: unknown): ThreadReply {
  try {
    return { id, value: host.run(request) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return error instanceof DiskFailed ? { fatal: message } : { id, failed: message };
  }
}

function hostWriter(engine: SqliteWriter) {
  return {
    run: (request: unknown) => (request === COUNTS ? engine.counts : engine.run(request as Job[])),
    close: () => engine.close(),
  };
}

function hostReader(database: DatabaseSync) {
  const read = createReader(database);
  return {
    run: (request: unknown) => readAll(read, request as SqlQuery[]),
    close: () => database.close(),
  };
}
