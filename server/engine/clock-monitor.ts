/**
 * Detects changes of the machine's time, and makes work due now that a clock which was ahead had put into the future.
 */

import type { InstanceId } from "../core/id.ts";
import { listDeliveriesAhead } from "../store/deliveries.ts";
import { listMessagesAhead, type MessageAhead, type QueuePosition, type QueueWindow } from "../store/messages.ts";
import type { Queue } from "../store/store.ts";
import type { Deps } from "./deps.ts";
import type { With } from "./engine-deps.ts";
import { NEXT_LOOKUP_MS_MAX } from "./messages/reconcile.ts";

/** A smaller difference between two checks is a gradual adjustment of the clock, not a step. */
const STEP_MS_MIN = 5_000;
/** Compares the machine's time with a clock that never steps. */
export class ClockMonitor {
  readonly #deps: With<"membership">;
  /** Real minus monotonic time at the last check; null before the first check. */
  #offsetMs: number | null = null;

  constructor(deps: With<"membership">) {
    this.#deps = deps;
  }

  /**
   * Reports a step of the clock. At the leader, after a step back, and at the first check (the step may have come while no process
   * ran), every `queued` message and pending delivery becomes due now if it was never tried and was last written in the
   * future: its time was taken from a clock that was ahead. A message whose outcome is unknown is looked up 15 s later, so
   * that its provider gets its time. A time that a customer chose, and a planned retry, stay.
   */
  async check(): Promise<void> {
    const { clock, observer } = this.#deps;
    const offsetMs = clock.real() - clock.monotonic();
    const steppedMs = this.#offsetMs === null ? 0 : offsetMs - this.#offsetMs;
    const isFirst = this.#offsetMs === null;
    const isStep = Math.abs(steppedMs) > STEP_MS_MIN;
    if (isStep) observer.clockStepped(Math.round(steppedMs));
    if (isFirst || (isStep && steppedMs < 0)) await this.#correct();
    this.#offsetMs = offsetMs;
  }

  async #correct(): Promise<void> {
    const { membership, store, wake } = this.#deps;
    if (!membership.isLeader) return;
    for (const queue of ["messages", "deliveries"] as const) {
      for (const { lane } of await store.dueLanes(queue, Number.MAX_SAFE_INTEGER)) {
        if (await correctLane(this.#deps, queue, lane)) wake[queue]([lane]);
      }
    }
  }
}

/** Deliveries corrected at once. */
const CORRECTED_AT_ONCE = 200;

/** Records that a clock which was ahead put into the future, and when each is due instead. */
type Correction = { id: string; version: number; dueAt: number };

/**
 * Makes due now the records of a lane that a clock which was ahead put into the future. Returns whether there were any. A
 * record that changed meanwhile is read again: the lane is read until nothing is found.
 */
async function correctLane(deps: Deps, queue: Queue, lane: string): Promise<boolean> {
  for (let isAny = false; ; isAny = true) {
    let found = 0;
    const windows = queue === "deliveries" ? deliveriesAhead(deps, lane) : messagesAhead(deps, lane as InstanceId);
    for await (const corrections of windows) {
      found += corrections.length;
      // One commit for each record: a record that changes at the same time is being handled, and must not block the
      // others.
      await Promise.all(
        corrections.map(({ id, version, dueAt }) =>
          deps.store.commit([{ op: "update", table: queue, id, version, set: { dueAt } }]),
        ),
      );
    }
    if (found === 0) return isAny;
  }
}

async function* messagesAhead({ clock, store }: Deps, lane: InstanceId): AsyncGenerator<Correction[]> {
  const now = clock.now();
  const lookupsUntil = now + NEXT_LOOKUP_MS_MAX;
  let after: QueuePosition | null = null;
  do {
    const window: QueueWindow<MessageAhead> = await listMessagesAhead(store.db, lane, { now, lookupsUntil }, after);
    yield window.records.map(({ id, version, status }) => ({
      id,
      version,
      dueAt: status === "pending" ? lookupsUntil : now,
    }));
    after = window.next;
  } while (after !== null);
}

async function* deliveriesAhead({ clock, store }: Deps, lane: string): AsyncGenerator<Correction[]> {
  const now = clock.now();
  for (let from: number | null = now; from !== null; ) {
    const { records, until } = await listDeliveriesAhead(store.db, lane, { now, from }, CORRECTED_AT_ONCE);
    yield records.map((delivery) => ({ ...delivery, dueAt: now }));
    // Corrected deliveries have left the window, which may have more.
    if (records.length < CORRECTED_AT_ONCE) from = until;
  }
}
