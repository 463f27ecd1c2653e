/** The files of a message on a channel: which of them it carries, and what happens to the others. Pure. */

import type { AttachmentsRule } from "../../sdk/wire.ts";
import type { Message } from "./message.ts";

/** The files that a channel of a provider carries. `media`: those of `content.mediaUrls`, and no attachments. */
export type CarriedFiles = "all" | "media" | "none";

/** The files of a message, and the fields that say what happens on a channel that does not carry them. */
export type MessageFiles = Pick<Message, "text" | "attachmentsRule"> & {
  mediaUrls: readonly unknown[];
  attachments: readonly unknown[];
};

/** For a question that is about no message. */
export const NO_FILES: MessageFiles = { text: null, attachmentsRule: null, mediaUrls: [], attachments: [] };

/** `routing.attachments`, or its default. Without a text nothing would be left to send, so `drop` means `require`. */
export function attachmentsRuleOf({ text, attachmentsRule }: MessageFiles): AttachmentsRule {
  return text === null || text === "" ? "require" : (attachmentsRule ?? "drop");
}

/** The number of files that a channel does not carry. */
export function droppedBy(carries: CarriedFiles, { mediaUrls, attachments }: MessageFiles): number {
  if (carries === "all") return 0;
  return attachments.length + (carries === "media" ? 0 : mediaUrls.length);
}

/** The files that are sent on the channel and by the instance that are chosen now. */
export function carriedFiles({
  mediaUrls,
  attachments,
  attachmentsDropped,
}: Pick<Message, "mediaUrls" | "attachments" | "attachmentsDropped">): Pick<Message, "mediaUrls" | "attachments"> {
  if (attachmentsDropped === 0) return { mediaUrls, attachments };
  return { mediaUrls: attachmentsDropped > attachments.length ? [] : mediaUrls, attachments: [] };
}

/** In words: `1 file`. */
export function countedFiles(count: number): string {
  return count === 1 ? "1 file" : `${count} files`;
}
