/** Repeats a task: a poll, a check or a sweep, from time to time, and never twice at once. The caller brings the clock. */

/** The longest single wait of a clock. */
const WAIT_MS_MAX = 3_600_000;

export interface RepeatingTaskOptions {
  /** Runs `action` once after `ms` real milliseconds, at most an hour. The returned function cancels it. */
  clock: { after(ms: number, action: () => void): () => void };
  /** Resolves with the time until the next run, in real milliseconds; null: the task runs only when told to. */
  run: () => Promise<number | null>;
  /** Gets the error of a run that threw. */
  fault: (error: unknown) => void;
  /** The time until the next run after a run that threw. */
  retryMs: number;
}

/** `stop` is final. */
export class RepeatingTask {
  readonly #options: RepeatingTaskOptions;
  #running: Promise<void> | null = null;
  #cancelTimer: (() => void) | null = null;
  #isStopped = false;

  constructor(options: RepeatingTaskOptions) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#running !== null;
  }

  /** Whether the task neither runs nor waits for its next run. */
  get isIdle(): boolean {
    return this.#running === null && this.#cancelTimer === null;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Runs the task now. If it runs already, resolves with that run. Never throws. */
  run(): Promise<void> {
    if (this.#isStopped) return this.#running ?? Promise.resolve();
    this.#cancel();
    this.#running ??= this.#runOnce();
    return this.#running;
  }

  /** Sets the time until the next run, in place of an earlier one. */
  schedule(afterMs: number): void {
    this.#cancel();
    if (this.#isStopped) return;
    this.#cancelTimer = this.#options.clock.after(Math.min(afterMs, WAIT_MS_MAX), () => void this.run());
  }

  /** Resolves when the present run has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#running;
  }

  #cancel(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }

  async #runOnce(): Promise<void> {
    const { run, fault, retryMs } = this.#options;
    let nextMs: number | null = retryMs;
    try {
      nextMs = await run();
    } catch (error) {
      fault(error);
    }
    this.#running = null;
    if (nextMs !== null) this.schedule(nextMs);
  }
}
