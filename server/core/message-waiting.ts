/** Postpones a queued message whose files cannot be fetched, or during quiet hours. No event: the message stays in the queue. Pure. */

import { iso } from "./instant.ts";
import type { Message, TimelineEntry } from "./message.ts";
import { note } from "./timeline.ts";

const POSTPONED = "postponed: ";

/**
 * Postpones a message for a reason that has nothing to do with its channel: it stays queued until `dueAt`. No event. Of
 * several postponements in a row only the first is noted.
 */
export function postpone(message: Message, reason: string, dueAt: number, now: number): Message {
  const isFirst = postponedSince(message) === null;
  const noted = isFirst ? note(message, message.channel, "queued", `${POSTPONED}${reason}`, now) : message;
  return { ...noted, dueAt, claimedUntil: null };
}

/** The last postponement since the message was queued or attempted; late receipts that were noted after it do not count. */
function lastPostponement({ timeline }: Pick<Message, "timeline">): TimelineEntry | null {
  const last = timeline.findLast(({ status, reason }) => status !== "queued" || reason?.startsWith(POSTPONED) === true);
  return last?.status === "queued" ? last : null;
}

/** Since when the message is postponed, apart from quiet hours; null if it is not postponed. */
export function postponedSince(message: Message): number | null {
  return isInQuietHours(message) ? null : (lastPostponement(message)?.at ?? null);
}

const QUIET_HOURS = `${POSTPONED}quiet hours`;

/** Postpones a message until its quiet hours end, and its expiry by as much. No event. */
export function postponeForQuietHours(message: Message, until: number, now: number): Message {
  const reason = `${QUIET_HOURS} of ${message.to} until ${iso(until)}`;
  const isNoted = lastPostponement(message)?.reason === reason;
  const noted = isNoted ? message : note(message, message.channel, "queued", reason, now);
  const expiresAt = message.expiresAt === null ? null : message.expiresAt + until - now;
  return { ...noted, dueAt: until, claimedUntil: null, expiresAt };
}

/** Makes a message due before its quiet hours end, after they were changed; its expiry does not change. Null if no quiet hours postpone it. */
export function endQuietHours(message: Message, now: number): Message | null {
  const { status, dueAt, expiresAt } = message;
  if (status !== "queued" || dueAt === null || dueAt <= now || !isInQuietHours(message)) return null;
  return { ...message, dueAt: now, expiresAt: expiresAt === null ? null : expiresAt - (dueAt - now) };
}

/** Whether quiet hours are the last reason that the message was postponed for. */
export function isInQuietHours(message: Pick<Message, "timeline">): boolean {
  return lastPostponement(message)?.reason?.startsWith(QUIET_HOURS) === true;
}
