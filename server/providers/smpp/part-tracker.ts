/**
 * Tracks sent messages that the carrier's id alone does not identify, until all their parts have ended: in memory, and on disk as
 * notes of their send attempts.
 */

import { setBounded } from "../../core/bounded-map.ts";
import { jsonOf, numberOf, recordOf, textOf } from "../../core/loose-json.ts";
import { AttemptEnded, type AttemptName, type NotedAttempt } from "../../core/send-attempt.ts";
import { SerialQueue } from "../../core/serial-queue.ts";
import type { Applied, ReceiptSignal, SendAttempts } from "../provider.ts";
import type { EndDigits } from "./address.ts";
import type { SmppReceipt } from "./receipts.ts";

/** One submit_sm of a message. */
export interface TrackedPart {
  /** The carrier's id. Null if the carrier gave none, or one that identifies nothing. */
  id: string | null;
  userReference: number;
  /** `open`: accepted, or possibly accepted. `missing`: provably not accepted. */
  state: "open" | "missing" | "delivered" | "failed";
}

/** A send attempt, with its parts. */
export interface TrackedMessage extends AttemptName {
  /** The reference that the engine knows. */
  reference: string;
  /** Whether the outcome of the attempt said that all parts were accepted. */
  isAccepted: boolean;
  parts: TrackedPart[];
  ends?: EndDigits;
}

/** The part that a receipt is about. */
export interface PartMatch {
  message: TrackedMessage;
  part: TrackedPart;
}

/** Messages are forgotten after this time: no carrier is known to send receipts later. */
const KEPT_MS = 7 * 86_400_000;
/** Messages at once. Beyond this number the oldest is forgotten. */
const MESSAGES_MAX = 100_000;
/** User references remembered at once: half of the 16-bit range, so that the next submit always finds a free one. */
const NUMBERS_MAX = 0x8000;
/** Ids of ended messages to remember, so that a repeated receipt is recognised as a duplicate. */
const ENDED_MAX = 10_000;

export class PartTracker {
  readonly #attempts: SendAttempts;
  readonly #report: (signal: ReceiptSignal) => Promise<Applied>;
  readonly #serial = new SerialQueue();
  /** The oldest first. */
  readonly #messages = new Map<string, TrackedMessage>();
  /** Messages whose attempts have ended, as far as this process knows. */
  readonly #concluded = new WeakSet<TrackedMessage>();
  readonly #byId = new Map<string, PartMatch>();
  readonly #byUserReference = new Map<number, PartMatch>();
  readonly #ended = new Map<string, true>();

  constructor(attempts: SendAttempts, report: (signal: ReceiptSignal) => Promise<Applied>) {
    this.#attempts = attempts;
    this.#report = report;
  }

