/** Moves a message to another instance of its channel. No event: the message stays in the queue. Pure. */

import type { Message, TimelineEntry } from "./message.ts";
import { defer, type FailureCause } from "./message-lifecycle.ts";
import { along, CHANNEL_NAMES, type Way } from "./routing.ts";
import { withoutStepBack } from "./step-back.ts";
import { withEntry } from "./timeline.ts";

/** How long a message of the service itself may wait for a provider: five minutes. */
export const SERVICE_TIME_TO_LIVE_MS = 300_000;

/** How long a message may wait for a provider, in milliseconds: one of the service itself is worth nothing later. */
export function timeToLiveOf({ origin }: Pick<Message, "origin">, timeToLiveMs: number): number {
  return origin === "service" ? SERVICE_TIME_TO_LIVE_MS : timeToLiveMs;
}

/** When a message was queued: its place in the order of its lane, however often it was moved or deferred. */
export function placeOf(message: Message, timeToLiveMs: number, now: number): number {
  const { expiresAt, updatedAt } = message;
  return Math.min(expiresAt === null ? updatedAt : expiresAt - timeToLiveOf(message, timeToLiveMs), now);
}

/** A message that moves from the instance named `from` to another one. */
interface Moving {
  message: Message;
  from: string;
  to: Way;
  dueAt: number;
}

/**
 * Moves a message that waits for an instance which is down. Noted once for each destination since the last send attempt,
 * since instances may go up and down while it waits. Null if the message does not wait.
 */
export function move({ message, from, to, dueAt }: Moving, now: number): Message | null {
  if (message.status !== "queued") return null;
  const { status, channel } = message;
  const { instanceId } = to;
  const reason = `moved: ${from} is down; ${CHANNEL_NAMES[channel]} via ${to.way}`;
  const waitsSince = message.timeline.findLastIndex((entry) => entry.status !== "queued") + 1;
  const isThis = (entry: TimelineEntry) => entry.reason === reason && entry.instanceId === instanceId;
  const isNoted = message.timeline.slice(waitsSince).some(isThis);
  const noted = isNoted
    ? { ...message, updatedAt: withoutStepBack(message.updatedAt, now) }
    : withEntry(message, { status, channel, reason, instanceId }, now);
  return { ...noted, ...along(to), dueAt, claimedUntil: null };
}

/** Sends a message that its instance refused by another instance of the channel; the channel is not given up. Null if no send attempt is open. */
export function failOver({ message, from, to, dueAt }: Moving, cause: FailureCause, now: number): Message | null {
  const code = cause.providerErrorCode == null ? "" : ` (${cause.providerErrorCode})`;
  const reason = `failover: ${from} refused it${code}; ${CHANNEL_NAMES[message.channel]} via ${to.way}`;
  const instancesTried = [...message.instancesTried, message.instanceId];
  return defer({ ...message, ...along(to), instancesTried }, reason, dueAt, now);
}
