/**
 * The change feed of messages: the changes since an instant, oldest first. The feed follows the positions of a
 * customer's events. Positions are drawn inside the commit, and the commits of a customer run one after the other. So a
 * late commit gets a later position, and the feed never skips a change.
 */

import type { Kysely } from "kysely";
import { type CustomerId, firstIdAt, type MessageId, timeOfId } from "../core/id.ts";
import type { Message } from "../core/message.ts";
import { type EventSummary, listEventSummaries } from "./events.ts";
import { findMatching, listOldest, type MessageFilter } from "./message-lists.ts";
import { findPositionBefore } from "./replays.ts";
import type { Database } from "./rows.ts";

/**
 * Where a feed continues. `events`: after a position. Every event older than `readAt` (real time) is before the
 * position. The feed skips events before `since` (shifted time); `since` is null after the first later event.
 * `messages`: changes before `keptAt` (real time) are read from the messages, after the id `after`, since events are
 * pruned.
 */
export type ChangesCursor =
  | { in: "events"; position: number; readAt: number; since: number | null }
  | { in: "messages"; after: string | null; since: number; keptAt: number };

/** The current state of changed messages, each once a page, and the ids of deleted ones. */
export interface ChangesPage {
  messages: Message[];
  deleted: MessageId[];
  next: ChangesCursor;
  /** False if the feed was read to its end. */
  hasMore: boolean;
}

/** The clock and the retention during a read of the feed. */
export interface ChangesTimes {
  /** Real time, in epoch milliseconds. */
  real: number;
  /** Shift of the sandbox's clock. */
  shiftMs: number;
  /** How long events are kept; null: for ever. */
  retentionMs: number | null;
}

/** Events per read. */
const EVENTS_AT_ONCE = 1_000;
/** The most reads of events for one page. */
const READS_MAX = 20;
/** How far the time in an event's id may differ from that of its neighbours by position. */
const SKEW_MS = 60_000;
const DAY_MS = 86_400_000;

/** The first cursor of a feed of changes at `since` (shifted time) or later. */
export async function beginChanges(db: Kysely<Database>, since: number, times: ChangesTimes): Promise<ChangesCursor> {
  const sinceReal = since - times.shiftMs - SKEW_MS;
  const keptAt = keptSince(times);
  if (keptAt !== null && sinceReal < keptAt) return { in: "messages", after: null, since, keptAt };
  return {
    in: "events",
    position: await findPositionBefore(db, sinceReal),
    readAt: Math.min(sinceReal, times.real),
    since,
  };
}

/**
 * A page of up to `limit` changed messages that match. A message that changes again is in a later page again. If events
 * after the cursor were pruned, the page is read from the messages, so that no change is lost.
 */
export async function listChanges(
  db: Kysely<Database>,
  customerId: CustomerId,
  filter: MessageFilter,
  { place, limit, times }: { place: ChangesCursor; limit: number; times: ChangesTimes },
): Promise<ChangesPage> {
  const fresh = refreshed(place, times);
  if (fresh.in === "events") return changesInEvents(db, customerId, filter, { place: fresh, limit, times });
  const page = await changesInMessages(db, customerId, filter, { place: fresh, limit });
  const hasSome = page.messages.length + page.deleted.length > 0;
  if (hasSome || page.next.in === "messages") return page;
  return changesInEvents(db, customerId, filter, { place: page.next, limit, times });
}

/** Real time since which no event is pruned while pages are read; null: events are kept for ever. */
function keptSince({ real, retentionMs }: ChangesTimes): number | null {
  return retentionMs === null ? null : real - retentionMs + Math.min(DAY_MS, retentionMs / 4);
}

/** The cursor, or one that reads the messages if events after the cursor may be pruned. */
function refreshed(place: ChangesCursor, times: ChangesTimes): ChangesCursor {
  if (place.in === "messages" || times.retentionMs === null) return place;
  const readAt = place.readAt - SKEW_MS;
  if (readAt >= times.real - times.retentionMs) return place;
  // Records contain shifted time, which is never earlier than real time.
  return { in: "messages", after: null, since: readAt, keptAt: keptSince(times) ?? 0 };
}

