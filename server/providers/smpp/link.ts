/** A link to an SMSC: keeps its sessions bound, and hands over messages within one window and at one pace. */

import { createHash } from "node:crypto";
import type { Clock } from "../../clock.ts";
import { encodePdu } from "./codec.ts";
import type { DataSm, DeliverSm, SubmitSm } from "./pdu.ts";
import { PersistentBind } from "./persistent-bind.ts";
import { SubmitRateLimiter } from "./rate-limiter.ts";
import type { BindKind, Session, SessionSettings, SubmitResponse } from "./session.ts";
import { ESME_ROK } from "./status.ts";

/** What became of a submit_sm. */
export type SubmitResult =
  /** submit_sm_resp with status 0. `messageId` is as the SMSC wrote it, and may be empty. */
  | { answer: "ok"; messageId: string }
  /** submit_sm_resp or generic_nack with another status: provably not taken. */
  | { answer: "refused"; status: number }
  /** Not one byte of it was written. `failed`: no session is bound that could. */
  | { answer: "notSent"; reason: string; isDown: boolean }
  /** Written, and not answered: it may have been taken. */
  | { answer: "unknown"; reason: string };

export interface LinkEvents {
  /**
   * A deliver_sm or data_sm from the SMSC. What it resolves to is the command_status of the answer, sent only then; null
   * sends no answer, so that the SMSC sends it again over its next session. A throw, which is a defect, answers
   * ESME_RX_T_APPN (0x64). At most 64 are open at once on a session: until one resolves nothing more is read of it.
   * `session` is what it came over, and whether that still stands.
   */
  deliver(pdu: DeliverSm | DataSm, session: { readonly isBound: boolean }): Promise<number | null>;
  /** `isUp` has changed. */
  changed(): void;
  /** What an operator may want to know. Never a text, an address or a password. */
  fault(error: unknown): void;
}

export interface LinkSettings extends SessionSettings {
  /** `pair`: a transmitter and a receiver on two connections. */
  bindMode: "transceiver" | "pair";
  /** Unanswered submit_sm at once. */
  windowSize: number;
  /** submit_sm a second; null: as fast as the window lets. */
  throughputPerSecond: number | null;
}

export interface LinkState {
  /** Which binds stand. A pair whose receiver is missing is up, and degraded. */
  bound: readonly BindKind[];
  isDegraded: boolean;
  /** Why a bind that is missing is missing, in words for an operator; null when none is, and before the first try ended. */
  lastError: string | null;
  /** When `isUp` last changed (at first: when it was started), by the real clock. */
  since: number;
}

/** How long a message may wait for the window and the pace: half of what the engine waits for a hand-over. */
const QUEUE_LIMIT_MS = 20_000;
const CHANCES = 2 ** 32;

interface QueuedSubmit {
  frame: Buffer;
  /** Real. */
  until: number;
  resolve: (submitted: SubmitResult) => void;
}

/** See the file's own sentence. Made once for an instance; `stop` is final. */
export class SmscLink {
  readonly #settings: LinkSettings;
  readonly #events: LinkEvents;
  readonly #clock: Clock;
  readonly #rateLimiter: SubmitRateLimiter;
  readonly #sending: PersistentBind;
  readonly #binds: readonly PersistentBind[];
  /** In the order they were given. */
  readonly #queue = new Set<QueuedSubmit>();
  #wasUp = false;
  #isStopped = false;
  #since: number;
  #stopPace = () => {};
  #stopLimit = () => {};

  /** `chance` gives the jitter of the reconnects, from 0 to below 1; else the account and the moment do. */
  constructor(
    settings: LinkSettings,
    events: LinkEvents,
    clock: Clock,
    chance: () => number = chanceOf(settings, clock),
  ) {
    this.#settings = settings;
    this.#events = events;
    this.#clock = clock;
    this.#rateLimiter = new SubmitRateLimiter(clock, settings.throughputPerSecond);
    this.#since = clock.real();
    const line = (kind: BindKind) =>
      new PersistentBind(
        kind,
        settings,
        {
          deliver: (pdu, session) => events.deliver(pdu, session),
          fault: (error) => events.fault(error),
          stateChanged: () => this.#stateChanged(),
        },
        clock,
        chance,
      );
    const isPair = settings.bindMode === "pair";
    this.#sending = line(isPair ? "transmitter" : "transceiver");
    this.#binds = isPair ? [this.#sending, line("receiver")] : [this.#sending];
  }

