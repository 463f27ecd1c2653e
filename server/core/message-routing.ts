/** What happens to a message when it goes to another instance of its channel. Tells no one: it never leaves the queue. Pure. */

import type { Message, TimelineEntry } from "./message.ts";
import { defer, type FailureCause } from "./message-lifecycle.ts";
import { CHANNEL_NAMES, type Way } from "./routing.ts";

/** When a message was queued: its place among those of its lane, wherever it waits and however often it was put off. */
export function placeOf({ expiresAt, updatedAt }: Message, timeToLiveMs: number, now: number): number {
  return Math.min(expiresAt === null ? updatedAt : expiresAt - timeToLiveMs, now);
}

/** A message on its way from its instance, by the name of that, to another one. */
interface Moving {
  message: Message;
  from: string;
  to: Way;
  dueAt: number;
}

/**
 * It waits for an instance that is down, and goes to another one: noted once for each way since its last hand-over, as
 * instances may come and go while it waits. Null when it does not wait.
 */
export function move({ message, from, to, dueAt }: Moving, now: number): Message | null {
  if (message.status !== "queued") return null;
  const { status, channel } = message;
  const { instanceId } = to;
  const reason = `moved: ${from} is down; ${CHANNEL_NAMES[channel]} via ${to.way}`;
  const waitsSince = message.timeline.findLastIndex((entry) => entry.status !== "queued") + 1;
  const isThis = (entry: TimelineEntry) => entry.reason === reason && entry.instanceId === instanceId;
  const isNoted = message.timeline.slice(waitsSince).some(isThis);
  const entry = { status, at: now, channel, reason, instanceId };
  const timeline = isNoted ? message.timeline : [...message.timeline, entry];
  return { ...message, instanceId, dueAt, claimedUntil: null, timeline, updatedAt: now };
}

/** Its instance refused it, and another one of the channel gets it: the channel is not given up. Null when it was not handed over. */
export function failOver({ message, from, to, dueAt }: Moving, cause: FailureCause, now: number): Message | null {
  const code = cause.providerErrorCode == null ? "" : ` (${cause.providerErrorCode})`;
  const reason = `failover: ${from} refused it${code}; ${CHANNEL_NAMES[message.channel]} via ${to.way}`;
  const instancesTried = [...message.instancesTried, message.instanceId];
  return defer({ ...message, instanceId: to.instanceId, instancesTried }, reason, dueAt, now);
}
