/** What happens to a message when it goes to another instance of its channel. Tells no one: it never leaves the queue. Pure. */

import type { Message } from "./message.ts";
import { defer, type FailureCause } from "./message-lifecycle.ts";
import type { Way } from "./routing.ts";

/** When a message was queued: its place among those of its lane, wherever it waits and however often it was put off. */
export function placeOf({ expiresAt, updatedAt }: Message, timeToLiveMs: number, now: number): number {
  return Math.min(expiresAt === null ? updatedAt : expiresAt - timeToLiveMs, now);
}

/**
 * It waits for an instance that is down, and goes to another one: noted once for each way since its last hand-over, as
 * instances may come and go while it waits. Null when it does not wait.
 */
export function move(message: Message, to: Way, dueAt: number, now: number): Message | null {
  if (message.status !== "queued") return null;
  const { status, channel, instanceId: from } = message;
  const reason = `moved: ${from} is down; ${channel} by ${to.way}`;
  const waitsSince = message.timeline.findLastIndex((entry) => entry.status !== "queued") + 1;
  const isNoted = message.timeline.slice(waitsSince).some((entry) => entry.reason === reason);
  const entry = { status, at: now, channel, reason, instanceId: to.instanceId };
  const timeline = isNoted ? message.timeline : [...message.timeline, entry];
  return { ...message, instanceId: to.instanceId, dueAt, claimedUntil: null, timeline, updatedAt: now };
}

/** Its instance refused it, and another one of the channel gets it: the channel is not given up. Null when it was not handed over. */
export function failOver(message: Message, to: Way, cause: FailureCause, dueAt: number, now: number): Message | null {
  const { instanceId: refuser, channel } = message;
  const code = cause.providerErrorCode == null ? "" : ` (${cause.providerErrorCode})`;
  const reason = `failover: ${refuser} refused it${code}; ${channel} by ${to.way}`;
  const instancesTried = [...message.instancesTried, refuser];
  return defer({ ...message, instanceId: to.instanceId, instancesTried }, reason, dueAt, now);
}
