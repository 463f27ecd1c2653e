/**
 * The rows of the Wire: merges the items of the feed into one list in order of real time, whatever the sandbox's clock showed, each row with its
 * cause beside its effect. Pure: the command line prints the rows, and the console shows them.
 */

import type { WireItem } from "./requests.ts";
import type { Attempt, Delivery, Event, LoggedRequest, TimelineEntry, WireMessage } from "./wire.ts";
import { ClockMoves, type ClockTime, realTimeOf, sampleOf } from "./wire-clock.ts";

/** One row. */
export interface WireRow {
  /** Unique, and the same whenever the items are merged again. */
  key: string;
  /** Epoch milliseconds by the service's clock. A planned retry is in the future. */
  at: number;
  /** How far the service's clock was ahead of real time, in milliseconds: 0 unless the clock of a sandbox was moved. */
  shiftMs: number;
  /** Real milliseconds since the row before; null in the first row. */
  sinceMs: number | null;
  /** `in`: somebody called the service. `inside`: the service did something. `out`: the service called a receiver. */
  direction: "in" | "inside" | "out";
  kind: "request" | "hop" | "event" | "attempt" | "retry" | "end";
  /** The subject, such as `POST /v1/messages` or `message.delivered`. */
  title: string;
  /** The outcome in a word or a number, such as `202` or `queued`; null if there is none. */
  status: string | null;
  /** `bad`: it failed for good, or the service failed. `warn`: it was refused, or is tried again. */
  tone: "ok" | "warn" | "bad";
  /** The records that the row is about. */
  ids: WireRowIds;
  /** Why, or how long it took; empty if there is nothing to say. */
  detail: string;
}

export interface WireRowIds {
  request?: string;
  message?: string;
  event?: string;
  delivery?: string;
  /** Shared by everything that one request led to. */
  correlation?: string;
}

type Row = Omit<WireRow, "sinceMs">;

/** A record with steps, and the real time when each of them was told first. */
interface Told<Record_> {
  record: Record_;
  toldAt: readonly number[];
}

/** Clocks of two machines in step differ by less, in milliseconds. */
const CLOCKS_DIFFER_MS_MAX = 5_000;

/** The newest state of each record of the feed, bounded: the records that were added first are dropped. */
export class WireLog {
  readonly #max: number;
  readonly #requests = new Map<string, Told<LoggedRequest>>();
  readonly #events = new Map<string, Event>();
  readonly #deliveries = new Map<string, Told<Delivery>>();
  readonly #messages = new Map<string, Told<WireMessage>>();
  readonly #now: () => number;
  /** How far the service's real clock is ahead of this machine's at least, in milliseconds. */
  #aheadMs = 0;

  /** `max`: records of each kind. `now`: the present real time in milliseconds. */
  constructor(max = 500, now: () => number = Date.now) {
    this.#max = max;
    this.#now = now;
  }

