/** Messages between the service and its deliver thread, and what both read and write at once. */

import type { ClockShift } from "../clock.ts";
import type { AllowList } from "../core/address.ts";
import type { GoneMark } from "../core/gone-receivers.ts";
import type { CustomerId, DeliveryId } from "../core/id.ts";
import type { EngineSettings } from "../engine/deps.ts";
import type { AttemptOutcome } from "../engine/observer.ts";
import type { OwnLimit } from "../outgoing/connection.ts";
import type { CommitObserver, ReceiverChange, StorePorts } from "../store/store.ts";
import type { LoopSettings } from "./webhook-loop.ts";

/** Start parameters of the thread. */
export interface DeliverStart {
  ports: StorePorts;
  shared: SharedArrayBuffer;
  secretKey: Uint8Array;
  settings: Pick<EngineSettings, "webhookConcurrency" | "webhookRetryScheduleMs">;
  loop: LoopSettings;
}

/**
 * Calls of the service:
 *
 * | | The thread | The caller waits |
 * |---|---|---|
 * | `start` | begins to hold, claim and post | no |
 * | `wake` | claims of these lanes, and tries these deliveries at once | no |
 * | `look` | looks at all lanes | no |
 * | `repaired` | reads endpoints and customers again | no |
 * | `changed` | drops former endpoints and customers | before a change is answered |
 * | `drop` | drops the deliveries of a customer | before a reset is answered |
 * | `allow` | allows other addresses, and makes attempts in flight again | before an instance that reaches people is stored |
 * | `cutOff` | gives back attempts in flight | no |
 * | `stop` | begins nothing more, and lets attempts in flight end | yes |
 * | `close` | closes its ports and ends | yes |
 */
export type DeliverCall =
  | ["start"]
  | ["wake", string[], DeliveryId[]]
  | ["look"]
  | ["repaired"]
  | ["changed", ReceiverChange[]]
  | ["drop", CustomerId]
  | ["allow", AllowList]
  | ["cutOff"]
  | ["stop"]
  | ["close"];

/** A call; `id` is null if nobody waits for its end. */
export interface DeliverRequest {
  id: number | null;
  call: DeliverCall;
}

/** Observations of the thread since its last report. */
export interface DeliverReport {
  /** Deliveries of which an attempt was recorded. */
  attempted: [DeliveryId, CustomerId][];
  /** Attempts that ended. */
  ended: [CustomerId, AttemptOutcome][];
  /** Endpoints that are gone, or back, in this order. */
  gone: GoneMark[];
  dueLagsMs: number[];
  /** Attempts in flight. */
  inFlight: number;
  breakersOpen: number;
  outOf: OwnLimit[];
  commits: Parameters<CommitObserver>[0][];
  faults: { where: string; error: unknown }[];
}

/** A message of the thread: a call has ended, `error` says why it failed; or a report. */
export type DeliverMessage = { id: number; error: string | null } | { report: DeliverReport };

/** Numbers in shared memory: the clock's shift, which the service writes, and the state of the loop, which the thread writes. */
export class DeliverState {
  readonly #cells: BigInt64Array<SharedArrayBuffer>;
  /** The shift of the service's clock. */
  readonly shift: ClockShift;

  constructor(shared = new SharedArrayBuffer(CELLS * BigInt64Array.BYTES_PER_ELEMENT)) {
    this.#cells = new BigInt64Array(shared);
    const read = () => this.#read(SHIFT);
    const write = (ms: number) => this.#write(SHIFT, ms);
    this.shift = {
      get ms() {
        return read();
      },
      set ms(ms) {
        write(ms);
      },
    };
  }

  get shared(): SharedArrayBuffer {
    return this.#cells.buffer;
  }

  /** Attempts that have ended. */
  get ended(): number {
    return this.#read(ENDED);
  }

  /** The lag of the loop. While something lags and the thread is late to look again, it grows. */
  get lagMs(): number {
    const lagMs = this.#read(LAG);
    return lagMs === 0 ? 0 : lagMs + Math.max(0, monotonicMs() - this.#read(LOOKS_AT));
  }

  /** The thread has looked at its loop. While something lags, it looks again after `nextMs`. */
  note(lagMs: number, ended: number, nextMs: number): void {
    this.#write(LOOKS_AT, monotonicMs() + nextMs);
    this.#write(LAG, Math.ceil(lagMs));
    this.#write(ENDED, ended);
  }

  #read(cell: number): number {
    return Number(Atomics.load(this.#cells, cell));
  }

  #write(cell: number, value: number): void {
    Atomics.store(this.#cells, cell, BigInt(Math.round(value)));
  }
}

const [SHIFT, LAG, LOOKS_AT, ENDED] = [0, 1, 2, 3] as const;
const CELLS = 4;

/** The same in every thread of the process, unlike `performance.now()`. */
function monotonicMs(): number {
  return Math.round(Number(process.hrtime.bigint()) / 1e6);
}
