/**
 * Reads the due deliveries of this process, takes the deliveries that commits push, and gives up deliveries.
 * `InHand` decides about each of them.
 */

import type { Clock } from "../../clock.ts";
import type { DeliveryId } from "../../core/id.ts";
import type { DueDelivery, PushedChange } from "../../store/due-deliveries.ts";
import type { Store } from "../../store/store.ts";
import type { ClaimedItems } from "../drain.ts";
import { InHand } from "./in-hand.ts";

/** An attempt has to end within this time after its delivery was read or pushed, in monotonic milliseconds. */
const HELD_MS = 45_000;
/**
 * A delivery is in hand for at most this long. For a pushed delivery, the writer counts from the commit, and this
 * process from the arrival. So the limit exceeds `HELD_MS` by the time that a push may be on its way.
 */
const IN_HAND_MS = HELD_MS + 15_000;
/**
 * This process tells the writer of arrivals after this many new deliveries, or after this many bytes. Each is a quarter
 * of the limit that the writer sets on pushes in flight.
 */
const TOLD_AFTER = 1_024;
const TOLD_AFTER_BYTES = 4 * 1024 * 1024;

/** A delivery in hand, and until when an attempt of it has to end (monotonic time). */
export interface HeldDelivery extends DueDelivery {
  heldUntil: number;
}

/** The loop that runs what is in hand. */
export interface DueListener {
  /** Takes over new deliveries. The deliveries of a lane come in the order in which they were made. */
  take(items: readonly HeldDelivery[]): void;
  /** These lanes may have something due. */
  wake(lanes: Iterable<string>): void;
  /**
   * Deliveries of these lanes are gone or have changed. The loop gives up the deliveries of the lanes that have not
   * begun, so that each keeps its place.
   */
  giveBack(lanes: Iterable<string>): void;
  /** Any lane may have something due. */
  look(): void;
}

/** The parts of `DueQueue`. */
interface DueQueueParts {
  store: Pick<Store, "credit" | "dueDeliveries" | "hold">;
  clock: Pick<Clock, "monotonic" | "now">;
}

export class DueQueue {
  readonly #parts: DueQueueParts;
  readonly #hand: InHand;
  /** New deliveries that have arrived since the writer was last told. */
  #arrived = { arrived: 0, bytes: 0 };

  constructor(parts: DueQueueParts) {
    this.#parts = parts;
    this.#hand = new InHand(() => parts.clock.monotonic());
  }

  /** Passes new deliveries and other changes to the loop. Returns the function that ends this. */
  start(listener: DueListener): () => void {
    // Changes since the last end were not reported to this process.
    this.#hand.all();
    return this.#parts.store.hold((changes) => this.#push(changes, listener));
  }

  /** Lanes may have changed without a report: the next read of each lane begins at its front. */
  forget(): void {
    this.#hand.all();
    this.#tell(new Set(this.#hand.lanes));
  }

  /** Takes at most `permits` due deliveries of each lane into hand. `more`: lanes to be read again at once. */
  async claim(wanted: readonly { lane: string; permits: number }[]): Promise<ClaimedItems<HeldDelivery>> {
    const { clock, store } = this.#parts;
    this.#hand.expire(IN_HAND_MS);
    const bytesMax = this.#hand.freeBytes;
    const open = bytesMax <= 0 ? [] : wanted.filter(({ lane }) => this.#hand.hasRoom(lane));
    if (open.length === 0) return { items: [], more: [] };
    const lanes = open.map(({ lane, permits }) => this.#hand.ask(lane, permits));
    const heldUntil = clock.monotonic() + HELD_MS;
    const asked = store.dueDeliveries({ lanes, now: clock.now(), bytesMax });
    const { found, more } = await asked.catch((error: unknown) => {
      for (const { lane } of lanes) this.#hand.failed(lane);
      throw error;
    });
    const rows = Map.groupBy(found, ({ delivery }) => delivery.lane);
    const answers = lanes.map(({ lane }) => ({
      lane,
      ...this.#hand.answer(lane, rows.get(lane) ?? [], !more.includes(lane)),
    }));
    return {
      items: answers.flatMap(({ taken }) => taken.map((due) => ({ ...due, heldUntil }))),
      more: answers.flatMap(({ lane, mayHaveMore }) => (mayHaveMore ? [lane] : [])),
    };
  }

  /** Takes these deliveries into hand if they are due and to go at once, wherever they are in their lanes. */
  async claimAtOnce(names: readonly string[], atOnce: readonly DeliveryId[]): Promise<HeldDelivery[]> {
    const { clock, store } = this.#parts;
    const lanes = names.map((lane) => ({ lane, after: { dueAt: 0, row: 0 }, limit: 0 }));
    const heldUntil = clock.monotonic() + HELD_MS;
    this.#hand.askSome();
    try {
      const bytesMax = this.#hand.freeBytes;
      const { found } = await store.dueDeliveries({ lanes, now: clock.now(), bytesMax, atOnce });
      return found.filter((due) => this.#hand.takeOne(due)).map((due) => ({ ...due, heldUntil }));
    } finally {
      this.#hand.answerSome();
    }
  }

  /** The attempt of a delivery is on disk, or the delivery is gone. `dueAt`: when it is due again, or null. */
  ended(id: DeliveryId, dueAt: number | null): void {
    this.#hand.ended(id, dueAt, this.#parts.clock.now());
  }

  /** Gives up deliveries that the loop does not try now: they stay due, and are read again. */
  giveUp(items: readonly HeldDelivery[]): void {
    this.#hand.giveUp(items.map(({ delivery }) => delivery.id));
  }

  #push(changes: readonly PushedChange[], listener: DueListener): void {
    const taken = new Map<string, HeldDelivery[]>();
    const behind = new Set<string>();
    const lanes = new Set<string>();
    const changed = new Set<string>();
    const heldUntil = this.#parts.clock.monotonic() + HELD_MS;
    for (const change of changes) {
      if (change.kind === "new") {
        const { due } = change;
        const { lane } = due.delivery;
        this.#arrived.arrived += 1;
        this.#arrived.bytes += due.bytes.length;
        if (this.#hand.push(due)) {
          const ofLane = taken.get(lane) ?? [];
          ofLane.push({ ...due, heldUntil });
          taken.set(lane, ofLane);
        } else behind.add(lane);
        continue;
      }
      if (change.kind === "all") this.#hand.all();
      if (change.kind === "due") {
        this.#hand.due(change.lane, change.place);
        lanes.add(change.lane);
      }
      const lane = change.kind === "all" || change.id === null ? null : this.#hand.laneOf(change.id);
      if (lane === null) continue;
      changed.add(lane);
      // New deliveries of this push have not begun either.
      this.giveUp(taken.get(lane) ?? []);
      taken.delete(lane);
    }
    this.#tell(behind);
    if (taken.size > 0) listener.take([...taken.values()].flat());
    if (changed.size > 0) listener.giveBack(changed);
    const woken = behind.union(lanes).union(changed);
    if (woken.size > 0) listener.wake(woken);
    if (changes.some(({ kind }) => kind === "all")) listener.look();
  }

  #tell(behind: ReadonlySet<string>): void {
    const { arrived, bytes } = this.#arrived;
    if (behind.size === 0 && arrived < TOLD_AFTER && bytes < TOLD_AFTER_BYTES) return;
    this.#arrived = { arrived: 0, bytes: 0 };
    this.#parts.store.credit({ arrived, bytes, behind: [...behind] });
  }
}
