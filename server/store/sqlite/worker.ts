/** The thread that a connection lives in: the writer runs groups of jobs, the reader runs queries. */

import type { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { openReader } from "./connection.ts";
import { DiskFailed, SqliteEngine } from "./engine.ts";
import type { Job } from "./jobs.ts";
import { createReader, readAll, type SqlQuery } from "./query.ts";
import type { ThreadReply, ThreadStart } from "./thread.ts";

const start = workerData as ThreadStart;
const port = parentPort;
if (port === null) throw new Error("worker.ts runs in a worker thread only");

const host = start.role === "writer" ? hostWriter(new SqliteEngine(start.path)) : hostReader(openReader(start.path));

port.on("message", ({ id, question }: { id: number; question: unknown }) => {
  if (question === null) {
    host.close();
    port.close();
    return;
  }
  port.postMessage(answer(id, question));
});

function answer(id: number, question: unknown): ThreadReply {
  try {
    return { id, value: host.run(question) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return error instanceof DiskFailed ? { fatal: message } : { id, failed: message };
  }
}

function hostWriter(engine: SqliteEngine) {
  return {
    run: (question: unknown) => engine.run(question as Job[]),
    close: () => engine.close(),
  };
}

function hostReader(database: DatabaseSync) {
  const read = createReader(database);
  return {
    run: (question: unknown) => readAll(read, question as SqlQuery[]),
    close: () => database.close(),
  };
}