type CursorIn<In extends ChangesCursor["in"]> = Extract<ChangesCursor, { in: In }>;

async function changesInMessages(
  db: Kysely<Database>,
  customerId: CustomerId,
  filter: MessageFilter,
  { place, limit }: { place: CursorIn<"messages">; limit: number },
): Promise<ChangesPage> {
  const { after, since, keptAt } = place;
  const range = { beforeId: firstIdAt("msg", keptAt), changedSince: since };
  const { records, next } = await listOldest(db, customerId, range, { from: after, skip: 0 }, limit);
  const ids = records.map(({ id }) => id);
  const matching = new Map((await findMatching(db, customerId, ids, filter)).map((message) => [message.id, message]));
  const found = ids.map((id) => matching.get(id)).filter((message) => message !== undefined);
  const going: ChangesCursor =
    next === null
      ? { in: "events", position: await findPositionBefore(db, keptAt - SKEW_MS), readAt: keptAt, since: null }
      : { ...place, after: next.from };
  return { ...split(found), next: going, hasMore: true };
}

async function changesInEvents(
  db: Kysely<Database>,
  customerId: CustomerId,
  filter: MessageFilter,
  { place, limit, times }: { place: CursorIn<"events">; limit: number; times: ChangesTimes },
): Promise<ChangesPage> {
  const found = new Map<MessageId, Message>();
  let { position, since, readAt } = place;
  let hasMore = true;
  for (let read = 0; read < READS_MAX && hasMore && found.size < limit; read += 1) {
    const marks = await listEventSummaries(
      db,
      customerId,
      { after: position, until: Number.MAX_SAFE_INTEGER },
      EVENTS_AT_ONCE,
    );
    const taken = take(marks, since, limit - found.size);
    since = taken.since;
    hasMore = taken.isCut || marks.length === EVENTS_AT_ONCE;
    if (taken.last !== null) position = taken.last.position;
    if (!hasMore) readAt = times.real;
    else if (taken.last !== null) readAt = timeOfId(taken.last.id);
    const matching = await findMatching(db, customerId, taken.ids, filter);
    const byId = new Map(matching.map((message) => [message.id, message]));
    for (const id of taken.ids) {
      const message = byId.get(id);
      // Moves a repeated message to the end: the order is that of the last change.
      found.delete(id);
      if (message !== undefined) found.set(id, message);
    }
  }
  const next: ChangesCursor = { in: "events", position, readAt, since };
  return { ...split([...found.values()]), next, hasMore };
}

interface ChangesTaken {
  /** Messages of the events, ordered by the last event of each. */
  ids: MessageId[];
  /** The last event that was read or skipped; null if there was none. */
  last: EventSummary | null;
  since: number | null;
  /** Whether events are left for the next page. */
  isCut: boolean;
}

/** Reads events in order until they concern more than `limit` messages. */
function take(marks: readonly EventSummary[], from: number | null, limit: number): ChangesTaken {
  const ids = new Set<MessageId>();
  let last: EventSummary | null = null;
  let since = from;
  for (const mark of marks) {
    const { messageId, createdAt } = mark;
    if (since === null || createdAt >= since) {
      since = null;
      if (messageId !== null) {
        if (!ids.delete(messageId) && ids.size === limit) return { ids: [...ids], last, since, isCut: true };
        ids.add(messageId);
      }
    }
    last = mark;
  }
  return { ids: [...ids], last, since, isCut: false };
}

function split(found: readonly Message[]): Pick<ChangesPage, "messages" | "deleted"> {
  return {
    messages: found.filter(({ deletedAt }) => deletedAt === null),
    deleted: found.filter(({ deletedAt }) => deletedAt !== null).map(({ id }) => id),
  };
}
