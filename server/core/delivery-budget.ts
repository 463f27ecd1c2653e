/** How many deliveries a process has in hand, and how many bytes of events: shared by customers, so that none keeps the others waiting. */

/** A new delivery is taken at once while its lane has fewer deliveries in hand than this number plus the number that ended recently. */
const IN_HAND_PER_LANE = 256;
/** The length of a period in which ends are counted, in milliseconds: the present one and the one before are recent, 3 s at most. */
const PERIOD_MS = 1_000;
/** Deliveries in hand of all lanes, and the bytes of their events. */
export const IN_HAND_MAX = 16_384;
const IN_HAND_BYTES_MAX = 32 * 1024 * 1024;
/** A customer may have this multiple of what is free: 80 % of all when alone, 44 % each of two. */
const SHARE_OF_FREE = 4;

/** The deliveries of a customer in hand. */
interface CustomerInHand {
  count: number;
  bytes: number;
}

/** Counts deliveries in hand by customer, and those that end by lane. */
export class DeliveryBudget {
  readonly #now: () => number;
  /** Deliveries of each lane that ended in the present period, which began at `#since`, and in the one before. */
  #ended = new Map<string, number>();
  #endedBefore: ReadonlyMap<string, number> = new Map();
  #since = Number.NEGATIVE_INFINITY;
  /** Customers with deliveries in hand. */
  readonly #customers = new Map<string, CustomerInHand>();
  #count = 0;
  #bytes = 0;

  /** `now`: the monotonic clock, in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Deliveries in hand. */
  get count(): number {
    return this.#count;
  }

  /** Whether one more delivery of a customer may be taken. `size`: the length of its event. */
  hasRoom(customer: string, size: number): boolean {
    if (this.#count === 0) return true;
    const free = IN_HAND_MAX - this.#count - 1;
    const freeBytes = IN_HAND_BYTES_MAX - this.#bytes - size;
    if (free < 0 || freeBytes < 0) return false;
    const held = this.#customers.get(customer);
    if (held === undefined) return true;
    return held.count < SHARE_OF_FREE * free && held.bytes + size <= SHARE_OF_FREE * freeBytes;
  }

  /**
   * Whether a lane with so many deliveries in hand may take a new one at once. A lane whose attempts end quickly may have more of them, since
   * it needs them soon, unless half of all that may be in hand is: if it begins to hang then, the others of its customer still have room.
   */
  hasRoomInLane(lane: string, inHand: number): boolean {
    if (inHand < IN_HAND_PER_LANE) return true;
    if (this.#count >= IN_HAND_MAX / 2 || this.#bytes >= IN_HAND_BYTES_MAX / 2) return false;
    this.#turn();
    return inHand < IN_HAND_PER_LANE + (this.#ended.get(lane) ?? 0) + (this.#endedBefore.get(lane) ?? 0);
  }

  /** A delivery has left the hand with its attempt, or because it is gone. */
  noteEnded(lane: string): void {
    this.#turn();
    this.#ended.set(lane, (this.#ended.get(lane) ?? 0) + 1);
  }

  /** The bytes of events that there is room for. */
  get freeBytes(): number {
    return IN_HAND_BYTES_MAX - this.#bytes;
  }

  add(customer: string, size: number): void {
    this.#change(customer, 1, size);
  }

  remove(customer: string, size: number): void {
    this.#change(customer, -1, -size);
  }

  /** Begins the next period if the present one is over. */
  #turn(): void {
    const now = this.#now();
    if (now < this.#since + PERIOD_MS) return;
    this.#endedBefore = now < this.#since + 2 * PERIOD_MS ? this.#ended : new Map();
    this.#ended = new Map();
    this.#since = now;
  }

  #change(customer: string, count: number, bytes: number): void {
    this.#count += count;
    this.#bytes += bytes;
    const held = this.#customers.get(customer) ?? { count: 0, bytes: 0 };
    held.count += count;
    held.bytes += bytes;
    if (held.count === 0) this.#customers.delete(customer);
    else this.#customers.set(customer, held);
  }
}
