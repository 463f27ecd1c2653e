/** Runs one piece of work at a time for each name: all who ask while it runs share the next run, which begins after they asked. */

export class SharedRuns<Result> {
  readonly #running = new Map<string, Promise<Result>>();
  /** The run that begins when the present one has ended. */
  readonly #next = new Map<string, Promise<Result>>();

  /** The result of a run that begins now or later. */
  run(name: string, work: () => Promise<Result>): Promise<Result> {
    const running = this.#running.get(name);
    if (running === undefined) return this.#begin(name, work);
    const known = this.#next.get(name);
    if (known !== undefined) return known;
    const begin = () => {
      this.#next.delete(name);
      return this.#begin(name, work);
    };
    const next = running.then(begin, begin);
    this.#next.set(name, next);
    return next;
  }

  #begin(name: string, work: () => Promise<Result>): Promise<Result> {
    const run = work();
    this.#running.set(name, run);
    const end = () => {
      if (this.#running.get(name) === run) this.#running.delete(name);
    };
    run.then(end, end);
    return run;
  }
}
