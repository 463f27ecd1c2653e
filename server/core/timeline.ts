/** Entries of a message's timeline. Pure. */

import type { Channel, MessageStatus } from "../../sdk/wire.ts";
import type { Message, TimelineEntry } from "./message.ts";
import { withoutStepBack } from "./step-back.ts";

/** An entry that is about to be added. */
export type NewEntry = Omit<TimelineEntry, "at">;

/** Adds an entry to the timeline: at `now`, but not before the last change (`withoutStepBack`). */
export function withEntry(message: Message, { status, ...more }: NewEntry, now: number): Message {
  const at = withoutStepBack(message.updatedAt, now);
  return { ...message, timeline: [...message.timeline, { status, at, ...more }], updatedAt: at };
}

/** Adds an entry with a reason, without changing the status. */
export function note(message: Message, channel: Channel, status: MessageStatus, reason: string, now: number): Message {
  return withEntry(message, { status, channel, reason }, now);
}
