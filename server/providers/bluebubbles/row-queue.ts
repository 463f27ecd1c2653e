/** Lanes of rows: what is known of one contact, or of one message of ours, is told in turn, again when it failed. */

import type { Clock } from "../../clock.ts";
import { doublingMs } from "../../core/retry.ts";
import { PeerFault } from "../provider.ts";
import { describeFailure, type Failure, isBlueBubblesError } from "./client.ts";
import type { MacMessage } from "./records.ts";

/** Rows that wait at once; beyond it further ones are left to the next catch-up. */
const ROWS_MAX = 10_000;
/** Rows that are told at once: each may ask the Mac for what it leaves out. */
const AT_ONCE_MAX = 32;
/** A row that fails is told again after this, doubling to the most. */
const RETRY_AFTER_MS = 1_000;
const RETRY_AFTER_MS_MAX = 60_000;
/** A row that could not be told in so long, for whatever reason, stops keeping others back. */
const GIVEN_UP_AFTER_MS = 86_400_000;

/**
 * Why a row is not told yet. `unasked`: the Mac cannot be asked. `broken`: it can, and breaks at it, perhaps for good.
 * `empty`: it has not all of it yet. `nobodys`: it tells of a message of ours that nobody here knows, yet or ever.
 * `fault`: what it told could not be kept.
 */
type RetryReason = "unasked" | "broken" | "empty" | "nobodys" | "fault";

/** After so many tries that ended so it is told as it is. What is not here is tried for a day. */
const TRIES_MAX: Readonly<Partial<Record<RetryReason, number>>> = { broken: 8, empty: 3, nobodys: 6 };

/** Not now, and nobody's fault. */
export class RetryLater extends Error {
  readonly why: Exclude<RetryReason, "fault">;

  constructor(why: Exclude<RetryReason, "fault">, words: string) {
    super(words);
    this.why = why;
  }
}

/** Why a question of ours has no good answer, to be asked again. */
export function retryLater(failure: Failure): RetryLater {
  return new RetryLater(isBlueBubblesError(failure) ? "broken" : "unasked", describeFailure(failure));
}

/** Whether a row need not wait any longer where that is why. */
export type ShouldGiveUp = (why: RetryReason) => boolean;

/** Tells what a row says; a throw: not yet. */
type HandleRow = (row: MacMessage, isEnough: ShouldGiveUp) => Promise<void>;

interface RowTask {
  row: MacMessage;
  /** Why it was not told the last time, and how often each was why. */
  why: RetryReason | null;
  tries: Map<RetryReason, number>;
  /** How often it was not told, and since when. */
  failures: number;
  failedAt: number | null;
  /** Those who wait to hear whether it is done. */
  waiting: ((done: boolean) => void)[];
}

interface KeyQueue {
  tasks: RowTask[];
  isBusy: boolean;
  stopTimer: (() => void) | null;
}

/** Rows by lane, until `stop`. A lane whose first row failed waits for it: nothing is told out of its order. */
export class RowQueue {
  readonly #clock: Clock;
  readonly #handle: HandleRow;
  readonly #fault: (error: unknown) => void;
  readonly #queues = new Map<string, KeyQueue>();
  readonly #running = new Set<Promise<void>>();
  #waiting = 0;
  #permitsInUse = 0;
  readonly #waitingForPermit: (() => void)[] = [];
  #stopped = false;

  constructor(clock: Clock, tell: HandleRow, fault: (error: unknown) => void) {
    this.#clock = clock;
    this.#handle = tell;
    this.#fault = fault;
  }

