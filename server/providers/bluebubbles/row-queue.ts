/** Queues of rows: rows of one conversation, or of one message of ours, are handled in order and retried after a failure. */

import type { Clock } from "../../clock.ts";
import { doublingMs } from "../../core/retry.ts";
import { PeerFault } from "../provider.ts";
import { describeFailure, type Failure, isBlueBubblesError } from "./client.ts";
import { isGroupChat, type MacMessage } from "./records.ts";

/** Limit of queued rows; further rows are left to the next backfill. */
const ROWS_MAX = 10_000;
/** Rows handled at once: each may query the Mac for missing parts. */
const ROWS_AT_ONCE = 32;
/** Delay before the first retry of a row; it doubles up to the maximum. */
const RETRY_AFTER_MS = 1_000;
const RETRY_AFTER_MS_MAX = 60_000;
/** The longest wait for what a row lacks, and the delay before it is read again; the delay doubles up to the maximum. */
const INCOMPLETE_MS = 10_000;
const COMPLETE_AFTER_MS = 250;
const COMPLETE_AFTER_MS_MAX = 2_000;
/** After failing for this long, for any reason, a row no longer blocks the rows behind it. */
const GIVEN_UP_AFTER_MS = 86_400_000;

/**
 * Reason to retry a row. `unreachable`: the Mac did not respond. `broken`: BlueBubbles fails at the row, perhaps forever.
 * `incomplete`: the Mac does not have all of the row's content yet. `unknownMessage`: the row is a receipt of a message that the
 * service does not know, yet or ever. `fault`: the signal could not be stored.
 */
type RetryReason = "unreachable" | "broken" | "incomplete" | "unknownMessage" | "fault";

/**
 * Tries per reason; then the row is reported as it is. Other reasons are retried for a day. An incomplete row is given up by the
 * clock, and by this number where a clock that was set back would make it wait for longer.
 */
const TRIES_MAX: Readonly<Partial<Record<RetryReason, number>>> = { broken: 8, incomplete: 60, unknownMessage: 6 };

/** The row must be retried, through no fault of this service. */
export class RetryLater extends Error {
  readonly reason: Exclude<RetryReason, "fault">;

  constructor(reason: Exclude<RetryReason, "fault">, words: string) {
    super(words);
    this.reason = reason;
  }
}

/** Turns a failed query into the reason to retry. */
export function retryLater(failure: Failure): RetryLater {
  return new RetryLater(isBlueBubblesError(failure) ? "broken" : "unreachable", describeFailure(failure));
}

/** Whether a row was retried often enough for this reason. */
export type ShouldGiveUp = (reason: RetryReason) => boolean;

/** Handles a row; throws if the row must be retried. */
type HandleRow = (row: MacMessage, shouldGiveUp: ShouldGiveUp) => Promise<void>;

interface RowTask {
  row: MacMessage;
  /** Reason of the last failure, and failures per reason. */
  reason: RetryReason | null;
  tries: Map<RetryReason, number>;
  /** Failures in all, and the instant of the first. */
  failures: number;
  failedAt: number | null;
  /** When the row was queued. */
  queuedAt: number;
  /** Callers that wait for the result. */
  waiting: ((done: boolean) => void)[];
}

interface KeyQueue {
  tasks: RowTask[];
  isBusy: boolean;
  stopTimer: (() => void) | null;
  /** The last failure of a row for any reason other than that it is incomplete. */
  blockedAt: number;
}

