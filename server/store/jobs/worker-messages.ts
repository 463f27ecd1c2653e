/** Receives the messages of a worker thread, without Node's own messages. */

import type { Worker } from "node:worker_threads";

/** Key of a message by which Node tells the parent under `node --watch` that the thread loaded modules. */
const LOADED = "watch:import";

/**
 * Calls `take` with each message that the code of the thread posts. Skips Node's own messages, as under `node --watch`.
 */
export function onWorkerMessage<Message extends object>(worker: Worker, take: (message: Message) => void): void {
  worker.on("message", (message: Message | { [LOADED]: unknown }) => {
    if (!(LOADED in message)) take(message);
  });
}
