/** Messages of which a part went out by itself: what is said of them, and what they end with. Pure. */

import type { MessageErrorCode } from "../../sdk/wire.ts";
import type { Message, SentPart } from "./message.ts";

/** The message once a provider told of a part that went out by itself. What is on record of a part already stays. */
export function withPart(message: Message, part: SentPart | null | undefined): Message {
  return part == null || message.sentPart !== null ? message : { ...message, sentPart: part };
}

/** Says what of a message went out and what did not: `the text was sent, and 1 file was not`. */
export function wordsOfParts({ mediaUrls, attachments }: Pick<Message, "mediaUrls" | "attachments">, part: SentPart) {
  const files = mediaUrls.length + attachments.length;
  const rest = files === 0 ? "the rest was" : files === 1 ? "1 file was" : `${files} files were`;
  return `${part.what} was sent, and ${rest} not`;
}

/**
 * What a message ends with, given why its rest was not sent: `ATTACHMENT_FAILED`, unless nobody knows what became of the
 * rest. A message of which no part was sent ends with the cause as it is.
 */
export function causeOfRest<Cause extends { code: MessageErrorCode; message: string }>(
  message: Pick<Message, "sentPart" | "mediaUrls" | "attachments">,
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
