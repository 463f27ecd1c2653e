/** How many deliveries a process leases at once, and how many bytes of events: shared by customers, so that none keeps the others waiting. */

/** A new delivery is leased at once while its lane has fewer leased deliveries than this number plus the number that ended recently. */
const LEASED_PER_LANE = 256;
/** The length of a period in which ends are counted, in milliseconds: the present one and the one before are recent, 3 s at most. */
const PERIOD_MS = 1_000;
/** Leased deliveries of all lanes, and the bytes of their events. */
export const LEASED_MAX = 16_384;
const LEASED_BYTES_MAX = 32 * 1024 * 1024;
/** A customer may lease this multiple of what is free: 80 % of all when alone, 44 % each of two. */
const SHARE_OF_FREE = 4;

/** The leased deliveries of a customer. */
interface CustomerLeases {
  count: number;
  bytes: number;
}

/** Counts leased deliveries by customer, and those that end by lane. */
export class LeaseBudget {
  readonly #now: () => number;
  /** Deliveries of each lane that ended in the present period, which began at `#since`, and in the one before. */
  #ended = new Map<string, number>();
  #endedBefore: ReadonlyMap<string, number> = new Map();
  #since = Number.NEGATIVE_INFINITY;
  /** Customers with leased deliveries. */
  readonly #customers = new Map<string, CustomerLeases>();
  #count = 0;
  #bytes = 0;

  /** `now`: the monotonic clock, in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Leased deliveries. */
  get count(): number {
    return this.#count;
  }

  /** Whether one more delivery of a customer may be leased. `size`: the length of its event. */
  hasRoom(customer: string, size: number): boolean {
    if (this.#count === 0) return true;
    const free = LEASED_MAX - this.#count - 1;
    const freeBytes = LEASED_BYTES_MAX - this.#bytes - size;
    if (free < 0 || freeBytes < 0) return false;
    const held = this.#customers.get(customer);
    if (held === undefined) return true;
    return held.count < SHARE_OF_FREE * free && held.bytes + size <= SHARE_OF_FREE * freeBytes;
  }

  /**
   * Whether a lane with so many leased deliveries may lease a new one at once. A lane whose attempts end quickly may have more of them, since
   * it needs them soon, unless half of all that may be leased is: if it begins to hang then, the others of its customer still have room.
   */
  hasRoomInLane(lane: string, leased: number): boolean {
    if (leased < LEASED_PER_LANE) return true;
    if (this.#count >= LEASED_MAX / 2 || this.#bytes >= LEASED_BYTES_MAX / 2) return false;
    this.#turn();
    return leased < LEASED_PER_LANE + (this.#ended.get(lane) ?? 0) + (this.#endedBefore.get(lane) ?? 0);
  }

  /** The lease of a delivery has ended with its attempt, or because the delivery is gone. */
  noteEnded(lane: string): void {
    this.#turn();
    this.#ended.set(lane, (this.#ended.get(lane) ?? 0) + 1);
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
