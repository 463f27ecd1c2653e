/** What was handed to the Mac and what came of it, kept in the instance's memory: so that nothing is sent blindly twice. */

import { createHash } from "node:crypto";
import type { Channel } from "../../../sdk/wire.ts";
import type { Clock } from "../../clock.ts";
import type { MessageId } from "../../core/id.ts";
import { jsonOf, listOf, numberOf, recordOf, textOf } from "../../core/loose-json.ts";
import type { Memory, Outbound } from "../provider.ts";

/** Every key of an attempt begins with it; then come message and channel. */
const PREFIX = "attempt/";

/** What has ended is kept so long: rows of that time are not taken for those of other messages. */
const ENDED_KEPT_MS = 3_600_000;
/** What never ended, or is sent in half, is kept so long: longer than a message waits. */
const OPEN_KEPT_MS = 7 * 86_400_000;
/** A hand-over and its row lie at most so far apart. */
const ROW_WITHIN_MS = 900_000;
const SWEEP_EVERY_MS = 600_000;

/** Nobody knows how many files a message had. */
export const UNKNOWN_FILES = -1;

/** A message on a channel, as it was last handed over. It has no text, but can tell whether one is it. */
export interface MacAttempt {
  key: string;
  messageId: MessageId;
  channel: Channel;
  /** To whom: one, or everybody in a group. */
  to: readonly string[];
  isGroup: boolean;
  digest: string;
  /** As `Outbound.attempt`. */
  attempt: number;
  /** When its last request began, by the real clock. */
  startedAt: number;
  /** What its last request carried: the whole message, or one of the two parts that begin a conversation. */
  step: "whole" | "text" | "files";
  /** `UNKNOWN_FILES` where that is not on record. */
  files: number;
  /** The chat it went to; null for one that it was to begin. */
  chatGuid: string | null;
  /** Whether it may have been taken and nobody knows. */
  isOpen: boolean;
  /** The row of its text, where that went before its files. */
  textGuid: string | null;
  /** Its row, and the error that row had. */
  guid: string | null;
  error: number;
}

/** The attempts of an instance, from `load` on. */
export class AttemptJournal {
  readonly #memory: Memory;
  readonly #clock: Clock;
  readonly #attempts = new Map<string, MacAttempt>();
  /** Whose row a guid is. */
  readonly #keyByGuid = new Map<string, string>();
  #sweptAt: number;
  /** What ended and began before this may be gone. Nothing is swept at a start: what died then is asked about first. */
  #coversSince = Number.NEGATIVE_INFINITY;

  constructor(memory: Memory, clock: Clock) {
    this.#memory = memory;
    this.#clock = clock;
    this.#sweptAt = clock.real();
  }

  /** Takes up what the last process left. */
  async load(): Promise<void> {
    for (const { key, value } of await this.#memory.list(PREFIX)) {
      const attempt = parse(key, value);
      if (attempt !== null) this.#remember(attempt);
    }
  }

  /** How the message was handed over last on its channel; null where it was not, or that was long ago. */
  latest(message: Pick<Outbound, "messageId" | "channel">): MacAttempt | null {
    return this.#attempts.get(keyOf(message)) ?? null;
  }

  /** Whether a hand-over of that moment is on record if it ever began. */
  covers(startedAt: number): boolean {
    return startedAt >= this.#coversSince;
  }

