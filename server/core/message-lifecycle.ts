/** The lifecycle of a message: signal × status → status, as a table, and the changes that each signal makes. Pure: emits and stores nothing. */

import type {
  Channel,
  EventType,
  FallbackReason,
  MessageErrorCode,
  MessageEventData,
  MessageStatus,
  RevisionEventData,
} from "../../sdk/wire.ts";
import type { LinkBuilder } from "./attachment.ts";
import { type Event, makeEvent } from "./event.ts";
import type { EventId } from "./id.ts";
import { FRESH, type Message, type SentPart } from "./message.ts";
import { failureCauseOf } from "./message-parts.ts";
import { messageEventData } from "./message-record.ts";
import { along, answerTo, CHANNEL_NAMES, type Way } from "./routing.ts";
import { segmentsOf } from "./segment.ts";
import { attemptedAt, isRestored } from "./send-attempt.ts";
import { withoutStepBack } from "./step-back.ts";
import { type NewEntry, note, withEntry } from "./timeline.ts";

/**
 * Signals of a message; an inbound message has only `unsend`. `due`: its scheduled time came. `beginAttempt`: a provider is
 * about to get it. `defer`: the provider asks to wait. `fallback`: the channel is given up and another is left. `sent`,
 * `delivered` and `read`: receipts. `partly`: a part of it was sent, and the rest never will be by itself. `sendRest`: the
 * customer asks for that rest.
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
 * The lifecycle. A pair that is not here changes nothing, so late, repeated and reversed receipts never move a message
 * back.
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

/** The status after `signal`; null if the signal changes nothing. */
function transition(status: MessageStatus, signal: MessageSignal): MessageStatus | null {
  return TRANSITIONS[signal][status] ?? null;
}

/** The event of each status; `pending` has no event. */
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

/** Parameters of a change: the service's time, and ids for its events. */
export interface ChangeContext {
  now: number;
  eventId: () => EventId;
  /** Correlation id of the request that causes the change; by default the message's own. */
  correlationId?: string;
  /** Builds the download addresses of attachments. */
  link: LinkBuilder;
  /** Whether SMS sends, and measures, a look-alike of the text in GSM-7. */
  smartEncoding: boolean;
}

interface More {
  reason?: string;
  /** Why its instance was chosen: noted after the reason, with the instance. */
  way?: string;
  /** Extra fields of the event. */
  data?: Partial<MessageEventData> & Pick<RevisionEventData, "textTruncated">;
}

/**
 * Adds an event to a change: `sequence` is the next one of the message, and `dataOf` makes its data. Its time is never earlier than the
 * change before (but for a step back of the clock of 5 s or more): endpoints get the events of a message by their times.
 */
export function emit(
  change: Change,
  type: EventType,
  context: ChangeContext,
  dataOf: (message: Message) => object,
): Change {
  const at = withoutStepBack(change.message.updatedAt, context.now);
  const message = { ...change.message, sequence: change.message.sequence + 1, updatedAt: at };
  const correlationId = context.correlationId ?? message.correlationId;
  const event = makeEvent(
    {
      id: context.eventId(),
      customerId: message.customerId,
      type,
      messageId: message.id,
      sequence: message.sequence,
      correlationId,
      createdAt: at,
    },
    dataOf(correlationId === message.correlationId ? message : { ...message, correlationId }),
  );
  return { message, events: [...change.events, event] };
}

/** Adds an event with the message's present state, and `data` beside it. */
export function withEvent(change: Change, type: EventType, context: ChangeContext, data: More["data"] = {}): Change {
  return emit(change, type, context, (message) => ({ ...messageEventData(message, context.link), ...data }));
}

function enter(change: Change, status: MessageStatus, context: ChangeContext, more: More = {}): Change {
  const { message } = change;
  const entry: NewEntry = { status, channel: message.channel };
  const reasons = [more.reason, more.way].filter((one) => one !== undefined);
  if (reasons.length > 0) entry.reason = reasons.join("; ");
  if (status === "pending" || status === "sent" || more.way !== undefined) entry.instanceId = message.instanceId;
  const entered: Message = { ...withEntry(message, entry, context.now), status };
  if (status in AT_OF) entered[AT_OF[status as Rung]] = entered.updatedAt;
  const next = { ...change, message: entered };
  const type = EVENT_OF[status];
  return type === undefined ? next : withEvent(next, type, context, more.data);
}

