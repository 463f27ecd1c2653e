/** Request bodies for sending a message. Pure. All of them use the Private API, never AppleScript. */

import type { Mention } from "../../../sdk/wire.ts";
import type { Outbound, OutboundAttachment } from "../provider.ts";
import { effectId } from "./effects.ts";

/** Part of a message. Parts with the same `partIndex` share a bubble. */
export interface MessagePart {
  partIndex: number;
  text?: string;
  /** Address of the person mentioned. */
  mention?: string;
  /** Path of the uploaded file on the Mac. */
  attachment?: string;
  name?: string;
}

const FILENAME_LENGTH_MAX = 120;

/** Identifies a request: the Mac rejects a second request with the same id while the first is in progress. */
function tempGuid({ messageId, attempt }: Pick<Outbound, "messageId" | "attempt">): string {
  return `${messageId}-${attempt}`;
}

/** Body of `POST /message/text`. */
export function textBody(message: Outbound, chatGuid: string): object {
  return { ...common(message), chatGuid, message: message.text };
}

/** Body of `POST /chat/new`. A conversation begins with a text, which can have an effect but no reply or mention. */
export function newChatBody(message: Outbound, addresses: readonly string[]): object {
  const { selectedMessageGuid: _none, partIndex: _first, ...rest } = common(message);
  const service = message.channel === "imessage" ? "iMessage" : "SMS";
  return { ...rest, addresses, service, message: message.text };
}

/** Body of `POST /message/multipart`: one message with several parts. */
export function partsBody(message: Outbound, chatGuid: string, parts: readonly MessagePart[]): object {
  return { ...common(message), chatGuid, parts };
}

/** Form fields of `POST /message/attachment`, the only route for voice messages. */
export function audioFields(message: Outbound, chatGuid: string, filename: string): Record<string, string> {
  const fields = Object.entries({ ...common(message), chatGuid, name: filename, isAudioMessage: "true" });
  return Object.fromEntries(fields.map(([name, value]) => [name, String(value)]));
}

/** Splits a text at its mentions into the parts of one bubble. Leaves out mentions that lie outside the text. */
export function textParts(text: string, mentions: readonly Mention[]): MessagePart[] {
  const parts: MessagePart[] = [];
  let at = 0;
  for (const { address, start, length } of mentions.toSorted((one, other) => one.start - other.start)) {
    if (start < at || length < 1 || start + length > text.length) continue;
    if (start > at) parts.push({ partIndex: 0, text: text.slice(at, start) });
    at = start + length;
    parts.push({ partIndex: 0, text: text.slice(start, at), mention: address });
  }
  if (at < text.length) parts.push({ partIndex: 0, text: text.slice(at) });
  return parts;
}

/** Uploaded files as parts that follow a text, or begin a message without text. */
export function fileParts(files: readonly { path: string; name: string }[], afterText: boolean): MessagePart[] {
  const first = afterText ? 1 : 0;
  return files.map(({ path, name }, index) => ({ partIndex: first + index, attachment: path, name }));
}

/** Whether the message consists of one voice message. */
export function isVoice({ text, attachments }: Pick<Outbound, "text" | "attachments">): boolean {
  return text === "" && attachments.length === 1 && attachments[0]?.isAudioMessage === true;
}

/** A file name that is safe on the Mac: no path, no control characters, limited length. */
export function filenameOf({ filename }: Pick<OutboundAttachment, "filename">): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this removes.
  const plain = filename.replace(/[\u0000-\u001f\u007f/\\:]/g, "_").replace(/^\.+/, "");
  return plain === "" ? "file" : plain.slice(-FILENAME_LENGTH_MAX);
}

function common(message: Outbound) {
  const { effect, replyTo } = message;
  return {
    tempGuid: tempGuid(message),
    method: "private-api",
    ...(effect === null ? {} : { effectId: effectId(effect) }),
    ...(replyTo === null ? {} : { selectedMessageGuid: replyTo, partIndex: 0 }),
  };
}
