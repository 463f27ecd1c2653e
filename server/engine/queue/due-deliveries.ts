/** The due deliveries of this process: reads them, takes those that commits push, and gives up what is not tried now. Decides nothing: `InHand` does. */

import type { Clock } from "../../clock.ts";
import type { DeliveryId } from "../../core/id.ts";
import type { DueDelivery, PushedChange } from "../../store/due-deliveries.ts";
import type { Store } from "../../store/store.ts";
import type { ClaimedItems } from "../drain.ts";
import { InHand } from "./in-hand.ts";

/** An attempt of a delivery has to end within this time after the delivery was read or pushed, in milliseconds of the monotonic clock. */
const HELD_MS = 45_000;
/**
 * A delivery is in hand for at most this long. A pushed one counts from its commit for the writer and from its arrival here: the time is
 * longer than `HELD_MS` by what it may be on its way.
 */
const IN_HAND_MS = HELD_MS + 15_000;
/** The writer is told of so many new deliveries that have arrived, or of so many bytes: a quarter of what it lets be on its way. */
const TOLD_AFTER = 1_024;
const TOLD_AFTER_BYTES = 4 * 1024 * 1024;

/** A delivery in hand, and until when an attempt of it has to end (monotonic time). */
export interface HeldDelivery extends DueDelivery {
  heldUntil: number;
}

/** The loop that runs what is in hand. */
export interface DueListener {
  /** Takes over new deliveries, those of a lane in the order in which they were made. */
  take(items: readonly HeldDelivery[]): void;
  /** These lanes may have something due. */
  wake(lanes: Iterable<string>): void;
  /** Deliveries of these lanes are gone or have changed: those that have not begun are given up, so that each keeps its place. */
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
  /** New deliveries that have arrived, and of which the writer was not told. */
  #arrived = { arrived: 0, bytes: 0 };

  constructor(parts: DueQueueParts) {
    this.#parts = parts;
    this.#hand = new InHand(() => parts.clock.monotonic());
  }

  /** Has new deliveries and other changes go to the loop. Returns the function that ends it. */
  start(listener: DueListener): () => void {
    // Nobody told of changes since it was last ended.
    this.#hand.all();
    return this.#parts.store.hold((changes) => this.#push(changes, listener));
  }

  /** The lanes may have changed without a word: every one is read from its front. */
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

  /** Takes those of these deliveries of the lanes into hand that are due and go at once, wherever they are in their lanes. */
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

  /** The attempt of a delivery is on disk, or the delivery is gone. `dueAt`: when it is due again; null: not. */
  ended(id: DeliveryId, dueAt: number | null): void {
    this.#hand.ended(id, dueAt, this.#parts.clock.now());
  }

  /** These deliveries are not tried now: they stay due, and are read again. */
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
