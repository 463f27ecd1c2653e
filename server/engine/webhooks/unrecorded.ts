/** Counts responses of receivers that are not on disk yet: a kill sends their webhooks again. In memory only. */

/** Unrecorded responses of a lane beyond which an attempt keeps its permit until its record is on disk. */
const UNRECORDED_MAX = 128;

export class UnrecordedResponses {
  readonly #counts = new Map<string, number>();

  /** Adds a response. Returns whether its permit may be free before its record is on disk. */
  add(lane: string): boolean {
    const count = this.#counts.get(lane) ?? 0;
    this.#counts.set(lane, count + 1);
    return count < UNRECORDED_MAX;
  }

  /** Removes a response: its record is on disk, or could not be written. */
  remove(lane: string): void {
    const count = this.#counts.get(lane) ?? 0;
    if (count > 1) this.#counts.set(lane, count - 1);
    else this.#counts.delete(lane);
  }
}
