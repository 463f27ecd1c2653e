/** Runs the work on each subject in sequence, in the order of the calls, within this process. */

export class SerialQueue {
  /** The last work on each busy subject, and the number of its pending and running pieces of work. */
  readonly #tails = new Map<string, { last: Promise<unknown>; count: number }>();

  /** Runs `work` after all earlier work on the same subject, even if that failed. Throws what `work` throws. */
  async run<Value>(subject: string, work: () => Promise<Value>): Promise<Value> {
    const tail = this.#tails.get(subject) ?? { last: Promise.resolve(), count: 0 };
    this.#tails.set(subject, tail);
    tail.count += 1;
    const worked = tail.last.then(work);
    tail.last = worked.catch(() => {});
    try {
      return await worked;
    } finally {
      tail.count -= 1;
      if (tail.count === 0) this.#tails.delete(subject);
    }
  }

  /** The number of running and waiting pieces of work on the subject. */
  count(subject: string): number {
    return this.#tails.get(subject)?.count ?? 0;
  }

  /** Whether there is work on the subject. */
  isBusy(subject: string): boolean {
    return this.#tails.has(subject);
  }
}
