/** A worker thread with a database connection: sends requests to it and resolves their replies in order. */

import { Worker } from "node:worker_threads";

/** Start parameters of a thread. */
export interface ThreadStart {
  role: "writer" | "reader";
  path: string;
}

/** The request for the counts of the writer's thread; any other request is a group of jobs. */
export const COUNTS = "counts";

/** A reply of the thread. `fatal`: the state of the disk is unknown and the process has to end. */
export type ThreadReply = { id: number; value: unknown } | { id: number; failed: string } | { fatal: string };

interface PendingRequest {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

export class DatabaseThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, PendingRequest>();
  #nextId = 1;
  #stopping = false;
  #gone = false;

  /** `lost` is called if the thread ends or reports a failed disk; every later request rejects. */
  constructor(start: ThreadStart, lost: (reason: string) => void) {
    const file = import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js";
    this.#worker = new Worker(new URL(file, import.meta.url), { workerData: start });
    this.#worker.on("message", (reply: ThreadReply) => {
      if ("fatal" in reply) return this.#lose(reply.fatal, lost);
      const waiting = this.#waiting.get(reply.id);
      this.#waiting.delete(reply.id);
      if ("failed" in reply) waiting?.reject(new Error(reply.failed));
      else waiting?.resolve(reply.value);
    });
    this.#worker.on("error", (error) => this.#lose(error instanceof Error ? error.message : String(error), lost));
    this.#worker.on("exit", () => this.#lose("the database thread ended", lost));
  }

  #lose(reason: string, lost: (reason: string) => void): void {
    if (this.#gone) return;
    this.#gone = true;
    if (!this.#stopping) lost(reason);
    for (const { reject } of this.#waiting.values()) reject(new Error(reason));
    this.#waiting.clear();
  }

  /** Sends a request. Rejects if the thread ends before its reply. */
  async ask(request: unknown): Promise<unknown> {
    if (this.#gone) throw new Error("the database thread ended");
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, request });
    });
  }

  /** Lets the thread reply to earlier requests, close its connection and end. */
  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#worker.threadId === -1) return;
    const ended = new Promise((resolve) => this.#worker.once("exit", resolve));
    this.#worker.postMessage({ id: 0, request: null });
    await ended;
  }
}
