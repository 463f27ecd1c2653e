/** Messages of which the provider sent one part separately: how they are described, and how they end. Pure. */

import type { MessageErrorCode } from "../../sdk/wire.ts";
import type { Message, SentPart } from "./message.ts";
import { carriedFiles, countedFiles } from "./message-files.ts";

type FileFields = "mediaUrls" | "attachments" | "attachmentsDropped";

/** The message after its provider reported a part that was sent separately. A recorded part stays. */
export function withPart(message: Message, part: SentPart | null | undefined): Message {
  if (part == null || message.sentPart !== null) return message;
  return { ...message, sentPart: { reference: part.reference, what: part.what } };
}

/** Describes the parts of a message: `the text was sent, and 1 file was not`. */
export function wordsOfParts(message: Pick<Message, FileFields>, part: SentPart) {
  const { mediaUrls, attachments } = carriedFiles(message);
  const files = mediaUrls.length + attachments.length;
  const rest = files === 0 ? "the rest was" : `${countedFiles(files)} ${files === 1 ? "was" : "were"}`;
  return `${part.what} was sent, and ${rest} not`;
}

/**
 * The failure cause of a message, given why its rest was not sent: `ATTACHMENT_FAILED`, unless the outcome of the rest is
 * unknown. A message without a sent part keeps the cause as it is.
 */
export function failureCauseOf<Cause extends { code: MessageErrorCode; message: string }>(
  message: Pick<Message, "sentPart" | FileFields>,
  cause: Cause,
): Cause {
  const { sentPart } = message;
  if (sentPart === null || cause.code === "OUTCOME_UNKNOWN") return cause;
  const words = wordsOfParts(message, sentPart);
  return {
    ...cause,
    code: "ATTACHMENT_FAILED",
    message: `${words.charAt(0).toUpperCase()}${words.slice(1)}: ${cause.message}`,
  };
}
