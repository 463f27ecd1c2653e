/** Holds rows of the Wire for their cause: a request is told after its response, and so after its first effects. */

import type { WireItem } from "../sdk/requests.ts";
import { WireLog, type WireRow } from "../sdk/wire-rows.ts";

/** An item waits this long, in milliseconds: the service looks for new requests every 250 ms. */
const HOLD_MS = 600;

/** The items that wait. */
export class WireHold {
  #held: { item: WireItem; dueAt: number }[] = [];
  readonly #now: () => number;

  /** `now`: milliseconds of a monotonic clock. */
  constructor(now: () => number) {
    this.#now = now;
  }

  add(item: WireItem): void {
    this.#held.push({ item, dueAt: this.#now() + HOLD_MS });
  }

  /** Milliseconds until an item is due; null if none waits. */
  get waitMs(): number | null {
    const [first] = this.#held;
    return first === undefined ? null : Math.max(0, first.dueAt - this.#now());
  }

  /** The rows of the items that have waited long enough, in order, with the rows that stand before them; a row may be given again. */
  takeDue(): WireRow[] {
    const now = this.#now();
    const due = new Set(keysOf(this.#held.filter(({ dueAt }) => dueAt <= now).map(({ item }) => item)));
    const rows = rowsOf(this.#held.map(({ item }) => item));
    const last = rows.findLastIndex(({ key, kind }) => kind !== "retry" && due.has(key));
    this.#held = this.#held.filter(({ dueAt }) => dueAt > now);
    return rows.filter(({ key }, index) => index <= last || due.has(key));
  }

  /** The rows of all items. */
  takeAll(): WireRow[] {
    return rowsOf(this.#held.splice(0).map(({ item }) => item));
  }
}

function rowsOf(items: readonly WireItem[]): WireRow[] {
  const log = new WireLog(Number.POSITIVE_INFINITY);
  for (const item of items) log.add(item);
  return log.rows();
}

/** The keys of each item's rows: of a record that is told twice, also those of its first state. */
function keysOf(items: readonly WireItem[]): string[] {
  return items.flatMap((item) => rowsOf([item]).map(({ key }) => key));
}
