/** A message and its lifecycle: signal × status → status, as a table. Pure. Tells no one and stores nothing. */

import type {
  Channel,
  EventType,
  FallbackReason,
  MessageErrorCode,
  MessageEventData,
  MessageStatus,
} from "../../sdk/wire.ts";
import type { LinkBuilder } from "./attachment.ts";
import { type Event, makeEvent } from "./event.ts";
import type { EventId } from "./id.ts";
import { FRESH, type Message, type SentPart, type TimelineEntry } from "./message.ts";
import { causeOfRest } from "./message-parts.ts";
import { messageEventData } from "./message-record.ts";
import { CHANNEL_NAMES, type Way } from "./routing.ts";
import { segmentsOf } from "./segment.ts";

/**
 * What can happen to a message; to an inbound one, only `unsend`. `due` its scheduled time came; `beginAttempt` a provider is given it;
 * `defer` the provider asks to wait; `fallback` the channel is given up and another is left; `sent`, `delivered` and `read` are receipts;
 * `partly` a part of it went out and the rest never will by itself; `sendRest` the customer asks for that rest.
 */
export type MessageSignal =
  | "due"
  | "cancel"
  | "beginAttempt"
  | "defer"
  | "fallback"
  | "fail"
  | "retry"
  | "sent"
  | "delivered"
  | "read"
  | "partly"
  | "sendRest"
  | "unsend";

/**
 * The lifecycle. A pair that is not here changes nothing: that is how
 * late, repeated and reversed receipts never move a message back.
 */
export const TRANSITIONS: Readonly<Record<MessageSignal, Readonly<Partial<Record<MessageStatus, MessageStatus>>>>> = {
  due: { scheduled: "queued" },
  cancel: { scheduled: "cancelled" },
  beginAttempt: { queued: "pending" },
  defer: { pending: "queued" },
  fallback: { pending: "queued", sent: "queued" },
  fail: { queued: "failed", pending: "failed", sent: "failed" },
  retry: { failed: "queued" },
  sent: { pending: "sent", failed: "sent" },
  delivered: { pending: "delivered", sent: "delivered", failed: "delivered" },
  read: { pending: "read", sent: "read", delivered: "read", failed: "read" },
  partly: { pending: "sent" },
  sendRest: { sent: "queued" },
  unsend: { sent: "unsent", delivered: "unsent", read: "unsent", received: "unsent" },
};

/** The status that `signal` leads to, or null when it changes nothing. */
function transition(status: MessageStatus, signal: MessageSignal): MessageStatus | null {
  return TRANSITIONS[signal][status] ?? null;
}

/** Event of reaching a status; `pending` has none of its own. */
const EVENT_OF: Partial<Record<MessageStatus, EventType>> = {
  scheduled: "message.scheduled",
  queued: "message.queued",
  sent: "message.sent",
  delivered: "message.delivered",
  read: "message.read",
  failed: "message.failed",
  cancelled: "message.schedule_cancelled",
  unsent: "message.unsent",
};

/** A message and the events of one change to it, to be committed together. */
export interface Change {
  message: Message;
  events: Event[];
}

/** What a change needs from outside: the shifted time, and ids for its events. */
export interface ChangeContext {
  now: number;
  eventId: () => EventId;
  /** Of the request that the change is made for; without one its events carry that of the message. */
  correlationId?: string;
  /** Makes the addresses of attachments. */
  link: LinkBuilder;
  /** Whether texts go out by SMS in what reads the same in GSM-7, so that they are measured like that too. */
  smartEncoding: boolean;
}

interface More {
  reason?: string;
  /** Why it goes where it goes: noted after the reason, with the instance. */
  way?: string;
  /** Extra fields of the event. */
  data?: Partial<MessageEventData>;
}

/** Adds an event to a change: its `sequence` is the message's next one, its data what `dataOf` makes of the message then. */
export function emit(
  change: Change,
  type: EventType,
  context: ChangeContext,
  dataOf: (message: Message) => object,
): Change {
  const message = { ...change.message, sequence: change.message.sequence + 1 };
  const correlationId = context.correlationId ?? message.correlationId;
  const event = makeEvent(
    {
      id: context.eventId(),
      customerId: message.customerId,
      type,
      messageId: message.id,
      sequence: message.sequence,
      correlationId,
      createdAt: context.now,
    },
    dataOf({ ...message, correlationId }),
  );
  return { message, events: [...change.events, event] };
}

/** Adds an event of the message as it now is, with `data` beside what every event of a message has. */
export function withEvent(change: Change, type: EventType, context: ChangeContext, data: More["data"] = {}): Change {
  return emit(change, type, context, (message) => ({ ...messageEventData(message, context.link), ...data }));
}

function enter(change: Change, status: MessageStatus, context: ChangeContext, more: More = {}): Change {
  const { message } = change;
  const entry: TimelineEntry = { status, at: context.now, channel: message.channel };
  const reasons = [more.reason, more.way].filter((one) => one !== undefined);
  if (reasons.length > 0) entry.reason = reasons.join("; ");
  if (status === "pending" || status === "sent" || more.way !== undefined) entry.instanceId = message.instanceId;
  const timeline = [...message.timeline, entry];
  const next = { ...change, message: { ...message, status, timeline, updatedAt: context.now } };
  const type = EVENT_OF[status];
  return type === undefined ? next : withEvent(next, type, context, more.data);
}

