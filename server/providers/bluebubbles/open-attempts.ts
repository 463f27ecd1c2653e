/** Send attempts of one Mac that have no outcome on disk: in memory, and as notes of the engine's send attempts. */

import type { Clock } from "../../clock.ts";
import { setBounded } from "../../core/bounded-map.ts";
import type { NotedAttempt } from "../../core/send-attempt.ts";
import type { Outbound, SendAttempts } from "../provider.ts";
import { createAttempt, formatNote, type MacAttempt, parseNote } from "./attempt-note.ts";

/** Attempts that were given up with an unknown outcome are kept longer than any message waits. */
const GIVEN_UP_KEPT_MS = 7 * 86_400_000;
/** Limit of rows remembered here. Before it is reached, the outcomes of their attempts are on disk. */
const ROWS_MAX = 20_000;
/** Limit of attempts here. Beyond it the oldest is found on disk only, and by the next process. */
const OPEN_MAX = 20_000;

/** The parts of a message that identify its attempt. */
type AttemptedMessage = Pick<Outbound, "messageId" | "channel" | "attemptedAt">;

/** Attempts of one instance. Call `load` first. */
export class OpenAttempts {
  readonly #attempts: SendAttempts;
  readonly #clock: Clock;
  /** The last attempt of each message and channel. */
  readonly #open = new Map<string, MacAttempt>();
  /** The attempt that each row belongs to, if this process found the row or read of it in a note. */
  readonly #owners = new Map<string, string>();

  constructor(attempts: SendAttempts, clock: Clock) {
    this.#attempts = attempts;
    this.#clock = clock;
  }

  /** Reads what the previous process noted. */
  load(noted: readonly NotedAttempt[]): void {
    for (const attempt of noted.map(parseNote)) {
      if (attempt === null) continue;
      this.#set(attempt);
      for (const guid of [attempt.guid, attempt.textGuid])
        if (guid !== null) setBounded(this.#owners, guid, nameOf(attempt), ROWS_MAX);
    }
  }

  /** Returns the attempt of a message; null if no request of it was posted: each is noted before. */
  async find(message: AttemptedMessage): Promise<MacAttempt | null> {
    const known = this.#open.get(keyOf(message));
    if (known?.attemptedAt === message.attemptedAt) return known;
    const noted = (await this.#attempts.noted()).filter((attempt) => nameOf(attempt) === nameOf(message));
    return noted.map(parseNote).find((attempt) => attempt !== null) ?? null;
  }

  /** Attempts whose outcome is unknown. */
  get unresolved(): MacAttempt[] {
    return [...this.#open.values()].filter(({ isOpen }) => isOpen);
  }

  /** Guid of the text's row, if the text was sent before the files; else null. */
  textOf(message: Pick<Outbound, "messageId" | "channel" | "sentPart">): string | null {
    return this.#open.get(keyOf(message))?.textGuid ?? message.sentPart?.reference ?? null;
  }

  /** Notes that a request begins. The request may be posted once this resolves: the note is on disk. Throws `AttemptEnded`. */
  async begin(message: Outbound, request: Pick<MacAttempt, "step" | "files" | "chatGuid">): Promise<MacAttempt> {
    const attempt = createAttempt(message, this.#clock.real());
    const begun = { ...attempt, ...request, textGuid: this.textOf(message) };
    await this.#attempts.note(begun, formatNote(begun));
    this.#set(begun);
    return begun;
  }

  /** Notes that the text was sent, before the files are posted. */
  async textSent(attempt: MacAttempt, guid: string): Promise<void> {
    const sent = this.#replace(attempt, { isOpen: false, textGuid: guid });
    await this.#attempts.note(sent, formatNote(sent));
  }

  /** The Mac provably did not send the request's content. */
  notSent(attempt: MacAttempt): void {
    this.#replace(attempt, { isOpen: false });
  }

  /** The row of an attempt was found: the row of the message, or of its text. */
  rowFound(attempt: MacAttempt, { guid, error }: { guid: string; error: number }): void {
    const isPart = attempt.step === "text" && error === 0;
    this.#replace(attempt, { isOpen: false, error, ...(isPart ? { textGuid: guid } : { guid }) });
  }

  /** Messages failed to send the text, before the files were posted: nothing was sent. */
  textFailed(message: Outbound, { guid, error }: { guid: string; error: number }): void {
    const attempt = this.#open.get(keyOf(message));
    if (attempt !== undefined) this.#replace(attempt, { isOpen: false, textGuid: null, guid, error });
  }

  /** Forgets the attempt of a message whose outcome goes to the engine. */
  release(message: AttemptedMessage): void {
    const key = keyOf(message);
    if (this.#open.get(key)?.attemptedAt === message.attemptedAt) this.#open.delete(key);
  }

  /** Ends an attempt that the engine gave up, once its row is known or will never be. `refused`: the row that failed. */
  async settle(attempt: MacAttempt, refused?: string): Promise<void> {
    await this.#attempts.end(attempt, refused);
    const known = this.#open.get(keyOf(attempt));
    if (known !== undefined) this.#replace(attempt, { ...known, isOpen: false });
  }

  /** Ends the attempts that were given up long ago. */
  async sweep(): Promise<void> {
    const before = this.#clock.real() - GIVEN_UP_KEPT_MS;
    for (const attempt of [...this.#open.values()].filter(({ startedAt }) => startedAt < before)) {
      await this.#attempts.end(attempt);
      this.release(attempt);
    }
  }

  /** Takes a row for an attempt. Returns false if the row belongs to another attempt. */
  async claim(attempt: MacAttempt, guid: string): Promise<boolean> {
    if ((await this.othersOf(attempt, [guid])).has(guid)) return false;
    // Another attempt may have claimed it meanwhile.
    const owner = this.#owners.get(guid) ?? nameOf(attempt);
    setBounded(this.#owners, guid, owner, ROWS_MAX);
    return owner === nameOf(attempt);
  }

  /** Those of the rows that belong to another attempt, or are the text of this one. */
  async othersOf(attempt: MacAttempt, guids: readonly string[]): Promise<ReadonlySet<string>> {
    const name = nameOf(attempt);
    const asked = guids.filter((guid) => !this.#owners.has(guid));
    const known = asked.length === 0 ? new Set() : await this.#attempts.known(asked);
    const isOther = (guid: string) => known.has(guid) || (this.#owners.get(guid) ?? name) !== name;
    return new Set(guids.filter((guid) => guid === attempt.textGuid || isOther(guid)));
  }

  #set(attempt: MacAttempt): void {
    setBounded(this.#open, keyOf(attempt), attempt, OPEN_MAX);
  }

  /** Changes an attempt in memory, unless a later request has replaced it. Returns the changed attempt. */
  #replace(attempt: MacAttempt, changes: Partial<MacAttempt>): MacAttempt {
    const changed = { ...attempt, ...changes };
    const now = this.#open.get(keyOf(attempt));
    const isLast = now?.startedAt === attempt.startedAt && now.attemptedAt === attempt.attemptedAt;
    if (now === undefined || isLast) this.#set(changed);
    return changed;
  }
}

function keyOf({ messageId, channel }: Pick<Outbound, "messageId" | "channel">): string {
  return `${messageId} ${channel}`;
}

/** The name of an attempt. Its number names none: a retry by hand counts from 1 again. */
export function nameOf({ messageId, channel, attemptedAt }: AttemptedMessage): string {
  return `${messageId} ${channel} ${attemptedAt}`;
}
