/** Converts contacts' messages from Twilio's webhook and list into signals. Pure. */

import type { InboundAttachment } from "../../core/attachment.ts";
import type { InboundSignal, OptOutSignal } from "../provider.ts";
import type { MessageRecord } from "./records.ts";
import type { Parameters } from "./signature.ts";

/** The most files of a message that are read. */
const MEDIA_MAX = 20;
/** Addresses on other channels than SMS begin with the channel's name. */
const OTHER_CHANNEL = /^([a-z]+):/i;

/** An inbound message. `other`: why the request is none; contains no number and no text. */
export type Inbound = { inbound: InboundSignal; optOut: OptOutSignal | null } | { other: string };

/** Reads a webhook whose signature was verified. */
export function readInbound(parameters: Parameters): Inbound {
  const field = (name: string) => parameters.get(name)?.[0] ?? "";
  const reference = field("MessageSid") || field("SmsMessageSid") || field("SmsSid");
  const [from, to, text] = [field("From"), field("To"), field("Body")];
  if (reference === "" || from === "" || to === "") return { other: "it names no message" };
  const channel = otherChannelOf(from, to);
  if (channel !== null) return { other: `its channel is ${channel}, not SMS` };
  const inbound = inboundOf({ reference, from, to, text, attachments: mediaOf(field) });
  const request = REQUESTS[field("OptOutType").toUpperCase()];
  if (request === undefined) return { inbound, optOut: null };
  const keyword = text.trim() === "" ? null : text.trim().slice(0, 100);
  return { inbound, optOut: { kind: "optOut", from, to, channel: "sms", request, keyword } };
}

/** Twilio's own reading of a keyword (Advanced Opt-Out). `HELP` changes nothing. */
const REQUESTS: Readonly<Record<string, OptOutSignal["request"]>> = { STOP: "stop", START: "start" };

/**
 * Converts a message of the list into the signal that its webhook would have made. Null if no contact wrote it by SMS.
 */
export function inboundOfListed(
  { sid, from, to, body, isOutbound }: MessageRecord,
  attachments: readonly InboundAttachment[],
): InboundSignal | null {
  if (isOutbound || from === null || to === null || otherChannelOf(from, to) !== null) return null;
  return inboundOf({ reference: sid, from, to, text: body, attachments: attachments.slice(0, MEDIA_MAX) });
}

/** A file, with its address as the reference. */
export function attachmentAt(reference: string, mimeType: string | null): InboundAttachment {
  return { reference, mimeType, filename: null, totalBytes: null, data: null };
}

function inboundOf({
  text,
  ...fields
}: Pick<InboundSignal, "reference" | "from" | "to" | "attachments"> & { text: string }): InboundSignal {
  return {
    kind: "inbound",
    ...fields,
    channel: "sms",
    group: null,
    text: text === "" ? null : text,
    replyTo: null,
    payment: null,
    effect: null,
  };
}

function otherChannelOf(from: string, to: string): string | null {
  const channel = OTHER_CHANNEL.exec(to)?.[1] ?? OTHER_CHANNEL.exec(from)?.[1];
  return channel?.toLowerCase().slice(0, 20) ?? null;
}

function mediaOf(field: (name: string) => string): InboundAttachment[] {
  const count = Math.min(Number(field("NumMedia")) || 0, MEDIA_MAX);
  return Array.from({ length: count }, (_, index) => index).flatMap((index) => {
    const reference = field(`MediaUrl${index}`);
    return reference === "" ? [] : [attachmentAt(reference, field(`MediaContentType${index}`) || null)];
  });
}
