/** Messages that Twilio accepted, until their last status: in memory, and on disk as notes of their send attempts. */

import type { Clock } from "../../clock.ts";
import type { MessageId } from "../../core/id.ts";
import { jsonOf, numberOf, recordOf, textOf } from "../../core/loose-json.ts";
import { AttemptEnded, type NotedAttempt } from "../../core/send-attempt.ts";
import { SerialQueue } from "../../core/serial-queue.ts";
import type { SendAttempts } from "../provider.ts";

/** A send attempt that Twilio accepted. */
export interface SentMessage {
  readonly messageId: MessageId;
  /** `Outbound.attemptedAt`: distinguishes the attempts of one message. */
  readonly attemptedAt: number;
  readonly sid: string;
  /** Real epoch milliseconds. */
  readonly knownSince: number;
  /** Twilio's response named it, so that the outcome brings its note. Until then a receipt has to. */
  hasResponse: boolean;
  /** Rank of the highest receipt that was reported; 0 before the first, and again after a restart. */
  reportedRank: number;
  /** No further status is expected. */
  hasEnded: boolean;
}

/** Messages at once. Beyond this number the oldest is forgotten, and no longer polled. */
const KEPT_MAX = 100_000;
/** Ended messages that are remembered, so that a repeated callback is no news. */
const ENDED_MAX = 10_000;

/** Callbacks that tell the poller which messages exist. */
export interface SentMessageEvents {
  /** A message was added; `isOld`: by a previous process. */
  added(sent: SentMessage, isOld: boolean): void;
  removed(sent: SentMessage): void;
}

export class SentMessages {
  readonly #attempts: SendAttempts;
  readonly #clock: Clock;
  readonly #events: SentMessageEvents;
  readonly #keptMax: number;
  /** The oldest first. */
  readonly #byAttempt = new Map<string, SentMessage>();
  readonly #bySid = new Map<string, SentMessage>();
  readonly #ended = new Set<SentMessage>();
  readonly #serial = new SerialQueue();

  constructor(given: { attempts: SendAttempts; clock: Clock; events: SentMessageEvents; keptMax?: number }) {
    const { attempts, clock, events, keptMax = KEPT_MAX } = given;
    this.#attempts = attempts;
    this.#clock = clock;
    this.#events = events;
    this.#keptMax = keptMax;
  }

  /** Reads what previous processes noted. */
  async load(): Promise<void> {
    for (const attempt of await this.#attempts.noted()) {
      const sent = parseNote(attempt);
      if (sent !== null && !this.#byAttempt.has(nameOf(sent))) this.#insert(sent, true);
    }
  }

  find(messageId: MessageId, attemptedAt: number): SentMessage | null {
    return this.#byAttempt.get(nameOf({ messageId, attemptedAt })) ?? null;
  }

  /** Those of the sids that belong to messages of ours. */
  async knownAmong(sids: readonly string[]): Promise<ReadonlySet<string>> {
    const known = await this.#attempts.known(sids);
    return new Set(sids.filter((sid) => known.has(sid) || this.#bySid.has(sid)));
  }

  /** Adds the message of a response. It is on disk once the outcome is, with its note. */
  add(messageId: MessageId, attemptedAt: number, sid: string): SentMessage {
    const known = this.find(messageId, attemptedAt);
    const sent = known?.sid === sid ? known : this.#make(messageId, attemptedAt, sid);
    sent.hasResponse = true;
    if (sent !== known) this.#insert(sent, false);
    return sent;
  }

  /** The message of a callback, which may come before the response. Resolves once it is on disk, if its attempt goes on. */
  called(messageId: MessageId, attemptedAt: number, sid: string): Promise<SentMessage> {
    return this.#serial.run(nameOf({ messageId, attemptedAt }), async () => {
      const known = this.find(messageId, attemptedAt);
      if (known?.sid === sid) return known;
      const sent = this.#make(messageId, attemptedAt, sid);
      try {
        await this.#attempts.note(sent, this.noteOf(sent) ?? "");
      } catch (error) {
        // Its outcome is on disk already.
        if (!(error instanceof AttemptEnded)) throw error;
      }
      const added = this.find(messageId, attemptedAt);
      if (added?.sid === sid) return added;
      this.#insert(sent, false);
      return sent;
    });
  }

  /** The note of a message; undefined if it has ended. */
  noteOf({ sid, knownSince, hasEnded }: SentMessage): string | undefined {
    return hasEnded ? undefined : JSON.stringify({ sid, knownSince });
  }

  /**
   * Ends a message. `isOnDisk`: its note is deleted already. If the note cannot be deleted, the next process polls the message
   * once more.
   */
  async end(sent: SentMessage, isOnDisk = false): Promise<void> {
    if (sent.hasEnded) return;
    sent.hasEnded = true;
    this.#events.removed(sent);
    if (this.#byAttempt.get(nameOf(sent)) === sent) this.#ended.add(sent);
    for (const oldest of this.#ended) {
      if (this.#ended.size <= ENDED_MAX) break;
      this.#drop(oldest);
    }
    // Without a response the note may be that of an attempt which another one followed: then the receipt proved nothing.
    if (!isOnDisk || !sent.hasResponse)
      await this.#attempts.change({ ...sent, reference: sent.sid }, null).catch(() => {});
  }

  #make(messageId: MessageId, attemptedAt: number, sid: string): SentMessage {
    const knownSince = this.#clock.real();
    return { messageId, attemptedAt, sid, knownSince, hasResponse: false, reportedRank: 0, hasEnded: false };
  }

  #insert(sent: SentMessage, isOld: boolean): void {
    const before = this.#byAttempt.get(nameOf(sent));
    if (before !== undefined) this.#drop(before);
    this.#byAttempt.set(nameOf(sent), sent);
    this.#bySid.set(sent.sid, sent);
    this.#events.added(sent, isOld);
    if (this.#byAttempt.size <= this.#keptMax) return;
    const [oldest] = this.#byAttempt.values();
    if (oldest === undefined) return;
    void this.end(oldest);
    this.#drop(oldest);
  }

  #drop(sent: SentMessage): void {
    this.#byAttempt.delete(nameOf(sent));
    if (this.#bySid.get(sent.sid) === sent) this.#bySid.delete(sent.sid);
    this.#ended.delete(sent);
    if (!sent.hasEnded) this.#events.removed(sent);
  }
}

/** The name of an attempt. */
function nameOf({ messageId, attemptedAt }: Pick<SentMessage, "messageId" | "attemptedAt">): string {
  return `${messageId}/${attemptedAt}`;
}

/** Reads a note; null if it cannot be read. */
function parseNote({ messageId, attemptedAt, reference, note }: NotedAttempt): SentMessage | null {
  const fields = recordOf(jsonOf(note));
  const [sid, knownSince] = [reference ?? textOf(fields?.sid), numberOf(fields?.knownSince)];
  if (sid === null || knownSince === null) return null;
  const hasResponse = reference !== null;
  return { messageId, attemptedAt, sid, knownSince, hasResponse, reportedRank: 0, hasEnded: false };
}