  /** Begins to connect, and goes on until `stop`. */
  start(): void {
    this.#since = this.#clock.real();
    for (const line of this.#binds) line.start();
  }

  /** Takes no more, waits at most `limitMs` for what is open, unbinds, closes. What is still queued is `notSent`. */
  async stop(limitMs: number): Promise<void> {
    this.#isStopped = true;
    this.#empty("the link to the SMSC is being closed");
    await Promise.all(this.#binds.map((line) => line.stop(limitMs)));
  }

  /** Whether a message can be handed over: a transceiver or transmitter is bound. */
  get isUp(): boolean {
    return !this.#isStopped && this.#sending.session !== null;
  }

  state(): LinkState {
    const bound = this.#binds.filter((line) => line.session !== null).map(({ kind }) => kind);
    const errors = this.#binds.flatMap(({ kind, lastError }) => (lastError === null ? [] : [`${kind}: ${lastError}`]));
    return {
      bound,
      isDegraded: this.isUp && bound.length < this.#binds.length,
      lastError: errors.length === 0 ? null : errors.join("; "),
      since: this.#since,
    };
  }

  /**
   * Hands over one message, and resolves when its fate is known or cannot be: never throws for what a peer does, but for
   * a PDU that cannot be encoded (`PduError`). Those given first are written first; one that could not be written within
   * 20 s is `notSent`.
   */
  async submit(pdu: Omit<SubmitSm, "sequence">): Promise<SubmitResult> {
    const frame = encodePdu({ ...pdu, sequence: 0 });
    if (!this.isUp) return { answer: "notSent", reason: this.#whyDown(), isDown: true };
    return await new Promise<SubmitResult>((resolve) => {
      const queued: QueuedSubmit = {
        frame,
        until: this.#clock.real() + QUEUE_LIMIT_MS,
        resolve: (submitted) => {
          this.#queue.delete(queued);
          resolve(submitted);
        },
      };
      this.#queue.add(queued);
      this.#pump();
      if (this.#queue.size === 1 && this.#queue.has(queued)) this.#limit();
    });
  }

  /** Writes no submit_sm for `ms` from now on, unless a longer pause is set: the SMSC said it is too fast. */
  pause(ms: number): void {
    this.#rateLimiter.pause(ms);
  }

  #stateChanged(): void {
    if (this.#isStopped) return;
    const { isUp } = this;
    if (isUp !== this.#wasUp) {
      this.#wasUp = isUp;
      this.#since = this.#clock.real();
      if (!isUp) this.#empty(this.#whyDown());
      this.#events.changed();
    }
  }

  /** Writes what window and pace let. */
  #pump(): void {
    this.#stopPace();
    for (const queued of this.#queue) {
      const { session } = this.#sending;
      if (session === null || session.submitsOpen >= this.#settings.windowSize) return;
      const waitMs = this.#rateLimiter.take();
      if (waitMs > 0) {
        this.#stopPace = this.#clock.after(Math.min(waitMs, QUEUE_LIMIT_MS), () => this.#pump());
        return;
      }
      this.#queue.delete(queued);
      void this.#write(session, queued);
    }
  }

  async #write(session: Session, queued: QueuedSubmit): Promise<void> {
    queued.resolve(submittedOf(await session.submit(queued.frame)));
    this.#pump();
  }

  /** Gives up those that waited too long: the first is the one that waits longest. */
  #limit(): void {
    this.#stopLimit();
    const [first] = this.#queue;
    if (first === undefined) return;
    this.#stopLimit = this.#clock.after(Math.max(1, first.until - this.#clock.real()), () => {
      const now = this.#clock.real();
      for (const queued of this.#queue) {
        if (queued.until > now) break;
        queued.resolve({ answer: "notSent", reason: "the window or the pace of the bind left no room", isDown: false });
      }
      this.#limit();
    });
  }

  #empty(reason: string): void {
    this.#stopPace();
    this.#stopLimit();
    for (const queued of this.#queue) queued.resolve({ answer: "notSent", reason, isDown: true });
  }

  #whyDown(): string {
    return this.#sending.lastError ?? "the SMSC is not bound";
  }
}

/** Links of different accounts that are cut in the same moment do not come back in the same moment. */
function chanceOf({ host, port, systemId }: LinkSettings, clock: Clock): () => number {
  return () => {
    const hash = createHash("sha256").update(`${systemId}@${host}:${port} ${clock.real()}`).digest();
    return hash.readUInt32BE(0) / CHANCES;
  };
}

/** A generic_nack that names no error says neither that it was taken nor that it was not. */
function submittedOf(asked: SubmitResponse): SubmitResult {
  const { answer } = asked;
  if (answer === null) return { answer: "unknown", reason: asked.reason };
  if (answer.status !== ESME_ROK) return { answer: "refused", status: answer.status };
  if (answer.command === "submit_sm_resp") return { answer: "ok", messageId: answer.messageId };
  return { answer: "unknown", reason: "the SMSC answered with a generic_nack that names no error" };
}
