/** What is posted to the Mac for a message. Pure: always by the Private API, never by AppleScript. */

import type { Mention } from "../../../sdk/wire.ts";
import type { Outbound, OutboundAttachment } from "../provider.ts";
import { effectId } from "./effects.ts";

/** A piece of a message: those with the same `partIndex` are shown as one bubble. */
export interface MessagePart {
  partIndex: number;
  text?: string;
  /** Whom the piece names. */
  mention?: string;
  /** Where the file was uploaded to. */
  attachment?: string;
  name?: string;
}

const FILENAME_LENGTH_MAX = 120;

/** The name of a request: the Mac refuses a second one of that name while the first is under way. */
function tempGuid({ messageId, attempt }: Pick<Outbound, "messageId" | "attempt">): string {
  return `${messageId}-${attempt}`;
}

/** `POST /message/text`. */
export function textBody(message: Outbound, chatGuid: string): object {
  return { ...common(message), chatGuid, message: message.text };
}

/** `POST /chat/new`: a conversation begins with a text, and can carry an effect only. */
export function newChatBody(message: Outbound, addresses: readonly string[]): object {
  const { selectedMessageGuid: _none, partIndex: _first, ...rest } = common(message);
  const service = message.channel === "imessage" ? "iMessage" : "SMS";
  return { ...rest, addresses, service, message: message.text };
}

/** `POST /message/multipart`: one message of several parts. */
export function partsBody(message: Outbound, chatGuid: string, parts: readonly MessagePart[]): object {
  return { ...common(message), chatGuid, parts };
}

/** Fields of `POST /message/attachment`: the only form that a voice message has. */
export function audioFields(message: Outbound, chatGuid: string, filename: string): Record<string, string> {
  const fields = Object.entries({ ...common(message), chatGuid, name: filename, isAudioMessage: "true" });
  return Object.fromEntries(fields.map(([name, value]) => [name, String(value)]));
}

/** A text with the people it names marked, as the parts of one bubble; mentions that lie outside of it are left out. */
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

/** The uploaded files as parts that follow a text, or that begin a message without one. */
export function fileParts(files: readonly { path: string; name: string }[], afterText: boolean): MessagePart[] {
  const first = afterText ? 1 : 0;
  return files.map(({ path, name }, index) => ({ partIndex: first + index, attachment: path, name }));
}

/** Whether the message is one voice message, and nothing else. */
export function isVoice({ text, attachments }: Pick<Outbound, "text" | "attachments">): boolean {
  return text === "" && attachments.length === 1 && attachments[0]?.isAudioMessage === true;
}

/** A file's name as the Mac may write it: no path, nothing that does not show, of a sane length. */
export function filenameOf({ filename }: Pick<OutboundAttachment, "filename">): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not get through.
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
