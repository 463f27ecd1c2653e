/** Converts contacts' messages from Twilio's webhook and list into signals. Pure. */

import type { InboundAttachment } from "../../core/attachment.ts";
import type { InboundSignal, OptOutSignal } from "../provider.ts";
import type { MessageRecord } from "./records.ts";
import type { Parameters } from "./signature.ts";

/** The most files of a message that are read. */
const MEDIA_MAX = 20;
/** Addresses on other channels than SMS begin with the channel's name. */
const OTHER_CHANNEL = /^([a-z]+):/i;
/** A contact who writes by RCS. Our own end may be the name of an RCS sender, which has no number. */
const BY_RCS = /^rcs:(\+[1-9]\d{1,14})$/i;

/** An inbound message. `toSender`: it was written to an RCS sender, and `to` is empty. `other`: why the request is none; contains no number and no text. */
export type Inbound = { inbound: InboundSignal; optOut: OptOutSignal | null; toSender: boolean } | { other: string };

/** Reads a webhook whose signature was verified. */
export function readInbound(parameters: Parameters): Inbound {
  const field = (name: string) => parameters.get(name)?.[0] ?? "";
  const reference = field("MessageSid") || field("SmsMessageSid") || field("SmsSid");
  const [given, ours, text] = [field("From"), field("To"), field("Body")];
  if (reference === "" || given === "" || ours === "") return { other: "it names no message" };
  const byRcs = BY_RCS.exec(given)?.[1];
  const other = byRcs === undefined ? otherChannelOf(given, ours) : null;
  if (other !== null) return { other: `its channel is ${other}, neither SMS nor RCS of a phone` };
  const from = byRcs ?? given;
  const isSender = byRcs !== undefined && /^rcs:/i.test(ours) && !BY_RCS.test(ours);
  const to = isSender ? "" : (BY_RCS.exec(ours)?.[1] ?? ours);
  const channel = byRcs === undefined ? "sms" : "rcs";
  const inbound = inboundOf({ reference, from, to, channel, text, attachments: mediaOf(field) });
  const request = REQUESTS[field("OptOutType").toUpperCase()];
  const keyword = text.trim() === "" ? null : text.trim().slice(0, 100);
  const optOut: OptOutSignal | null =
    request === undefined ? null : { kind: "optOut", from, to, channel, request, keyword };
  return { inbound, optOut, toSender: isSender };
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
  const files = attachments.slice(0, MEDIA_MAX);
  return inboundOf({ reference: sid, from, to, channel: "sms", text: body, attachments: files });
}

/** A file, with its address as the reference. */
export function attachmentAt(reference: string, mimeType: string | null): InboundAttachment {
  return { reference, mimeType, filename: null, totalBytes: null, data: null };
}

function inboundOf({
  text,
  ...fields
}: Pick<InboundSignal, "reference" | "from" | "to" | "channel" | "attachments"> & { text: string }): InboundSignal {
  return {
    kind: "inbound",
    ...fields,
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