  /** Adds an item. A list may be older than the stream: a record whose last attempt or step is before that of the known one changes nothing. */
  add(item: WireItem): void {
    switch (item.kind) {
      case "request":
        this.#tell(this.#requests, `${item.request.id} ${item.request.createdAt}`, item.request, 1);
        break;
      case "event":
        this.#aheadMs = Math.max(this.#aheadMs, (realTimeOf(item.event.id) ?? 0) - this.#now());
        this.#put(this.#events, item.event.id, item.event);
        break;
      case "delivery":
        if (lastAttemptAt(item.delivery) >= lastAttemptAt(this.delivery(item.delivery.id)))
          this.#tell(this.#deliveries, item.delivery.id, item.delivery, item.delivery.attempts.length);
        break;
      case "message":
        if (item.message.timeline.length > (this.#messages.get(item.message.id)?.record.timeline.length ?? 0))
          this.#tell(this.#messages, item.message.id, item.message, item.message.timeline.length);
        break;
    }
  }

  /** Drops a delivery, if it is known. */
  forget(deliveryId: string): void {
    this.#deliveries.delete(deliveryId);
  }

  /** A delivery as it was added last; null if it is not known. */
  delivery(id: string): Delivery | null {
    return this.#deliveries.get(id)?.record ?? null;
  }

  /** All rows in order of real time. Of rows of one millisecond the cause comes first. */
  rows(): WireRow[] {
    // Only events: a caller may choose the id of its request.
    const samples = [...this.#events.values()].flatMap(({ id, timestamp }) => sampleOf(id, Date.parse(timestamp)));
    const moves = new ClockMoves(samples);
    const rows = [
      ...[...this.#requests.values()].map((told) => requestRow(told, moves)),
      ...[...this.#messages.values()].flatMap((told) => hopRows(told, moves)),
      ...[...this.#events.values()].map((event) => eventRow(event, moves)),
      ...[...this.#deliveries.values()].flatMap((told) => deliveryRows(told, moves)),
    ];
    rows.sort((a, b) => realAt(a) - realAt(b) || RANKS[a.kind] - RANKS[b.kind]);
    let before: Row | null = null;
    return rows.map((row) => {
      const sinceMs = before === null ? null : realAt(row) - realAt(before);
      before = row;
      return { ...row, sinceMs };
    });
  }

  #tell<Record_>(records: Map<string, Told<Record_>>, key: string, record: Record_, steps: number): void {
    const known = records.get(key)?.toldAt ?? [];
    const now = this.#now() + this.#aheadMs + CLOCKS_DIFFER_MS_MAX;
    const toldAt = Array.from({ length: steps }, (_, index) => known[index] ?? now);
    this.#put(records, key, { record, toldAt });
  }

  #put<Record_>(records: Map<string, Record_>, key: string, record: Record_): void {
    records.set(key, record);
    const [oldest] = records.keys();
    if (records.size > this.#max && oldest !== undefined) records.delete(oldest);
  }
}

/** ISO 8601; empty before the first attempt. */
function lastAttemptAt(delivery: Delivery | null): string {
  return delivery?.attempts.at(-1)?.at ?? "";
}

/** The real time of a row, epoch milliseconds. */
export function realAt({ at, shiftMs }: ClockTime): number {
  return at - shiftMs;
}

/** The times of a record's steps, each after the one before, and the first one after the record with this id. */
function stepTimes(steps: readonly { at: string }[], id: string, toldAt: readonly number[], moves: ClockMoves) {
  let from = realTimeOf(id) ?? 0;
  return steps.map((step, index) => {
    const time = moves.within(Date.parse(step.at), { from, until: toldAt[index] ?? from });
    from = Math.max(from, realAt(time));
    return time;
  });
}

/** The time of a request: its id tells it, unless the caller chose one that fits no known state of the clock. */
function requestTime({ id, createdAt }: LoggedRequest, until: number, moves: ClockMoves): ClockTime {
  const at = Date.parse(createdAt);
  const realTime = realTimeOf(id);
  return (realTime === null ? null : moves.known(at, realTime)) ?? moves.within(at, { from: 0, until });
}

/** The order of rows of one millisecond. */
const RANKS: Readonly<Record<WireRow["kind"], number>> = { request: 0, hop: 1, event: 2, attempt: 3, end: 4, retry: 5 };

function requestRow({ record: request, toldAt }: Told<LoggedRequest>, moves: ClockMoves): Row {
  const { id, method, path, status, durationMs, errorCode, correlationId, createdAt } = request;
  const code = errorCode === null ? "" : `${errorCode}, `;
  return {
    key: `request ${id} ${createdAt}`,
    ...requestTime(request, toldAt[0] ?? 0, moves),
    direction: "in",
    kind: "request",
    title: `${method} ${path}`,
    status: String(status),
    tone: status >= 500 ? "bad" : status >= 400 ? "warn" : "ok",
    ids: { request: id, correlation: correlationId },
    detail: `${code}${formatMs(durationMs)}`,
  };
}

function hopRows({ record: { id, correlationId, timeline }, toldAt }: Told<WireMessage>, moves: ClockMoves): Row[] {
  const times = stepTimes(timeline, id, toldAt, moves);
  return timeline.map((entry, index) => ({
    key: `hop ${id} ${index}`,
    ...(times[index] ?? { at: Date.parse(entry.at), shiftMs: 0 }),
    direction: "inside",
    kind: "hop",
    title: `${entry.channel} ${entry.status}`,
    status: entry.status,
    tone: toneOfHop(entry),
    ids: { message: id, correlation: correlationId },
    detail: entry.reason ?? "",
  }));
}

function toneOfHop({ status, reason = "" }: TimelineEntry): WireRow["tone"] {
  if (status === "failed") return "bad";
  return status === "cancelled" || /fallback|retr|unknown|deferred|gave up/i.test(reason) ? "warn" : "ok";
}

function eventRow({ id, type, timestamp, data }: Event, moves: ClockMoves): Row {
  const message = "messageId" in data && typeof data.messageId === "string" ? { message: data.messageId } : {};
  const correlation =
    "correlationId" in data && typeof data.correlationId === "string" ? { correlation: data.correlationId } : {};
  return {
    key: `event ${id}`,
    ...moves.atReal(Date.parse(timestamp), realTimeOf(id)),
    direction: "inside",
    kind: "event",
    title: type,
    status: null,
    tone: type.endsWith(".failed") ? "bad" : "ok",
    ids: { event: id, ...message, ...correlation },
    detail: "errorCode" in data && typeof data.errorCode === "string" ? data.errorCode : "",
  };
}

/** A row of each attempt, then the retry that is due, or the end if it is not a success of the last attempt. */
function deliveryRows({ record: delivery, toldAt }: Told<Delivery>, moves: ClockMoves): Row[] {
  const { id, eventId, messageId, attempts } = delivery;
  const ids = { delivery: id, event: eventId, ...(messageId === null ? {} : { message: messageId }) };
  const times = stepTimes(attempts, eventId, toldAt, moves);
  const rows = attempts.map((attempt, index) => ({
    ...attemptRow(delivery, attempt, ids),
    ...(times[index] ?? { shiftMs: 0 }),
  }));
  const last = lastRow(delivery, ids, { moves, attemptShiftMs: times.at(-1)?.shiftMs ?? moves.shiftMs });
  return last === null ? rows : [...rows, last];
}

function attemptRow(delivery: Delivery, attempt: Attempt, ids: WireRowIds): Omit<Row, "shiftMs"> {
  const { id, eventType, url } = delivery;
  const { at, status, durationMs, error } = attempt;
  const isOk = status !== null && status >= 200 && status < 300;
  const isLast = delivery.status === "exhausted" && attempt === delivery.attempts.at(-1);
  return {
    key: `attempt ${id} ${at}`,
    at: Date.parse(at),
    direction: "out",
    kind: "attempt",
    title: `POST ${hostOf(url)}`,
    status: status === null ? "no response" : String(status),
    tone: isOk ? "ok" : isLast ? "bad" : "warn",
    ids,
    detail: [eventType, durationMs === 0 ? "" : formatMs(durationMs), error]
      .filter((part) => part !== null && part !== "")
      .join(", "),
  };
}

function lastRow(
  delivery: Delivery,
  ids: WireRowIds,
  { moves, attemptShiftMs }: { moves: ClockMoves; attemptShiftMs: number },
): Row | null {
  const host = hostOf(delivery.url);
  const { id, eventType, status, nextAttemptAt, attempts, createdAt } = delivery;
  const last = attempts.at(-1);
  if (nextAttemptAt !== null) {
    if (last === undefined) return null;
    const title = `retry ${attempts.length} to ${host}`;
    const at = Date.parse(nextAttemptAt);
    return {
      key: `retry ${id} ${attempts.length}`,
      at,
      shiftMs: moves.shiftMs,
      direction: "out",
      kind: "retry",
      title,
      status: "due",
      tone: "warn",
      ids,
      detail: eventType,
    };
  }
  if (status === "succeeded" || status === "pending") return null;
  const at = last === undefined ? Date.parse(createdAt) : Date.parse(last.at) + last.durationMs;
  const detail = `${eventType}, after ${attempts.length} ${attempts.length === 1 ? "attempt" : "attempts"}`;
  const tone = status === "cancelled" ? "warn" : "bad";
  return {
    key: `end ${id}`,
    at,
    shiftMs: attemptShiftMs,
    direction: "out",
    kind: "end",
    title: `delivery to ${host}`,
    status,
    tone,
    ids,
    detail,
  };
}

function hostOf(url: string): string {
  if (url.startsWith("/sandbox/inbox/")) return "the inbox";
  return URL.canParse(url) ? new URL(url).host : url;
}

function formatMs(ms: number): string {
  return ms < 10
    ? `${Math.round(ms * 10) / 10} ms`
    : ms < 10_000
      ? `${Math.round(ms)} ms`
      : `${Math.round(ms / 1_000)} s`;
}