/** Queues by conversation or message. A row that failed blocks its own queue until it is handled, so that order is kept. */
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

  constructor(clock: Clock, handle: HandleRow, fault: (error: unknown) => void) {
    this.#clock = clock;
    this.#handle = handle;
    this.#fault = fault;
  }

  /**
   * Adds a row. Resolves true once everything in the row is on disk, or if the row only waits for its message to become
   * known. Resolves false if the row must be read again. If the row is queued already, the newer version of it counts.
   * An urgent row of a contact waits for no other row than an urgent one.
   */
  push(row: MacMessage, isUrgent = false): Promise<boolean> {
    return new Promise((resolve) => {
      const key = queueKeyOf(row, isUrgent);
      const queue = this.#queues.get(key) ?? { tasks: [], isBusy: false, stopTimer: null, blockedAt: 0 };
      const queued = queue.tasks.find((task, index) => task.row.guid === row.guid && !(queue.isBusy && index === 0));
      if (this.#stopped || (queued === undefined && this.#waiting >= ROWS_MAX)) return resolve(false);
      if (queued !== undefined) {
        // A row read by backfill may have waited, and be older than the queued version.
        if (lastChangeOf(row) >= lastChangeOf(queued.row)) queued.row = row;
        queued.waiting.push(resolve);
      } else {
        const queuedAt = this.#clock.real();
        queue.tasks.push({
          row,
          reason: null,
          tries: new Map(),
          failures: 0,
          failedAt: null,
          queuedAt,
          waiting: [resolve],
        });
        this.#waiting += 1;
      }
      this.#queues.set(key, queue);
      const mayBeComplete = queued !== undefined && queued === queue.tasks[0] && queued.reason === "incomplete";
      if (queue.stopTimer !== null && !mayBeComplete) return resolveWaiting(queue);
      queue.stopTimer?.();
      if (!queue.isBusy) this.#start(key, queue);
    });
  }

  /** The service now knows this message of ours: its queued row is handled at once. */
  markKnown(guid: string): void {
    const queue = this.#queues.get(guid);
    const [task] = queue?.tasks ?? [];
    if (queue === undefined || task === undefined) return;
    task.tries.clear();
    task.failures = 0;
    if (queue.stopTimer === null) return;
    queue.stopTimer();
    this.#start(guid, queue);
  }

  /** Stops handling rows, and resolves when the current ones are done. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const queue of this.#queues.values()) {
      queue.stopTimer?.();
      resolveWaiting(queue);
    }
    await Promise.all(this.#running);
  }

  #start(key: string, queue: KeyQueue): void {
    const run = this.#run(key, queue);
    this.#running.add(run);
    void run.then(() => this.#running.delete(run));
  }

  async #run(key: string, queue: KeyQueue): Promise<void> {
    queue.isBusy = true;
    queue.stopTimer = null;
    for (let task = queue.tasks[0]; task !== undefined && !this.#stopped; task = queue.tasks[0]) {
      try {
        await this.#handleWithPermit(queue, task);
      } catch (error) {
        if (!this.#isGivenUp(queue, task, error)) return this.#pause(key, queue, task);
      }
      queue.tasks.shift();
      this.#waiting -= 1;
      for (const resolve of task.waiting) resolve(true);
    }
    queue.isBusy = false;
    if (queue.tasks.length === 0) this.#queues.delete(key);
    else resolveWaiting(queue);
  }

  async #handleWithPermit(queue: KeyQueue, task: RowTask): Promise<void> {
    if (this.#permitsInUse >= ROWS_AT_ONCE) await new Promise<void>((resolve) => this.#waitingForPermit.push(resolve));
    else this.#permitsInUse += 1;
    try {
      if (this.#stopped) throw new RetryLater("unreachable", "the queue is stopped");
      await this.#handle(task.row, (reason) => {
        if (reason === "incomplete" && this.#completeWithinMs(queue, task) <= 0) return true;
        return (task.tries.get(reason) ?? 0) >= (TRIES_MAX[reason] ?? Number.POSITIVE_INFINITY);
      });
    } finally {
      // The permit goes to the row that has waited longest.
      const next = this.#waitingForPermit.shift();
      if (next === undefined) this.#permitsInUse -= 1;
      else next();
    }
  }

  /** How long a row may still wait for what it lacks. The wait begins anew when the Mac can be asked again. */
  #completeWithinMs({ blockedAt }: KeyQueue, { queuedAt }: RowTask): number {
    return Math.max(queuedAt, blockedAt) + INCOMPLETE_MS - this.#clock.real();
  }

  #isGivenUp(queue: KeyQueue, task: RowTask, error: unknown): boolean {
    const reason = error instanceof RetryLater ? error.reason : "fault";
    const tries = (task.tries.get(reason) ?? 0) + 1;
    task.reason = reason;
    task.tries.set(reason, tries);
    task.failures += 1;
    task.failedAt ??= this.#clock.real();
    if (reason !== "incomplete") queue.blockedAt = this.#clock.real();
    if (reason === "fault" && tries === 1) this.#fault(error);
    if (this.#clock.real() - task.failedAt < GIVEN_UP_AFTER_MS) return false;
    this.#fault(new PeerFault("a row of the Mac was given up after failing for a day", { cause: error }));
    return true;
  }

  #pause(key: string, queue: KeyQueue, task: RowTask): void {
    queue.isBusy = false;
    resolveWaiting(queue);
    if (this.#stopped) return;
    queue.stopTimer = this.#clock.after(this.#retryAfterMs(queue, task), () => this.#start(key, queue));
  }

  #retryAfterMs(queue: KeyQueue, task: RowTask): number {
    if (task.reason !== "incomplete") return doublingMs(task.failures, RETRY_AFTER_MS, RETRY_AFTER_MS_MAX);
    const afterMs = doublingMs(task.tries.get("incomplete") ?? 0, COMPLETE_AFTER_MS, COMPLETE_AFTER_MS_MAX);
    return Math.max(1, Math.min(afterMs, this.#completeWithinMs(queue, task)));
  }
}

/** Key of a row's queue: the group or the contact, or the message if it is ours or names neither. */
function queueKeyOf(row: MacMessage, isUrgent: boolean): string {
  const [chat] = row.chats;
  if (row.isFromMe) return row.guid;
  if (chat !== undefined && isGroupChat(chat)) return chat.guid;
  const contact = row.handle?.address ?? chat?.chatIdentifier ?? row.guid;
  return isUrgent ? `urgent ${contact}` : contact;
}

/** Date of the latest change to a row, by the Mac's clock. */
function lastChangeOf({ dateCreated, dateDelivered, dateRead, dateEdited, dateRetracted }: MacMessage): number {
  return Math.max(...[dateCreated, dateDelivered, dateRead, dateEdited, dateRetracted].map((at) => at ?? 0));
}

/** Resolves the callers that wait for a queue. A row whose message may never become known does not count as unfinished. */
function resolveWaiting(queue: KeyQueue): void {
  const isUnfinished = queue.tasks[0]?.reason !== "unknownMessage";
  for (const task of queue.tasks) for (const resolve of task.waiting.splice(0)) resolve(!isUnfinished);
}
