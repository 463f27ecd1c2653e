/** Questions about messages by their guids: one at a time, again where there was no answer, and none lost with another. */

import { doublingMs } from "../../core/retry.ts";
import { PeerFault } from "../provider.ts";
import { describeFailure, type Failure, isBlueBubblesError, type Limits } from "./client.ts";
import { fetchRows, GUIDS_MAX } from "./fetch-rows.ts";
import type { Mac } from "./mac.ts";
import type { MacMessage } from "./records.ts";

/** A question that got no answer is asked again after this, doubling to the most. */
const AGAIN_AFTER_MS = 1_000;
const AGAIN_AFTER_MS_MAX = 15_000;
/** A guid in so many questions that the Mac broke at is asked for alone: it may be what the others failed for. */
const BROKEN_TOGETHER = 3;
/** After so many it is asked for no more. */
const BROKEN_TRIES = 8;
/** Guids in one question at least, where answers about more get lost on their way. */
const GUIDS_MIN = 25;

export interface RowLookupsOptions {
  mac: Mac;
  /** Of what is asked of the Mac. */
  limits: Limits;
  /** Given each row that the Mac has. */
  onRow: (row: MacMessage) => Promise<boolean>;
  /** Given guids that are asked for no more, before their rows: there was an answer, or the Mac keeps breaking at one. */
  onDone: (guids: readonly string[]) => void;
}

/**
 * Messages to be asked for, until `stop`; how many is for those who ask to bound. One question is under way at a time,
 * about all that were named since the last one: so rows come in order, and the Mac is asked no faster than it answers.
 */
export class RowLookups {
  readonly #options: RowLookupsOptions;
  /** How often the Mac broke at each. */
  #waiting = new Map<string, number>();
  #guidsMax = GUIDS_MAX;
  #failures = 0;
  #running: Promise<void> | null = null;
  #stopTimer: (() => void) | null = null;
  #stopped = false;

  constructor(options: RowLookupsOptions) {
    this.#options = options;
  }

  /** How many wait, beside those of the question that is under way. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Asks for these as soon as it can; one that is being asked for is asked for once more. */
  add(guids: readonly string[]): void {
    for (const guid of guids) this.#waiting.set(guid, this.#waiting.get(guid) ?? 0);
    if (this.#waiting.size > 0) this.#start();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopTimer?.();
    await this.#running;
  }

  #start(): void {
    if (this.#stopped || this.#running !== null || this.#stopTimer !== null) return;
    this.#running = this.#run().finally(() => {
      this.#running = null;
      if (this.#waiting.size === 0) return;
      if (this.#failures > 0) this.#startLater();
      else this.#start();
    });
  }

  #startLater(): void {
    if (this.#stopped) return;
    const afterMs = doublingMs(this.#failures, AGAIN_AFTER_MS, AGAIN_AFTER_MS_MAX);
    this.#stopTimer = this.#options.mac.context.clock.after(afterMs, () => {
      this.#stopTimer = null;
      this.#start();
    });
  }

  /** Asks until there is nothing left to ask for, or no answer. */
  async #run(): Promise<void> {
    const { mac, limits, onRow, onDone } = this.#options;
    while (this.#waiting.size > 0 && !this.#stopped) {
      const asked = this.#next();
      const guids = [...asked.keys()];
      // One that is named from here on may have changed after it was read: it is asked for once more.
      for (const guid of guids) this.#waiting.delete(guid);
      const answer = await fetchRows(mac.client, guids, limits);
      if (answer.kind !== "rows") return this.#failed(asked, answer);
      this.#failures = 0;
      this.#guidsMax = Math.min(GUIDS_MAX, this.#guidsMax * 2);
      onDone(guids);
      for (const row of answer.rows) void onRow(row);
    }
  }

  /** Those that were named first; one alone, where there are only such as the Mac broke at. */
  #next(): Map<string, number> {
    const waiting = [...this.#waiting];
    const together = waiting.filter(([, broken]) => broken < BROKEN_TOGETHER).slice(0, this.#guidsMax);
    return new Map(together.length > 0 ? together : waiting.slice(0, 1));
  }

  #failed(asked: ReadonlyMap<string, number>, failure: Failure): void {
    const isBroken = isBlueBubblesError(failure);
    this.#failures += 1;
    // A Mac that cannot be reached is no news: its health says so.
    if (isBroken && this.#failures === 1) {
      this.#options.mac.context.fault(
        new PeerFault(`messages that were asked for were not read: ${describeFailure(failure)}`),
      );
    }
    // An answer that is too long, or too slow on its way, would be so each time.
    if (failure.kind === "lost") this.#guidsMax = Math.max(GUIDS_MIN, Math.floor(asked.size / 4));
    const others = [...this.#waiting].filter(([guid]) => !asked.has(guid));
    const again = [...asked].map(([guid, broken]) => [guid, isBroken ? broken + 1 : broken] as const);
    const left = again.filter(([, broken]) => broken < BROKEN_TRIES);
    this.#waiting = new Map(isBroken ? [...others, ...left] : [...left, ...others]);
    this.#options.onDone(again.filter(([, broken]) => broken >= BROKEN_TRIES).map(([guid]) => guid));
  }
}
