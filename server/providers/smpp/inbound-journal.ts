/** What came in and may come again, because nobody knows whether its answer arrived: kept on disk until that is known. */

import type { Clock } from "../../clock.ts";
import type { Memory } from "../provider.ts";
import { INBOUND_PREFIX, newInboundId } from "./message-id.ts";

/** The session that something came over: whether it still stands says whether our answer arrived. */
export interface SessionState {
  readonly isBound: boolean;
}

/** One message, by what it says. */
export interface ReceivedMessage {
  key: string;
  /** What two messages that say the same have in common. */
  digest: string;
  reference: string;
  /** Null: a former process heard it. */
  session: SessionState | null;
  /** When it came, or came again; real. */
  at: number;
  /** `refused`: the SMSC was told to tell it again. */
  answer: "none" | "taken" | "refused";
  /** When it was answered, real. */
  answeredAt: number;
  /** Whether it is on disk. */
  isKept: boolean;
}

/** Every key begins with it. */
const PREFIX = "heard/";
/** An answer that was written so long ago on a session that still stands has arrived. */
const ARRIVED_MS = 30_000;
/** Once a session stands, the SMSC tells again within this what it holds unanswered of those before it. */
const AGAIN_WITHIN_MS = 300_000;
/** Nobody that waits longer for an answer has a session that still stands. */
const PATIENCE_MS = 4_000;
const KEPT_MS_MAX = 86_400_000;
/** Messages kept in mind at once; beyond it the oldest is forgotten, and would be taken for new if it came again. */
const HEARD_MAX = 10_000;

export class InboundJournal {
  readonly #memory: Memory;
  readonly #clock: Clock;
  readonly #byDigest = new Map<string, ReceivedMessage[]>();
  readonly #all = new Set<ReceivedMessage>();
  #count = 0;

  constructor(memory: Memory, clock: Clock) {
    this.#memory = memory;
    this.#clock = clock;
  }

  /** Takes up what the last process left. */
  async load(): Promise<void> {
    for (const { key, value } of await this.#memory.list(PREFIX)) {
      const left = parse(value);
      if (left === null) await this.#memory.delete(key);
      else this.#add({ ...left, key, session: null, answer: "none", answeredAt: 0, isKept: true });
    }
  }

  /**
   * The message that came over `session`: one that is known and came again, or a new one, for `keep` to put on disk. The
   * same words twice over one session are two messages, unless the first was refused, or was kept waiting.
   */
  begin(digest: string, session: SessionState): ReceivedMessage {
    const now = this.#clock.real();
    const known = this.#byDigest.get(digest)?.find((heard) => comesAgain(heard, session, now));
    if (known !== undefined) {
      Object.assign(known, { session, at: now, answer: "none" });
      return known;
    }
    this.#count += 1;
    const id = newInboundId(now, this.#count, digest);
    const reference = INBOUND_PREFIX + id;
    const state = { session, at: now, answer: "none", answeredAt: 0, isKept: false } as const;
    const heard: ReceivedMessage = { key: PREFIX + id, digest, reference, ...state };
    this.#add(heard);
    return heard;
  }

  /** Puts a message on disk, unless it is there. Throws when it could not be written: try again. */
  async keep(heard: ReceivedMessage): Promise<void> {
    if (heard.isKept) return;
    const [oldest] = this.#all;
    if (this.#all.size > HEARD_MAX && oldest !== undefined) await this.#forget(oldest);
    const { key, digest, reference, at } = heard;
    await this.#memory.put(key, JSON.stringify({ digest, reference, at }));
    heard.isKept = true;
  }

  answered(heard: ReceivedMessage, answer: "taken" | "refused"): void {
    heard.answer = answer;
    heard.answeredAt = this.#clock.real();
  }

  /** Forgets what will not come again; `since` as in `isGivenUp`. */
  async sweep(since: number): Promise<void> {
    const now = this.#clock.real();
    for (const heard of [...this.#all]) {
      if (hasArrived(heard, now) || isGivenUp(heard, since, now)) await this.#forget(heard);
    }
  }

  get size(): number {
    return this.#all.size;
  }

  #add(heard: ReceivedMessage): void {
    this.#all.add(heard);
    this.#byDigest.set(heard.digest, [...(this.#byDigest.get(heard.digest) ?? []), heard]);
  }

  #remove(heard: ReceivedMessage): void {
    this.#all.delete(heard);
    const others = (this.#byDigest.get(heard.digest) ?? []).filter((one) => one !== heard);
    if (others.length === 0) this.#byDigest.delete(heard.digest);
    else this.#byDigest.set(heard.digest, others);
  }

  async #forget(heard: ReceivedMessage): Promise<void> {
    this.#remove(heard);
    await this.#memory.delete(heard.key);
  }
}

/** Whether a message that says the same is this one, told again. */
function comesAgain(
  { session, answer, at }: Pick<ReceivedMessage, "session" | "answer" | "at">,
  over: SessionState,
  now: number,
): boolean {
  if (session !== over) return true;
  return answer === "refused" || (answer === "none" && now - at >= PATIENCE_MS);
}

/** The sessions that something came over. */
export class ActiveSessions {
  readonly #since = new Map<SessionState, number>();

  note(session: SessionState, now: number): void {
    if (!this.#since.has(session)) this.#since.set(session, now);
  }

  /** Since when, real, the oldest that stands has told something; infinite where none stands. */
  since(): number {
    for (const [session] of this.#since) if (!session.isBound) this.#since.delete(session);
    return Math.min(...this.#since.values());
  }
}

/** Whether our answer has surely arrived. */
export function hasArrived(
  { session, answer, answeredAt }: Pick<ReceivedMessage, "session" | "answer" | "answeredAt">,
  now: number,
): boolean {
  return answer === "taken" && session?.isBound === true && now - answeredAt >= ARRIVED_MS;
}

/** Whether it is too late for it to come again; `since` is when the oldest session that stands began to tell. */
export function isGivenUp(
  { session, at }: Pick<ReceivedMessage, "session" | "at">,
  since: number,
  now: number,
): boolean {
  const isOver = session?.isBound !== true;
  return (isOver && since > at && now - since >= AGAIN_WITHIN_MS) || now - at >= KEPT_MS_MAX;
}

function parse(text: string): Pick<ReceivedMessage, "digest" | "reference" | "at"> | null {
  try {
    const { digest, reference, at } = (JSON.parse(text) ?? {}) as Partial<ReceivedMessage>;
    if (typeof digest !== "string" || typeof reference !== "string" || typeof at !== "number") return null;
    return { digest, reference, at };
  } catch {
    return null;
  }
}