  /** Reads what previous processes noted. */
  async load(now: number): Promise<void> {
    for (const attempt of await this.#attempts.noted()) {
      const message = parseNote(attempt);
      if (message === null || this.#messages.has(nameOf(message))) continue;
      if (message.isAccepted) this.#concluded.add(message);
      this.track(message);
    }
    await this.sweep(now);
  }

  /** Adds a message, so that receipts find it at once. It is on disk with the outcome of its attempt, by `noteOf`. */
  track(message: TrackedMessage): void {
    this.#messages.set(nameOf(message), message);
    for (const part of message.parts) {
      if (part.id !== null) this.#byId.set(part.id, { message, part });
      setBounded(this.#byUserReference, part.userReference, { message, part }, NUMBERS_MAX);
    }
    if (this.#messages.size <= MESSAGES_MAX) return;
    const [oldest = message] = this.#messages.values();
    // If this fails, a later process forgets it.
    void this.#forget(oldest).catch(() => {});
  }

  /** The note about a message, as receipts have left it; undefined if it is not tracked any more. */
  noteOf(attempt: AttemptName): string | undefined {
    const message = this.#messages.get(nameOf(attempt));
    return message === undefined ? undefined : formatNote(message);
  }

  /** Runs `work` while no receipt of the message is applied. */
  inTurn<Value>(attempt: AttemptName, work: () => Promise<Value>): Promise<Value> {
    return this.#serial.run(nameOf(attempt), work);
  }

  /** Notes what is tracked of an attempt whose outcome the engine no longer waits for. */
  note(attempt: AttemptName): Promise<void> {
    return this.inTurn(attempt, async () => {
      const message = this.#messages.get(nameOf(attempt));
      if (message !== undefined) await this.#save(message);
    });
  }

  /** Forgets messages that are too old. */
  async sweep(now: number): Promise<void> {
    for (const message of [...this.#messages.values()])
      if (message.attemptedAt <= now - KEPT_MS) await this.#forget(message);
  }

  findById(id: string): PartMatch | null {
    return this.#byId.get(id) ?? null;
  }

  findByUserReference(userReference: number): PartMatch | null {
    return this.#byUserReference.get(userReference) ?? null;
  }

  /** Whether the final receipt of the message with this id has been reported. */
  hasEnded(id: string): boolean {
    return this.#ended.has(id) || this.#byId.get(id)?.message.parts.every(isEnded) === true;
  }

  /** Drops the id from its former message, because the SMSC gave it to another one. */
  reassignId(id: string): void {
    this.#ended.delete(id);
    this.#byId.delete(id);
  }

  /**
   * Applies a receipt to a part and reports the result for the message: delivered with the last part, failed with any
   * part. A message that failed in part stays, so that receipts of other parts change nothing. Resolves when the change
   * is on disk. If it throws, the caller has to call it again.
   */
  applyReceipt({ message, part }: PartMatch, receipt: Pick<SmppReceipt, "state" | "word" | "code">): Promise<Applied> {
    return this.inTurn(message, () => this.#apply(message, part, receipt));
  }

  async #apply(
    message: TrackedMessage,
    part: TrackedPart,
    receipt: Pick<SmppReceipt, "state" | "word" | "code">,
  ): Promise<Applied> {
    if (this.#messages.get(nameOf(message)) !== message) return "applied";
    if (receipt.state === "unclear") return "applied";
    if (receipt.state === "underway") {
      // An intermediate state of one part among several says nothing about the others.
      if (message.parts.length > 1) return "applied";
      return this.#report(message.isAccepted ? signalOf(message, "sent") : notedSignal(message, "sent"));
    }
    // A delivered part stays delivered if an older receipt arrives late.
    if (part.state !== "delivered") part.state = receipt.state;
    const isWhole = message.parts.every(({ state }) => state === "delivered");
    const why = receipt.state === "failed" ? whyOf(receipt) : { reason: "The carrier could not deliver a part of it." };
    if (!isWhole && message.parts.length > 1) {
      if (receipt.state === "failed" || message.parts.every(isEnded))
        return this.#report({ ...notedSignal(message, "failed"), ...why });
      await this.#save(message);
      return "applied";
    }
    const signal = isWhole ? signalOf(message, "delivered") : { ...signalOf(message, "failed"), ...why };
    const applied = await this.#report({ ...signal, note: { reference: message.reference, text: null } });
    this.#drop(message);
    return applied;
  }

  async #save(message: TrackedMessage): Promise<void> {
    const text = formatNote(message);
    if (!this.#concluded.has(message)) {
      try {
        await this.#attempts.note(message, text);
        return;
      } catch (error) {
        if (!(error instanceof AttemptEnded)) throw error;
        this.#concluded.add(message);
      }
    }
    await this.#attempts.change(message, text);
  }

  async #forget(message: TrackedMessage): Promise<void> {
    this.#drop(message);
    await this.#attempts.change(message, null);
  }

  #drop(message: TrackedMessage): void {
    this.#messages.delete(nameOf(message));
    for (const { id, userReference } of message.parts) {
      if (this.#byUserReference.get(userReference)?.message === message) this.#byUserReference.delete(userReference);
      if (id === null) continue;
      if (this.#byId.get(id)?.message === message) this.#byId.delete(id);
      setBounded(this.#ended, id, true, ENDED_MAX);
    }
  }
}

/** The name of an attempt. */
function nameOf({ messageId, attemptedAt }: AttemptName): string {
  return `${messageId}/${attemptedAt}`;
}

function isEnded({ state }: TrackedPart): boolean {
  return state === "delivered" || state === "failed";
}

function signalOf(
  { reference, messageId }: Pick<TrackedMessage, "reference" | "messageId">,
  receipt: ReceiptSignal["receipt"],
): ReceiptSignal {
  return { kind: "receipt", reference, messageId, channel: "sms", receipt };
}

/** A receipt of a message that stays tracked. It proves the attempt, and what proves an attempt replaces its note. */
function notedSignal(message: TrackedMessage, receipt: ReceiptSignal["receipt"]): ReceiptSignal {
  return { ...signalOf(message, receipt), note: { reference: message.reference, text: formatNote(message) } };
}

/** The error code and the sentence of a failed receipt. */
export function whyOf({ word, code }: Pick<SmppReceipt, "word" | "code">): { code: string; reason: string } {
  const words = code === null ? word : `${word}, error ${code}`;
  return { code: code ?? word, reason: `The carrier accepted the message and could not deliver it (${words}).` };
}

function formatNote({ reference, parts, ends }: TrackedMessage): string {
  return JSON.stringify({ reference, parts, ends });
}

const STATES: readonly unknown[] = ["open", "missing", "delivered", "failed"] satisfies TrackedPart["state"][];

/** Reads a note; null if it cannot be read. */
function parseNote({ messageId, attemptedAt, reference: accepted, note }: NotedAttempt): TrackedMessage | null {
  const fields = recordOf(jsonOf(note));
  const [reference, parts, ends] = [textOf(fields?.reference), fields?.parts, recordOf(fields?.ends)];
  if (reference === null || !Array.isArray(parts) || !parts.every(isPart)) return null;
  const [from, to] = [textOf(ends?.from), textOf(ends?.to)];
  const isAccepted = accepted !== null;
  const known = from === null || to === null ? {} : { ends: { from, to } };
  return { messageId, attemptedAt, reference, isAccepted, parts, ...known };
}

function isPart(value: unknown): value is TrackedPart {
  const part = recordOf(value);
  if (part === null || (part.id !== null && textOf(part.id) === null)) return false;
  return numberOf(part.userReference) !== null && STATES.includes(part.state);
}
