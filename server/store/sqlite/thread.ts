/** Worker threads with a database connection: starts them, passes messages to them, and reports their end. */

import { Worker } from "node:worker_threads";
import type { QueryRows, SqlQuery } from "./query.ts";

/** Start parameters of a thread. */
export interface ThreadStart {
  role: "writer" | "reader";
  path: string;
}

/** A message of a thread. `fatal`: the state of the disk is unknown and the process has to end. */
export type ThreadMessage = { reply: unknown } | { fatal: string };

interface ThreadEvents {
  reply(reply: unknown): void;
  /** The thread sends nothing more. Called once. */
  ended(reason: string): void;
  /** The thread ended by itself or reports a failed disk. Called before `ended`. */
  lost(reason: string): void;
}

export class DatabaseThread {
  readonly #worker: Worker;
  readonly #events: ThreadEvents;
  #stopping = false;
  #ended = false;

  constructor(start: ThreadStart, events: ThreadEvents) {
    this.#events = events;
    const file = `./${start.role}-worker.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`;
    this.#worker = new Worker(new URL(file, import.meta.url), { workerData: start });
    this.#worker.on("message", (message: ThreadMessage) => {
      if ("fatal" in message) this.#end(message.fatal);
      else if (!this.#ended) events.reply(message.reply);
    });
    this.#worker.on("error", (error) => this.#end(error instanceof Error ? error.message : String(error)));
    this.#worker.on("exit", () => this.#end("the database thread ended"));
  }

  #end(reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    if (!this.#stopping) this.#events.lost(reason);
    this.#events.ended(reason);
  }

  /** Sends a message, unless the thread has ended. */
  post(message: unknown): void {
    this.#worker.postMessage(message);
  }

  /** Lets the thread reply to earlier messages, close its connection and end. */
  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#worker.threadId === -1) return;
    const ended = new Promise((resolve) => this.#worker.once("exit", resolve));
    this.#worker.postMessage(null);
    await ended;
  }
}

interface PendingRead {
  resolve: (rows: QueryRows[]) => void;
  reject: (error: Error) => void;
}

/** A thread that reads. It starts with its first queries, and replies to batches of queries in order. */
export class ReaderThread {
  readonly #start: () => DatabaseThread;
  #thread: DatabaseThread | null = null;
  readonly #pending: PendingRead[] = [];
  #ended: string | null = null;

  /** `lost` is called if the thread ends by itself; every later request rejects. */
  constructor(path: string, lost: (reason: string) => void) {
    const reply = (rows: unknown) => this.#pending.shift()?.resolve(rows as QueryRows[]);
    const ended = (reason: string) => this.#end(reason);
    this.#start = () => new DatabaseThread({ role: "reader", path }, { reply, ended, lost });
  }

  /** Runs a batch of queries. Rejects if the thread ends before its reply. */
  async ask(queries: SqlQuery[]): Promise<QueryRows[]> {
    if (this.#ended !== null) throw new Error(this.#ended);
    this.#thread ??= this.#start();
    const thread = this.#thread;
    return new Promise((resolve, reject) => {
      this.#pending.push({ resolve, reject });
      thread.post(queries);
    });
  }

  async stop(): Promise<void> {
    await this.#thread?.stop();
    this.#end("the database thread ended");
  }

  #end(reason: string): void {
    this.#ended ??= reason;
    for (const { reject } of this.#pending.splice(0)) reject(new Error(reason));
  }
}
