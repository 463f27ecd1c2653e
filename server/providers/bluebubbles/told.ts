/** What was told of each message, in memory: so that the same is not told a thousand times. Bounded, and never needed. */

import { keep } from "../../core/keep.ts";

/** What was told of one message of the Mac. */
export interface Telling {
  /** Of one of ours: the rank of the furthest receipt. */
  rank: number;
  /** Of one of ours: that nobody here knew it. */
  isNobodys: boolean;
  /** Of a contact's: that it came to be. */
  isTold: boolean;
  /** Of a contact's: its newest change, by the Mac's clock. */
  changedAt: number;
}

/** Messages that are remembered; the one that was looked at longest ago goes, and is told of once more. */
const MESSAGES_MAX = 20_000;

export class Told {
  readonly #tellings = new Map<string, Telling>();

  /** What was told of a message, to be written on. */
  of(guid: string): Telling {
    const telling = this.#tellings.get(guid) ?? { rank: 0, isNobodys: false, isTold: false, changedAt: 0 };
    keep(this.#tellings, guid, telling, MESSAGES_MAX);
    return telling;
  }

  /** A message of ours is known here by now: what was told of it to nobody is to be told again. */
  claim(guid: string): void {
    if (this.#tellings.get(guid)?.isNobodys === true) this.#tellings.delete(guid);
  }
}
