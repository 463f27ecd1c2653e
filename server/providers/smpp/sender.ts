/** Sends messages part by part, and finds the outcome of each: not sent, accepted, or unknown. */

import type { Clock } from "../../clock.ts";
import { FairSemaphore, type Release } from "../../core/fair-semaphore.ts";
import type { SignalOutbox } from "../kit/signal-outbox.ts";
import type { Outbound, Outcome } from "../provider.ts";
import { type EndDigits, lastDigits } from "./address.ts";
import type { SmscLink } from "./link.ts";
import { OWN_PREFIX, responseId } from "./message-id.ts";
import { failureOf, type PartResult, RETRY_AFTER_MS, reasonOf, unavailable } from "./part-result.ts";
import type { PartSubmitter } from "./part-submitter.ts";
import type { PartTracker } from "./part-tracker.ts";
import type { RecentSubmits, SubmitRecord } from "./recent-submits.ts";
import type { SmppSettings } from "./settings.ts";
import { type Submission, type SubmitPdu, submissionOf, withUserReference } from "./submit-pdus.ts";

/**
 * How long a message may wait for the semaphore. Together with its wait for the link this is less than `sendTimeoutMs`.
 */
const BEGIN_WITHIN_MS = 12_000;
/**
 * The sender works on as many messages as the rate limit lets through in this many seconds, so that the parts of one
 * message follow each other.
 */
const BEGUN_SECONDS = 5;
/**
 * How long the sender tries the rest of a message after the first part was accepted. The engine waits longer than this
 * before it gives up on the outcome.
 */
const REST_MS_MAX = 270_000;
/**
 * The engine may attempt as many messages beyond the window as the window takes in this time, so that no place in it stays
 * empty while an attempt or an outcome is written to disk. If the process dies, their outcome is unknown: hence few.
 */
const AHEAD_MS = 200;
const AHEAD_MAX = 64;
const REFERENCES = 0x1_0000;
/** The one owner of the permits of a bind. */
const BIND = "bind";

const NOT_TRIED: PartResult = { answer: "notSent", reason: "it was not submitted", isDown: false };

interface SmppSenderParts {
  link: Pick<SmscLink, "isUp" | "state" | "responseMs">;
  submitter: PartSubmitter;
  settings: SmppSettings;
  recentSubmits: RecentSubmits;
  tracker: PartTracker;
  outbox: SignalOutbox;
  clock: Clock;
  fault: (error: unknown) => void;
}

/** A submitted part and its result. */
interface SubmittedPart {
  submitted: SubmitRecord;
  answer: PartResult;
  /** The carrier's id of the part. Null if the carrier gave none, or one that identifies nothing. */
  id: string | null;
}

/**
 * Sends a message in four steps: acquire the semaphore, submit the parts, track their ids, and return the outcome. If
 * the engine aborted the send in the meantime, the sender reports the outcome as a receipt.
 */
export class SmppSender {
  readonly #parts: SmppSenderParts;
  readonly #semaphore: FairSemaphore;
  /** Messages, or parts, that are submitted at once. */
  readonly #permits: number;
  /** The reference that the parts of one message share. Every process starts at another number. */
  #reference: number;
  /** Messages being sent, and their number of parts. */
  readonly #begun = new Map<Promise<unknown>, number>();
  /** How many of them still have a waiting caller. */
  #awaited = 0;
  #isFinishing = false;

  constructor(parts: SmppSenderParts) {
    this.#parts = parts;
    this.#reference = parts.clock.real() % REFERENCES;
    const { windowSize, throughputPerSecond: pace } = parts.settings.link;
    this.#permits = Math.max(1, Math.min(windowSize, Math.ceil((pace ?? windowSize) * BEGUN_SECONDS)));
    this.#semaphore = new FairSemaphore({ permitsMax: this.#permits, shareOfFree: Number.POSITIVE_INFINITY });
  }

  /** Messages that this bind can usefully have at once: those being submitted, and those that come next. */
  get concurrency(): number {
    const { link, settings } = this.#parts;
    const { windowSize, throughputPerSecond } = settings.link;
    const perMs = Math.min(windowSize / link.responseMs, (throughputPerSecond ?? Number.POSITIVE_INFINITY) / 1_000);
    return this.#permits + Math.min(AHEAD_MAX, Math.floor(perMs * AHEAD_MS));
  }

