/** The Mac's socket: a connection of ours over which it tells what happens, made again whenever it ends. */

import { io, type Socket } from "socket.io-client";
import type { Clock } from "../../clock.ts";
import { doublingMs } from "../../core/retry.ts";

/** A connection that ended is made again after this, doubling to the most. */
const AGAIN_AFTER_MS = 1_000;
const AGAIN_AFTER_MS_MAX = 30_000;
const CONNECT_WITHIN_MS = 10_000;
/** One that holds for so long was a good one: the next begins with the shortest wait. */
const GOOD_AFTER_MS = 30_000;

/** The Mac ends a connection with a wrong password by itself, as soon as it is made. */
const REFUSED = "io server disconnect";

export interface MacSocketOptions {
  /** As in the instance's settings. */
  url: string;
  password: string;
  clock: Clock;
  onEvent: (type: string, data: unknown) => void;
  /** It is connected: what was told before that was told to nobody. */
  onConnected: () => void;
}

/** One connection after the other, from `start` to `stop`. */
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

  /** Why nothing is heard over the socket, in words for an operator; null while it is connected, or connects. */
  get problem(): string | null {
    return this.#problem;
  }

  start(): void {
    this.#connect();
  }

  stop(): void {
    this.#stopped = true;
    this.#stopTimer();
    this.#drop();
  }

  #connect(): void {
    const { url, password, clock, onEvent, onConnected } = this.#options;
    const { origin, pathname } = new URL(url);
    // A path in the address would be taken for a namespace of the socket's.
    const socket = io(origin, {
      path: `${pathname.replace(/\/+$/, "").replace(/\/api\/v1$/, "")}/socket.io`,
      // BlueBubbles decodes the password of a socket once more than that of HTTP, and breaks at a lone percent sign.
      query: { password: encodeURI(password.toWellFormed()) },
      forceNew: true,
      // The clock says when: it is the service's, and a test's.
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
      const password = "the Mac ended the socket at once: its password may be another";
      this.#ended(socket, wasRefused ? password : "the Mac's socket was cut");
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
    this.#stopTimer = this.#options.clock.after(afterMs, () => this.#connect());
  }

  #drop(): void {
    this.#socket?.offAny();
    this.#socket?.removeAllListeners();
    this.#socket?.disconnect();
    this.#socket = null;
  }
}
