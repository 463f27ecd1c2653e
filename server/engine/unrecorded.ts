/** Counts responses of peers that are not on disk yet: after a kill nobody knows that they came. In memory only. */

export class UnrecordedResponses {
  /** Responses of a lane beyond which a run keeps its permit until its response is on disk. */
  readonly #max: number;
  readonly #counts = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Adds a response. Returns whether its permit may be free before its record is on disk. */
  add(lane: string): boolean {
    const count = this.#counts.get(lane) ?? 0;
    this.#counts.set(lane, count + 1);
    return count < this.#max;
  }

  /** Removes a response: its record is on disk, or could not be written. */
  remove(lane: string): void {
    const count = this.#counts.get(lane) ?? 0;
    if (count > 1) this.#counts.set(lane, count - 1);
    else this.#counts.delete(lane);
  }
}
