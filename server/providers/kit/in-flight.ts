/** Counts work in flight, so that a stop can wait for it. */

export class InFlight {
  readonly #works = new Set<Promise<unknown>>();

  /** Counts the work until it ends, and returns it. */
  track<Value>(work: Promise<Value>): Promise<Value> {
    const ended = () => void this.#works.delete(work);
    this.#works.add(work);
    work.then(ended, ended);
    return work;
  }

  get size(): number {
    return this.#works.size;
  }

  /** Resolves when the present work has ended, whether or not it failed. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#works);
  }
}
