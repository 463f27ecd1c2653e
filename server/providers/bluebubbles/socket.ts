/** Socket.IO connection to the Mac, over which BlueBubbles sends events. Reconnects whenever it ends. */

import type { Socket } from "socket.io-client";
import type { Clock } from "../../clock.ts";
import { doublingMs } from "../../core/retry.ts";
import { withoutTrailing } from "../../core/trim-end.ts";

/** Delay before a reconnect; it doubles up to the maximum. */
const AGAIN_AFTER_MS = 1_000;
const AGAIN_AFTER_MS_MAX = 30_000;
const CONNECT_WITHIN_MS = 10_000;
/** A connection that lasted this long was healthy: the next delay begins small again. */
const GOOD_AFTER_MS = 30_000;

/** BlueBubbles disconnects a client with a wrong password right after it connected. */
const REFUSED = "io server disconnect";

export interface MacSocketOptions {
  /** URL of the Mac, as in the instance's settings. */
  url: string;
  password: string;
  clock: Clock;
  onEvent: (type: string, data: unknown) => void;
  /** The socket is connected. Events from before were not delivered. */
  onConnected: () => void;
}

/** Connection between `start` and `stop`. */
export class MacSocket {
  readonly #options: MacSocketOptions;
  #socket: Socket | null = null;
  #stopTimer = () => {};
  #failures = 0;
  #connectedAt: number | null = null;
  #problem: string | null = null;
  #stopped = false;

  constructor(options: MacSocketOptions) {
    this.#options = options;
  }

  /** Why no events arrive, for an operator; null while connected or connecting for the first time. */
  get problem(): string | null {
    return this.#problem;
  }

  start(): void {
    void this.#connect();
  }

  stop(): void {
    this.#stopped = true;
    this.#stopTimer();
    this.#drop();
  }

  async #connect(): Promise<void> {
    // Loaded by the first connection: it takes some megabytes, and most services have no Mac.
    const { io } = await import("socket.io-client");
    if (this.#stopped) return;
    const { url, password, clock, onEvent, onConnected } = this.#options;
    const { origin, pathname } = new URL(url);
    // Socket.IO would take a path in the URL for a namespace.
    const socket = io(origin, {
      path: `${withoutTrailing(pathname, "/").replace(/\/api\/v1$/, "")}/socket.io`,
      // BlueBubbles decodes a socket's password once more than an HTTP password, and fails at a lone percent sign.
      query: { password: encodeURI(password.toWellFormed()) },
      forceNew: true,
      // The service's clock schedules reconnects, so that tests can simulate it.
      reconnection: false,
      timeout: CONNECT_WITHIN_MS,
      transports: ["websocket", "polling"],
      tryAllTransports: true,
    });
    this.#socket = socket;
    socket.on("connect", () => {
      this.#connectedAt = clock.real();
      this.#problem = null;
      onConnected();
    });
    socket.on("connect_error", () => this.#ended(socket, "the Mac's socket cannot be reached"));
    socket.on("disconnect", (reason) => {
      const wasRefused = reason === REFUSED && this.#isYoung();
      const password = "the Mac closed the socket at once: the password may be wrong";
      this.#ended(socket, wasRefused ? password : "the connection to the Mac's socket broke");
    });
    socket.onAny((type: string, data: unknown) => onEvent(type, data));
  }

  #isYoung(): boolean {
    return this.#connectedAt === null || this.#options.clock.real() - this.#connectedAt < GOOD_AFTER_MS;
  }

  #ended(socket: Socket, problem: string): void {
    if (this.#stopped || this.#socket !== socket) return;
    this.#failures = this.#isYoung() ? this.#failures + 1 : 1;
    this.#connectedAt = null;
    this.#problem = problem;
    this.#drop();
    const afterMs = doublingMs(this.#failures, AGAIN_AFTER_MS, AGAIN_AFTER_MS_MAX);
    this.#stopTimer = this.#options.clock.after(afterMs, () => void this.#connect());
  }

  #drop(): void {
    this.#socket?.offAny();
    this.#socket?.removeAllListeners();
    this.#socket?.disconnect();
    this.#socket = null;
  }
}
