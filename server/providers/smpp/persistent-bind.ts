/** One bind that is kept up: connects, binds, and reconnects with growing delays. */

import type { Clock } from "../../clock.ts";
import { doublingMs } from "../../core/retry.ts";
import { PeerFault } from "../provider.ts";
import type { DataSm, DeliverSm } from "./pdu.ts";
import { type BindKind, Session, type SessionEvents, type SessionSettings } from "./session.ts";

/** The wait before the first reconnect; it doubles with each failure. */
const AGAIN_AFTER_MS = 1_000;
const AGAIN_AFTER_MS_MAX = 60_000;
/** A bind that lasted this long resets the wait. */
const GOOD_AFTER_MS = 10_000;

export interface PersistentBindEvents extends Pick<SessionEvents, "fault" | "refused"> {
  /** See `LinkEvents`. */
  deliver(pdu: DataSm | DeliverSm, session: Session): Promise<number | null>;
  /** A session was bound, or is not bound any more. */
  stateChanged(): void;
}

export class PersistentBind {
  readonly kind: BindKind;
  readonly #settings: SessionSettings;
  readonly #events: PersistentBindEvents;
  readonly #clock: Clock;
  readonly #chance: () => number;
  #current: Session | null = null;
  #isStopped = false;
  #stopTimer = () => {};
  #failures = 0;
  #boundAt: number | null = null;
  #lastError: string | null = null;

  /** `chance` gives the jitter, from 0 to below 1. */
  constructor(
    kind: BindKind,
    settings: SessionSettings,
    events: PersistentBindEvents,
    clock: Clock,
    chance: () => number,
  ) {
    this.kind = kind;
    this.#settings = settings;
    this.#events = events;
    this.#clock = clock;
    this.#chance = chance;
  }

  /** The session, if it is bound. */
  get session(): Session | null {
    return this.#current?.isBound === true ? this.#current : null;
  }

  /** Why the last session ended or could not bind. Null while a session is bound. */
  get lastError(): string | null {
    return this.session === null ? this.#lastError : null;
  }

  start(): void {
    const session: Session = new Session(
      this.kind,
      this.#settings,
      {
        stateChanged: () => {
          if (session.isBound) this.#boundAt = this.#clock.real();
          this.#events.stateChanged();
        },
        ended: (reason) => this.#ended(reason),
        deliver: (pdu) => this.#events.deliver(pdu, session),
        refused: () => this.#events.refused?.(),
        fault: (error) => this.#events.fault(error),
      },
      this.#clock,
    );
    this.#current = session;
    session.start();
  }

  async stop(limitMs: number): Promise<void> {
    this.#isStopped = true;
    this.#stopTimer();
    await this.#current?.leave(limitMs);
  }

  /** Keeps the ended session until the next one begins, because a stop waits for its socket. */
  #ended(reason: string): void {
    if (this.#isStopped) return;
    const stoodMs = this.#boundAt === null ? 0 : this.#clock.real() - this.#boundAt;
    // The same reason is reported once, however often it recurs.
    if (this.#boundAt !== null || reason !== this.#lastError)
      this.#events.fault(new PeerFault(`${this.kind}: ${reason}`));
    this.#boundAt = null;
    this.#lastError = reason;
    this.#failures = stoodMs >= GOOD_AFTER_MS ? 0 : this.#failures + 1;
    const waitMs = doublingMs(this.#failures, AGAIN_AFTER_MS, AGAIN_AFTER_MS_MAX);
    this.#stopTimer = this.#clock.after(waitMs * (1 - this.#chance() / 2), () => this.start());
    this.#events.stateChanged();
  }
}