/** Notes something in the timeline that changes no status. */
export function note(message: Message, channel: Channel, status: MessageStatus, reason: string, now: number): Message {
  const entry: TimelineEntry = { status, at: now, channel, reason };
  return { ...message, timeline: [...message.timeline, entry], updatedAt: now };
}

/** A new message's first change: `scheduled` or `queued`, with its event. `way`: why by its channel and instance. */
export function begin(message: Message, way: string, context: ChangeContext): Change {
  const status = message.scheduledAt === null ? "queued" : "scheduled";
  const measured = { ...message, ...segmentsOf(message, context.smartEncoding) };
  return enter({ message: measured, events: [] }, status, context, { way });
}

/**
 * Its scheduled time came: queued, to be handed over at once, by the way that there is now (null: as it was planned).
 * Null when it is no longer scheduled.
 */
export function becomeDue(
  message: Message,
  by: Way | null,
  timeToLiveMs: number,
  context: ChangeContext,
): Change | null {
  const status = transition(message.status, "due");
  if (status === null) return null;
  const { now } = context;
  const { instanceId } = by ?? message;
  const next = { ...message, instanceId, dueAt: now, claimedUntil: null, expiresAt: now + timeToLiveMs };
  return enter({ message: next, events: [] }, status, context, by === null ? {} : { way: `via ${by.way}` });
}

/** Cancels a scheduled message. Null when it is not scheduled any more. */
export function cancel(message: Message, context: ChangeContext): Change | null {
  const status = transition(message.status, "cancel");
  if (status === null) return null;
  return enter({ message: { ...message, dueAt: null, claimedUntil: null }, events: [] }, status, context);
}

/** A hand-over to `peer` begins. No event; recorded before the provider hears of it. Null when it is not queued. */
export function beginAttempt(message: Message, account: string | null, context: ChangeContext): Change | null {
  const status = transition(message.status, "beginAttempt");
  if (status === null) return null;
  const next = { ...message, sendAttempts: message.sendAttempts + 1, account, unknownSince: null };
  return enter({ message: next, events: [] }, status, context);
}

/** The provider cannot take it now: back to queued until `dueAt`. No event: it never left the queue for its caller. */
export function defer(message: Message, reason: string, dueAt: number, now: number): Message | null {
  const status = transition(message.status, "defer");
  if (status === null) return null;
  const entry: TimelineEntry = { status, at: now, channel: message.channel, reason, instanceId: message.instanceId };
  const timeline = [...message.timeline, entry];
  return { ...message, status, dueAt, claimedUntil: null, unknownSince: null, timeline, updatedAt: now };
}

const RUNGS = ["sent", "delivered", "read"] as const;
type Rung = (typeof RUNGS)[number];
const AT_OF = { sent: "sentAt", delivered: "deliveredAt", read: "readAt" } as const;

/**
 * A receipt: the message climbs to `rung`, and each rung not yet reached on this channel is told of, once and in
 * order. A proof for a failed message corrects it. Null when it changes nothing.
 */
export function climb(message: Message, rung: Rung, context: ChangeContext): Change | null {
  if (transition(message.status, rung) === null) return null;
  // That the channel had taken it is no news about a message that the channel then could not deliver.
  if (rung === "sent" && message.errorCode === sendFailedCode(message.channel)) return null;
  const cleared = {
    errorCode: null,
    errorMessage: null,
    providerErrorCode: null,
    unknownSince: null,
    claimedUntil: null,
  };
  const dueAt = rung === "sent" ? giveUpAt(message, context.now) : null;
  let change: Change = { message: { ...message, ...cleared, dueAt }, events: [] };
  for (const step of RUNGS.slice(0, RUNGS.indexOf(rung) + 1)) {
    if (change.message[AT_OF[step]] !== null) continue;
    change = enter({ ...change, message: { ...change.message, [AT_OF[step]]: context.now } }, step, context);
  }
  return change.events.length === 0 ? null : change;
}

/** When the channel is given up for want of a delivery; null: never. */
function giveUpAt(message: Message, now: number): number | null {
  return canFallBack(message) && message.fallbackAfterMs !== null ? now + message.fallbackAfterMs : null;
}

/** Why a message failed. */
export interface FailureCause {
  code: MessageErrorCode;
  message: string;
  providerErrorCode?: string | null;
}

/** What a message is once it has ended for this cause. */
function failedBy(cause: FailureCause) {
  return {
    errorCode: cause.code,
    errorMessage: cause.message,
    providerErrorCode: cause.providerErrorCode ?? null,
    dueAt: null,
    claimedUntil: null,
    unknownSince: null,
  };
}

