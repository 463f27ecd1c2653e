/** Hands messages over to the link, part by part, and says what became of each: not sent, taken, or not known. */

import type { Clock } from "../../clock.ts";
import { doublingMs } from "../../core/retry.ts";
import type { Outbound, Outcome } from "../provider.ts";
import { type Ends, lastDigits } from "./address.ts";
import type { Book, Part } from "./book.ts";
import type { Flight, Flights } from "./flights.ts";
import type { Link, Submitted } from "./link.ts";
import { OWN_PREFIX, responseId } from "./message-id.ts";
import { PduError } from "./octets.ts";
import type { SmppSettings } from "./settings.ts";
import { describeStatus, statusOf } from "./status.ts";
import { type Submission, type Submit, submissionOf, withUserReference } from "./submit.ts";
import type { Telling } from "./telling.ts";
import { Turnstile } from "./turnstile.ts";

/** How long a message may wait to be begun: what it then waits for the link is less than the engine has patience. */
const BEGIN_WITHIN_MS = 12_000;
/** What is begun at once is what the pace lets go in so many seconds, so that parts of one message follow one another. */
const BEGUN_SECONDS = 5;
/** A message that could not be begun in time comes again after this. */
const AGAIN_AFTER_MS = 1_000;
/** After a word that nothing goes at present: the session, or the account. */
const BIND_AGAIN_AFTER_MS = 10_000;
/** How long the rest of a message whose beginning was taken is tried: less than the engine waits for proof (0010). */
const REST_MS_MAX = 270_000;
/** Between tries of a part. */
const PART_AGAIN_MS = 1_000;
const PART_AGAIN_MS_MAX = 15_000;
/** The pause after a word that we are too fast; it doubles with each until a message is taken. */
const THROTTLED_MS = 1_000;
const THROTTLED_MS_MAX = 8_000;
const REFERENCES = 0x1_0000;

/** What a hand-over is not called off by: once written, its answer is worth waiting for. */
const NEVER = new AbortController().signal;

interface HandOverParts {
  link: Pick<Link, "submit" | "pause" | "isUp" | "state">;
  settings: SmppSettings;
  flights: Flights;
  book: Book;
  telling: Telling;
  clock: Clock;
  fault: (error: unknown) => void;
}

/** What became of one part: as the link says, or that it cannot be written at all. */
type PartOutcome = Submitted | { answer: "notWritable"; reason: string };

export class HandOvers {
  readonly #parts: HandOverParts;
  readonly #turnstile: Turnstile;
  /** Hand-overs at once that make sense on this bind. */
  readonly concurrency: number;
  /** What the parts of a message have in common: begins at another place in each process. */
  #reference: number;
  #throttledMs = 0;
  #throttledAt: number | null = null;
  #unanswered = 0;
  /** Messages in parts that are begun. */
  readonly #inParts = new Set<Promise<unknown>>();
  #isFinishing = false;

  constructor(parts: HandOverParts) {
    this.#parts = parts;
    this.#reference = parts.clock.real() % REFERENCES;
    const { windowSize, throughputPerSecond: pace } = parts.settings.link;
    this.concurrency = Math.max(1, Math.min(windowSize, Math.ceil((pace ?? windowSize) * BEGUN_SECONDS)));
    this.#turnstile = new Turnstile(parts.clock, this.concurrency);
  }

  /** When the SMSC last said that we are too fast, real; null when it never did. */
  get throttledAt(): number | null {
    return this.#throttledAt;
  }

  /** Messages since the last answer that got none. */
  get unanswered(): number {
    return this.#unanswered;
  }

  async send(message: Outbound, abort: AbortSignal): Promise<Outcome> {
    const { link, settings } = this.#parts;
    this.#reference = (this.#reference + 1) % REFERENCES;
    const submission = submissionOf(message, settings, this.#reference);
    if ("code" in submission) return { outcome: "rejected", ...submission };
    if (this.#isOver) return down("the instance is being stopped");
    if (!link.isUp) return down(link.state().lastError ?? "the SMSC is not bound");
    const leave = await this.#turnstile.enter(submission.submits.length, BEGIN_WITHIN_MS, abort);
    if (leave === null) {
      return { outcome: "deferred", retryAfterMs: AGAIN_AFTER_MS, reason: "the pace of the bind left no room for it" };
    }
    if (this.#isOver) {
      leave();
      return down("the instance is being stopped");
    }
    const whole = this.#handOver(message, submission, leave).finally(leave);
    if (submission.submits.length > 1) this.#note(whole);
    return await this.#orCalledOff(message, whole, abort);
  }

  /** Begins none from now on, and resolves when those in parts that were begun have ended, after `limitMs` at the latest. */
  async finish(limitMs: number): Promise<void> {
    this.#isFinishing = true;
    await Promise.race([Promise.allSettled(this.#inParts), this.#parts.telling.pause(limitMs)]);
  }

  get #isOver(): boolean {
    return this.#isFinishing || this.#parts.telling.isStopped;
  }

  #note(whole: Promise<unknown>): void {
    const ended = () => void this.#inParts.delete(whole);
    this.#inParts.add(whole);
    whole.then(ended, ended);
  }

  /** Who calls it off need not wait; what was begun goes on, and is told of when its end is known. */
  #orCalledOff(message: Outbound, whole: Promise<Outcome>, abort: AbortSignal): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const calledOff = () => {
        resolve({ outcome: "unknown", reason: "it was on its way to the SMSC when it was called off" });
        void whole.then((outcome) => this.#tellLate(message, outcome)).catch(this.#parts.fault);
      };
      abort.addEventListener("abort", calledOff, { once: true });
      if (abort.aborted) calledOff();
      void whole.then(resolve, reject).finally(() => abort.removeEventListener("abort", calledOff));
    });
  }

