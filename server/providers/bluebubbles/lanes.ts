/** Lanes of rows: what is known of one contact, or of one message of ours, is told in turn, again when it failed. */

import type { Clock } from "../../clock.ts";
import { doublingMs } from "../../core/retry.ts";
import { type Failure, wordsOf } from "./client.ts";
import type { MacMessage } from "./records.ts";

/**
 * Where a row was read: what the Mac posted to the hook, what came over its socket, what a query of ours answered, and
 * what was asked for alone, with all that the Mac has of it.
 */
export type Source = "hook" | "socket" | "query" | "message";

/** Rows that wait at once; beyond it further ones are left to the next catch-up. */
const ROWS_MAX = 10_000;
/** Rows that are told at once: each may ask the Mac for what it leaves out. */
const AT_ONCE_MAX = 32;
/** A row that fails is told again after this, doubling to the most. */
const RETRY_AFTER_MS = 1_000;
const RETRY_AFTER_MS_MAX = 60_000;
/** A row that could not be told in so long, for whatever reason, stops keeping others back. */
const GIVEN_UP_AFTER_MS = 86_400_000;

/** Not now, and nobody's fault: the Mac cannot be asked, or does not have all of it yet. */
export class NotYet extends Error {}

/** The Mac can be asked, and breaks at it: it may do so for good. */
export class Broken extends NotYet {}

/** Why a question of ours has no good answer, to be asked again. */
export function notYet(failure: Failure): NotYet {
  const isBroken = failure.kind === "answered" && failure.type !== null;
  return isBroken ? new Broken(wordsOf(failure)) : new NotYet(wordsOf(failure));
}

/** Tells what a row says; a throw: not yet. `failures` is how often it threw before. */
export type TellRow = (row: MacMessage, source: Source, failures: number) => Promise<void>;

interface Task {
  row: MacMessage;
  source: Source;
  failures: number;
  failedAt: number | null;
  /** Those who wait to hear whether it is done. */
  waiting: ((done: boolean) => void)[];
}

interface Lane {
  tasks: Task[];
  isBusy: boolean;
  stopTimer: (() => void) | null;
}

/** Rows by lane, until `stop`. A lane whose first row failed waits for it: nothing is told out of its order. */
export class Lanes {
  readonly #clock: Clock;
  readonly #tell: TellRow;
  readonly #fault: (error: unknown) => void;
  readonly #lanes = new Map<string, Lane>();
  readonly #running = new Set<Promise<void>>();
  #waiting = 0;
  #telling = 0;
  readonly #forPlace: (() => void)[] = [];
  #stopped = false;

  constructor(clock: Clock, tell: TellRow, fault: (error: unknown) => void) {
    this.#clock = clock;
    this.#tell = tell;
    this.#fault = fault;
  }

  /** Resolves true once all that the row says is on disk; false when it is not yet, and is tried again. */
  push(row: MacMessage, source: Source): Promise<boolean> {
    return new Promise((resolve) => {
      const key = laneOf(row);
      const lane = this.#lanes.get(key) ?? { tasks: [], isBusy: false, stopTimer: null };
      const waits = lane.tasks.find((task, index) => task.row.guid === row.guid && !(lane.isBusy && index === 0));
      if (this.#stopped || (waits === undefined && this.#waiting >= ROWS_MAX)) return resolve(false);
      if (waits !== undefined) {
        waits.row = row;
        waits.source = source;
        waits.waiting.push(resolve);
      } else {
        lane.tasks.push({ row, source, failures: 0, failedAt: null, waiting: [resolve] });
        this.#waiting += 1;
      }
      this.#lanes.set(key, lane);
      if (lane.stopTimer !== null) release(lane, false);
      else if (!lane.isBusy) this.#start(key, lane);
    });
  }

  /** Tells no more; resolves when what is being told is told. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const lane of this.#lanes.values()) {
      lane.stopTimer?.();
      release(lane, false);
    }
    await Promise.all(this.#running);
  }

  #start(key: string, lane: Lane): void {
    const run = this.#run(key, lane);
    this.#running.add(run);
    void run.then(() => this.#running.delete(run));
  }

  async #run(key: string, lane: Lane): Promise<void> {
    lane.isBusy = true;
    lane.stopTimer = null;
    for (let task = lane.tasks[0]; task !== undefined && !this.#stopped; task = lane.tasks[0]) {
      try {
        await this.#inPlace(task);
      } catch (error) {
        if (!this.#isGivenUp(task, error)) return this.#pause(key, lane, task);
      }
      lane.tasks.shift();
      this.#waiting -= 1;
      for (const resolve of task.waiting) resolve(true);
    }
    lane.isBusy = false;
    if (lane.tasks.length === 0) this.#lanes.delete(key);
    else release(lane, false);
  }

  async #inPlace({ row, source, failures }: Task): Promise<void> {
    if (this.#telling >= AT_ONCE_MAX) await new Promise<void>((resolve) => this.#forPlace.push(resolve));
    else this.#telling += 1;
    try {
      if (this.#stopped) throw new NotYet("it ends");
      await this.#tell(row, source, failures);
    } finally {
      // The place goes to who waits longest.
      const next = this.#forPlace.shift();
      if (next === undefined) this.#telling -= 1;
      else next();
    }
  }

  #isGivenUp(task: Task, error: unknown): boolean {
    task.failedAt ??= this.#clock.real();
    task.failures += 1;
    if (task.failures === 1 && !(error instanceof NotYet)) this.#fault(error);
    if (this.#clock.real() - task.failedAt < GIVEN_UP_AFTER_MS) return false;
    this.#fault(new Error("a row of the Mac was given up: it could not be told for a day", { cause: error }));
    return true;
  }

  #pause(key: string, lane: Lane, task: Task): void {
    lane.isBusy = false;
    release(lane, false);
    if (this.#stopped) return;
    const afterMs = doublingMs(task.failures, RETRY_AFTER_MS, RETRY_AFTER_MS_MAX);
    lane.stopTimer = this.#clock.after(afterMs, () => this.#start(key, lane));
  }
}

/** What has to keep its order: a contact's rows, whichever form they come in; of our own, those of one message. */
function laneOf(row: MacMessage): string {
  return row.isFromMe || row.handle === null ? row.guid : row.handle.address;
}

function release(lane: Lane, done: boolean): void {
  for (const task of lane.tasks) for (const resolve of task.waiting.splice(0)) resolve(done);
}