  async send(message: Outbound, abort: AbortSignal): Promise<Outcome> {
    const { link, settings } = this.#parts;
    this.#reference = (this.#reference + 1) % REFERENCES;
    const submission = submissionOf(message, settings, this.#reference);
    if ("code" in submission) return { outcome: "rejected", ...submission };
    if (this.#isFinishing) return unavailable("the instance is being stopped");
    if (!link.isUp) return unavailable(link.state().lastError ?? "the SMSC is not bound");
    const release = await this.#acquire(submission.submits.length, abort);
    if (release === null) {
      return {
        outcome: "deferred",
        retryAfterMs: RETRY_AFTER_MS,
        reason: "the rate limit of the bind left no room for it",
      };
    }
    if (this.#isFinishing) {
      release();
      return unavailable("the instance is being stopped");
    }
    const whole = this.#submitMessage(message, submission, release).finally(release);
    this.#addBegun(whole, submission.submits.length);
    this.#awaited += 1;
    try {
      return await this.#unlessAborted(message, whole, abort);
    } finally {
      this.#awaited -= 1;
    }
  }

  /** Whether a caller still waits for a message: false if all sends were aborted. */
  get hasCallers(): boolean {
    return this.#awaited > 0;
  }

  /**
   * Begins no further message. Resolves when the messages of several parts that were begun have ended, or after
   * `limitMs`.
   */
  async finish(limitMs: number): Promise<void> {
    this.#isFinishing = true;
    const inParts = [...this.#begun].filter(([, parts]) => parts > 1).map(([whole]) => whole);
    await Promise.race([Promise.allSettled(inParts), this.#parts.outbox.pause(limitMs)]);
  }

  /**
   * Resolves when every message that was begun has ended, and was reported if nobody waits for it. That is soon after the
   * link has stopped and the outbox is ending.
   */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#begun.keys());
  }

  /**
   * Permits for a message of so many parts, in the order of arrival; null if they were not free in time or `abort` came first. A
   * message with more parts than there are permits gets all of them.
   */
  async #acquire(parts: number, abort: AbortSignal): Promise<Release | null> {
    const late = new AbortController();
    const stopTimer = this.#parts.clock.after(BEGIN_WITHIN_MS, () => late.abort());
    const weight = Math.min(parts, this.#permits);
    try {
      return await this.#semaphore.acquire(BIND, weight, AbortSignal.any([abort, late.signal]));
    } catch {
      return null;
    } finally {
      stopTimer();
    }
  }

  #addBegun(whole: Promise<unknown>, parts: number): void {
    const ended = () => void this.#begun.delete(whole);
    this.#begun.set(whole, parts);
    whole.then(ended, ended);
  }

  /** Returns early if the engine aborts the send. The message goes on, and its outcome is reported later. */
  async #unlessAborted(message: Outbound, whole: Promise<Outcome>, abort: AbortSignal): Promise<Outcome> {
    const { promise: calledOff, resolve } = Promise.withResolvers<null>();
    const callOff = () => resolve(null);
    abort.addEventListener("abort", callOff, { once: true });
    if (abort.aborted) callOff();
    const outcome = await Promise.race([calledOff, whole]).finally(() => abort.removeEventListener("abort", callOff));
    if (outcome !== null) return outcome;
    const reported = whole.then((late) => this.#reportLate(message, late)).catch(this.#parts.fault);
    // No part of it is left to be submitted.
    this.#addBegun(reported, 0);
    return { outcome: "unknown", reason: "the send was aborted while the SMSC had the message" };
  }

  /** Reports the outcome of an aborted send as a receipt, if it proves something. */
  async #reportLate(message: Outbound, outcome: Outcome): Promise<void> {
    const { outbox, tracker } = this.#parts;
    const signal = { kind: "receipt", messageId: message.messageId, channel: "sms" } as const;
    if (outcome.outcome === "unknown") await tracker.note(message);
    else if (outcome.outcome === "accepted") {
      const { reference } = outcome;
      await tracker.inTurn(message, () => {
        const text = tracker.noteOf(message);
        const note = text === undefined ? {} : { note: { reference, text } };
        return outbox.reportWithRetries({ ...signal, reference, receipt: "sent", ...note });
      });
    } else if (outcome.outcome === "rejected") {
      const { code, reason } = outcome;
      await outbox.reportWithRetries({
        ...signal,
        reference: ownReference(message),
        receipt: "failed",
        code,
        reason,
      });
    }
  }

  async #submitMessage(message: Outbound, submission: Submission, release: () => void): Promise<Outcome> {
    const { recentSubmits, settings } = this.#parts;
    const begun = this.#begin(message, submission);
    try {
      const answers = await this.#submitAll(
        begun.map(({ submit }) => submit),
        release,
      );
      const parts = begun.map(({ submitted }, at): SubmittedPart => {
        const answer = answers[at] ?? NOT_TRIED;
        const id = answer.answer === "ok" ? responseId(answer.messageId, settings.messageIdBase) : null;
        return { submitted, answer, id };
      });
      return this.#conclude(message, submission, parts);
    } finally {
      // Every submit that was not recorded is over.
      for (const { submitted } of begun) recentSubmits.close(submitted, null);
    }
  }

