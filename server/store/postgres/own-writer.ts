/** The writer of a process and its connections. The writer runs in a thread of its own, as in a service, or in this thread. */

import { Worker } from "node:worker_threads";
import { openOver, WriterThread } from "../jobs/database-thread.ts";
import { REAL_TIMER } from "../jobs/group-pace.ts";
import { GroupWriter } from "../jobs/group-writer.ts";
import type { HostedWriter } from "../jobs/host-writer.ts";
import type { Job } from "../jobs/jobs.ts";
import type { OpenPort } from "../jobs/writer-client.ts";
import { LIFE_OF_PLANS } from "./named-statements.ts";
import { Partitions } from "./partitions.ts";
import { createPool, QUERY_MS_MAX } from "./pool.ts";
import { PostgresWriter } from "./writer.ts";

/** Connections of a writer: for its transaction, for the drop of a partition, and one to spare. */
const CONNECTIONS_MAX = 3;

/** The start parameters of a writer. `retentionMs`: how long events are kept; null: for ever. */
export interface WriterStart {
  url: string;
  member: string;
  retentionMs: number | null;
}

/** The ports to a writer. */
export interface OwnWriter {
  /** Opens the first port. */
  openPort: OpenPort;
  /** Opens a further one. */
  openFurther: OpenPort;
  /** Ends the writer once it has no more jobs. */
  close(): Promise<void>;
}

/** Connects a writer to its database. `doubt` is called when the database may be out of reach. */
export function connectWriter({ url, member, retentionMs }: WriterStart, doubt: () => void): HostedWriter {
  const pool = createPool(url, CONNECTIONS_MAX, QUERY_MS_MAX, LIFE_OF_PLANS);
  const partitions = new Partitions(pool, retentionMs);
  const writer = new PostgresWriter(pool, member, partitions);
  // The server ended an idle connection: it may be going away, or have died.
  pool.on("error", () => {
    writer.noteRestart();
    doubt();
  });
  return {
    isServer: true,
    isLost: () => false,
    async write(jobs: Job[]) {
      const written = await writer.runGroup(jobs);
      if (written.results.some((result) => "error" in result && result.error === "unavailable")) doubt();
      return written;
    },
    async close() {
      await partitions.idle();
      await pool.end();
    },
  };
}

/** A writer in this thread. */
export function writeHere(start: WriterStart, doubt: () => void): OwnWriter {
  const writer = connectWriter(start, doubt);
  const groups = new GroupWriter(async (jobs) => writer.write(jobs), REAL_TIMER, { isServer: true });
  const openPort: OpenPort = (reply) => groups.open(reply);
  return { openPort, openFurther: openPort, close: async () => writer.close() };
}

/** A writer in a thread of its own, which waits for nothing else of the process. `lost` is called if the thread ends by itself. */
export function writeInThread(start: WriterStart, doubt: () => void, lost: (reason: string) => void): OwnWriter {
  const file = `./group-worker.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`;
  const thread = new WriterThread(new Worker(new URL(file, import.meta.url), { workerData: start }), lost, doubt);
  const openFurther: OpenPort = (reply, ended) => openOver(thread.open())(reply, ended);
  return { openPort: thread.openPort, openFurther, close: () => thread.stop() };
}
