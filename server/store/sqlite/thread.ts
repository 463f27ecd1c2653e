/** A worker thread as its owner sees it: questions out, answers back in order. Its death is the owner's to handle. */

import { Worker } from "node:worker_threads";

/** What a thread is started with. */
export interface ThreadStart {
  role: "writer" | "reader";
  path: string;
}

/** An answer from the thread. `fatal` ends the process: what is on disk is not known. */
export type ThreadReply = { id: number; value: unknown } | { id: number; failed: string } | { fatal: string };

interface PendingRequest {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

/** One thread with a database connection of its own. */
export class DatabaseThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, PendingRequest>();
  #nextId = 1;
  #stopping = false;
  #gone = false;

  /** `lost` is called when the thread is gone or says that the disk failed; nothing can be asked after that. */
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

  /** Rejects when the thread is gone, or goes before it answered. */
  async ask(question: unknown): Promise<unknown> {
    if (this.#gone) throw new Error("the database thread ended");
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, question });
    });
  }

  /** Lets the thread close its connection and end. What was asked before is answered. */
  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#worker.threadId === -1) return;
    const ended = new Promise((resolve) => this.#worker.once("exit", resolve));
    this.#worker.postMessage({ id: 0, question: null });
    await ended;
  }
}