  /** Gives each part the user_message_reference by which a receipt may identify it. */
  #begin(message: Outbound, { submits }: Submission): { submitted: SubmitRecord; submit: SubmitPdu }[] {
    const { tracker, recentSubmits } = this.#parts;
    const isTaken = (userReference: number) => tracker.findByUserReference(userReference) !== null;
    const ends = this.#endsOf(message);
    return submits.map((submit) => {
      const submitted = recentSubmits.open(message.messageId, isTaken, ends);
      return { submitted, submit: withUserReference(submit, submitted.userReference) };
    });
  }

  /**
   * Submits the first part alone, since nothing is sent until it is accepted. Then submits the others in order, and
   * releases the permits once each was tried.
   */
  async #submitAll([first, ...others]: readonly SubmitPdu[], release: () => void): Promise<PartResult[]> {
    const { submitter, clock } = this.#parts;
    if (first === undefined) return [];
    const until = clock.real() + REST_MS_MAX;
    const answer = await submitter.submit(first);
    if (answer.answer !== "ok") return [answer];
    const rest = others.map((submit) => ({ submit, tried: submitter.submit(submit) }));
    void Promise.all(rest.map(({ tried }) => tried)).then(release);
    return [answer, ...(await Promise.all(rest.map(({ submit, tried }) => submitter.insist(submit, tried, until))))];
  }

  /** Tracks the ids of a message whose parts may have been accepted, and decides its outcome. */
  #conclude(message: Outbound, { encoding, segments }: Submission, parts: readonly SubmittedPart[]): Outcome {
    const { recentSubmits, submitter } = this.#parts;
    const [first] = parts;
    if (first === undefined) throw new Error("a submission has no part");
    const refusal = failureOf(first.answer, submitter.throttledMs);
    if (refusal !== null) return refusal;
    const reference = this.#referenceOf(message, first.id);
    for (const { id } of parts) if (id !== null) this.#assignId(id, message, reference);
    const units = unitsOf(parts);
    const isIdentified = units.length === 1 && reference === first.id;
    if (isIdentified) recentSubmits.close(first.submitted, reference);
    else this.#track(message, reference, units);
    const note = isIdentified ? {} : { note: () => this.#parts.tracker.noteOf(message) };
    for (const [at, { answer }] of parts.entries()) {
      if (answer.answer === "ok") continue;
      const why = reasonOf(answer);
      const place = `not all of ${parts.length} parts were accepted; part ${at + 1}: `;
      return { outcome: "unknown", reason: parts.length === 1 ? why : place + why, ...note };
    }
    return { outcome: "accepted", reference, segments, encoding, ...note };
  }

  /** The carrier's id if it belongs to this message alone; otherwise a reference of our own. */
  #referenceOf(message: Outbound, id: string | null): string {
    if (id === null || this.#parts.recentSubmits.isIdOfAnother(id, message.messageId)) return ownReference(message);
    return id;
  }

  #assignId(id: string, message: Outbound, reference: string): void {
    const { tracker, recentSubmits } = this.#parts;
    if (tracker.hasEnded(id)) recentSubmits.endId(id);
    tracker.reassignId(id);
    recentSubmits.assignId(id, message.messageId, reference, this.#endsOf(message));
  }

  #track(message: Outbound, reference: string, units: readonly SubmittedPart[]): void {
    const { messageId, attemptedAt } = message;
    const isAccepted = units.every(({ answer }) => answer.answer === "ok");
    const parts = units.map(({ submitted: { userReference }, answer, id }) => {
      const isTaken = failureOf(answer, 0) === null;
      return { id, userReference, state: isTaken ? ("open" as const) : ("missing" as const) };
    });
    const ends = this.#endsOf(message);
    this.#parts.tracker.track({ messageId, attemptedAt, reference, isAccepted, parts, ends });
  }

  #endsOf({ from, to }: Outbound): EndDigits {
    return { from: lastDigits(this.#parts.settings.sourceAddress ?? from), to: lastDigits(to) };
  }
}

/**
 * The parts that receipts can distinguish. If the carrier gave several parts the same id, it sends one receipt for them
 * all, so that only the first of them counts.
 */
function unitsOf(parts: readonly SubmittedPart[]): SubmittedPart[] {
  return parts.filter(({ id }, at) => id === null || parts.findIndex((part) => part.id === id) === at);
}

/** A reference that no other send attempt has, and that is the same each time it is computed. */
function ownReference({ messageId, attemptedAt }: Outbound): string {
  return `${OWN_PREFIX}${messageId.slice("msg_".length)}:${attemptedAt.toString(36)}`;
}
