/** The rows of the Wire: what the live stream tells, and what the lists have from before this page was opened. */

import type { WireItem } from "../../sdk/requests.ts";
import type { Delivery } from "../../sdk/wire.ts";
import { WireLog, type WireRow } from "../../sdk/wire-rows.ts";
import { inboxDeliveryId, isToInbox } from "./inbox-items.ts";
import type { LiveSource } from "./live-source.ts";

/** Records of each kind that the Wire keeps. */
const RECORDS_MAX = 500;
/** The newest rows are shown: a delivery has several. */
const ROWS_MAX = 2_000;

/** The rows, merged when they are asked for. */
export class WireRows {
  readonly #log = new WireLog(RECORDS_MAX);
  #rows: readonly WireRow[] | null = null;
  #isRecalled = false;

  add(items: readonly WireItem[]): void {
    for (const item of items) {
      // The stream knows the delivery that the inbox told the requests of.
      if (item.kind === "delivery" && isToInbox(item.delivery))
        this.#log.forget(inboxDeliveryId(item.delivery.eventId));
      this.#log.add(item);
    }
    this.#rows = null;
  }

  /** A delivery as it was told last; null if it was not told. */
  delivery(id: string): Delivery | null {
    return this.#log.delivery(id);
  }

  /** The same list until something is added. */
  rows(): readonly WireRow[] {
    this.#rows ??= this.#log.rows().slice(-ROWS_MAX);
    return this.#rows;
  }

  /** Adds what happened before, once; a read that fails is made again when it is asked for again. Resolves with whether something was added. */
  async recall(source: Pick<LiveSource, "readPast">): Promise<boolean> {
    if (this.#isRecalled) return false;
    this.#isRecalled = true;
    try {
      this.#addPast(await source.readPast());
      return true;
    } catch {
      this.#isRecalled = false;
      return false;
    }
  }

  /** Adds what was read, but of the inbox's deliveries only those that the stream has not told. */
  #addPast(past: readonly WireItem[]): void {
    const told = new Set(this.#log.rows().flatMap(({ ids }) => (ids.delivery === undefined ? [] : [ids.delivery])));
    const events = new Set(
      [...told]
        .map((id) => this.#log.delivery(id))
        .flatMap((one) => (one !== null && isToInbox(one) ? [one.eventId] : [])),
    );
    const isNew = (item: WireItem) =>
      item.kind !== "delivery" || !isToInbox(item.delivery) || !events.has(item.delivery.eventId);
    this.add(past.filter(isNew));
  }
}
