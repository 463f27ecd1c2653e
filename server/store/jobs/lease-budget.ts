/** How many deliveries a process leases at once, and how many bytes of events: shared by customers, so that none keeps the others waiting. */

/** A new delivery is leased at once while its lane has fewer leased deliveries. */
export const LEASED_PER_LANE_MAX = 256;
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

/** Counts leased deliveries by customer. */
export class LeaseBudget {
  /** Customers with leased deliveries. */
  readonly #customers = new Map<string, CustomerLeases>();
  #count = 0;
  #bytes = 0;

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

  add(customer: string, size: number): void {
    this.#change(customer, 1, size);
  }

  remove(customer: string, size: number): void {
    this.#change(customer, -1, -size);
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
