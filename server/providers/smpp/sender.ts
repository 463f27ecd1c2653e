/** Hands messages over, part by part, and says what became of each: not sent, taken, or not known. */

import type { Clock } from "../../clock.ts";
import type { Outbound, Outcome } from "../provider.ts";
import { type EndDigits, lastDigits } from "./address.ts";
import type { SmscLink } from "./link.ts";
import { OWN_PREFIX, responseId } from "./message-id.ts";
import type { PartJournal } from "./part-journal.ts";
import { failureOf, type PartResult, RETRY_AFTER_MS, reasonOf, unavailable } from "./part-result.ts";
import type { PartSubmitter } from "./part-submitter.ts";
import type { RecentSubmits, SubmitRecord } from "./recent-submits.ts";
import type { SmppReporter } from "./reporter.ts";
import { WeightedSemaphore } from "./semaphore.ts";
import type { SmppSettings } from "./settings.ts";
import { type Submission, type SubmitPdu, submissionOf, withUserReference } from "./submit-pdus.ts";

/** How long a message may wait to be begun: what it then waits for the link is less than the engine has patience. */
const BEGIN_WITHIN_MS = 12_000;
/** What is begun at once is what the pace lets go in so many seconds, so that parts of one message follow one another. */
const BEGUN_SECONDS = 5;
/** How long the rest of a message whose beginning was taken is tried: less than the engine waits for proof (0010). */
const REST_MS_MAX = 270_000;
const REFERENCES = 0x1_0000;

const NOT_TRIED: PartResult = { answer: "notSent", reason: "it was not tried", isDown: false };

interface SmppSenderParts {
  link: Pick<SmscLink, "isUp" | "state">;
  submitter: PartSubmitter;
  settings: SmppSettings;
  recentSubmits: RecentSubmits;
  journal: PartJournal;
  reporter: SmppReporter;
  clock: Clock;
  fault: (error: unknown) => void;
}

/** A part that was begun, and what became of it. */
interface SubmittedPart {
  submitted: SubmitRecord;
  answer: PartResult;
  /** The carrier's id of it; null where it gave none, or none that tells anything. */
  id: string | null;
}

/**
 * A message goes through four steps: it waits at the turnstile, its parts are submitted, what they are called is kept, and its outcome is
 * told: to whoever handed it over, or, where that one has called it off meanwhile, as a receipt.
 */
export class SmppSender {
  readonly #parts: SmppSenderParts;
  readonly #semaphore: WeightedSemaphore;
  /** Hand-overs at once that make sense on this bind. */
  readonly concurrency: number;
  /** What the parts of a message have in common: begins at another place in each process. */
  #reference: number;
  /** Messages that are begun, and in how many parts. */
  readonly #begun = new Map<Promise<unknown>, number>();
  /** Those of them that whoever handed them over waits for. */
  #awaited = 0;
  #isFinishing = false;

  constructor(parts: SmppSenderParts) {
    this.#parts = parts;
    this.#reference = parts.clock.real() % REFERENCES;
    const { windowSize, throughputPerSecond: pace } = parts.settings.link;
    this.concurrency = Math.max(1, Math.min(windowSize, Math.ceil((pace ?? windowSize) * BEGUN_SECONDS)));
    this.#semaphore = new WeightedSemaphore(parts.clock, this.concurrency);
  }

