/** Answers that stay open longer than it takes to work them out (streams, waits, downloads), and their end at a stop. */

import type { ServerResponse } from "node:http";

/** Closes the connection once all of the answer is out: what was promised with its head may have been to keep it. */
export function closeAfter(response: ServerResponse): void {
  const { socket } = response;
  response.once("finish", () => socket?.destroySoon());
}

/** What has to end before the service can. */
export class OpenResponses {
  readonly #ends = new Set<() => void>();
  #stopped = false;

  /** Whether the service is stopping: nothing that lasts may begin. */
  get isStopped(): boolean {
    return this.#stopped;
  }

  /** Calls `end` when the service stops, at once where it does already; the answer forgets it. */
  add(end: () => void): () => void {
    if (this.#stopped) end();
    else this.#ends.add(end);
    return () => void this.#ends.delete(end);
  }

  /** Ends everything that is open, each in its own way. */
  stop(): void {
    this.#stopped = true;
    for (const end of [...this.#ends]) end();
    this.#ends.clear();
  }
}
