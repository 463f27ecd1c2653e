/** The leases of messages that this process has: their tokens, which it takes in blocks from the database, and how long they last. */

import type { Sql } from "./sql.ts";

/** The tokens of leases in a block, of which a member takes one for itself. */
const BLOCK = 2 ** 32;

export class OwnMessageLeases {
  readonly #now: () => number;
  /** The token of the next lease; null before the first. */
  #next: number | null = null;
  /** The leases whose claim this process has got, in the order in which they end, and when they do (monotonic time). */
  readonly #known = new Map<number, number>();

  /** `now`: the monotonic clock. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Takes tokens for leases. Returns the first; the others follow. */
  async take(sql: Sql, count: number): Promise<number> {
    const first = this.#next ?? (await takeBlock(sql));
    this.#next = first + count;
    return first;
  }

  /** The process has got leases that begin now. */
  add(leases: Iterable<number>, leaseMs: number): void {
    this.#expire();
    const endsAt = this.#now() + leaseMs;
    for (const lease of leases) this.#known.set(lease, endsAt);
  }

  /** Leases are released. */
  remove(leases: Iterable<number>): void {
    for (const lease of leases) this.#known.delete(lease);
  }

  /** The leases of this process, without those that it released and those whose time is over. */
  known(): number[] {
    this.#expire();
    return [...this.#known.keys()];
  }

  #expire(): void {
    const now = this.#now();
    for (const [lease, endsAt] of this.#known) {
      if (endsAt > now) return;
      this.#known.delete(lease);
    }
  }
}

/** Tokens that no other member has, nor this one has had: the sequence is on disk before the first of them is used. */
async function takeBlock(sql: Sql): Promise<number> {
  const [[block] = []] = await sql.values("select nextval('lease_blocks')");
  return Number(block) * BLOCK;
}
