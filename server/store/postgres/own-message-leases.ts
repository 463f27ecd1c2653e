/** The leases of messages that this process has: their tokens, which it takes in blocks from the database, and how long they last. */

import type { Sql } from "./sql.ts";
import type { WriterConnections } from "./writer-connections.ts";

/** The tokens of leases in a block, of which a member takes one for itself. */
const BLOCK = 2 ** 32;

export class OwnMessageLeases {
  readonly #now: () => number;
  /** The token of the next lease; null before the first. */
  #next: number | null = null;
  /** The leases whose claim this process has got, in the order in which they end: their messages, and when they do (monotonic time). */
  readonly #known = new Map<number, { id: string; endsAt: number }>();
  /** Whether the time of a lease was over before it was released, since `takeExpired` was called. */
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

  /** The process has got leases that begin now. */
  add(leases: Iterable<{ lease: number; id: string }>, leaseMs: number): void {
    this.#expire();
    const endsAt = this.#now() + leaseMs;
    for (const { lease, id } of leases) this.#known.set(lease, { id, endsAt });
  }

  /** Leases are released. Returns the messages of those that were known; of others the time was over. */
  remove(leases: Iterable<number>): Map<number, string> {
    const removed = new Map<number, string>();
    for (const lease of leases) {
      const known = this.#known.get(lease);
      if (known !== undefined) removed.set(lease, known.id);
      this.#known.delete(lease);
    }
    return removed;
  }

  /** Whether the time of a lease was over before it was released, since the last call. */
  takeExpired(): boolean {
    this.#expire();
    const had = this.#hasExpired;
    this.#hasExpired = false;
    return had;
  }

  /** The leases of this process, without those that it released and those whose time is over. */
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

/** Tokens that no other member has, nor this one has had: the sequence is on disk before the first of them is used. */
async function takeBlock(sql: Sql): Promise<number> {
  const [[block] = []] = await sql.values("select nextval('lease_blocks')");
  return Number(block) * BLOCK;
}
