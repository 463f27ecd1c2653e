/** Journal of send attempts, in the instance's memory. It survives a crash, so that no message is silently sent twice. */

import { createHash } from "node:crypto";
import type { Channel } from "../../../sdk/wire.ts";
import type { Clock } from "../../clock.ts";
import type { MessageId } from "../../core/id.ts";
import { jsonOf, listOf, numberOf, recordOf, textOf } from "../../core/loose-json.ts";
import type { Memory, Outbound } from "../provider.ts";

/** Prefix of every attempt's key; message id and channel follow. */
const PREFIX = "attempt/";

/** Ended attempts are kept for this time, so that their rows are not mistaken for rows of other messages. */
const ENDED_KEPT_MS = 3_600_000;
/** Attempts without a known outcome, and messages sent in part, are kept longer than any message waits. */
const OPEN_KEPT_MS = 7 * 86_400_000;
/** Maximum time between an attempt and its row. */
const ROW_WITHIN_MS = 900_000;
const SWEEP_EVERY_MS = 600_000;

/** The number of files is not on record. */
export const UNKNOWN_FILES = -1;

/** Latest send attempt of a message on a channel. Keeps a digest instead of the text. */
export interface MacAttempt {
  key: string;
  messageId: MessageId;
  channel: Channel;
  /** Address of the recipient, or addresses of all participants of a group. */
  to: readonly string[];
  isGroup: boolean;
  digest: string;
  /** Number of the attempt, as in `Outbound.attempt`. */
  attempt: number;
  /** Start of the latest request, by the real clock. */
  startedAt: number;
  /** Content of the latest request: the whole message, or one of the two halves that begin a conversation. */
  step: "whole" | "text" | "files";
  /** `UNKNOWN_FILES` if the number is not on record. */
  files: number;
  /** Guid of the chat; null if the request begins one. */
  chatGuid: string | null;
  /** Whether the outcome is unknown: the Mac may have sent the message. */
  isOpen: boolean;
  /** Guid of the text's row, if the text was sent before the files. */
  textGuid: string | null;
  /** Guid of the message's row, and the error of that row. */
  guid: string | null;
  error: number;
}

/** Attempts of one instance. Call `load` first. */
export class AttemptJournal {
  readonly #memory: Memory;
  readonly #clock: Clock;
  readonly #attempts = new Map<string, MacAttempt>();
  /** Key of the attempt that each row belongs to. */
  readonly #keyByGuid = new Map<string, string>();
  #sweptAt: number;
  /** Ended attempts from before this instant may be deleted. A start deletes none: open attempts are reconciled first. */
  #coversSince = Number.NEGATIVE_INFINITY;

  constructor(memory: Memory, clock: Clock) {
    this.#memory = memory;
    this.#clock = clock;
    this.#sweptAt = clock.real();
  }

  /** Reads the attempts that the previous process recorded. */
  async load(): Promise<void> {
    for (const { key, value } of await this.#memory.list(PREFIX)) {
      const attempt = parse(key, value);
      if (attempt !== null) this.#remember(attempt);
    }
  }

  /** Returns the latest attempt of a message on its channel; null if there is none, or it was long ago. */
  latest(message: Pick<Outbound, "messageId" | "channel">): MacAttempt | null {
    return this.#attempts.get(keyOf(message)) ?? null;
  }

  /** Whether an attempt from that instant would be on record if it had begun. */
  covers(startedAt: number): boolean {
    return startedAt >= this.#coversSince;
  }

  /** Attempts whose outcome is unknown. */
  get unresolved(): MacAttempt[] {
    return [...this.#attempts.values()].filter(({ isOpen }) => isOpen);
  }

  /** Whether a row belongs to a known attempt, as its message or as its text. */
  isKnownRow(guid: string): boolean {
    return this.#keyByGuid.has(guid);
  }

  /** Records that a request begins. The request may be posted once this resolves: the record is on disk. */
  async begin(message: Outbound, request: Pick<MacAttempt, "step" | "files" | "chatGuid">): Promise<MacAttempt> {
    const begun = { ...createAttempt(message, this.#clock.real()), ...request };
    begun.textGuid = this.#attempts.get(begun.key)?.textGuid ?? message.sentPart?.reference ?? null;
    await this.#memory.put(begun.key, textFor(begun));
    this.#remember(begun);
    // A failed sweep costs space only.
    if (begun.startedAt - this.#sweptAt > SWEEP_EVERY_MS) this.#sweep().catch(() => {});
    return begun;
  }

  /** Records that the Mac provably did not send the request's content. */
  async recordNotSent(attempt: MacAttempt): Promise<void> {
    await this.#end({ ...attempt, isOpen: false });
  }

  /** Records the row of an attempt: the row of the message, or of its text. */
  async recordRow(attempt: MacAttempt, { guid, error }: { guid: string; error: number }): Promise<void> {
    const isPart = attempt.step === "text" && error === 0;
    await this.#end({ ...attempt, isOpen: false, error, ...(isPart ? { textGuid: guid } : { guid }) });
  }

  /** Records that Messages failed to send the text, before the files were posted: nothing was sent. */
  async recordTextFailed(message: Outbound, { guid, error }: { guid: string; error: number }): Promise<void> {
    const attempt = this.latest(message) ?? createAttempt(message, this.#clock.real());
    await this.#end({ ...attempt, isOpen: false, textGuid: null, guid, error });
  }

  /** Updates memory first, so that a failing disk makes no outcome unknown here. Never overwrites a later attempt. */
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

/** Creates the record of an attempt that begins, or that must be assumed because no record exists. */
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

/** Whether a text is the message's text, possibly as Messages normalised it. */
export function matchesText({ messageId, digest }: MacAttempt, text: string): boolean {
  return digestOf(messageId, text) === digest;
}

/** The text without the parts that Messages may change: placeholders of files, line ends, Unicode forms. */
function plainText(text: string): string {
  return text.replaceAll("\ufffc", "").replaceAll("\r\n", "\n").normalize("NFC").trim();
}

/** The message id salts the digest: equal texts of two messages have different digests. */
function digestOf(messageId: MessageId, text: string): string {
  return createHash("sha256")
    .update(`${messageId}\n${plainText(text)}`)
    .digest("hex")
    .slice(0, 32);
}

function keyOf({ messageId, channel }: { messageId: MessageId; channel: Channel }): string {
  return `${PREFIX}${messageId}/${channel}`;
}

/** Whether the text was sent and the files were not. */
function isTextOnly({ textGuid, guid }: MacAttempt): boolean {
  return textGuid !== null && guid === null;
}

function guidsOf({ guid, textGuid }: MacAttempt): string[] {
  return [guid, textGuid].filter((one) => one !== null);
}

function textFor({ key: _key, messageId: _id, channel: _channel, ...attempt }: MacAttempt): string {
  return JSON.stringify(attempt);
}

/** Returns null for a value that cannot be parsed (written by another version). */
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
