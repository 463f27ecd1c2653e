/** One thing after the other for each key, in the order they were asked for. No I/O. */

export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Does `work` when what was asked for before under this key has ended, however it did. */
  async take<Value>(key: string, work: () => Promise<Value>): Promise<Value> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const turn = before.then(work);
    const ended = turn.catch(() => {});
    this.#last.set(key, ended);
    try {
      return await turn;
    } finally {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    }
  }
}
