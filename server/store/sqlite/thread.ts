/** The threads of the embedded database: one writes, and others read. */

import { type MessagePort, Worker } from "node:worker_threads";
import { DatabaseThread } from "../jobs/database-thread.ts";
import { PendingReads } from "../jobs/pending-reads.ts";
import type { QueryRows, SqlQuery } from "../jobs/queries.ts";

/** Start parameters of a thread. */
export interface ThreadStart {
  path: string;
}

/** Starts a thread on the database at a path. */
export function startThread(role: "writer" | "reader", path: string): Worker {
  const file = `./${role}-worker.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`;
  return new Worker(new URL(file, import.meta.url), { workerData: { path } satisfies ThreadStart });
}

/** A thread that reads. It starts with its first queries, and replies to batches of queries in order. */
export class ReaderThread {
  readonly #start: () => DatabaseThread;
  #started: DatabaseThread | null = null;
  readonly #pending = new PendingReads((queries) => this.#thread.post(queries));

  /** `lost` is called if the thread ends by itself; every later request rejects. */
  constructor(path: string, lost: (reason: string) => void) {
    const reply = (rows: unknown) => this.#pending.complete(rows as QueryRows[]);
    const ended = (reason: string) => this.#pending.end(reason);
    this.#start = () => new DatabaseThread(startThread("reader", path), { reply, ended, lost });
  }

  get #thread(): DatabaseThread {
    this.#started ??= this.#start();
    return this.#started;
  }

  /** Runs a batch of queries. Rejects if the thread ends before its reply. */
  ask(queries: SqlQuery[]): Promise<QueryRows[]> {
    return this.#pending.ask(queries);
  }

  /** Opens a port for another thread. */
  open(): MessagePort {
    return this.#thread.open();
  }

  async stop(): Promise<void> {
    await this.#started?.stop();
    this.#pending.end("the database thread ended");
  }
}
