/** Gathers requests in memory and writes them to the log a few times a second. No response waits for it, and its failures cost nobody anything. */

import type { Clock } from "../../clock.ts";
import { FairBuffer } from "../../core/fair-buffer.ts";
import { type LoggedRequest, logOwnerOf } from "../../core/logged-request.ts";
import type { Store } from "../../store/store.ts";
import type { Observer } from "../observer.ts";

/** Time between the first request and the write of all that have come by then: what somebody who watches hardly notices. */
const FLUSH_AFTER_MS = 250;
/** Most requests in memory, about 16 MiB with bodies; customers share them. */
const BUFFERED_MAX = 2_000;
/** Requests of one commit: a few milliseconds of the writer. */
const REQUESTS_PER_WRITE = 200;

/** `on` logs requests without their bodies, `bodies` with them. */
export type RequestLogMode = "off" | "on" | "bodies";

interface RequestLogOptions {
  store: Pick<Store, "logRequests" | "isFull" | "isAvailable">;
  clock: Pick<Clock, "after">;
  fault: Observer["fault"];
  /** Called with the number of requests that were lost. */
  dropped: (count: number) => void;
}

/** The request log of one process. A crash loses what came within the last quarter of a second. */
export class RequestLog {
  readonly #options: RequestLogOptions;
  readonly #buffer = new FairBuffer<LoggedRequest>(BUFFERED_MAX);
  #mode: RequestLogMode = "off";
  #cancel: (() => void) | null = null;
  #isStopped = false;
  #flushing: Promise<void> = Promise.resolve();
  #isFailing = false;

  constructor(options: RequestLogOptions) {
    this.#options = options;
  }

  get isOn(): boolean {
    return this.#mode !== "off";
  }

  get keepsBodies(): boolean {
    return this.#mode === "bodies";
  }

  set mode(mode: RequestLogMode) {
    this.#mode = mode;
  }

  add(request: LoggedRequest): void {
    if (this.#isStopped) return;
    if (this.#buffer.add(logOwnerOf(request), request)) this.#options.dropped(1);
    this.#cancel ??= this.#options.clock.after(FLUSH_AFTER_MS, () => void this.flush());
  }

  /** Writes the requests so far. Never throws: requests that cannot be written are lost. */
  flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = null;
    this.#flushing = this.#flushing.then(() => this.#write());
    return this.#flushing;
  }

  /** Logs no more requests, and writes the remaining ones. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.flush();
  }

  async #write(): Promise<void> {
    const requests = this.#buffer.take();
    for (let index = 0; index < requests.length; index += REQUESTS_PER_WRITE) {
      const some = requests.slice(index, index + REQUESTS_PER_WRITE);
      try {
        await this.#writeSome(some);
      } catch (error) {
        if (!this.#isFailing) this.#options.fault("request-log", error);
        this.#isFailing = true;
        this.#options.dropped(some.length);
      }
    }
  }

  async #writeSome(requests: readonly LoggedRequest[]): Promise<void> {
    const { store, dropped } = this.#options;
    // A full disk is for messages, and a lost database would let the writer wait.
    if (store.isFull || !store.isAvailable) {
      dropped(requests.length);
      return;
    }
    await store.logRequests(requests);
    this.#isFailing = false;
  }
}
