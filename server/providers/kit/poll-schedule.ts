/** Schedule of polls: items with the instants at which they are due, under one timer. */

import type { Clock } from "../../clock.ts";

/** The longest single wait of a clock. */
const WAIT_MS_MAX = 3_600_000;

interface ScheduledItem<Item> {
  item: Item;
  dueAt: number;
}

/** Adding, removing and taking an item cost O(log n). Begins with `start`, and ends with `stop`. */
export class PollSchedule<Item> {
  readonly #clock: Clock;
  readonly #isDue: () => void;
  readonly #entries = new Map<Item, ScheduledItem<Item>>();
  /** A binary heap, earliest first. Removed items stay in it until they come up. */
  readonly #heap: ScheduledItem<Item>[] = [];
  #timerAt = Number.POSITIVE_INFINITY;
  #stopTimer = () => {};
  #isRunning = false;

  /** `isDue` is called when an item is due. It takes due items with `takeDue` or `takeAllDue`, and then calls `wait`. */
  constructor(clock: Clock, isDue: () => void) {
    this.#clock = clock;
    this.#isDue = isDue;
  }

  start(): void {
    this.#isRunning = true;
    this.wait();
  }

  stop(): void {
    this.#isRunning = false;
    this.#stopTimer();
  }

  /** Sets when an item is due, by the real clock. */
  set(item: Item, dueAt: number): void {
    const entry = { item, dueAt };
    this.#entries.set(item, entry);
    push(this.#heap, entry);
    if (dueAt < this.#timerAt) this.wait();
  }

  delete(item: Item): void {
    this.#entries.delete(item);
    if (this.#entries.size === 0) this.#heap.length = 0;
  }

  /** Removes and returns the earliest item that is due until the given instant; null if there is none. */
  takeDue(until: number): Item | null {
    const first = this.#first();
    if (first === null || first.dueAt > until) return null;
    this.#entries.delete(first.item);
    return first.item;
  }

  /** Removes and returns every item that is due until the given instant, the earliest first. */
  takeAllDue(until: number): Item[] {
    const due: Item[] = [];
    for (let item = this.takeDue(until); item !== null; item = this.takeDue(until)) due.push(item);
    return due;
  }

  /** Waits for the next item, at least for `atLeastMs`. */
  wait(atLeastMs = 0): void {
    this.#stopTimer();
    this.#timerAt = Number.POSITIVE_INFINITY;
    const first = this.#first();
    if (!this.#isRunning || first === null) return;
    const now = this.#clock.real();
    const waitMs = Math.min(Math.max(first.dueAt - now, atLeastMs), WAIT_MS_MAX);
    this.#timerAt = now + waitMs;
    this.#stopTimer = this.#clock.after(waitMs, () => {
      this.#timerAt = Number.POSITIVE_INFINITY;
      this.#isDue();
    });
  }

  #first(): ScheduledItem<Item> | null {
    for (let [first] = this.#heap; first !== undefined; [first] = this.#heap) {
      if (this.#entries.get(first.item) === first) return first;
      popFirst(this.#heap);
    }
    return null;
  }
}

function push<Item>(heap: ScheduledItem<Item>[], entry: ScheduledItem<Item>): void {
  let at = heap.length;
  heap.push(entry);
  while (at > 0) {
    const above = (at - 1) >> 1;
    const parent = heap[above];
    if (parent === undefined || parent.dueAt <= entry.dueAt) break;
    heap[at] = parent;
    at = above;
  }
  heap[at] = entry;
}

function popFirst<Item>(heap: ScheduledItem<Item>[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let at = 0;
  for (;;) {
    const [left, right] = [heap[2 * at + 1], heap[2 * at + 2]];
    if (left === undefined) break;
    const isRight = right !== undefined && right.dueAt < left.dueAt;
    const child = isRight ? right : left;
    if (child.dueAt >= last.dueAt) break;
    heap[at] = child;
    at = 2 * at + (isRight ? 2 : 1);
  }
  heap[at] = last;
}
