/** A request that waits for an event until its time is up, the service stops, or its client leaves. */

import { addAbortListener } from "node:events";
import type { Deps } from "../engine/deps.ts";
import type { OpenResponses } from "./open-responses.ts";

/** Ends after `ms` real milliseconds, when the service stops, or when the client leaves, whichever comes first. */
export class LongPoll {
  readonly #ends: (() => void)[] = [];
  #isOver = false;
  #isWoken = false;
  #resume = () => {};

  constructor({ clock }: Pick<Deps, "clock">, ms: number, openResponses: OpenResponses, gone: AbortSignal) {
    const end = () => this.end();
    this.#ends.push(clock.after(ms, end), openResponses.add(end));
    addAbortListener(gone, end);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Resolves if `wake` was called since the last pause, or the wait is over. */
  async pause(): Promise<void> {
    if (!this.#isWoken && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
      });
    }
    this.#isWoken = false;
  }

  wake(): void {
    this.#isWoken = true;
    this.#resume();
  }

  end(): void {
    this.#isOver = true;
    for (const end of this.#ends.splice(0)) end();
    this.#resume();
  }
}
