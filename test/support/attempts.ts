/** The send attempts of an instance without a store, as the engine keeps them: for tests of a provider alone. */

import type { MessageId } from "../../server/core/id.ts";
import {
  AttemptEnded,
  type AttemptName,
  type NewNote,
  type NotedAttempt,
  type SendAttempts,
} from "../../server/core/send-attempt.ts";
import type { Outbound, Outcome, Signal } from "../../server/providers/provider.ts";

interface KeptAttempt extends Omit<NotedAttempt, "note"> {
  note: string | null;
  hasEnded: boolean;
}

/** Attempts on a disk, which outlives the providers of a test. */
export class AttemptsKept {
  readonly #attempts = new Map<string, KeptAttempt>();

  /** Attempts with a note. */
  get noted(): NotedAttempt[] {
    return [...this.#attempts.values()].flatMap(({ hasEnded: _, note, ...attempt }) =>
      note === null ? [] : [{ ...attempt, note }],
    );
  }

  /** The attempt is recorded, before its provider gets the message. */
  begin({ messageId, attemptedAt, channel }: Outbound): void {
    const name = nameOf({ messageId, attemptedAt });
    if (this.#attempts.has(name)) return;
    this.#attempts.set(name, { messageId, attemptedAt, channel, reference: null, note: null, hasEnded: false });
  }

  /** The outcome is committed, with its note. */
  conclude(message: Outbound, outcome: Outcome): void {
    this.begin(message);
    const attempt = this.#attempts.get(nameOf(message));
    if (attempt === undefined) return;
    if (outcome.outcome === "accepted") {
      Object.assign(attempt, { reference: outcome.reference, note: outcome.note?.() ?? null, hasEnded: true });
    } else if (outcome.outcome === "unknown") attempt.note = outcome.note?.() ?? attempt.note;
    else this.#attempts.delete(nameOf(message));
  }

  /** The signal is applied: a receipt proves that the message was accepted. */
  apply(signal: Signal): void {
    if (signal.kind === "receipt" && signal.messageId !== undefined) this.#prove(signal.messageId, signal.reference);
    if (signal.note !== undefined) this.#replace(signal.note);
  }

  change(attempt: AttemptName, text: string | null): void {
    const kept = this.#attempts.get(nameOf(attempt));
    if (kept !== undefined) kept.note = text;
  }

  note(attempt: AttemptName, text: string): void {
    const kept = this.#attempts.get(nameOf(attempt));
    if (kept === undefined || kept.hasEnded) throw new AttemptEnded("the attempt has ended");
    kept.note = text;
  }

  known(references: readonly string[]): Set<string> {
    const kept = new Set([...this.#attempts.values()].map(({ reference }) => reference));
    return new Set(references.filter((reference) => kept.has(reference)));
  }

  #replace({ reference, text }: NewNote): void {
    for (const attempt of this.#attempts.values()) if (attempt.reference === reference) attempt.note = text;
  }

  #prove(messageId: MessageId, reference: string): void {
    const last = [...this.#attempts.values()].findLast((attempt) => attempt.messageId === messageId);
    if (last !== undefined && !last.hasEnded) Object.assign(last, { reference, note: null, hasEnded: true });
  }
}

function nameOf({ messageId, attemptedAt }: AttemptName): string {
  return `${messageId}/${attemptedAt}`;
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
    known: async (references) => kept.known(references),
  };
}
