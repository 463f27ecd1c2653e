/** The link to an SMSC: keeps its sessions bound, and submits messages within the window and the rate limit. */

import { createHash } from "node:crypto";
import type { Clock } from "../../clock.ts";
import { TokenBucket } from "../kit/token-bucket.ts";
import { encodePdu } from "./codec.ts";
import type { DataSm, DeliverSm, SubmitSm } from "./pdu.ts";
import { PersistentBind } from "./persistent-bind.ts";
import type { BindKind, Session, SessionSettings, SubmitResponse } from "./session.ts";
import { ESME_ROK } from "./status.ts";

/** The result of a submit_sm. */
export type SubmitResult =
  /** submit_sm_resp with status 0. `messageId` is as the SMSC wrote it, and may be empty. */
  | { answer: "ok"; messageId: string }
  /** submit_sm_resp or generic_nack with another status: provably not accepted. */
  | { answer: "refused"; status: number }
  /** Not one byte was written. `isDown`: no session is bound. */
  | { answer: "notSent"; reason: string; isDown: boolean }
  /** Written and not answered: the SMSC may have accepted it. */
  | { answer: "unknown"; reason: string };

export interface LinkEvents {
  /**
   * Handles a deliver_sm or data_sm from the SMSC. The link responds once this resolves, with the command_status that
   * it resolves to. Null sends no response, so that the SMSC repeats the PDU on its next session. A throw is a defect,
   * and is answered with ESME_RX_T_APPN (0x64). At most 256 are open on a session; beyond that the link stops reading
   * until one resolves.
   */
  deliver(pdu: DeliverSm | DataSm, session: { readonly isBound: boolean }): Promise<number | null>;
  /** A deliver_sm or data_sm could not be read, and was answered with an error: nobody got its text or its receipt. */
  refused?(): void;
  changed(): void;
  /** Whether messages may still be submitted in this process; always if absent. */
  mayWrite?: () => boolean;
  /** Reports a fault that an operator may want to know. Never contains a text, an address or a password. */
  fault(error: unknown): void;
}

export interface LinkSettings extends SessionSettings {
  /** `pair`: a transmitter and a receiver on two connections. */
  bindMode: "transceiver" | "pair";
  /** The number of submit_sm without a response. */
  windowSize: number;
  /** submit_sm per second; null: no limit but the window. */
  throughputPerSecond: number | null;
}

export interface LinkState {
  /** The sessions that are bound. A pair without its receiver is up and degraded. */
  bound: readonly BindKind[];
  isDegraded: boolean;
  /** Says why a session is missing. Null if none is, and before the first attempt has ended. */
  lastError: string | null;
  /** When `isUp` last changed or the link was started, by the real clock. */
  since: number;
}

/** How long a message may wait for the window and the rate limit: half of the capability `sendTimeoutMs`. */
const QUEUE_LIMIT_MS = 20_000;
/** How many responses the average of their times covers. */
const RESPONSES_AVERAGED = 20;
/** The burst, in seconds of the rate: it makes up for a late timer. */
const BURST_SECONDS = 0.05;
const CHANCES = 2 ** 32;

interface QueuedSubmit {
  frame: Buffer;
  /** An instant of the real clock. */
  until: number;
  resolve: (submitted: SubmitResult) => void;
}

/** One link for each instance. `stop` is final. */
export class SmscLink {
  readonly #settings: LinkSettings;
  readonly #events: LinkEvents;
  readonly #clock: Clock;
  readonly #rateLimiter: TokenBucket;
  readonly #sending: PersistentBind;
  readonly #binds: readonly PersistentBind[];
  /** In the order of submission. */
  readonly #queue = new Set<QueuedSubmit>();
  #responseMs = Number.POSITIVE_INFINITY;
  #wasUp = false;
  #isStopped = false;
  /** Whether the first message in the queue waits for the rate limit. */
  #isAtLimit = false;
  #since: number;
  #stopPace = () => {};
  #stopLimit = () => {};

