/**
 * Notifies listeners of this process of what other processes committed: new events of their customers, attempts of their deliveries, and
 * deliveries that requests changed. Nothing is read while nobody listens, nor on a database of one process.
 */

import type { CustomerId } from "../core/id.ts";
import { RepeatingTask } from "../core/repeating-task.ts";
import { newestPositions } from "../store/events.ts";
import type { Deps } from "./deps.ts";
import type { EventNotifier } from "./event-notifier.ts";
import type { AttemptFeed } from "./webhooks/attempt-feed.ts";

/** Time between two looks, in real milliseconds. */
const LOOK_EVERY_MS = 250;
/** How long an announcement may take to be seen, in real milliseconds. Whatever is seen twice has not changed. */
const SEEN_WITHIN_MS = 1_000;

export class EventWatch {
  readonly #deps: Pick<Deps, "store" | "clock" | "observer">;
  readonly #listeners: { events: EventNotifier; attempts: AttemptFeed };
  /** The newest position that a look has found, by customer with a listener. */
  #seen = new Map<CustomerId, number>();
  /** When the last look that ended well began, by the monotonic clock. */
  #lookedAt: number;
  readonly #looks: RepeatingTask;

  constructor(
    deps: Pick<Deps, "store" | "clock" | "observer">,
    listeners: { events: EventNotifier; attempts: AttemptFeed },
  ) {
    this.#deps = deps;
    this.#listeners = listeners;
    this.#lookedAt = deps.clock.monotonic();
    this.#looks = new RepeatingTask({
      clock: deps.clock,
      run: () => this.#look(),
      fault: (error) => deps.observer.fault("event-watch", error),
      retryMs: LOOK_EVERY_MS,
    });
  }

  start(): void {
    if (this.#deps.store.shared !== null) this.#looks.schedule(LOOK_EVERY_MS);
  }

  /** Looks no more, and resolves when the look in progress has ended. */
  stop(): Promise<void> {
    return this.#looks.stop();
  }

  /** Resolves with the time until the next look. */
  async #look(): Promise<number> {
    const beganAt = this.#deps.clock.monotonic();
    await Promise.all([this.#lookForEvents(), this.#lookForDeliveries(beganAt - this.#lookedAt + SEEN_WITHIN_MS)]);
    this.#lookedAt = beganAt;
    return LOOK_EVERY_MS;
  }

  async #lookForEvents(): Promise<void> {
    const { events } = this.#listeners;
    const customers = events.customers();
    const former = this.#seen;
    this.#seen = new Map(customers.map((customerId) => [customerId, former.get(customerId) ?? -1]));
    if (customers.length === 0) return;
    for (const [customerId, position] of await newestPositions(this.#deps.store.db, this.#seen)) {
      this.#seen.set(customerId, position);
      events.notifyCustomer(customerId);
    }
  }

  async #lookForDeliveries(withinMs: number): Promise<void> {
    const { attempts } = this.#listeners;
    attempts.notifyAll();
    const customers = attempts.watchedCustomers();
    if (customers.size === 0) return;
    const { clock, store } = this.#deps;
    const announced = (await store.shared?.announcedDeliveries([...customers.keys()], withinMs)) ?? [];
    const now = clock.monotonic();
    for (const { customerId, ids, agoMs } of announced) {
      // A change from before is no news to who has just begun to follow.
      if (now - agoMs < (customers.get(customerId) ?? 0)) continue;
      for (const id of ids) attempts.notify(id, customerId);
    }
  }
}
