/** What a message waits for in its queue: files that cannot be had, quiet hours. Tells no one: it never leaves the queue. Pure. */

import { iso } from "./instant.ts";
import type { Message, TimelineEntry } from "./message.ts";
import { note } from "./message-lifecycle.ts";

const POSTPONED = "postponed: ";

/**
 * It cannot be handed over yet, for a reason that is none of its channel's: it stays queued until `dueAt`. No event. Of
 * several postponements in a row only the first is noted.
 */
export function postpone(message: Message, reason: string, dueAt: number, now: number): Message {
  const isFirst = postponedSince(message) === null;
  const noted = isFirst ? note(message, message.channel, "queued", `${POSTPONED}${reason}`, now) : message;
  return { ...noted, dueAt, claimedUntil: null };
}

/** What it was postponed for last, since it was queued or handed over; late receipts that were noted after it count for nothing. */
function lastPostponement({ timeline }: Pick<Message, "timeline">): TimelineEntry | null {
  const last = timeline.findLast(({ status, reason }) => status !== "queued" || reason?.startsWith(POSTPONED) === true);
  return last?.status === "queued" ? last : null;
}

/** Since when it has been postponed, but for quiet hours; null when it is not. */
export function postponedSince(message: Message): number | null {
  return isHeldBack(message) ? null : (lastPostponement(message)?.at ?? null);
}

const HELD_BACK = `${POSTPONED}quiet hours`;

/** Quiet hours hold it back: it stays queued until they end, and its time in the queue stands still. No event. */
export function holdBack(message: Message, until: number, now: number): Message {
  const reason = `${HELD_BACK} of ${message.to} until ${iso(until)}`;
  const isNoted = lastPostponement(message)?.reason === reason;
  const noted = isNoted ? message : note(message, message.channel, "queued", reason, now);
  const expiresAt = message.expiresAt === null ? null : message.expiresAt + until - now;
  return { ...noted, dueAt: until, claimedUntil: null, expiresAt };
}

/** It is looked at again before its quiet hours end, as they were: due now, and its time in the queue goes on. Null when none hold it back. */
export function lookAgain(message: Message, now: number): Message | null {
  const { status, dueAt, expiresAt } = message;
  if (status !== "queued" || dueAt === null || dueAt <= now || !isHeldBack(message)) return null;
  return { ...message, dueAt: now, expiresAt: expiresAt === null ? null : expiresAt - (dueAt - now) };
}

/** Whether quiet hours are what it waited for last. */
export function isHeldBack(message: Pick<Message, "timeline">): boolean {
  return lastPostponement(message)?.reason?.startsWith(HELD_BACK) === true;
}