/** The first change of a new message: `scheduled` or `queued`. `way`: why its channel and instance were chosen. */
export function begin(message: Message, way: string, context: ChangeContext): Change {
  const status = message.scheduledAt === null ? "queued" : "scheduled";
  const measured = { ...message, ...segmentsOf(message, context.smartEncoding) };
  return enter({ message: measured, events: [] }, status, context, { way });
}

/**
 * The scheduled time came: queues the message for the instance that is chosen now (null: the planned one). Null if the
 * message is no longer scheduled.
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
  const next = { ...message, ...along(by), dueAt: now, claimedUntil: null, expiresAt: now + timeToLiveMs };
  return enter({ message: next, events: [] }, status, context, by === null ? {} : { way: `via ${by.way}` });
}

/** Cancels a scheduled message. Null if it is no longer scheduled. */
export function cancel(message: Message, context: ChangeContext): Change | null {
  const status = transition(message.status, "cancel");
  if (status === null) return null;
  return enter({ message: { ...message, dueAt: null, claimedUntil: null }, events: [] }, status, context);
}

/** Begins a send attempt with an account. No event; committed before the provider gets the message. Null if the message is not queued. */
export function beginAttempt(message: Message, account: string | null, context: ChangeContext): Change | null {
  const status = transition(message.status, "beginAttempt");
  if (status === null) return null;
  const next = { ...message, dueAt: null, sendAttempts: message.sendAttempts + 1, account, unknownSince: null };
  // An attempt is named by its time.
  const now = message.sendAttempts === 0 ? context.now : withoutStepBack(attemptedAt(message) + 1, context.now);
  return enter({ message: next, events: [] }, status, { ...context, now });
}

/** The provider cannot accept the message now: queued again until `dueAt`. No event: for its customer it never left the queue. */
export function defer(message: Message, reason: string, dueAt: number, now: number): Message | null {
  const status = transition(message.status, "defer");
  if (status === null) return null;
  const { channel, instanceId } = message;
  const noted = withEntry(message, { status, channel, reason, instanceId }, now);
  return { ...noted, status, dueAt, claimedUntil: null, unknownSince: null };
}

const RUNGS = ["sent", "delivered", "read"] as const;
type Rung = (typeof RUNGS)[number];
const AT_OF = { sent: "sentAt", delivered: "deliveredAt", read: "readAt" } as const;

/**
 * A receipt: the message climbs to `rung`. Each rung that it had not reached on this channel gets its event, once and in
 * order. A receipt of a failed message corrects the failure. Null if nothing changes.
 */
export function climb(message: Message, rung: Rung, context: ChangeContext): Change | null {
  if (transition(message.status, rung) === null) return null;
  // A `sent` receipt is no news about a message that the channel accepted and could not deliver.
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
    change = enter(change, step, context);
  }
  return change.events.length === 0 ? null : change;
}

/** When the channel is given up because no delivery was reported (`fallbackAfterSeconds`); null: never. */
function giveUpAt(message: Message, now: number): number | null {
  return canFallBack(message) && message.fallbackAfterMs !== null ? now + message.fallbackAfterMs : null;
}

/** Why a message failed. */
export interface FailureCause {
  code: MessageErrorCode;
  message: string;
  providerErrorCode?: string | null;
}

/** The properties of a message that failed for this cause. */
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

/** Fails the message. Null if it has already ended otherwise. */
export function fail(message: Message, given: FailureCause, context: ChangeContext): Change | null {
  const status = transition(message.status, "fail");
  if (status === null) return null;
  const cause = failureCauseOf(message, given);
  const next = { ...message, ...failedBy(cause) };
  const isMaybeSent = cause.code === "OUTCOME_UNKNOWN" || message.sentPart !== null;
  const data = isMaybeSent ? { mayHaveBeenSent: true } : {};
  return enter({ message: next, events: [] }, status, context, { reason: cause.code, data });
}

/**
 * A part of the message was sent, and the rest was refused for good: `sent` under the part's reference, with the error of
 * the rest. Null if the attempt has ended otherwise.
 */
