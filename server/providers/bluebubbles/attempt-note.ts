/**
 * The note of a send attempt, as the engine keeps it, and the attempt in memory. Pure. The message's record in `send_attempts`
 * has the note from before a request until the outcome.
 *
 * | the attempt                                        | is noted by                       | its note goes with              |
 * |----------------------------------------------------|-----------------------------------|---------------------------------|
 * | a request is about to be posted                    | `begin`, before the request       | the next note, or the outcome   |
 * | the text of two requests was sent                  | `textSent`, before the files      | the next note, or the outcome   |
 * | the Mac accepted the message, or its text          | the outcome: the receipt is due   | a receipt, or after a day       |
 * | the Mac refused it, or provably never sent it      | nothing; the row of a refusal is  | the outcome                     |
 * |                                                    | the attempt's reference           |                                 |
 * | the outcome is unknown                             | the last request                  | the outcome                     |
 * | the engine gave it up, and its row is found        | `sent` receipt, or `end`          | that receipt, or `end`          |
 * | the engine gave it up, and it was never sent       |                                   | `end`, or a retry by hand       |
 * | the engine gave it up, and nothing is ever found   |                                   | `end`, after seven days         |
 */

import { createHash } from "node:crypto";
import type { Channel } from "../../../sdk/wire.ts";
import type { MessageId } from "../../core/id.ts";
import { jsonOf, listOf, numberOf, recordOf, textOf } from "../../core/loose-json.ts";
import type { NotedAttempt } from "../../core/send-attempt.ts";
import type { Outbound } from "../provider.ts";

/** The number of files is not on record. */
export const UNKNOWN_FILES = -1;

/** Send attempt of a message on a channel. Keeps a digest instead of the text. */
export interface MacAttempt {
  messageId: MessageId;
  channel: Channel;
  /** `Outbound.attemptedAt`: distinguishes the attempts of one message. */
  attemptedAt: number;
  /** Address of the recipient, or addresses of all participants of a group. */
  to: readonly string[];
  isGroup: boolean;
  digest: string;
  /** Start of the latest request, by the real clock. */
  startedAt: number;
  /** Content of the latest request: the whole message, or one of the two halves that begin a conversation. */
  step: "whole" | "text" | "files";
  /** `UNKNOWN_FILES` if the number is not on record. */
  files: number;
  /** Guid of the chat; null if the request begins one. */
  chatGuid: string | null;
  /** Whether the outcome of the request is unknown: the Mac may have sent its content. */
  isOpen: boolean;
  /** Guid of the text's row, if the text was sent before the files. */
  textGuid: string | null;
  /** Guid of the message's row, and the error of that row. */
  guid: string | null;
  error: number;
}

/** Creates the record of an attempt that begins, or that must be assumed because the database may have no note of it. */
export function createAttempt(message: Outbound, startedAt: number): MacAttempt {
  const { messageId, channel, attemptedAt, group, to, text } = message;
  return {
    messageId,
    channel,
    attemptedAt,
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

/** Writes the note of an attempt. */
export function formatNote({ messageId: _id, channel: _channel, attemptedAt: _at, ...note }: MacAttempt): string {
  return JSON.stringify(note);
}

/** Writes the note of a message that was sent at this instant, or of its text: its receipt is due. */
export function formatSent(sentAt: number): string {
  return JSON.stringify({ sentAt });
}

/** When a message or its text was sent, by the note about it; null for any other note. */
export function sentAtOf({ note }: Pick<NotedAttempt, "note">): number | null {
  return numberOf(recordOf(jsonOf(note))?.sentAt);
}

/** Reads the note of an attempt that has no outcome; null for any other note. */
export function parseNote(noted: NotedAttempt): MacAttempt | null {
  const record = recordOf(jsonOf(noted.note));
  const startedAt = numberOf(record?.startedAt);
  if (noted.reference !== null || record === null || startedAt === null) return null;
  const { messageId, channel, attemptedAt } = noted;
  return {
    messageId,
    channel,
    attemptedAt,
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
