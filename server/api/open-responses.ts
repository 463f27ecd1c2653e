/** Responses that stay open (streams, long polls, downloads), and their end when the service stops. */

import type { ServerResponse } from "node:http";

/** Closes the connection after the whole response is sent, although its head may have promised to keep it open. */
export function closeAfter(response: ServerResponse): void {
  const { socket } = response;
  response.once("finish", () => socket?.destroySoon());
}

/** All open responses of this process. */
export class OpenResponses {
  readonly #ends = new Set<() => void>();
  #stopped = false;

  /** Whether the service is stopping: no response may stay open. */
  get isStopped(): boolean {
    return this.#stopped;
  }

  /** Calls `end` when the service stops, or now if it is stopping. Returns a function that withdraws `end`. */
  add(end: () => void): () => void {
    if (this.#stopped) end();
    else this.#ends.add(end);
    return () => void this.#ends.delete(end);
  }

  /** Ends all open responses, each in its own way. */
  stop(): void {
    this.#stopped = true;
    for (const end of [...this.#ends]) end();
    this.#ends.clear();
  }
}