export function sendInPart(
  message: Message,
  part: SentPart,
  why: Pick<FailureCause, "message" | "providerErrorCode">,
  context: ChangeContext,
): Change | null {
  const status = transition(message.status, "partly");
  if (status === null) return null;
  const bound = { ...message, sentPart: part, providerMessageId: part.reference };
  const cause = failureCauseOf(bound, { ...why, code: "ATTACHMENT_FAILED" });
  return enter({ message: { ...bound, ...failedBy(cause) }, events: [] }, status, context, { reason: cause.message });
}

const SEND_FAILED = { imessage: "IMESSAGE_SEND_FAILED", sms: "SMS_SEND_FAILED" } as const;

/** Error code of a message that a channel accepted and then could not deliver. */
export function sendFailedCode(channel: Channel): MessageErrorCode {
  return SEND_FAILED[answerTo(channel)];
}

/** The channel and instance of a message whose channel is given up. */
export interface NextChannel extends Way {
  channel: Channel;
}

/**
 * Whether the message can fall back: fallback is on, a channel is left, no part was sent on the present channel, and no restore
 * has made it unknown whether the message fell back already.
 */
export function canFallBack(message: Message): boolean {
  return message.fallback && message.channelsLeft.length > 0 && message.sentPart === null && !isRestored(message);
}

/** Gives the channel up: `message.fallback`, then the next channel. */
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
    channel,
    reason: `fallback: ${reason}; ${CHANNEL_NAMES[channel]} via ${way}`,
    instanceId,
  };
  const moved: Message = {
    ...withEntry(message, entry, now),
    channel,
    ...along(next),
    instancesTried: [],
    ...segmentsOf({ channel: next.channel, text: message.text }, context.smartEncoding),
    ...FRESH,
    status,
    channelsLeft: message.channelsLeft.slice(message.channelsLeft.indexOf(channel) + 1),
    fallbackTriggered: true,
    dueAt: now,
    expiresAt: now + timeToLiveMs,
  };
  return withEvent({ message: moved, events: [] }, "message.fallback", context, {
    fallbackFrom: message.channel,
    reason,
  });
}

/**
 * Retries a failed message by hand on the channel it failed on, by the instance that is chosen now (null: the same one). If
 * it was sent without its files, retries the files. Null if there is nothing to retry.
 */
export function retry(message: Message, by: Way | null, timeToLiveMs: number, context: ChangeContext): Change | null {
  const isSentInPart = message.status === "sent" && message.errorCode === "ATTACHMENT_FAILED";
  const status = transition(message.status, isSentInPart ? "sendRest" : "retry");
  if (status === null) return null;
  const { now } = context;
  const again: Message = {
    ...message,
    ...FRESH,
    ...along(by),
    instancesTried: [],
    retryCount: message.retryCount + 1,
    dueAt: now,
    expiresAt: now + timeToLiveMs,
  };
  const way = by === null ? {} : { way: `via ${by.way}` };
  return enter({ message: again, events: [] }, status, context, { reason: "retry", ...way });
}

/** Unsends the message: it is not sent again on any channel. Null if it cannot be unsent, or is already unsent. */
export function unsend(message: Message, context: ChangeContext): Change | null {
  const status = transition(message.status, "unsend");
  if (status === null) return null;
  const next = { ...message, dueAt: null, claimedUntil: null, channelsLeft: [] };
  return enter({ message: next, events: [] }, status, context);
}

/** Deletes a message with its text and media: `message.deleted`. It is not sent again on any channel. */
export function erase(message: Message, context: ChangeContext): Change {
  const erased: Message = {
    ...message,
    text: null,
    mediaUrls: [],
    attachments: [],
    mentions: [],
    dueAt: null,
    channelsLeft: [],
    deletedAt: context.now,
  };
  return withEvent({ message: erased, events: [] }, "message.deleted", context);
}

/**
 * The outcome of the send attempt is unknown: looked up at `dueAt`. The status stays `pending`. The timeline gets
 * `reason` whenever it differs from the last noted reason.
 */
export function becomeUnknown(message: Message, dueAt: number, reason: string, now: number): Message {
  const last = message.timeline.findLast(({ status }) => status === "pending");
  const noted = last?.reason === reason ? message : note(message, message.channel, "pending", reason, now);
  // After the clock is set back, the stored instant may be in the future.
  const unknownSince = Math.min(message.unknownSince ?? now, now);
  return { ...noted, unknownSince, dueAt, claimedUntil: null };
}
