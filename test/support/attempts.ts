/** The send attempts of an instance without a store, as the engine keeps them: for tests of a provider alone. */

import type { MessageId } from "../../server/core/id.ts";
import {
  AttemptEnded,
  type AttemptName,
  type NewNote,
  type NotedAttempt,
  type SendAttempts,
} from "../../server/core/send-attempt.ts";
import {
  type NotAccepted,
  type Outbound,
  type Outcome,
  outcomeOfRest,
  type SentPart,
  type Signal,
} from "../../server/providers/provider.ts";

interface KeptAttempt extends Omit<NotedAttempt, "note"> {
  note: string | null;
}

/** Attempts on a disk, which outlives the providers of a test. */
export class AttemptsKept {
  /** Attempts that have no outcome, or an unknown one. */
  readonly #open = new Map<string, KeptAttempt>();
  /** Attempts and parts that the provider named, by reference. */
  readonly #named = new Map<string, KeptAttempt>();
  readonly #refused = new Set<string>();
  readonly #parts = new Map<MessageId, SentPart>();

  /** Attempts with a note, in the order in which they began. */
  get noted(): NotedAttempt[] {
    const noted = [...this.#open.values(), ...this.#named.values()].flatMap(({ note, ...attempt }) =>
      note === null ? [] : [{ ...attempt, note }],
    );
    return noted.sort((one, other) => one.attemptedAt - other.attemptedAt);
  }

  /** The part of a message that was sent by itself; null if there is none. */
  sentPart({ messageId }: Pick<Outbound, "messageId">): SentPart | null {
    return this.#parts.get(messageId) ?? null;
  }

  /** The message whose attempt or part has this reference; null if there is none. */
  messageOf(reference: string): MessageId | null {
    return this.#named.get(reference)?.messageId ?? null;
  }

  /** Whether the message was accepted, and that is on disk. */
  isSent({ messageId }: Pick<Outbound, "messageId">): boolean {
    return [...this.#named.values()].some((one) => one.messageId === messageId && !this.#isPart(one));
  }

  #isPart({ messageId, reference }: KeptAttempt): boolean {
    return this.#parts.get(messageId)?.reference === reference;
  }

  /** Forgets every attempt, as a restored backup does that is older than all of them. */
  forgetAll(): void {
    for (const kept of [this.#open, this.#named, this.#refused, this.#parts]) kept.clear();
  }

  /** The attempt is recorded, before its provider gets the message. */
  begin(message: Outbound): void {
    const name = nameOf(message);
    if (!this.#open.has(name)) this.#open.set(name, keptOf(message, null, null));
  }

  /** The outcome is committed, with its note. */
  conclude(message: Outbound, outcome: Outcome): void {
    const part = "part" in outcome ? outcome.part : undefined;
    if (part !== undefined && !this.#parts.has(message.messageId)) {
      this.#parts.set(message.messageId, { reference: part.reference, what: part.what });
      this.#named.set(part.reference, keptOf(message, part.reference, part.note?.() ?? null));
    }
    const rest = outcomeOfRest(outcome);
    if (rest.outcome === "unknown") {
      this.begin(message);
      const open = this.#open.get(nameOf(message));
      if (open !== undefined) open.note = rest.note?.() ?? open.note;
      return;
    }
    this.#open.delete(nameOf(message));
    if (rest.outcome === "accepted") {
      this.#named.set(rest.reference, keptOf(message, rest.reference, rest.note?.() ?? null));
    } else if (rest.outcome === "rejected" && rest.reference !== undefined) this.#refused.add(rest.reference);
  }

  /** The signal is applied: a receipt proves that the message was accepted. */
  apply(signal: Signal): void {
    if (signal.kind === "receipt" && signal.messageId !== undefined) this.#prove(signal.messageId, signal.reference);
    if (signal.note !== undefined) this.#replace(signal.note);
  }

  change(attempt: AttemptName & { reference: string }, text: string | null): void {
    if (this.#named.has(attempt.reference)) this.#replace({ reference: attempt.reference, text });
    else if (text === null) this.#open.delete(nameOf(attempt));
    else this.note(attempt, text);
  }

  note(attempt: AttemptName, text: string): void {
    const open = this.#open.get(nameOf(attempt));
    if (open === undefined) throw new AttemptEnded("the attempt has ended");
    open.note = text;
  }

  end(attempt: AttemptName, refused?: string): void {
    if (this.#open.delete(nameOf(attempt)) && refused !== undefined) this.#refused.add(refused);
  }

  known(references: readonly string[]): Set<string> {
    return new Set(references.filter((reference) => this.#named.has(reference) || this.#refused.has(reference)));
  }

  #replace({ reference, text }: NewNote): void {
    const attempt = this.#named.get(reference);
    if (attempt !== undefined) attempt.note = text;
  }

  #prove(messageId: MessageId, reference: string): void {
    const last = [...this.#open].findLast(([, attempt]) => attempt.messageId === messageId);
    if (last === undefined) return;
    this.#open.delete(last[0]);
    this.#named.set(reference, { ...last[1], reference, note: null });
  }
}

function keptOf(
  { messageId, attemptedAt, channel }: Outbound,
  reference: string | null,
  note: string | null,
): KeptAttempt {
  return { messageId, attemptedAt, channel, reference, note };
}

function nameOf({ messageId, attemptedAt }: AttemptName): string {
  return `${messageId}/${attemptedAt}`;
}

/** The engine commits this for `absent`. */
export const ABSENT: Outcome = { outcome: "deferred", retryAfterMs: 0, reason: "absent" };

/** An outcome without the notes that are committed with it. */
export function withoutNotes(outcome: Outcome): Outcome {
  if (outcome.outcome === "partly") {
    const { reference, what } = outcome.part;
    return { ...outcome, part: { reference, what }, rest: withoutNotes(outcome.rest) as NotAccepted };
  }
  const { note: _note, ...bare } = { note: null, ...outcome };
  if (bare.outcome !== "accepted" || bare.part === undefined) return bare;
  return { ...bare, part: { reference: bare.part.reference, what: bare.part.what } };
}

/** The attempts as a provider has them; `write` runs each change, and may fail. */
export function attemptsIn(
  kept: AttemptsKept,
  write: (change: () => void) => Promise<void> = async (change) => change(),
): SendAttempts {
  return {
    noted: async () => kept.noted,
    note: (attempt, text) => write(() => kept.note(attempt, text)),
    change: (attempt, text) => write(() => kept.change(attempt, text)),
    end: (attempt, refused) => write(() => kept.end(attempt, refused)),
    known: async (references) => kept.known(references),
  };
}
