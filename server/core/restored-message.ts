/**
 * Messages of a database that was restored from a backup. What may have been sent since the backup is held: `pending` with an
 * unknown outcome, until a receipt, its provider or a person says what happened. Pure.
 */

import type { HeldMessage } from "../../sdk/wire.ts";
import { iso, isoOrNull } from "./instant.ts";
import type { Message } from "./message.ts";
import {
  becomeDue,
  beginAttempt,
  type Change,
  type ChangeContext,
  canFallBack,
  defer,
  fail,
} from "./message-lifecycle.ts";
import { isRestored, RESTORED } from "./send-attempt.ts";
import { note } from "./timeline.ts";

/** A backup that was restored. Instants are by the service's clock. */
export interface RestoredBackup {
  /** The backup has what was on disk before. */
  takenAt: number;
}

/** Whether only a receipt, a lookup that finds it, or a person ends the message. */
export function isHeld(message: Pick<Message, "status" | "timeline">): boolean {
  return message.status === "pending" && isRestored(message);
}

/**
 * Holds a message that may have gone further since the backup:
 *
 * | status at the backup                   |                                                                    |
 * |----------------------------------------|--------------------------------------------------------------------|
 * | `scheduled`, and due                   | `message.queued`, then as `queued`                                 |
 * | `queued`, also one that was released   | `pending`: an attempt may have begun, at the backup or later       |
 * | `pending`                              | `pending`: the attempt may have ended, and others have followed it |
 * | `sent`, and another channel was left   | `sent`, and does not fall back: it may have done so                |
 * | any other, or `scheduled` for later    | null: nothing changes                                              |
 *
 * A message that is held already is not changed again.
 */
export function hold(
  message: Message,
  backup: RestoredBackup,
  timeToLiveMs: number,
  context: ChangeContext,
): Change | null {
  if (isHeld(message) || message.direction !== "outbound") return null;
  switch (message.status) {
    case "scheduled":
      return holdScheduled(message, backup, timeToLiveMs, context);
    case "queued":
      return asUnknown(attemptSince(message, backup.takenAt, context), backup, context);
    case "pending":
      return asUnknown({ message, events: [] }, backup, context);
    case "sent":
      if (!mayFallBackLater(message) && message.dueAt === null) return null;
      return { message: withoutFallback(message, backup, context), events: [] };
    default:
      return null;
  }
}

/** Whether the message can fall back, or could if the part that was sent turned out not to have arrived. */
function mayFallBackLater(message: Message): boolean {
  return canFallBack({ ...message, sentPart: null });
}

function holdScheduled(
  message: Message,
  backup: RestoredBackup,
  timeToLiveMs: number,
  context: ChangeContext,
): Change | null {
  const { dueAt } = message;
  if (dueAt === null || dueAt > context.now) return null;
  const at = Math.max(backup.takenAt, dueAt);
  const due = becomeDue(message, null, timeToLiveMs, { ...context, now: at });
  if (due === null) return null;
  const begun = attemptSince(due.message, at, context);
  return asUnknown({ message: begun.message, events: due.events }, backup, context);
}

/** The message as if a send attempt had begun. Its provider looks for it from then on. */
function attemptSince(message: Message, at: number, context: ChangeContext): Change {
  const since = Math.max(at, message.timeline.at(-1)?.at ?? at);
  return beginAttempt(message, message.account, { ...context, now: since }) ?? { message, events: [] };
}

function asUnknown({ message, events }: Change, { takenAt }: RestoredBackup, { now }: ChangeContext): Change {
  const reason = `${RESTORED}the service was restored from a backup of ${iso(takenAt)}, and the message may have been sent since`;
  const noted = note(message, message.channel, "pending", reason, now);
  return { message: { ...noted, dueAt: now, claimedUntil: null, unknownSince: null }, events };
}

function withoutFallback(message: Message, { takenAt }: RestoredBackup, { now }: ChangeContext): Message {
  const reason = `${RESTORED}the service was restored from a backup of ${iso(takenAt)}, and the message falls back no more: it may have done so since`;
  return { ...note(message, message.channel, "sent", reason, now), dueAt: null };
}

/** A held message as operators see it: without its content. */
export function heldRecord(message: Message): HeldMessage {
  const { id, customerId, instanceId, from, to, channel, scheduledAt, createdAt, timeline, updatedAt } = message;
  const since = timeline.findLast(({ reason }) => reason?.startsWith(RESTORED) === true);
  const reason = timeline.findLast(({ status }) => status === "pending")?.reason ?? "";
  return {
    id,
    customerId,
    instanceId,
    from,
    to,
    channel,
    reason,
    scheduledAt: isoOrNull(scheduledAt),
    heldAt: iso(since?.at ?? updatedAt),
    createdAt: iso(createdAt),
  };
}

/** Sends a held message again, because a person decided so. Null if it is not held. */
export function release(message: Message, timeToLiveMs: number, now: number): Message | null {
  const queued = isHeld(message) ? defer(message, "released: sent again by a person's decision", now, now) : null;
  return queued === null ? null : { ...queued, expiresAt: now + timeToLiveMs };
}

/** Ends a held message, because a person decided so: `failed`, and it may have been sent. Null if it is not held. */
export function discard(message: Message, context: ChangeContext): Change | null {
  const text =
    "It may have been sent: the service was restored from a backup, and a person decided not to send it again.";
  return isHeld(message) ? fail(message, { code: "OUTCOME_UNKNOWN", message: text }, context) : null;
}