  async send(message: Outbound, abort: AbortSignal): Promise<Outcome> {
    const { link, settings } = this.#parts;
    this.#reference = (this.#reference + 1) % REFERENCES;
    const submission = submissionOf(message, settings, this.#reference);
    if ("code" in submission) return { outcome: "rejected", ...submission };
    if (this.#isFinishing) return unavailable("the instance is being stopped");
    if (!link.isUp) return unavailable(link.state().lastError ?? "the SMSC is not bound");
    const leave = await this.#semaphore.acquire(submission.submits.length, BEGIN_WITHIN_MS, abort);
    if (leave === null) {
      return { outcome: "deferred", retryAfterMs: RETRY_AFTER_MS, reason: "the pace of the bind left no room for it" };
    }
    if (this.#isFinishing) {
      leave();
      return unavailable("the instance is being stopped");
    }
    const whole = this.#submitMessage(message, submission, leave).finally(leave);
    this.#note(whole, submission.submits.length);
    this.#awaited += 1;
    try {
      return await this.#unlessAborted(message, whole, abort);
    } finally {
      this.#awaited -= 1;
    }
  }

  /** Whether anybody waits for a message that is begun: not where all were called off. */
  get hasCallers(): boolean {
    return this.#awaited > 0;
  }

  /** Begins none from now on, and resolves when those in parts that were begun have ended, after `limitMs` at the latest. */
  async finish(limitMs: number): Promise<void> {
    this.#isFinishing = true;
    const inParts = [...this.#begun].filter(([, parts]) => parts > 1).map(([whole]) => whole);
    await Promise.race([Promise.allSettled(inParts), this.#parts.reporter.pause(limitMs)]);
  }

  /** Resolves when all that were begun have ended, and what is to be kept of them is on disk: soon after the link was stopped and the telling began to end. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#begun.keys());
  }

  #note(whole: Promise<unknown>, parts: number): void {
    const ended = () => void this.#begun.delete(whole);
    this.#begun.set(whole, parts);
    whole.then(ended, ended);
  }

  /** Who calls it off need not wait; what was begun goes on, and is told of when its end is known. */
  async #unlessAborted(message: Outbound, whole: Promise<Outcome>, abort: AbortSignal): Promise<Outcome> {
    const { promise: calledOff, resolve } = Promise.withResolvers<null>();
    const callOff = () => resolve(null);
    abort.addEventListener("abort", callOff, { once: true });
    if (abort.aborted) callOff();
    const outcome = await Promise.race([calledOff, whole]).finally(() => abort.removeEventListener("abort", callOff));
    if (outcome !== null) return outcome;
    void whole.then((late) => this.#reportLate(message, late)).catch(this.#parts.fault);
    return { outcome: "unknown", reason: "it was on its way to the SMSC when it was called off" };
  }

  /** Nobody heard the outcome: it is told as a receipt, where it proves something. */
  async #reportLate(message: Outbound, outcome: Outcome): Promise<void> {
    const { reporter } = this.#parts;
    const signal = { kind: "receipt", messageId: message.messageId, channel: "sms" } as const;
    if (outcome.outcome === "accepted") {
      await reporter.reportUntilAccepted({ ...signal, reference: outcome.reference, receipt: "sent" });
    } else if (outcome.outcome === "rejected") {
      const { code, reason } = outcome;
      await reporter.reportUntilAccepted({
        ...signal,
        reference: ownReference(message),
        receipt: "failed",
        code,
        reason,
      });
    }
  }

  async #submitMessage(message: Outbound, submission: Submission, leave: () => void): Promise<Outcome> {
    const { recentSubmits, settings } = this.#parts;
    const begun = this.#begin(message, submission);
    try {
      const answers = await this.#submitAll(
        begun.map(({ submit }) => submit),
        leave,
      );
      const parts = begun.map(({ submitted }, at): SubmittedPart => {
        const answer = answers[at] ?? NOT_TRIED;
        const id = answer.answer === "ok" ? responseId(answer.messageId, settings.messageIdBase) : null;
        return { submitted, answer, id };
      });
      return await this.#conclude(message, submission, parts);
    } finally {
      // Whatever was not kept is over.
      for (const { submitted } of begun) recentSubmits.close(submitted, null);
    }
  }

  /** Gives each part the number by which a receipt may name it. */
  #begin(message: Outbound, { submits }: Submission): { submitted: SubmitRecord; submit: SubmitPdu }[] {
    const { journal, recentSubmits } = this.#parts;
    const isTaken = (userReference: number) => journal.findByUserReference(userReference) !== null;
    const ends = this.#endsOf(message);
    return submits.map((submit) => {
      const submitted = recentSubmits.open(message.messageId, isTaken, ends);
      return { submitted, submit: withUserReference(submit, submitted.userReference) };
    });
  }

  /** The first part alone: as long as it is not taken, nothing is. Then all others, in order. Once each was tried it holds up none. */
  async #submitAll([first, ...others]: readonly SubmitPdu[], leave: () => void): Promise<PartResult[]> {
    const { submitter, clock } = this.#parts;
    if (first === undefined) return [];
    const until = clock.real() + REST_MS_MAX;
    const answer = await submitter.submit(first);
    if (answer.answer !== "ok") return [answer];
    const rest = others.map((submit) => ({ submit, tried: submitter.submit(submit) }));
    void Promise.all(rest.map(({ tried }) => tried)).then(leave);
    return [answer, ...(await Promise.all(rest.map(({ submit, tried }) => submitter.insist(submit, tried, until))))];
  }