/** It will not get there. Null when it had already ended otherwise. */
export function fail(message: Message, given: FailureCause, context: ChangeContext): Change | null {
  const status = transition(message.status, "fail");
  if (status === null) return null;
  const cause = causeOfRest(message, given);
  const next = { ...message, ...failedBy(cause) };
  const isMaybeSent = cause.code === "OUTCOME_UNKNOWN" || message.sentPart !== null;
  const data = isMaybeSent ? { mayHaveBeenSent: true } : {};
  return enter({ message: next, events: [] }, status, context, { reason: cause.code, data });
}

/**
 * A part of it was sent, and the rest was refused for good: `sent` under the part's reference, with the error of the
 * rest. Null when its hand-over has ended otherwise.
 */
export function sendInPart(
  message: Message,
  part: SentPart,
  why: Pick<FailureCause, "message" | "providerErrorCode">,
  context: ChangeContext,
): Change | null {
  const status = transition(message.status, "partly");
  if (status === null) return null;
  const bound = { ...message, sentPart: part, providerMessageId: part.reference, sentAt: context.now };
  const cause = causeOfRest(bound, { ...why, code: "ATTACHMENT_FAILED" });
  return enter({ message: { ...bound, ...failedBy(cause) }, events: [] }, status, context, { reason: cause.message });
}

const SEND_FAILED = { imessage: "IMESSAGE_SEND_FAILED", sms: "SMS_SEND_FAILED" } as const;

/** Code of a message that a channel took and then could not deliver. */
export function sendFailedCode(channel: Channel): MessageErrorCode {
  return SEND_FAILED[channel];
}

/** Where a message goes when its channel is given up. */
export interface NextChannel extends Way {
  channel: Channel;
}

/** Whether giving up the present channel leads to another: fallback is wanted, one is left, and no part was sent on this one. */
export function canFallBack(message: Message): boolean {
  return message.fallback && message.channelsLeft.length > 0 && message.sentPart === null;
}

/** The channel is given up: `message.fallback`, then the next one. */
export function fallBack(
  message: Message,
  next: NextChannel,
  reason: FallbackReason,
  timeToLiveMs: number,
  context: ChangeContext,
): Change | null {
  const status = transition(message.status, "fallback");
  if (status === null || message.sentPart !== null) return null;
  const { now } = context;
  const { channel, instanceId, way } = next;
  const entry = {
    status,
    at: now,
    channel,
    reason: `fallback: ${reason}; ${CHANNEL_NAMES[channel]} via ${way}`,
    instanceId,
  };
  const timeline = [...message.timeline, entry];
  const moved: Message = {
    ...message,
    channel,
    instanceId,
    instancesTried: [],
    ...segmentsOf({ channel: next.channel, text: message.text }, context.smartEncoding),
    ...FRESH,
    status,
    channelsLeft: message.channelsLeft.slice(message.channelsLeft.indexOf(channel) + 1),
    fallbackTriggered: true,
    dueAt: now,
    expiresAt: now + timeToLiveMs,
    timeline,
    updatedAt: now,
  };
  return withEvent({ message: moved, events: [] }, "message.fallback", context, {
    fallbackFrom: message.channel,
    reason,
  });
}

/**
 * Tries a failed message again on the channel it failed on, by hand, by the way that there is now (null: the one it
 * took); of one that was sent without its files, the files. Null when there is nothing to try again.
 */
export function retry(message: Message, by: Way | null, timeToLiveMs: number, context: ChangeContext): Change | null {
  const isSentInPart = message.status === "sent" && message.errorCode === "ATTACHMENT_FAILED";
  const status = transition(message.status, isSentInPart ? "sendRest" : "retry");
  if (status === null) return null;
  const { now } = context;
  const { instanceId } = by ?? message;
  const again: Message = {
    ...message,
    ...FRESH,
    instanceId,
    instancesTried: [],
    retryCount: message.retryCount + 1,
    dueAt: now,
    expiresAt: now + timeToLiveMs,
  };
  const way = by === null ? {} : { way: `via ${by.way}` };
  return enter({ message: again, events: [] }, status, context, { reason: "retry", ...way });
}

/** Its sender took it back: it is never sent again, nor by another channel. Null when it cannot be, or was already. */
export function unsend(message: Message, context: ChangeContext): Change | null {
  const status = transition(message.status, "unsend");
  if (status === null) return null;
  const next = { ...message, dueAt: null, claimedUntil: null, channelsLeft: [] };
  return enter({ message: next, events: [] }, status, context);
}

/** Takes a message out of sight, and its text and media with it: `message.deleted`. Never sent again, nor by another channel. */
export function erase(message: Message, context: ChangeContext): Change {
  const { now } = context;
  const erased: Message = {
    ...message,
    text: null,
    mediaUrls: [],
    attachments: [],
    mentions: [],
    dueAt: null,
    channelsLeft: [],
    deletedAt: now,
    updatedAt: now,
  };
  return withEvent({ message: erased, events: [] }, "message.deleted", context);
}

/** The outcome of the hand-over is unknown: look again at `dueAt`. The status stays `pending`. */
export function becomeUnknown(message: Message, dueAt: number, reason: string, now: number): Message {
  const since = message.unknownSince ?? now;
  const noted = message.unknownSince === null ? note(message, message.channel, "pending", reason, now) : message;
  return { ...noted, unknownSince: since, dueAt, claimedUntil: null };
}