  /**
   * Resolves true once all that the row says is on disk, or only waits to be known as somebody's; false when it is not
   * yet, and is tried again. A row that waits is told as it is newest by the Mac's clock, and then as it was read last.
   */
  push(row: MacMessage): Promise<boolean> {
    return new Promise((resolve) => {
      const key = queueKeyOf(row);
      const lane = this.#queues.get(key) ?? { tasks: [], isBusy: false, stopTimer: null };
      const waits = lane.tasks.find((task, index) => task.row.guid === row.guid && !(lane.isBusy && index === 0));
      if (this.#stopped || (waits === undefined && this.#waiting >= ROWS_MAX)) return resolve(false);
      if (waits !== undefined) {
        // What catching up read may wait for its turn, and be older than what was asked for since.
        if (lastChangeOf(row) >= lastChangeOf(waits.row)) waits.row = row;
        waits.waiting.push(resolve);
      } else {
        lane.tasks.push({ row, why: null, tries: new Map(), failures: 0, failedAt: null, waiting: [resolve] });
        this.#waiting += 1;
      }
      this.#queues.set(key, lane);
      if (lane.stopTimer !== null) answer(lane);
      else if (!lane.isBusy) this.#start(key, lane);
    });
  }

  /** A message of ours is somebody's: a row of it that waits for that is told now. */
  markKnown(guid: string): void {
    const lane = this.#queues.get(guid);
    const [task] = lane?.tasks ?? [];
    if (lane === undefined || task === undefined) return;
    task.tries.clear();
    task.failures = 0;
    if (lane.stopTimer === null) return;
    lane.stopTimer();
    this.#start(guid, lane);
  }

  /** Tells no more; resolves when what is being told is told. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const lane of this.#queues.values()) {
      lane.stopTimer?.();
      answer(lane);
    }
    await Promise.all(this.#running);
  }

  #start(key: string, lane: KeyQueue): void {
    const run = this.#run(key, lane);
    this.#running.add(run);
    void run.then(() => this.#running.delete(run));
  }

  async #run(key: string, lane: KeyQueue): Promise<void> {
    lane.isBusy = true;
    lane.stopTimer = null;
    for (let task = lane.tasks[0]; task !== undefined && !this.#stopped; task = lane.tasks[0]) {
      try {
        await this.#handleWithPermit(task);
      } catch (error) {
        if (!this.#isGivenUp(task, error)) return this.#pause(key, lane, task);
      }
      lane.tasks.shift();
      this.#waiting -= 1;
      for (const resolve of task.waiting) resolve(true);
    }
    lane.isBusy = false;
    if (lane.tasks.length === 0) this.#queues.delete(key);
    else answer(lane);
  }

  async #handleWithPermit(task: RowTask): Promise<void> {
    if (this.#permitsInUse >= AT_ONCE_MAX) await new Promise<void>((resolve) => this.#waitingForPermit.push(resolve));
    else this.#permitsInUse += 1;
    try {
      if (this.#stopped) throw new RetryLater("unasked", "it ends");
      await this.#handle(task.row, (why) => (task.tries.get(why) ?? 0) >= (TRIES_MAX[why] ?? Number.POSITIVE_INFINITY));
    } finally {
      // The place goes to who waits longest.
      const next = this.#waitingForPermit.shift();
      if (next === undefined) this.#permitsInUse -= 1;
      else next();
    }
  }

  #isGivenUp(task: RowTask, error: unknown): boolean {
    const why = error instanceof RetryLater ? error.why : "fault";
    const tries = (task.tries.get(why) ?? 0) + 1;
    task.why = why;
    task.tries.set(why, tries);
    task.failures += 1;
    task.failedAt ??= this.#clock.real();
    if (why === "fault" && tries === 1) this.#fault(error);
    if (this.#clock.real() - task.failedAt < GIVEN_UP_AFTER_MS) return false;
    this.#fault(new PeerFault("a row of the Mac was given up: it could not be told for a day", { cause: error }));
    return true;
  }

  #pause(key: string, lane: KeyQueue, task: RowTask): void {
    lane.isBusy = false;
    answer(lane);
    if (this.#stopped) return;
    const afterMs = doublingMs(task.failures, RETRY_AFTER_MS, RETRY_AFTER_MS_MAX);
    lane.stopTimer = this.#clock.after(afterMs, () => this.#start(key, lane));
  }
}

/** What has to keep its order: a contact's rows, whichever form they come in; of our own, those of one message. */
function queueKeyOf(row: MacMessage): string {
  return row.isFromMe || row.handle === null ? row.guid : row.handle.address;
}

/** When something last happened to a row, by the Mac's clock. */
function lastChangeOf({ dateCreated, dateDelivered, dateRead, dateEdited, dateRetracted }: MacMessage): number {
  return Math.max(...[dateCreated, dateDelivered, dateRead, dateEdited, dateRetracted].map((at) => at ?? 0));
}

/** Answers those who wait for a lane that does: nothing is owed by one whose message may be nobody's. */
function answer(lane: KeyQueue): void {
  const isOwed = lane.tasks[0]?.why !== "nobodys";
  for (const task of lane.tasks) for (const resolve of task.waiting.splice(0)) resolve(!isOwed);
}
