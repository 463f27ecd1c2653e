/**
 * The caller's end of a port to the writer. It sends the jobs of one turn of the event loop together, and completes
 * them in order.
 */

import type { CommitObserver, CommitResult } from "../store.ts";
import type { GroupReply } from "./group-writer.ts";
import type { EncodedOperation, Job, PushedRow } from "./jobs.ts";
import { completeAll, GatheredJob, type PendingJob, type PendingResult } from "./pending-job.ts";

/**
 * Opens a port to the writer. `ended` is called if no reply can come any more. Returns the function that sends jobs.
 */
export type OpenPort = (reply: (reply: GroupReply) => void, ended: (reason: string) => void) => (jobs: Job[]) => void;

export class WriterClient {
  readonly #send: (jobs: Job[]) => void;
  readonly #observe: CommitObserver;
  readonly #push: (pushed: PushedRow[]) => void;
  readonly #gathered = new GatheredJob();
  /** Jobs of this turn. */
  #collected: PendingJob[] = [];
  /** Jobs at the writer. */
  readonly #sent: PendingJob[] = [];
  readonly #replies: GroupReply[] = [];
  #isCompleting = false;
  #isFull = false;
  #ended: string | null = null;
  #idle: (() => void) | null = null;

  /**
   * `push` gets the changes of due deliveries by a group, after its writing jobs and before its lease jobs complete.
   */
  constructor(open: OpenPort, observe: CommitObserver, push: (pushed: PushedRow[]) => void) {
    this.#observe = observe;
    this.#push = push;
    this.#send = open(
      (reply) => this.#receive(reply),
      (reason) => this.#end(reason),
    );
  }

  /** Jobs without a reply. */
  get backlog(): number {
    return this.#collected.length + this.#sent.length;
  }

  /** Whether the disk was full at the last write. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /**
   * Sends a job to the writer. Before the promise resolves, `convert` is called with the job's value, in the order of
   * the jobs.
   */
  ask<Value, Result = Value>(job: Job, convert?: (value: Value) => Result): Promise<Result> {
    return new Promise((resolve, reject) => this.#add({ job, ...callerOf(resolve, reject, convert) }));
  }

  /** Sends a transaction to the writer, in one job with the other gathered transactions of this turn. */
  gather<Result>(operations: EncodedOperation[], convert: (result: CommitResult) => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      const begun = this.#gathered.add(operations, callerOf(resolve, reject, convert));
      if (begun !== null) this.#add(begun);
    });
  }

  /** Resolves when every job is completed. */
  async idle(): Promise<void> {
    if (this.backlog === 0 && !this.#isCompleting) return;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
  }

  #add(pending: PendingJob): void {
    if (this.#ended !== null) pending.reject(new Error(this.#ended));
    else if (this.#collected.push(pending) === 1) setImmediate(() => this.#sendCollected());
  }

  #sendCollected(): void {
    const collected = this.#collected;
    this.#collected = [];
    this.#gathered.close();
    if (collected.length === 0) return;
    for (const pending of collected) this.#sent.push(pending);
    this.#send(collected.map(({ job }) => job));
  }

  #receive(reply: GroupReply): void {
    this.#replies.push(reply);
    if (!this.#isCompleting) void this.#complete();
  }

  async #complete(): Promise<void> {
    this.#isCompleting = true;
    for (let reply = this.#replies.shift(); reply !== undefined; reply = this.#replies.shift()) {
      const { results, group, isFull } = reply;
      this.#isFull = isFull;
      if (group !== null) this.#observe({ transactions: group.jobs, durationMs: group.durationMs });
      await completeAll(this.#sent.splice(0, results.length), reply, this.#push);
    }
    this.#isCompleting = false;
    if (this.backlog === 0) this.#idle?.();
  }

  #end(reason: string): void {
    this.#ended = reason;
    for (const { reject } of [...this.#sent.splice(0), ...this.#collected.splice(0)]) reject(new Error(reason));
    if (!this.#isCompleting) this.#idle?.();
  }
}

function callerOf<Value, Result>(
  resolve: (result: Result) => void,
  reject: (error: Error) => void,
  convert: ((value: Value) => Result) | undefined,
): PendingResult {
  return {
    reject,
    resolve(value) {
      try {
        resolve(convert === undefined ? (value as Result) : convert(value as Value));
      } catch (error) {
        reject(error as Error);
      }
    },
  };
}