  /**
   * `chance` gives the jitter of reconnects, from 0 to below 1. By default it is derived from the account and the time.
   */
  constructor(
    settings: LinkSettings,
    events: LinkEvents,
    clock: Clock,
    chance: () => number = chanceOf(settings, clock),
  ) {
    this.#settings = settings;
    this.#events = events;
    this.#clock = clock;
    this.#rateLimiter = new TokenBucket(
      clock,
      settings.throughputPerSecond,
      (settings.throughputPerSecond ?? 0) * BURST_SECONDS,
    );
    this.#since = clock.real();
    const line = (kind: BindKind) =>
      new PersistentBind(
        kind,
        settings,
        {
          deliver: (pdu, session) => events.deliver(pdu, session),
          refused: () => events.refused?.(),
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

  /** Connects, and reconnects until `stop`. */
  start(): void {
    this.#since = this.#clock.real();
    for (const line of this.#binds) line.start();
  }

  /**
   * Accepts no further message, waits at most `limitMs` for open responses, unbinds and closes. Messages in the queue
   * are `notSent`.
   */
  async stop(limitMs: number): Promise<void> {
    this.#isStopped = true;
    this.#empty("the link to the SMSC is being closed");
    await Promise.all(this.#binds.map((line) => line.stop(limitMs)));
  }

  /** Whether messages can be submitted: a transceiver or a transmitter is bound. */
  get isUp(): boolean {
    return !this.#isStopped && this.#sending.session !== null;
  }

  /** Whether a message waits for the rate limit, and not for a place in the window. */
  get isAtLimit(): boolean {
    return this.#isAtLimit;
  }

  /** The time that the SMSC takes for a response at present, in milliseconds; infinite before the first. */
  get responseMs(): number {
    return this.#responseMs;
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
   * Submits one message in order, and resolves with its result. Throws only if the PDU cannot be encoded (`PduError`).
   * A message that could not be written within 20 s is `notSent`.
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

  /** Submits nothing for `ms`, unless a longer pause is set: the SMSC is throttling. */
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

  /** Writes what the window and the rate limit allow. */
  #pump(): void {
    this.#stopPace();
    this.#isAtLimit = false;
    if (this.#events.mayWrite?.() === false) this.#empty("another process runs the instance by now");
    for (const queued of this.#queue) {
      const { session } = this.#sending;
      if (session === null || session.submitsOpen >= this.#settings.windowSize) return;
      const waitMs = this.#rateLimiter.take();
      if (waitMs > 0) {
        this.#isAtLimit = true;
        this.#stopPace = this.#clock.after(Math.min(waitMs, QUEUE_LIMIT_MS), () => this.#pump());
        return;
      }
      this.#queue.delete(queued);
      void this.#write(session, queued);
    }
  }

  async #write(session: Session, queued: QueuedSubmit): Promise<void> {
    const writtenAt = this.#clock.real();
    const submitted = submittedOf(await session.submit(queued.frame));
    const tookMs = Math.max(0, this.#clock.real() - writtenAt);
    const isFirst = this.#responseMs === Number.POSITIVE_INFINITY;
    this.#responseMs = isFirst ? tookMs : this.#responseMs + (tookMs - this.#responseMs) / RESPONSES_AVERAGED;
    queued.resolve(submitted);
    this.#pump();
  }

  /** Gives up messages that waited too long. The first in the queue waits longest. */
  #limit(): void {
    this.#stopLimit();
    const [first] = this.#queue;
    if (first === undefined) return;
    this.#stopLimit = this.#clock.after(Math.max(1, first.until - this.#clock.real()), () => {
      const now = this.#clock.real();
      for (const queued of this.#queue) {
        if (queued.until > now) break;
        queued.resolve({
          answer: "notSent",
          reason: "the window or the rate limit of the bind left no room",
          isDown: false,
        });
      }
      this.#limit();
    });
  }

  #empty(reason: string): void {
    this.#stopPace();
    this.#isAtLimit = false;
    this.#stopLimit();
    for (const queued of this.#queue) queued.resolve({ answer: "notSent", reason, isDown: true });
  }

  #whyDown(): string {
    return this.#sending.lastError ?? "the SMSC is not bound";
  }
}

/** Spreads the reconnects of accounts that lost their links at the same moment. */
function chanceOf({ host, port, systemId }: LinkSettings, clock: Clock): () => number {
  return () => {
    const hash = createHash("sha256").update(`${systemId}@${host}:${port} ${clock.real()}`).digest();
    return hash.readUInt32BE(0) / CHANCES;
  };
}

/** A generic_nack without an error proves neither that the message was accepted nor that it was not. */
function submittedOf(asked: SubmitResponse): SubmitResult {
  const { answer } = asked;
  if (answer === null) return { answer: "unknown", reason: asked.reason };
  if (answer.status !== ESME_ROK) return { answer: "refused", status: answer.status };
  if (answer.command === "submit_sm_resp") return { answer: "ok", messageId: answer.messageId };
  return { answer: "unknown", reason: "the SMSC answered with a generic_nack that names no error" };
}
