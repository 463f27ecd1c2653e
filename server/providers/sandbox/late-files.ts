/** Files that come later than the message of a contact's phone. They are in memory only: after a restart they never come. */

import type { Clock } from "../../clock.ts";
import { FILE_BYTES_MAX, type InboundAttachment } from "../../core/attachment.ts";
import { ApiError, invalidField } from "../../core/error.ts";
import type { CustomerId } from "../../core/id.ts";

/** Most messages of an instance whose files have yet to come. */
const MESSAGES_MAX = 1_000;
/** Most bytes of those files together: as many as one message may have. */
const BYTES_MAX = FILE_BYTES_MAX;
/** The pause before files that could not be reported are reported again. */
const RETRY_AFTER_MS = 5_000;

/** The kept files of one message. */
export interface KeptFiles {
  /** Throws 400 `INVALID_STATUS` if the customer's sandbox was reset meanwhile. */
  requireKept(): void;
  /** Runs `report` after `ms`, again until it succeeds, and drops the files then. Nothing runs after a reset or a stop. */
  reportAfter(ms: number, report: () => Promise<void>): void;
  drop(): void;
}

interface Entry {
  customerId: CustomerId;
  bytes: number;
  stopTimer: () => void;
}

/** The files that have yet to come, of one instance. */
export class LateFiles {
  readonly #clock: Clock;
  readonly #entries = new Set<Entry>();
  #bytes = 0;
  #stopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Keeps the files of a message until they are dropped. Throws a 400 about `attachmentsAfterMs` beyond the bounds. */
  keep(customerId: CustomerId, files: readonly InboundAttachment[]): KeptFiles {
    const bytes = files.reduce((sum, { data }) => sum + (data?.length ?? 0), 0);
    if (this.#entries.size >= MESSAGES_MAX) throw full(`the files of ${MESSAGES_MAX} messages`);
    if (this.#bytes + bytes > BYTES_MAX) throw full(`files of 100 MiB, with these,`);
    const entry: Entry = { customerId, bytes, stopTimer() {} };
    this.#entries.add(entry);
    this.#bytes += bytes;
    return {
      requireKept: () => {
        if (!this.#entries.has(entry))
          throw new ApiError("INVALID_STATUS", "The sandbox was reset before the files came.");
      },
      reportAfter: (ms, report) => this.#reportAfter(entry, ms, report),
      drop: () => this.#drop(entry),
    };
  }

  /** Drops the files of a customer. */
  reset(customerId: CustomerId): void {
    for (const entry of this.#entries) if (entry.customerId === customerId) this.#drop(entry);
  }

  /** No file comes any more. */
  stop(): void {
    this.#stopped = true;
    for (const { stopTimer } of this.#entries) stopTimer();
  }

  #reportAfter(entry: Entry, ms: number, report: () => Promise<void>): void {
    if (this.#stopped || !this.#entries.has(entry)) return;
    entry.stopTimer = this.#clock.after(ms, () => {
      report().then(
        () => this.#drop(entry),
        () => this.#reportAfter(entry, RETRY_AFTER_MS, report),
      );
    });
  }

  #drop(entry: Entry): void {
    entry.stopTimer();
    if (this.#entries.delete(entry)) this.#bytes -= entry.bytes;
  }
}

function full(what: string): ApiError {
  return invalidField("attachmentsAfterMs", `cannot be more than 0 now: ${what} have yet to come in this sandbox`);
}
