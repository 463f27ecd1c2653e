/**
 * Holds the other deliveries of a receiver that answered with `Retry-After`, in memory only. The answered delivery
 * keeps its due time.
 */

import type { Clock } from "../../clock.ts";
import { setBounded } from "../../core/bounded-map.ts";
import { type Delivery, goesAtOnce } from "../../core/delivery.ts";

/** The other deliveries of a receiver wait for at most this long, in milliseconds. */
const HOLD_MS_MAX = 300_000;
/** Most URLs of callbacks that are remembered. */
const URLS_MAX = 10_000;

/** The parts of `Holds`. `hold`: holds a whole lane; `putOff`: some deliveries of a lane are put off until then. */
interface HoldParts {
  clock: Pick<Clock, "now">;
  hold(lane: string, until: number): void;
  putOff(lane: string, until: number): void;
}

/**
 * | The receiver | What waits | How |
 * |---|---|---|
 * | an endpoint | its lane | its lane claims and begins nothing; its deliveries stay due |
 * | a `callbackUrl` | deliveries to the same URL; others share its lane | each gets the end of the hold as its due time, without an attempt |
 */
export class Holds {
  readonly #parts: HoldParts;
  /** Until when each URL of a lane of callbacks waits, in the service's time. */
  readonly #urls = new Map<string, number>();

  constructor(parts: HoldParts) {
    this.#parts = parts;
  }

  /** The receiver of an attempt asks to wait for `seconds`. */
  ask({ endpointId, lane, url }: Delivery, seconds: number): void {
    const { clock, hold, putOff } = this.#parts;
    const until = clock.now() + Math.min(seconds * 1_000, HOLD_MS_MAX);
    if (endpointId !== null) {
      hold(lane, until);
      return;
    }
    const key = keyOf(lane, url);
    const longest = Math.max(until, this.#urls.get(key) ?? until);
    setBounded(this.#urls, key, longest, URLS_MAX);
    putOff(lane, longest);
  }

  /** The time until which a due delivery to a `callbackUrl` waits; null if the delivery goes now. */
  untilOf(delivery: Delivery): number | null {
    if (delivery.endpointId !== null || goesAtOnce(delivery)) return null;
    const key = keyOf(delivery.lane, delivery.url);
    const until = this.#urls.get(key);
    if (until === undefined) return null;
    if (until > this.#parts.clock.now()) return until;
    this.#urls.delete(key);
    return null;
  }
}

/** Puts a delivery off without an attempt. A retry by hand that came meanwhile goes at once, and one that was cancelled stays so (null). */
export function putOffUntil(until: number): (fresh: Delivery) => Delivery | null {
  return (fresh) => (fresh.dueAt === null || goesAtOnce(fresh) ? null : { ...fresh, dueAt: until });
}

function keyOf(lane: string, url: string): string {
  return `${lane} ${url}`;
}
