/** Collects the observations of the deliver thread, so that the service gets a few messages instead of one for each attempt. */

import type { CustomerId } from "../core/id.ts";
import type { AttemptOutcome } from "../engine/observer.ts";
import type { DeliverDeps } from "../engine/webhooks/deliver.ts";
import type { CommitObserver } from "../store/store.ts";
import type { DeliverReport } from "./deliver-messages.ts";

/** Reports follow one another after this time, in milliseconds. */
const PERIOD_MS = 10;

export class DeliverReporter {
  readonly #send: (report: DeliverReport) => void;
  #report: DeliverReport;
  #inFlight = 0;
  #breakersOpen = 0;
  #sentAt = Number.NEGATIVE_INFINITY;
  #isScheduled = false;

  constructor(send: (report: DeliverReport) => void) {
    this.#send = send;
    this.#report = emptyReport(0, 0);
  }

  /** Attempts in flight. */
  get inFlight(): number {
    return this.#inFlight;
  }

  readonly observer: DeliverDeps["observer"] = {
    attempted: (customerId: CustomerId, outcome: AttemptOutcome) => this.#add().ended.push([customerId, outcome]),
    breakersOpen: (count) => {
      this.#breakersOpen = count;
      this.#add().breakersOpen = count;
    },
    dueLag: (lagMs) => this.#add().dueLagsMs.push(lagMs),
    inFlight: (_, count) => {
      this.#inFlight = count;
      this.#add().inFlight = count;
    },
    outOf: (limit) => this.#add().outOf.push(limit),
    fault: (where, error) => this.#add().faults.push({ where, error: cloneable(error) }),
  };

  readonly attempted: DeliverDeps["attempted"] = {
    notify: (id, customerId) => void this.#add().attempted.push([id, customerId]),
  };

  readonly goneMarks: DeliverDeps["goneMarks"] = { report: (mark) => void this.#add().gone.push(mark) };

  readonly committed: CommitObserver = (group) => void this.#add().commits.push(group);

  /** Sends what has been collected. */
  flush(): void {
    this.#isScheduled = false;
    const report = this.#report;
    this.#report = emptyReport(this.#inFlight, this.#breakersOpen);
    this.#sentAt = performance.now();
    this.#send(report);
  }

  /** The report to add to. */
  #add(): DeliverReport {
    if (this.#isScheduled) return this.#report;
    this.#isScheduled = true;
    const waitMs = this.#sentAt + PERIOD_MS - performance.now();
    const flush = () => {
      if (this.#isScheduled) this.flush();
    };
    if (waitMs <= 0) setImmediate(flush);
    else setTimeout(flush, waitMs);
    return this.#report;
  }
}

function emptyReport(inFlight: number, breakersOpen: number): DeliverReport {
  const seen = { attempted: [], ended: [], gone: [], dueLagsMs: [], outOf: [], commits: [], faults: [] };
  return { ...seen, inFlight, breakersOpen };
}

/** An error as it can be passed to another thread, with its message and stack. */
function cloneable(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  const cause = error.cause === undefined ? {} : { cause: cloneable(error.cause) };
  const copy = new Error(error.message, cause);
  copy.stack = error.stack ?? error.message;
  return copy;
}
