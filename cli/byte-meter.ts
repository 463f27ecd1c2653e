/** Shows on the terminal how far a long copy is, on one line that is overwritten. */

import { Failure } from "./failure.ts";
import type { Terminal } from "./output.ts";

const EVERY_MS = 100;
const CLEAR_LINE = "\r\u001b[K";

export class ByteMeter {
  readonly #terminal: Terminal;
  #shownAt = Number.NEGATIVE_INFINITY;
  #isShown = false;
  #isInterrupted = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Shows the progress of what is done. Throws `Failure` after an interrupt. */
  readonly progress = (doing: string, doneBytes: number, totalBytes: number): void => {
    if (this.#isInterrupted) throw new Failure(null, "Interrupted: nothing was changed.");
    const { stderr } = this.#terminal;
    if (stderr.isTTY !== true || performance.now() - this.#shownAt < EVERY_MS) return;
    this.#shownAt = performance.now();
    this.#isShown = true;
    const percent = totalBytes === 0 ? 100 : Math.floor((doneBytes / totalBytes) * 100);
    stderr.write(`${CLEAR_LINE}${doing} ${percent} % of ${(totalBytes / 1e6).toFixed(1)} MB`);
  };

  /** Runs work that reports its progress here, and removes the line afterwards. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    const release = this.#terminal.onInterrupt(() => {
      this.#isInterrupted = true;
    });
    try {
      return await work();
    } finally {
      release();
      if (this.#isShown) this.#terminal.stderr.write(CLEAR_LINE);
    }
  }
}
