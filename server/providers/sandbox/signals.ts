/** What the sandbox's phones tell the service: the signals of what is owed, and of what a person does. Pure. */

import type { CallStatus, Channel, Reaction } from "../../../sdk/wire.ts";
import { emojiOfReaction, reactionContent, type SeenReaction } from "../../core/reaction.ts";
import type { Phone } from "../phones.ts";
import type {
  CallSignal,
  GroupSignal,
  GroupSnapshot,
  InboundAttachment,
  InboundSignal,
  ReactionSignal,
  Signal,
  TypingSignal,
} from "../provider.ts";
import type { PhoneStep } from "./phones.ts";
import { type PendingSignals, referenceOf } from "./signal-journal.ts";

/** The signal that tells of the step at `index`. Told again it is the same signal, with the same names. */
export function signalOf(owed: PendingSignals, index: number, step: PhoneStep): Signal {
  const { phone, channel } = owed;
  const reference = referenceOf(owed);
  const own = `${reference}_${index}`;
  if (!("does" in step)) return receiptOf(owed, reference, step);
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

function receiptOf(owed: PendingSignals, reference: string, step: Extract<PhoneStep, { receipt: string }>): Signal {
  const { receipt, code, reason } = step;
  return {
    kind: "receipt",
    reference,
    messageId: owed.messageId,
    channel: owed.channel,
    receipt,
    ...(code === undefined ? {} : { code }),
    ...(reason === undefined ? {} : { reason }),
  };
}

/** The person on `phone` begins or ends typing. Only iMessage shows it. */
export function typingOf({ number: from, to }: Phone, typing: boolean): TypingSignal {
  return { kind: "typing", to, channel: "imessage", from, group: null, typing };
}

/** What a person writes. */
interface WrittenMessage {
  channel: Channel;
  text: string | null;
  attachments?: readonly InboundAttachment[];
  replyTo?: string | null;
}

/** A message from `phone` that is called `reference`. */
export function inboundOf({ number: from, to }: Phone, reference: string, written: WrittenMessage): InboundSignal {
  const { channel, text, attachments = [], replyTo = null } = written;
  const plain = { group: null, payment: null, effect: null };
  return { kind: "inbound", to, channel, reference, from, text, attachments, replyTo, ...plain };
}

/** A payment from `phone`: a message without a text, as Apple Cash sends it. */
export function paymentOf(phone: Phone, reference: string, amountCents: number): InboundSignal {
  const inbound = inboundOf(phone, reference, { channel: "imessage", text: null });
  return { ...inbound, payment: { amountCents, currency: "USD", isRequest: false } };
}

/** A reaction from `phone` to `target`, or with a minus its removal. */
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
    emoji,
    content: reactionContent(reaction, target.text),
  };
}

/** The person on `phone` gives a group another photo. `reference` names the change. */
export function photoOf({ number: actor, to }: Phone, reference: string, group: GroupSnapshot): GroupSignal {
  const what = { change: "photoChanged", participant: null, title: null } as const;
  return { kind: "group", to, channel: "imessage", reference, group, actor, ...what };
}

/** A FaceTime call from `phone` that is called `callUuid`, as it now is. */
export function callOf(
  { number: caller, to }: Phone,
  callUuid: string,
  { status, isVideo }: { status: CallStatus; isVideo: boolean },
): CallSignal {
  return { kind: "call", to, channel: "imessage", callUuid, caller, isVideo, isOutgoing: false, status };
}
