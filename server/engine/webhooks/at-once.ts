/**
 * Tries the deliveries that a retry by hand or a test asks for, although the receiver of their lane is not reached and the others wait.
 * While every receiver is reached it does nothing: then they are claimed like all others.
 */

import type { Clock } from "../../clock.ts";
import { setBounded } from "../../core/bounded-map.ts";
import type { DeliveryId } from "../../core/id.ts";
import type { Store } from "../../store/store.ts";

/**
 * How long a requested delivery is remembered, in real milliseconds: its receiver may become unreachable before the
 * delivery is claimed.
 */
const KEPT_MS = 10_000;
/** Most deliveries remembered. */
const KEPT_MAX = 1_000;
/** How long another process's announcement may take to reach this process, in real milliseconds. */
const SEEN_WITHIN_MS = 5_000;

/** The parts of `AtOnce`. */
interface AtOnceParts {
  store: Pick<Store, "shared">;
  clock: Pick<Clock, "monotonic">;
  /** Lanes whose receivers are not reached. */
  limited(): readonly string[];
  /** Claims those of these deliveries that are in the lanes and go at once, and begins them. */
  run(lanes: readonly string[], ids: readonly DeliveryId[]): Promise<void>;
  fault(error: unknown): void;
}

/** Looks for deliveries to try at once, until `stop`. */
export class AtOnce {
  readonly #parts: AtOnceParts;
  /** Deliveries that were asked for, and until when each is remembered (monotonic time). */
  readonly #asked = new Map<DeliveryId, number>();
  #running: Promise<void> | null = null;
  /** Whether to look again, since deliveries were asked for during a look. */
  #isAsked = false;
  #isStopped = false;

  constructor(parts: AtOnceParts) {
    this.#parts = parts;
  }

  /** A retry by hand or a test asks for these deliveries. */
  ask(ids: readonly DeliveryId[]): void {
    if (ids.length === 0) return;
    const until = this.#parts.clock.monotonic() + KEPT_MS;
    for (const id of ids) setBounded(this.#asked, id, until, KEPT_MAX);
    this.#isAsked = true;
    this.look();
  }

  /** Tries the deliveries that were asked for here or announced by other processes. */
  look(): void {
    if (this.#isStopped || this.#running !== null) return;
    this.#isAsked = false;
    const lanes = this.#parts.limited();
    if (lanes.length === 0) return;
    this.#running = this.#try(lanes).then(() => {
      this.#running = null;
      if (this.#isAsked) this.look();
    });
  }

  /** Stops the looks, and resolves when the look in progress has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  /** Never throws. A delivery that was tried is due by its schedule, so that the next look claims it no more. */
  async #try(lanes: readonly string[]): Promise<void> {
    const { clock, fault, run, store } = this.#parts;
    try {
      const announced = (await store.shared?.announcedDeliveries(null, SEEN_WITHIN_MS)) ?? [];
      const now = clock.monotonic();
      for (const [id, until] of this.#asked) if (until <= now) this.#asked.delete(id);
      const ids = [...new Set([...this.#asked.keys(), ...announced.flatMap((one) => one.ids)])];
      if (ids.length > 0) await run(lanes, ids);
    } catch (error) {
      fault(error);
    }
  }
}
