/** Worker threads with a database connection: starts them, passes messages to them, and reports their end. */

import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import type { GroupReply } from "../jobs/group-writer.ts";
import { PendingReads } from "../jobs/pending-reads.ts";
import type { QueryRows, SqlQuery } from "../jobs/queries.ts";
import type { OpenPort } from "../jobs/writer-client.ts";

/** Start parameters of a thread. */
export interface ThreadStart {
  role: "writer" | "reader";
  path: string;
}

/** A further port to a thread, as another thread sends it. It takes and brings what the first one does. */
export interface PortRequest {
  open: MessagePort;
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

  /** Opens a further port to the thread. Its replies are not wrapped in a `ThreadMessage`. */
  open(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    const request: PortRequest = { open: port1 };
    this.#worker.postMessage(request, [port1]);
    return port2;
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

/** The thread that writes. */
export class WriterThread {
  readonly #thread: DatabaseThread;
  #reply: (reply: GroupReply) => void = () => {};
  #ended: (reason: string) => void = () => {};

  /** `lost` is called if the thread ends by itself. */
  constructor(path: string, lost: (reason: string) => void) {
    this.#thread = new DatabaseThread(
      { role: "writer", path },
      { reply: (value) => this.#reply(value as GroupReply), ended: (reason) => this.#ended(reason), lost },
    );
  }

  /** Opens the port of the thread that started this one. */
  readonly openPort: OpenPort = (reply, ended) => {
    this.#reply = reply;
    this.#ended = ended;
    return (jobs) => this.#thread.post(jobs);
  };

  /** Opens a port for another thread. */
  open(): MessagePort {
    return this.#thread.open();
  }

  stop(): Promise<void> {
    return this.#thread.stop();
  }
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
    this.#start = () => new DatabaseThread({ role: "reader", path }, { reply, ended, lost });
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