  /** Keeps what the parts of a message are called, where any may have been taken, and says what became of it. */
  async #conclude(
    message: Outbound,
    { encoding, segments }: Submission,
    parts: readonly SubmittedPart[],
  ): Promise<Outcome> {
    const { recentSubmits, submitter } = this.#parts;
    const [first] = parts;
    if (first === undefined) throw new Error("a submission has no part");
    const refusal = failureOf(first.answer, submitter.throttledMs);
    if (refusal !== null) return refusal;
    const reference = this.#referenceOf(message, first.id);
    for (const { id } of parts) if (id !== null) this.#assignId(id, message, reference);
    const units = unitsOf(parts);
    if (units.length === 1 && reference === first.id) recentSubmits.close(first.submitted, reference);
    else await this.#record(message, reference, units);
    for (const [at, { answer }] of parts.entries()) {
      if (answer.answer === "ok") continue;
      const why = reasonOf(answer);
      const place = `of ${parts.length} parts not all were taken; part ${at + 1}: `;
      return { outcome: "unknown", reason: parts.length === 1 ? why : place + why };
    }
    return { outcome: "accepted", reference, segments, encoding };
  }

  /** The carrier's id, where it is this message's alone; else a name of our own. */
  #referenceOf(message: Outbound, id: string | null): string {
    if (id === null || this.#parts.recentSubmits.isIdOfAnother(id, message.messageId)) return ownReference(message);
    return id;
  }

  #assignId(id: string, { messageId }: Outbound, reference: string): void {
    const { journal, recentSubmits } = this.#parts;
    if (journal.hasEnded(id)) recentSubmits.endId(id);
    journal.reassignId(id);
    recentSubmits.assignId(id, messageId, reference);
  }

  /** A write that fails loses no message: the receipts of this process find it all the same. */
  async #record(message: Outbound, reference: string, units: readonly SubmittedPart[]): Promise<void> {
    const { journal, fault } = this.#parts;
    const { messageId, attemptedAt: at } = message;
    const kept = units.map(({ submitted: { userReference }, answer, id }) => {
      const isTaken = failureOf(answer, 0) === null;
      return { id, userReference, state: isTaken ? ("open" as const) : ("missing" as const) };
    });
    try {
      await journal.record({ messageId, reference, at, parts: kept, ends: this.#endsOf(message) });
    } catch (error) {
      fault(error);
    }
  }

  #endsOf({ from, to }: Outbound): EndDigits {
    return { from: lastDigits(this.#parts.settings.sourceAddress ?? from), to: lastDigits(to) };
  }
}

/**
 * The parts that receipts tell apart. Parts to which the carrier gave one id are one unit, named by the first of them: the
 * carrier reports once for all of them.
 */
function unitsOf(parts: readonly SubmittedPart[]): SubmittedPart[] {
  return parts.filter(({ id }, at) => id === null || parts.findIndex((part) => part.id === id) === at);
}

/** Unlike that of every other hand-over, and the same whenever it is asked for. */
function ownReference({ messageId, attemptedAt }: Outbound): string {
  return `${OWN_PREFIX}${messageId.slice("msg_".length)}:${attemptedAt.toString(36)}`;
}
