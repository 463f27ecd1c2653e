/** Looks up rows by guid: one query at a time, retried without a response, and no guid fails because of another. */

import { RepeatingTask } from "../../core/repeating-task.ts";
import { doublingMs } from "../../core/retry.ts";
import { PeerFault } from "../provider.ts";
import { describeFailure, type Failure, isBlueBubblesError, type Limits } from "./client.ts";
import { fetchRows, GUIDS_MAX } from "./fetch-rows.ts";
import type { Mac } from "./mac.ts";
import type { MacMessage } from "./records.ts";

/** Delay before a query is retried; it doubles up to the maximum. */
const AGAIN_AFTER_MS = 1_000;
const AGAIN_AFTER_MS_MAX = 15_000;
/** After this many failed queries a guid is looked up by itself, because it may be what the others fail for. */
const BROKEN_TOGETHER = 3;
/** After this many failed queries a guid is dropped. */
const BROKEN_TRIES = 8;
/** Minimum guids of one query, if larger responses get lost. */
const GUIDS_MIN = 25;

export interface RowLookupsOptions {
  mac: Mac;
  /** Limits of requests to the Mac. */
  limits: Limits;
  /** Receives each row found. */
  onRow: (row: MacMessage) => Promise<boolean>;
  /** Receives the guids that are done, before their rows: they were answered, or dropped after repeated failures. */
  onDone: (guids: readonly string[]) => void;
}

/**
 * Guids to look up, until `stop`. The callers limit their number. One query is in flight at a time and covers all guids
 * added since the last one, so that rows arrive in order and the Mac sets the speed.
 */
export class RowLookups {
  readonly #options: RowLookupsOptions;
  /** Failed queries per guid. */
  #waiting = new Map<string, number>();
  #guidsMax = GUIDS_MAX;
  #failures = 0;
  readonly #queries: RepeatingTask;

  constructor(options: RowLookupsOptions) {
    this.#options = options;
    const { clock, fault } = options.mac.context;
    this.#queries = new RepeatingTask({ clock, run: () => this.#run(), fault, retryMs: AGAIN_AFTER_MS });
  }

  /** Number of guids that wait for the next query. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Looks these guids up as soon as possible. A guid that is being looked up is looked up once more. */
  add(guids: readonly string[]): void {
    for (const guid of guids) this.#waiting.set(guid, this.#waiting.get(guid) ?? 0);
    if (this.#waiting.size > 0 && this.#queries.isIdle) void this.#queries.run();
  }

  stop(): Promise<void> {
    return this.#queries.stop();
  }

  /** Queries until no guid is left, or a query fails. Resolves with the time until the next try; null if none is left. */
  async #run(): Promise<number | null> {
    const { mac, limits, onRow, onDone } = this.#options;
    while (this.#waiting.size > 0 && !this.#queries.isStopped) {
      const asked = this.#next();
      const guids = [...asked.keys()];
      // A guid added from here on may have changed after it was read, and is looked up again.
      for (const guid of guids) this.#waiting.delete(guid);
      const response = await fetchRows(mac.client, guids, limits);
      if (response.kind !== "rows") {
        this.#failed(asked, response);
        return this.#waiting.size === 0 ? null : doublingMs(this.#failures, AGAIN_AFTER_MS, AGAIN_AFTER_MS_MAX);
      }
      this.#failures = 0;
      this.#guidsMax = Math.min(GUIDS_MAX, this.#guidsMax * 2);
      onDone(guids);
      for (const row of response.rows) void onRow(row);
    }
    return null;
  }

  /** The guids added first; or a single one if all of them failed before. */
  #next(): Map<string, number> {
    const waiting = [...this.#waiting];
    const together = waiting.filter(([, broken]) => broken < BROKEN_TOGETHER).slice(0, this.#guidsMax);
    return new Map(together.length > 0 ? together : waiting.slice(0, 1));
  }

  #failed(asked: ReadonlyMap<string, number>, failure: Failure): void {
    const isBroken = isBlueBubblesError(failure);
    this.#failures += 1;
    // An unreachable Mac is not logged: its health shows that.
    if (isBroken && this.#failures === 1) {
      this.#options.mac.context.fault(new PeerFault(`messages could not be looked up: ${describeFailure(failure)}`));
    }
    // A response that is too long or too slow would get lost each time.
    if (failure.kind === "noResponse") this.#guidsMax = Math.max(GUIDS_MIN, Math.floor(asked.size / 4));
    const others = [...this.#waiting].filter(([guid]) => !asked.has(guid));
    const again = [...asked].map(([guid, broken]) => [guid, isBroken ? broken + 1 : broken] as const);
    const left = again.filter(([, broken]) => broken < BROKEN_TRIES);
    this.#waiting = new Map(isBroken ? [...others, ...left] : [...left, ...others]);
    this.#options.onDone(again.filter(([, broken]) => broken >= BROKEN_TRIES).map(([guid]) => guid));
  }
}
