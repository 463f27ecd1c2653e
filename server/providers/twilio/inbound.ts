/** What contacts write, as Twilio's webhook has it, and as the service hears of it. Pure. */

import type { InboundAttachment, InboundSignal, OptOutSignal } from "../provider.ts";
import type { Parameters } from "./signature.ts";

/** Most files that are read of one message. */
const MEDIA_MAX = 20;
/** Addresses of other channels than SMS begin with the channel's name. */
const OTHER_CHANNEL = /^([a-z]+):/i;

/** A webhook about an inbound message. `other`: it is about something else, in words without numbers or text. */
export type Inbound = { inbound: InboundSignal; optOut: OptOutSignal | null } | { other: string };

/** Reads a webhook whose signature was verified. */
export function readInbound(parameters: Parameters): Inbound {
  const field = (name: string) => parameters.get(name)?.[0] ?? "";
  const reference = field("MessageSid") || field("SmsMessageSid") || field("SmsSid");
  const [from, to] = [field("From"), field("To")];
  if (reference === "" || from === "" || to === "") return { other: "it is about no message" };
  const channel = OTHER_CHANNEL.exec(to)?.[1] ?? OTHER_CHANNEL.exec(from)?.[1];
  if (channel !== undefined) return { other: `it is of the channel ${channel.toLowerCase().slice(0, 20)}, not of SMS` };
  const text = field("Body");
  const heard = { to, from, channel: "sms" } as const;
  const inbound: InboundSignal = {
    kind: "inbound",
    ...heard,
    reference,
    group: null,
    text: text === "" ? null : text,
    attachments: mediaOf(field),
    replyTo: null,
    payment: null,
    effect: null,
  };
  const wish = WISHES[field("OptOutType").toUpperCase()];
  const keyword = text.trim() === "" ? null : text.trim().slice(0, 100);
  return { inbound, optOut: wish === undefined ? null : { kind: "optOut", ...heard, wish, keyword } };
}

/** What Twilio made of a keyword (Advanced Opt-Out); `HELP` changes nothing. */
const WISHES: Readonly<Record<string, OptOutSignal["wish"]>> = { STOP: "stop", START: "start" };

function mediaOf(field: (name: string) => string): InboundAttachment[] {
  const count = Math.min(Number(field("NumMedia")) || 0, MEDIA_MAX);
  return Array.from({ length: count }, (_, index) => index).flatMap((index) => {
    const reference = field(`MediaUrl${index}`);
    const mimeType = field(`MediaContentType${index}`) || null;
    return reference === "" ? [] : [{ reference, mimeType, filename: null, totalBytes: null, data: null }];
  });
}
