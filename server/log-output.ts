/** Writes the lines of the log to a file, a pipe or a socket. A line that cannot be written is lost, and the service goes on. */

import { write, writeSync } from "node:fs";

/** Characters of lines that wait for a slow reader; more lines are lost. A busy service logs half of this in a second. */
const WAITING_LENGTH_MAX = 1_048_576;
/** Time between two attempts to write to a pipe that is full. */
const RETRY_MS = 20;
/** Number of attempts to write what waits when the process ends: at most one second. */
const LAST_ATTEMPTS_MAX = 50;

/** Writes lines to a file descriptor in order, and waits for none of them. Loses lines when it cannot write. */
export class LineOutput {
  readonly #fd: number;
  readonly #onFailure: (error: NodeJS.ErrnoException) => void;
  #waiting = "";
  /** The bytes that a write takes now; empty while none does. */
  #writing: Buffer = Buffer.alloc(0);
  /** The next attempt to write them to a full pipe; null while a write is in flight. */
  #retry: NodeJS.Timeout | null = null;
  #isFailing = false;

  /** `onFailure`: called when lines are lost, once until all lines are written again. */
  constructor(fd: number, onFailure: (error: NodeJS.ErrnoException) => void) {
    this.#fd = fd;
    this.#onFailure = onFailure;
  }

  /** Whether a write is in flight, or waits because the pipe is full. */
  get state(): "idle" | "writing" | "full" {
    if (this.#retry !== null) return "full";
    return this.#writing.length === 0 ? "idle" : "writing";
  }

  /** Writes a line, which ends with a line break. Never throws. */
  write(line: string): void {
    if (this.#waiting.length + line.length > WAITING_LENGTH_MAX) {
      this.#fail(Object.assign(new Error("EAGAIN: nothing reads it, write"), { code: "EAGAIN" }));
      return;
    }
    this.#waiting += line;
    if (this.#writing.length === 0) this.#writeNext();
  }

  /** Writes what waits before the process ends, which a full pipe delays by a second at most. */
  flush(): void {
    let rest = Buffer.concat([this.#takeRetried(), Buffer.from(this.#waiting)]);
    this.#waiting = "";
    for (let attempts = 0; rest.length > 0 && attempts < LAST_ATTEMPTS_MAX; attempts += 1) {
      try {
        rest = rest.subarray(writeSync(this.#fd, rest));
      } catch (error) {
        if (!isBusy(error)) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
      }
    }
  }

  /** The bytes that wait for another attempt. Those of a write in flight may be written already. */
  #takeRetried(): Buffer {
    const retried = this.#writing;
    if (this.#retry === null) return Buffer.alloc(0);
    clearTimeout(this.#retry);
    this.#retry = null;
    this.#writing = Buffer.alloc(0);
    return retried;
  }

  #writeNext(): void {
    this.#writing = Buffer.from(this.#waiting);
    this.#waiting = "";
    if (this.#writing.length > 0) this.#writeRest();
    else this.#isFailing = false;
  }

  readonly #writeRest = (): void => {
    this.#retry = null;
    write(this.#fd, this.#writing, (error, written) => {
      if (isBusy(error)) {
        this.#retry = setTimeout(this.#writeRest, RETRY_MS).unref();
        return;
      }
      if (error !== null) this.#fail(error);
      // Lines that failed are not kept: the same would happen to all that follow.
      this.#writing = this.#writing.subarray(error === null ? written : this.#writing.length);
      if (this.#writing.length > 0) this.#writeRest();
      else if (error === null || this.#waiting !== "") this.#writeNext();
    });
  };

  #fail(error: NodeJS.ErrnoException): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#onFailure(error);
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EAGAIN";
}
