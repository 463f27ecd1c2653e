/** The leases of messages that this process has, and how long they last. The process takes their tokens from the database in blocks. */

import type { Sql } from "./sql.ts";
import type { WriterConnections } from "./writer-connections.ts";

/** The number of tokens in a block. A member takes a block for itself. */
const BLOCK = 2 ** 32;

export class OwnMessageLeases {
  readonly #now: () => number;
  /** The token of the next lease; null before the first. */
  #next: number | null = null;
  /** The leases whose claims were answered, in the order in which they expire: the message, and when its lease expires (monotonic time). */
  readonly #known = new Map<number, { id: string; endsAt: number }>();
  /** Whether a lease has expired before it was released, since the last call of `takeExpired`. */
  #hasExpired = false;

  /** `now`: the monotonic clock. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Takes tokens for leases. Returns the first; the others follow. */
  async take(connections: Pick<WriterConnections, "run">, count: number): Promise<number> {
    const first = this.#next ?? (await connections.run(takeBlock));
    this.#next = first + count;
    return first;
  }

  /** The process has got leases, which begin now. */
  add(leases: Iterable<{ lease: number; id: string }>, leaseMs: number): void {
    this.#expire();
    const endsAt = this.#now() + leaseMs;
    for (const { lease, id } of leases) this.#known.set(lease, { id, endsAt });
  }

  /** Leases are released. Returns the messages of those that were known; the others had expired. */
  remove(leases: Iterable<number>): Map<number, string> {
    const removed = new Map<number, string>();
    for (const lease of leases) {
      const known = this.#known.get(lease);
      if (known !== undefined) removed.set(lease, known.id);
      this.#known.delete(lease);
    }
    return removed;
  }

  /** Whether a lease has expired before it was released, since the last call. */
  takeExpired(): boolean {
    this.#expire();
    const had = this.#hasExpired;
    this.#hasExpired = false;
    return had;
  }

  /** The leases of this process that were neither released nor have expired. */
  known(): number[] {
    this.#expire();
    return [...this.#known.keys()];
  }

  #expire(): void {
    const now = this.#now();
    for (const [lease, { endsAt }] of this.#known) {
      if (endsAt > now) return;
      this.#known.delete(lease);
      this.#hasExpired = true;
    }
  }
}

/** Takes tokens that neither another member nor this one has had. The sequence is on disk before the first token is used. */
async function takeBlock(sql: Sql): Promise<number> {
  const [[block] = []] = await sql.values("select nextval('lease_blocks')");
  return Number(block) * BLOCK;
}
