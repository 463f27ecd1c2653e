/** Journal of inbound messages that the SMSC may repeat, because nobody knows whether our response arrived. */

import type { Clock } from "../../clock.ts";
import { jsonOf, numberOf, recordOf, textOf } from "../../core/loose-json.ts";
import { Journal } from "../kit/journal.ts";
import type { Memory } from "../provider.ts";
import { INBOUND_PREFIX, newInboundId } from "./message-id.ts";

/** The session of a message. A session that is still bound has delivered our response. */
export interface SessionState {
  readonly isBound: boolean;
}

/** An inbound message, identified by its content. */
export interface ReceivedMessage {
  /** Its name in the journal. */
  name: string;
  /** Equal for two messages with the same content. */
  digest: string;
  reference: string;
  /** Null: a previous process received the message. */
  session: SessionState | null;
  /** When the message was last received, by the real clock. */
  at: number;
  /** `refused`: our response asked the SMSC to repeat the message. */
  answer: "none" | "taken" | "refused";
  /** When the response was written, by the real clock. */
  answeredAt: number;
  /** Whether the entry is on disk. */
  isKept: boolean;
}

/** Prefix of the keys. The word is part of stored data. */
const PREFIX = "heard/";
/** After this time on a session that is still bound, our response has arrived. */
const ARRIVED_MS = 30_000;
/** After a reconnect the SMSC repeats its unanswered PDUs within this time. */
const AGAIN_WITHIN_MS = 300_000;
/** No SMSC waits longer than this for a response while its session is bound. */
const PATIENCE_MS = 4_000;
const KEPT_MS_MAX = 86_400_000;
/** Messages remembered at once. Beyond this number the oldest is forgotten, and would count as new if it came again. */
const HEARD_MAX = 10_000;

export class InboundJournal {
  readonly #clock: Clock;
  readonly #messages: Journal<ReceivedMessage>;
  readonly #byDigest = new Map<string, ReceivedMessage[]>();
  #count = 0;

  constructor(memory: Memory, clock: Clock) {
    this.#clock = clock;
    this.#messages = new Journal({
      memory,
      prefix: PREFIX,
      format: ({ digest, reference, at }) => JSON.stringify({ digest, reference, at }),
      parse,
      max: HEARD_MAX,
      added: (entry) => void this.#byDigest.set(entry.digest, [...this.#alike(entry.digest), entry]),
      removed: (entry) => this.#removed(entry),
    });
  }

  /** Loads the entries of the previous process. */
  load(): Promise<void> {
    return this.#messages.load();
  }

  /**
   * Finds the entry of a message that the SMSC repeats, or begins a new one for `keep` to store. The same content twice
   * on one session is two messages, unless the first was refused or waited too long for its response.
   */
  begin(digest: string, session: SessionState): ReceivedMessage {
    const now = this.#clock.real();
    const known = this.#alike(digest).find((entry) => comesAgain(entry, session, now));
    if (known !== undefined) return Object.assign(known, { session, at: now, answer: "none" });
    this.#count += 1;
    const name = newInboundId(now, this.#count, digest);
    const state = { session, at: now, answer: "none", answeredAt: 0, isKept: false } as const;
    const entry: ReceivedMessage = { name, digest, reference: INBOUND_PREFIX + name, ...state };
    this.#messages.set(name, entry);
    return entry;
  }

  /** Stores an entry, unless it is stored. Throws if it could not be written; the caller then tries again. */
  async keep(entry: ReceivedMessage): Promise<void> {
    if (entry.isKept) return;
    await this.#messages.save(entry.name);
    entry.isKept = true;
  }

  answered(entry: ReceivedMessage, answer: "taken" | "refused"): void {
    entry.answer = answer;
    entry.answeredAt = this.#clock.real();
  }

  /** Deletes entries that will not be repeated; `since` as in `isGivenUp`. */
  sweep(since: number): Promise<void> {
    const now = this.#clock.real();
    return this.#messages.sweep((entry) => hasArrived(entry, now) || isGivenUp(entry, since, now));
  }

  get size(): number {
    return this.#messages.size;
  }

  #alike(digest: string): readonly ReceivedMessage[] {
    return this.#byDigest.get(digest) ?? [];
  }

  #removed(entry: ReceivedMessage): void {
    const others = this.#alike(entry.digest).filter((one) => one !== entry);
    if (others.length === 0) this.#byDigest.delete(entry.digest);
    else this.#byDigest.set(entry.digest, [...others]);
  }
}

/** Whether a message with the same content is a repetition of this one. */
function comesAgain(
  { session, answer, at }: Pick<ReceivedMessage, "session" | "answer" | "at">,
  over: SessionState,
  now: number,
): boolean {
  if (session !== over) return true;
  return answer === "refused" || (answer === "none" && isTooSlow(now - at));
}

/** Whether an SMSC may have repeated a message on the same session because it waited this long for our response. */
export function isTooSlow(tookMs: number): boolean {
  return tookMs >= PATIENCE_MS;
}

/** The sessions on which messages arrived. */
export class ActiveSessions {
  readonly #since = new Map<SessionState, number>();

  note(session: SessionState, now: number): void {
    if (!this.#since.has(session)) this.#since.set(session, now);
  }

  /**
   * When the oldest session that is still bound delivered its first message, by the real clock; infinite if none is
   * bound.
   */
  since(): number {
    for (const [session] of this.#since) if (!session.isBound) this.#since.delete(session);
    return Math.min(...this.#since.values());
  }
}

/** Whether our response has certainly arrived. */
export function hasArrived(
  { session, answer, answeredAt }: Pick<ReceivedMessage, "session" | "answer" | "answeredAt">,
  now: number,
): boolean {
  return answer === "taken" && session?.isBound === true && now - answeredAt >= ARRIVED_MS;
}

/**
 * Whether the SMSC will not repeat the message any more. `since` is when the oldest bound session delivered its first
 * message.
 */
export function isGivenUp(
  { session, at }: Pick<ReceivedMessage, "session" | "at">,
  since: number,
  now: number,
): boolean {
  const isOver = session?.isBound !== true;
  return (isOver && since > at && now - since >= AGAIN_WITHIN_MS) || now - at >= KEPT_MS_MAX;
}

function parse(text: string, name: string): ReceivedMessage | null {
  const fields = recordOf(jsonOf(text));
  const [digest, reference, at] = [textOf(fields?.digest), textOf(fields?.reference), numberOf(fields?.at)];
  if (digest === null || reference === null || at === null) return null;
  return { name, digest, reference, at, session: null, answer: "none", answeredAt: 0, isKept: true };
}