  /** Those of which nobody knows what became. */
  get unresolved(): MacAttempt[] {
    return [...this.#attempts.values()].filter(({ isOpen }) => isOpen);
  }

  /** Whether a row is known as that of a message, or of its text, or of an earlier attempt. */
  isKnownRow(guid: string): boolean {
    return this.#keyByGuid.has(guid);
  }

  /** Records that a request begins. Resolves when it is on disk: only then it may go out. */
  async begin(message: Outbound, request: Pick<MacAttempt, "step" | "files" | "chatGuid">): Promise<MacAttempt> {
    const begun = { ...createAttempt(message, this.#clock.real()), ...request };
    begun.textGuid = this.#attempts.get(begun.key)?.textGuid ?? message.sentPart?.reference ?? null;
    await this.#memory.put(begun.key, textFor(begun));
    this.#remember(begun);
    // What is left lying takes room and nothing else.
    if (begun.startedAt - this.#sweptAt > SWEEP_EVERY_MS) this.#sweep().catch(() => {});
    return begun;
  }

  /** Its request was provably not taken. */
  async recordNotSent(attempt: MacAttempt): Promise<void> {
    await this.#end({ ...attempt, isOpen: false });
  }

  /** Its row was found: the last one of the message, or that of its text. */
  async recordRow(attempt: MacAttempt, { guid, error }: { guid: string; error: number }): Promise<void> {
    const isPart = attempt.step === "text" && error === 0;
    await this.#end({ ...attempt, isOpen: false, error, ...(isPart ? { textGuid: guid } : { guid }) });
  }

  /** The row of its text failed before its files were posted: nothing of it was sent. */
  async recordTextFailed(message: Outbound, { guid, error }: { guid: string; error: number }): Promise<void> {
    const attempt = this.latest(message) ?? createAttempt(message, this.#clock.real());
    await this.#end({ ...attempt, isOpen: false, textGuid: null, guid, error });
  }

  /** In memory at once, so that a disk that fails makes nothing unknown here. A later attempt stays as it is. */
  async #end(attempt: MacAttempt): Promise<void> {
    const now = this.#attempts.get(attempt.key);
    if (now !== undefined && now.startedAt !== attempt.startedAt) {
      for (const guid of guidsOf(attempt)) this.#keyByGuid.set(guid, attempt.key);
      return;
    }
    this.#remember(attempt);
    await this.#memory.put(attempt.key, textFor(attempt));
  }

  #remember(attempt: MacAttempt): void {
    this.#attempts.set(attempt.key, attempt);
    for (const guid of guidsOf(attempt)) this.#keyByGuid.set(guid, attempt.key);
  }

  async #sweep(): Promise<void> {
    const now = this.#clock.real();
    this.#sweptAt = now;
    this.#coversSince = Math.max(this.#coversSince, now - ENDED_KEPT_MS);
    const attempts = [...this.#attempts.values()];
    const oldestOpenAt = attempts.reduce((at, one) => (one.isOpen ? Math.min(at, one.startedAt) : at), now);
    const isOver = (attempt: MacAttempt) => {
      const ageMs = now - attempt.startedAt;
      if (attempt.isOpen || isTextOnly(attempt)) return ageMs > OPEN_KEPT_MS;
      return ageMs > ENDED_KEPT_MS && attempt.startedAt < oldestOpenAt - ROW_WITHIN_MS;
    };
    for (const attempt of attempts.filter(isOver)) {
      this.#attempts.delete(attempt.key);
      await this.#memory.delete(attempt.key);
    }
    for (const [guid, key] of this.#keyByGuid) if (!this.#attempts.has(key)) this.#keyByGuid.delete(guid);
  }
}

/** A hand-over of a whole message as it begins, or as it is thought to have begun where nothing is on record. */
export function createAttempt(message: Outbound, startedAt: number): MacAttempt {
  const { messageId, channel, attempt, group, to, text } = message;
  return {
    key: keyOf(message),
    messageId,
    channel,
    attempt,
    startedAt,
    to: group === null ? [to] : group.participants,
    isGroup: group !== null,
    digest: digestOf(messageId, text),
    step: "whole",
    files: UNKNOWN_FILES,
    chatGuid: group?.reference ?? null,
    isOpen: true,
    textGuid: null,
    guid: null,
    error: 0,
  };
}

/** Whether a text is that of the message, or was it before Messages made something of it. */
export function matchesText({ messageId, digest }: MacAttempt, text: string): boolean {
  return digestOf(messageId, text) === digest;
}

/** A text without what Messages itself may change: places of files, kinds of line ends, forms of a letter. */
function plainText(text: string): string {
  return text.replaceAll("\ufffc", "").replaceAll("\r\n", "\n").normalize("NFC").trim();
}

/** Of no use to whoever has not the text already: equal texts of two messages have nothing in common. */
function digestOf(messageId: MessageId, text: string): string {
  return createHash("sha256")
    .update(`${messageId}\n${plainText(text)}`)
    .digest("hex")
    .slice(0, 32);
}

function keyOf({ messageId, channel }: { messageId: MessageId; channel: Channel }): string {
  return `${PREFIX}${messageId}/${channel}`;
}

/** Its text is sent, and its files are not. */
function isTextOnly({ textGuid, guid }: MacAttempt): boolean {
  return textGuid !== null && guid === null;
}

function guidsOf({ guid, textGuid }: MacAttempt): string[] {
  return [guid, textGuid].filter((one) => one !== null);
}

function textFor({ key: _key, messageId: _id, channel: _channel, ...attempt }: MacAttempt): string {
  return JSON.stringify(attempt);
}

/** Null for a value that cannot be read (another version wrote it). */
function parse(key: string, text: string): MacAttempt | null {
  const [messageId = "", channel] = key.slice(PREFIX.length).split("/");
  const record = recordOf(jsonOf(text));
  const attempt = numberOf(record?.attempt);
  const startedAt = numberOf(record?.startedAt);
  if (record === null || attempt === null || startedAt === null) return null;
  return {
    key,
    messageId: messageId as MessageId,
    channel: channel === "sms" ? "sms" : "imessage",
    attempt,
    startedAt,
    to: listOf(record.to, textOf),
    isGroup: record.isGroup === true,
    digest: textOf(record.digest) ?? "",
    step: record.step === "text" || record.step === "files" ? record.step : "whole",
    files: numberOf(record.files) ?? UNKNOWN_FILES,
    chatGuid: textOf(record.chatGuid),
    isOpen: record.isOpen !== false,
    textGuid: textOf(record.textGuid),
    guid: textOf(record.guid),
    error: numberOf(record.error) ?? 0,
  };
}
