/** The timeline of a message as a waterfall: each step with its start and its length, grouped into hops. Pure. */

import type { Message, TimelineEntry } from "../../../sdk/wire.ts";

/** A step: the time that a message stayed in one status. */
export interface Step {
  entry: TimelineEntry;
  /** Milliseconds that it lasted; null for the last one, unless it still goes on. */
  lastedMs: number | null;
  /** Start and length as shares of the whole, 0 to 1. */
  start: number;
  length: number;
  /** Whether the message left the channel of the step before. */
  isNewHop: boolean;
}

/** Statuses in which a message waits for the service or a provider. */
const MOVING = new Set(["queued", "pending"]);

/** The steps of a message at the time `now`. */
export function stepsOf(message: Pick<Message, "timeline" | "status">, now: number): Step[] {
  const { timeline } = message;
  const times = timeline.map(({ at }) => Date.parse(at));
  const first = times[0] ?? now;
  const isMoving = MOVING.has(message.status);
  const last = Math.max(times.at(-1) ?? first, isMoving ? now : first);
  const spanMs = Math.max(1, last - first);
  return timeline.map((entry, index) => {
    const at = times[index] ?? first;
    const end = times[index + 1] ?? (isMoving ? last : null);
    return {
      entry,
      lastedMs: end === null ? null : Math.max(0, end - at),
      start: (at - first) / spanMs,
      length: end === null ? 0 : Math.max(0, end - at) / spanMs,
      isNewHop: index > 0 && entry.channel !== timeline[index - 1]?.channel,
    };
  });
}

/** Milliseconds of all steps together. */
export function totalMs(steps: readonly Step[]): number {
  return steps.reduce((sum, { lastedMs }) => sum + (lastedMs ?? 0), 0);
}