  /** Nobody heard the outcome: it is told as a receipt, where it proves something. */
  async #tellLate(message: Outbound, outcome: Outcome): Promise<void> {
    const { telling } = this.#parts;
    const signal = { kind: "receipt", messageId: message.messageId, channel: "sms" } as const;
    if (outcome.outcome === "accepted") {
      await telling.tellUntilTaken({ ...signal, reference: outcome.reference, receipt: "sent" });
    } else if (outcome.outcome === "rejected") {
      const { code, reason } = outcome;
      await telling.tellUntilTaken({ ...signal, reference: ownReference(message), receipt: "failed", code, reason });
    }
  }

  /** The first part alone: as long as it is not taken, nothing is. Then all others, in order. Once each was tried it holds up none. */
  async #handOver(message: Outbound, submission: Submission, leave: () => void): Promise<Outcome> {
    const { book, flights, clock } = this.#parts;
    const isTaken = (userReference: number) => book.findByUserReference(userReference) !== null;
    const ends = this.#endsOf(message);
    const begun = submission.submits.map((submit) => {
      const flight = flights.open(message.messageId, isTaken, ends);
      return { submit: withUserReference(submit, flight.userReference), flight };
    });
    const until = clock.real() + REST_MS_MAX;
    const [first, ...rest] = begun;
    if (first === undefined) throw new Error("a submission has no part");
    const numbers = begun.map(({ flight }) => flight);
    try {
      const answers = [await this.#submit(first.submit)];
      if (answers[0]?.answer === "ok") {
        let untried = rest.length;
        const tried = () => {
          untried -= 1;
          if (untried === 0) leave();
        };
        answers.push(...(await Promise.all(rest.map(({ submit }) => this.#insist(submit, until, tried)))));
      }
      return await this.#conclude(message, submission, numbers, answers);
    } finally {
      // Whatever was not kept is over.
      for (const flight of numbers) if (flight.state === "open") flights.close(flight, null);
    }
  }

  async #conclude(
    message: Outbound,
    { encoding, segments }: Submission,
    flights: readonly Flight[],
    answers: readonly PartOutcome[],
  ): Promise<Outcome> {
    const [first] = answers;
    if (first === undefined || (first.answer !== "ok" && first.answer !== "unknown")) return this.#notSent(first);
    const ids = flights.map((_, at) => this.#idOf(answers[at]));
    const reference = this.#name(message, ids[0] ?? null);
    const isPlain = flights.length === 1 && reference === ids[0];
    for (const id of ids) if (id !== null) this.#given(id, message, reference);
    if (isPlain && flights[0] !== undefined) this.#parts.flights.close(flights[0], reference);
    else
      await this.#keep(
        message,
        reference,
        flights.map((flight, at): Part => partOf(flight, ids[at] ?? null, answers[at])),
      );
    const lost = answers.findIndex(({ answer }) => answer !== "ok");
    if (lost < 0) return { outcome: "accepted", reference, segments, encoding };
    return { outcome: "unknown", reason: reasonOf(answers[lost], lost + 1, flights.length) };
  }

  #given(id: string, { messageId }: Outbound, reference: string): void {
    const { book, flights } = this.#parts;
    if (book.hasEnded(id)) flights.end(id);
    book.given(id);
    flights.give(id, messageId, reference);
  }

  /** A write that fails loses no message: the receipts of this process find it all the same. */
  async #keep(message: Outbound, reference: string, parts: Part[]): Promise<void> {
    const { book, fault } = this.#parts;
    try {
      const { messageId, handedOverAt: at } = message;
      await book.keep({ messageId, reference, at, parts, ends: this.#endsOf(message) });
    } catch (error) {
      fault(error);
    }
  }

  #endsOf({ from, to }: Outbound): Ends {
    return { from: lastDigits(this.#parts.settings.sourceAddress ?? from), to: lastDigits(to) };
  }

  /** The carrier's id, where it is this message's alone; else a name of our own. */
  #name(message: Outbound, id: string | null): string {
    if (id === null || this.#parts.flights.isGiven(id, message.messageId)) return ownReference(message);
    return id;
  }

  #idOf(answer: PartOutcome | undefined): string | null {
    return answer?.answer === "ok" ? responseId(answer.messageId, this.#parts.settings.messageIdBase) : null;
  }

  async #submit(submit: Submit): Promise<PartOutcome> {
    const { link } = this.#parts;
    let submitted: Submitted;
    try {
      submitted = await link.submit(submit, NEVER);
    } catch (error) {
      // It was never written. The message names a field and not its value.
      return { answer: "notWritable", reason: error instanceof PduError ? error.message : "it cannot be written" };
    }
    if (submitted.answer === "unknown") this.#unanswered += 1;
    else if (submitted.answer !== "notSent") this.#unanswered = 0;
    if (submitted.answer === "ok") this.#throttledMs = 0;
    if (submitted.answer === "refused" && statusOf(submitted.status).class === "throttled") this.#slowDown();
    return submitted;
  }

  /** Tries until it is taken, refused for good or perhaps taken, or the time is over. Never twice what may have been taken. */
  async #insist(submit: Submit, until: number, tried: () => void): Promise<PartOutcome> {
    const { clock, telling } = this.#parts;
    for (let tries = 0; ; tries += 1) {
      const answer = await this.#submit(submit);
      if (tries === 0) tried();
      const mayGoLater = answer.answer === "notSent" || (answer.answer === "refused" && isTransient(answer.status));
      if (!mayGoLater || telling.isStopped || clock.real() >= until) return answer;
      await telling.pause(doublingMs(tries + 1, PART_AGAIN_MS, PART_AGAIN_MS_MAX));
    }
  }

  #slowDown(): void {
    const { link, clock } = this.#parts;
    const isNew = this.#throttledAt === null || clock.real() - this.#throttledAt >= this.#throttledMs;
    // Those refused together are one refusal.
    if (isNew) this.#throttledMs = Math.min(Math.max(THROTTLED_MS, this.#throttledMs * 2), THROTTLED_MS_MAX);
    this.#throttledAt = clock.real();
    link.pause(this.#throttledMs);
  }

  /** Not an octet of it was taken. */
  #notSent(answer: PartOutcome | undefined): Outcome {
    switch (answer?.answer) {
      case "refused":
        return this.#refused(answer.status);
      case "notWritable":
        return { outcome: "rejected", code: "NOT_WRITABLE", reason: `SMPP cannot carry it: ${answer.reason}.` };
      case "notSent":
        if (answer.isDown) return down(answer.reason);
        return { outcome: "deferred", retryAfterMs: AGAIN_AFTER_MS, reason: answer.reason };
      default:
        return { outcome: "unknown", reason: "the hand-over came to no end" };
    }
  }

  #refused(code: number): Outcome {
    const status = statusOf(code);
    const reason = `the SMSC refuses it: ${describeStatus(code)}`;
    switch (status.class) {
      case "throttled":
        return { outcome: "deferred", retryAfterMs: this.#throttledMs, reason };
      case "bind":
        return { outcome: "deferred", retryAfterMs: BIND_AGAIN_AFTER_MS, reason, isDown: true };
      case "transient":
        return { outcome: "deferred", retryAfterMs: null, reason };
      default:
        return { outcome: "rejected", code: status.name, reason };
    }
  }
}

function isTransient(status: number): boolean {
  return statusOf(status).class !== "permanent";
}

function down(reason: string): Outcome {
  return { outcome: "deferred", retryAfterMs: null, reason, isDown: true };
}

/** Unlike that of every other hand-over, and the same whenever it is asked for. */
function ownReference({ messageId, handedOverAt }: Outbound): string {
  return `${OWN_PREFIX}${messageId.slice("msg_".length)}:${handedOverAt.toString(36)}`;
}

function partOf({ userReference }: Flight, id: string | null, answer: PartOutcome | undefined): Part {
  const isOpen = answer?.answer === "ok" || answer?.answer === "unknown";
  return { id, userReference, state: isOpen ? "open" : "missing" };
}

function reasonOf(answer: PartOutcome | undefined, part: number, parts: number): string {
  const why =
    answer === undefined || answer.answer === "ok"
      ? "it was not tried"
      : answer.answer === "refused"
        ? `the SMSC refuses it: ${describeStatus(answer.status)}`
        : answer.reason;
  return parts === 1 ? why : `of ${parts} parts not all were taken; part ${part}: ${why}`;
}
