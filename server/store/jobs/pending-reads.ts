/** Batches of queries at a reader that have no reply yet. Replies come in order. */

import type { QueryRows, SqlQuery } from "./queries.ts";

interface PendingRead {
  resolve: (rows: QueryRows[]) => void;
  reject: (error: Error) => void;
}

export class PendingReads {
  readonly #send: (queries: SqlQuery[]) => void;
  readonly #pending: PendingRead[] = [];
  #ended: string | null = null;

  constructor(send: (queries: SqlQuery[]) => void) {
    this.#send = send;
  }

  /** Sends a batch of queries. Rejects if the reader ends before it replies. */
  async ask(queries: SqlQuery[]): Promise<QueryRows[]> {
    if (this.#ended !== null) throw new Error(this.#ended);
    return new Promise((resolve, reject) => {
      this.#pending.push({ resolve, reject });
      this.#send(queries);
    });
  }

  /** Resolves the oldest batch with its reply. */
  complete(rows: QueryRows[]): void {
    this.#pending.shift()?.resolve(rows);
  }

  /** Rejects all batches, and every later one: no reply can come any more. */
  end(reason: string): void {
    this.#ended ??= reason;
    for (const { reject } of this.#pending.splice(0)) reject(new Error(reason));
  }
}
