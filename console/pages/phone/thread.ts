/** The thread on a phone: its messages oldest first, with their receipts, reactions, edits and payment requests. Pure. */

import type { Event, Message, PaymentRequest, Reaction } from "../../../sdk/wire.ts";

/** A message on the phone. */
export interface Bubble {
  message: Message;
  /** Whether this phone wrote it. */
  isOwn: boolean;
  /** The address of its sender, in a group and only if it is not the sender of the bubble before. */
  sender: string | null;
  /** Emojis of the reactions that stand. */
  reactions: readonly string[];
  isEdited: boolean;
  isUnsent: boolean;
  /** The payment request that it carries. */
  payment: PaymentRequest | null;
  /** The payment request that it pays. */
  paid: PaymentRequest | null;
  /** How the message stands; null where the phone would say nothing. */
  receipt: Receipt | null;
  /** Whether a time is shown above it: the first bubble, and one after a pause. */
  isAfterPause: boolean;
}

/** How a message stands. `bad` needs a hand. */
export interface Receipt {
  text: string;
  tone: "soft" | "good" | "bad";
}

/** The records of a phone: a page of messages newest first, and the events and payment requests about them. */
export interface PhoneRecords {
  number: string;
  messages: readonly Message[];
  /** `message.reaction`, `.edited` and `.unsent`, in any order. */
  events: readonly Event[];
  payments: readonly PaymentRequest[];
  isGroup: boolean;
}

/** A time is shown after a pause of this length, as iMessage does after an hour; a developer's pauses are shorter. */
const PAUSE_MS = 300_000;

/** The emojis of the six reactions of iMessage. */
export const REACTION_EMOJIS: Record<Reaction, string> = {
  love: "❤️",
  like: "👍",
  dislike: "👎",
  laugh: "😂",
  emphasize: "‼️",
  question: "❓",
};

/** The bubbles of a phone. */
export function bubblesOf({ number, messages, events, payments, isGroup }: PhoneRecords): Bubble[] {
  const oldestFirst = messages.toReversed();
  const reactions = reactionsOf(events);
  const edited = new Set(events.filter(({ type }) => type === "message.edited").map(messageIdOf));
  const byMessage = new Map(payments.map((payment) => [payment.messageId, payment]));
  const byPayment = new Map(payments.map((payment) => [payment.paidBy?.messageId ?? null, payment]));
  const lastOutbound = oldestFirst.findLast(({ direction }) => direction === "outbound")?.id;
  return oldestFirst.map((message, index) => {
    const before = oldestFirst[index - 1];
    const pauseMs = before === undefined ? Infinity : Date.parse(message.createdAt) - Date.parse(before.createdAt);
    const isOwn = message.direction === "inbound" && message.from === number;
    return {
      message,
      isOwn,
      sender: isGroup && !isOwn && before?.from !== message.from ? message.from : null,
      reactions: reactions.get(message.id) ?? [],
      isEdited: edited.has(message.id),
      isUnsent: message.status === "unsent",
      payment: byMessage.get(message.id) ?? null,
      paid: byPayment.get(message.id) ?? null,
      receipt: receiptOf(message, message.id === lastOutbound),
      isAfterPause: pauseMs >= PAUSE_MS,
    };
  });
}

function messageIdOf({ data }: Event): string | null {
  return "messageId" in data ? data.messageId : null;
}

/** The reactions of each message: the last one of each person, unless it was removed. */
function reactionsOf(events: readonly Event[]): Map<string, string[]> {
  const standing = new Map<string, Map<string, string>>();
  const inOrder = [...events].sort((one, other) => (one.id < other.id ? -1 : 1));
  for (const event of inOrder) {
    if (event.type !== "message.reaction") continue;
    const { messageId, from, reaction } = (event as Event<"message.reaction">).data;
    if (messageId === null) continue;
    const people = standing.get(messageId) ?? new Map<string, string>();
    standing.set(messageId, people);
    if (reaction.type === "remove") people.delete(from);
    else people.set(from, REACTION_EMOJIS[reaction.type as Reaction] ?? reaction.emoji ?? reaction.type);
  }
  return new Map([...standing].map(([id, people]) => [id, [...people.values()]]));
}

const MOVING: Partial<Record<Message["status"], string>> = {
  scheduled: "Scheduled",
  queued: "Queued",
  pending: "Sending…",
  sent: "Sent, not delivered yet",
};

/** The last message of the service says how it stands; others only if they have not arrived. */
function receiptOf(message: Message, isLast: boolean): Receipt | null {
  if (message.direction === "inbound") return null;
  if (message.status === "failed") return { text: `Not delivered · ${message.errorCode ?? "failed"}`, tone: "bad" };
  if (message.status === "cancelled") return { text: "Cancelled", tone: "soft" };
  const moving = MOVING[message.status];
  if (moving !== undefined) return { text: moving, tone: "soft" };
  if (!isLast) return null;
  return { text: message.status === "read" ? "Read" : "Delivered", tone: "good" };
}
