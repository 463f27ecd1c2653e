/** Builds the signals that sandbox phones report: for their steps, and for what their owners do. Pure. */

import type { CallStatus, Channel, Reaction } from "../../../sdk/wire.ts";
import type { InboundAttachment } from "../../core/attachment.ts";
import type { GroupSnapshot } from "../../core/group.ts";
import { emojiOfReaction, reactionContent, type SeenReaction } from "../../core/reaction.ts";
import type { Phone } from "../phones.ts";
import type { CallSignal, GroupSignal, InboundSignal, ReactionSignal, Signal, TypingSignal } from "../provider.ts";
import type { PhoneStep } from "./phones.ts";
import { type PendingSignals, referenceOf } from "./signal-journal.ts";

/** Signal of the step at `index`. A repeated report is the same signal with the same references. */
export function signalOf(pending: PendingSignals, index: number, step: PhoneStep): Signal {
  const { phone, channel } = pending;
  const reference = referenceOf(pending);
  const own = `${reference}_${index}`;
  if (!("does" in step)) return receiptOf(pending, reference, step);
  switch (step.does) {
    case "type":
      return typingOf(phone, step.typing);
    case "write":
      return inboundOf(phone, own, { channel, text: step.text });
    case "react":
      return reactionOf(phone, own, { reference, text: step.text }, seen(step.type));
    case "pay":
      return paymentOf(phone, own, step.amountCents);
    case "call":
      return callOf(phone, `${reference}_call`, { status: step.status, isVideo: true });
  }
}

function seen(type: Reaction) {
  return { type, emoji: emojiOfReaction(type), isRemoved: false };
}

function receiptOf(pending: PendingSignals, reference: string, step: Extract<PhoneStep, { receipt: string }>): Signal {
  const { receipt, code, reason } = step;
  return {
    kind: "receipt",
    reference,
    messageId: pending.messageId,
    channel: pending.channel,
    receipt,
    ...(code === undefined ? {} : { code }),
    ...(reason === undefined ? {} : { reason }),
  };
}

/** The owner of `phone` starts or stops typing. Only iMessage shows typing. */
export function typingOf({ number: from, to }: Phone, typing: boolean): TypingSignal {
  return { kind: "typing", to, channel: "imessage", from, group: null, typing };
}

/** Content of a message from a phone. */
interface WrittenMessage {
  channel: Channel;
  text: string | null;
  attachments?: readonly InboundAttachment[];
  replyTo?: string | null;
  group?: GroupSnapshot | null;
}

/** Message from `phone` with this reference. */
export function inboundOf({ number: from, to }: Phone, reference: string, written: WrittenMessage): InboundSignal {
  const { channel, text, attachments = [], replyTo = null, group = null } = written;
  const plain = { payment: null, effect: null };
  return { kind: "inbound", to, channel, reference, from, text, attachments, replyTo, group, ...plain };
}

/** Payment from `phone`: a message without text, as Apple Cash sends it. */
export function paymentOf(phone: Phone, reference: string, amountCents: number): InboundSignal {
  const inbound = inboundOf(phone, reference, { channel: "imessage", text: null });
  return { ...inbound, payment: { amountCents, currency: "USD", isRequest: false } };
}

/** Reaction from `phone` to `target`, or the removal of a reaction. */
export function reactionOf(
  { number: from, to }: Phone,
  reference: string,
  target: { reference: string; text: string | null },
  reaction: SeenReaction & { emoji: string },
): ReactionSignal {
  const { type, emoji, isRemoved } = reaction;
  return {
    kind: "reaction",
    to,
    channel: "imessage",
    reference,
    from,
    target: target.reference,
    type: isRemoved ? "remove" : type,
    ...(type === "emoji" && !isRemoved ? { emoji } : {}),
    content: reactionContent(reaction, target.text),
  };
}

/** The owner of `phone` changes the photo of a group. `reference` identifies the change. */
export function photoOf({ number: actor, to }: Phone, reference: string, group: GroupSnapshot): GroupSignal {
  const what = { change: "photoChanged", participant: null, title: null } as const;
  return { kind: "group", to, channel: "imessage", reference, group, actor, ...what };
}

/** FaceTime call from `phone` with the id `callUuid`, in its current state. */
export function callOf(
  { number: caller, to }: Phone,
  callUuid: string,
  { status, isVideo }: { status: CallStatus; isVideo: boolean },
): CallSignal {
  return { kind: "call", to, channel: "imessage", callUuid, caller, isVideo, isOutgoing: false, status };
}
