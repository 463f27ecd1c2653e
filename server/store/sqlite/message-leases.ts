/**
 * Leases of messages, in the writer's memory. A lease ends by time, by release, or when a commit changes its message's
 * status, due time or instance.
 */

import { phoneKey } from "../../core/phone-forms.ts";

/** A sender and a recipient. */
export type AddressPair = readonly [from: string, to: string];

/** A due message at its place in the order of its lane: by due time, then by id. */
export interface DuePlace {
  id: string;
  lane: string;
  dueAt: number;
  pair: AddressPair;
  /**
   * The message is `pending`: the service asks for its outcome and sends nothing. The order of its pair does not apply.
   */
  isLookup: boolean;
}

/** A lease that ended. */
export interface EndedLease extends DuePlace {
  /** A send attempt of the message was on disk. */
  isHeld: boolean;
}

/** The leased messages of a pair. */
interface LeasedPair {
  pair: AddressPair;
  count: number;
  /** How many of the leased messages are lookups. */
  lookups: number;
}

interface MessageLease extends DuePlace {
  token: number;
  /** Monotonic milliseconds. Infinity while a send attempt is on disk, which has its own lease there. */
  endsAt: number;
}

/** The leases of one process: at a start nothing is leased. A token is used once. */
export class MessageLeases {
  readonly #byId = new Map<string, MessageLease>();
  readonly #byToken = new Map<number, MessageLease>();
  /** By lane, the pairs with leased messages. */
  readonly #pairs = new Map<string, Map<string, LeasedPair>>();
  #lastToken = 0;
  /** No lease ends by time before this. */
  #nextEndAt = Number.POSITIVE_INFINITY;

  get size(): number {
    return this.#byId.size;
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  /** Leases a message that is not leased. Returns the token. */
  add(place: DuePlace, endsAt: number): number {
    if (this.#byId.has(place.id)) throw new Error(`${place.id} is leased already`);
    this.#lastToken += 1;
    const lease: MessageLease = { ...place, token: this.#lastToken, endsAt };
    this.#byId.set(lease.id, lease);
    this.#byToken.set(lease.token, lease);
    this.#nextEndAt = Math.min(this.#nextEndAt, endsAt);
    const pairs = this.#pairs.get(lease.lane) ?? new Map<string, LeasedPair>();
    this.#pairs.set(lease.lane, pairs);
    const name = pairName(lease.pair);
    const leased = pairs.get(name) ?? { pair: lease.pair, count: 0, lookups: 0 };
    pairs.set(name, leased);
    leased.count += 1;
    if (lease.isLookup) leased.lookups += 1;
    return lease.token;
  }

  /** Whether a message of the pair is leased in the lane. */
  isLeased(lane: string, pair: AddressPair): boolean {
    return this.#pairs.get(lane)?.has(pairName(pair)) ?? false;
  }

  /**
   * Whether a message of the pair, other than a lookup, is leased in the lane: the pair's next message waits for it.
   */
  isBusy(lane: string, pair: AddressPair): boolean {
    const { count, lookups } = this.#pairs.get(lane)?.get(pairName(pair)) ?? { count: 0, lookups: 0 };
    return count > lookups;
  }

  /** How many lookups of a pair are leased in the lane. */
  lookups(lane: string, pair: AddressPair): number {
    return this.#pairs.get(lane)?.get(pairName(pair))?.lookups ?? 0;
  }

  /** The pairs with a leased message in the lane. */
  pairs(lane: string): AddressPair[] {
    return [...(this.#pairs.get(lane)?.values() ?? [])].map(({ pair }) => pair);
  }

  /** Notes that a send attempt of the message is on disk: from now on the lease does not end by time. */
  hold(id: string): void {
    const lease = this.#byId.get(id);
    if (lease === undefined) return;
    lease.endsAt = Number.POSITIVE_INFINITY;
    const leased = this.#pairs.get(lease.lane)?.get(pairName(lease.pair));
    if (lease.isLookup && leased !== undefined) leased.lookups -= 1;
    lease.isLookup = false;
  }

  /** Ends the lease of a message. Null if it has none. */
  end(id: string): EndedLease | null {
    const lease = this.#byId.get(id);
    return lease === undefined ? null : this.#remove(lease);
  }

  /** Ends leases by token, except those that have ended already. */
  release(tokens: readonly number[]): EndedLease[] {
    return tokens.flatMap((token) => {
      const lease = this.#byToken.get(token);
      return lease === undefined ? [] : [this.#remove(lease)];
    });
  }

  /** Ends the leases whose time is over at `now` (monotonic). */
  expire(now: number): EndedLease[] {
    if (now < this.#nextEndAt) return [];
    const over = [...this.#byId.values()].filter(({ endsAt }) => endsAt <= now);
    const ended = over.map((lease) => this.#remove(lease));
    this.#nextEndAt = Number.POSITIVE_INFINITY;
    for (const { endsAt } of this.#byId.values()) this.#nextEndAt = Math.min(this.#nextEndAt, endsAt);
    return ended;
  }

  clear(): void {
    this.#byId.clear();
    this.#byToken.clear();
    this.#pairs.clear();
    this.#nextEndAt = Number.POSITIVE_INFINITY;
  }

  #remove(lease: MessageLease): EndedLease {
    const { id, lane, dueAt, pair, isLookup, token, endsAt } = lease;
    this.#byId.delete(id);
    this.#byToken.delete(token);
    const pairs = this.#pairs.get(lane);
    const held = pairs?.get(pairName(pair));
    if (pairs !== undefined && held !== undefined) {
      held.count -= 1;
      if (isLookup) held.lookups -= 1;
      if (held.count === 0) pairs.delete(pairName(pair));
      if (pairs.size === 0) this.#pairs.delete(lane);
    }
    return { id, lane, dueAt, pair, isLookup, isHeld: endsAt === Number.POSITIVE_INFINITY };
  }
}

/** The key of a pair, the same for both forms of the recipient's phone. */
export function pairName([from, to]: AddressPair): string {
  return `${from} ${phoneKey(to)}`;
}
