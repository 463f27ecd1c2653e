/** A worker thread as its owner sees it: questions out, answers back in order. Its death is the owner's to handle. */

import { Worker } from "node:worker_threads";

/** What a thread is started with. */
export interface ThreadStart {
  role: "writer" | "reader";
  path: string;
}

/** An answer from the thread. `fatal` ends the process: what is on disk is not known. */
export type Reply = { id: number; value: unknown } | { id: number; failed: string } | { fatal: string };

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

/** One thread with a database connection of its own. */
export class Thread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #stopping = false;

  /** `lost` is called when the thread is gone or says that the disk failed; nothing can be asked after that. */
  constructor(start: ThreadStart, lost: (reason: string) => void) {
    const file = import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js";
    this.#worker = new Worker(new URL(file, import.meta.url), { workerData: start });
    this.#worker.on("message", (reply: Reply) => {
      if ("fatal" in reply) return lost(reply.fatal);
      const waiting = this.#waiting.get(reply.id);
      this.#waiting.delete(reply.id);
      if ("failed" in reply) waiting?.reject(new Error(reply.failed));
      else waiting?.resolve(reply.value);
    });
    this.#worker.on("error", (error) => lost(error instanceof Error ? error.message : String(error)));
    this.#worker.on("exit", () => {
      for (const { reject } of this.#waiting.values()) reject(new Error("the database thread ended"));
      this.#waiting.clear();
      if (!this.#stopping) lost("the database thread ended");
    });
  }

  ask(question: unknown): Promise<unknown> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, question });
    });
  }

  /** Lets the thread close its connection and end. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const ended = new Promise((resolve) => this.#worker.once("exit", resolve));
    this.#worker.postMessage({ id: 0, question: null });
    await ended;
  }
}
