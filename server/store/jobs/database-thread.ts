/** Worker threads that run the jobs or queries of a database: passes messages to them, and reports their end. */

import { MessageChannel, type MessagePort, type Worker } from "node:worker_threads";
import type { GroupReply } from "./group-writer.ts";
import { onWorkerMessage } from "./worker-messages.ts";
import type { OpenPort } from "./writer-client.ts";

/**
 * Asks a thread to open a further port, which takes the same messages as the first port and brings the same replies.
 */
export interface PortRequest {
  open: MessagePort;
}

/**
 * A message of a thread. `fatal`: the state of the database is unknown, and the process has to end.
 * `doubt`: the database may be out of reach.
 */
export type ThreadMessage = { reply: unknown } | { fatal: string } | { doubt: true };

interface ThreadEvents {
  reply(reply: unknown): void;
  /** The database may be out of reach. */
  doubt?(): void;
  /** The thread sends nothing more. Called once. */
  ended(reason: string): void;
  /** The thread ended by itself or reports a fatal error. Called before `ended`. */
  lost(reason: string): void;
}

export class DatabaseThread {
  readonly #worker: Worker;
  readonly #events: ThreadEvents;
  #stopping = false;
  #ended = false;

  constructor(worker: Worker, events: ThreadEvents) {
    this.#events = events;
    this.#worker = worker;
    onWorkerMessage<ThreadMessage>(worker, (message) => {
      if ("fatal" in message) this.#end(message.fatal);
      else if ("doubt" in message) events.doubt?.();
      else if (!this.#ended) events.reply(message.reply);
    });
    worker.on("error", (error) => this.#end(error instanceof Error ? error.message : String(error)));
    worker.on("exit", () => this.#end("the database thread ended"));
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

  /** `lost` is called if the thread ends by itself, `doubt` when the database may be out of reach. */
  constructor(worker: Worker, lost: (reason: string) => void, doubt: () => void = () => {}) {
    this.#thread = new DatabaseThread(worker, {
      reply: (value) => this.#reply(value as GroupReply),
      ended: (reason) => this.#ended(reason),
      lost,
      doubt,
    });
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

/** Makes an `OpenPort` for a further store, over a port that `WriterThread.open` returned. */
export function openOver(port: MessagePort): OpenPort {
  return (reply) => {
    port.on("message", reply);
    return (jobs) => port.postMessage(jobs);
  };
}
