/** Entries of a message's timeline. Pure. */

import type { Channel, MessageStatus, TimelineEntry as WireEntry } from "../../sdk/wire.ts";
import { iso } from "./instant.ts";
import type { Message, TimelineEntry } from "./message.ts";
import { withoutStepBack } from "./step-back.ts";

/** An entry that is about to be added. */
export type NewEntry = Omit<TimelineEntry, "at">;

/** Adds an entry to the timeline: at `now`, but not before the last change (`withoutStepBack`). */
export function withEntry(message: Message, { status, ...more }: NewEntry, now: number): Message {
  const at = withoutStepBack(message.updatedAt, now);
  return { ...message, timeline: [...message.timeline, { status, at, ...more }], updatedAt: at };
}

/** The message, whose entries from the place `from` on say how far the sandbox's clock is ahead. */
export function entriesAhead(message: Message, from: number, aheadMs: number): Message {
  if (aheadMs === 0 || message.timeline.length <= from) return message;
  const timeline = message.timeline.map((entry, place) => (place < from ? entry : { ...entry, aheadMs }));
  return { ...message, timeline };
}

/** The timeline as the API answers it. */
export function timelineRecord(timeline: readonly TimelineEntry[]): WireEntry[] {
  return timeline.map(({ aheadMs, ...entry }) => ({
    ...entry,
    at: iso(entry.at),
    ...(aheadMs === undefined ? {} : { realAt: iso(entry.at - aheadMs) }),
  }));
}

/** Adds an entry with a reason, without changing the status. */
export function note(message: Message, channel: Channel, status: MessageStatus, reason: string, now: number): Message {
  return withEntry(message, { status, channel, reason }, now);
}
