/**
 * The rows of the Wire: merges the items of the feed into one list in order of real time, whatever the sandbox's clock showed, each row with its
 * cause beside its effect. Pure: the command line prints the rows, and the console shows them.
 */

import type { WireItem } from "./requests.ts";
import type { Attempt, Delivery, Event, LoggedRequest, TimelineEntry, WireMessage } from "./wire.ts";
import { realTime, timeById, timeOf } from "./wire-clock.ts";

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

/** The newest state of each record of the feed, bounded: the records that were added first are dropped. */
export class WireLog {
  readonly #max: number;
  readonly #requests = new Map<string, LoggedRequest>();
  readonly #events = new Map<string, Event>();
  readonly #deliveries = new Map<string, Delivery>();
  readonly #messages = new Map<string, WireMessage>();

  /** `max`: records of each kind. */
  constructor(max = 500) {
    this.#max = max;
  }

  /** Adds an item. A list may be older than the stream: a record whose last attempt or step is before that of the known one changes nothing. */
  add(item: WireItem): void {
    switch (item.kind) {
      case "request":
        this.#put(this.#requests, `${item.request.id} ${item.request.createdAt}`, item.request);
        break;
      case "event":
        this.#put(this.#events, item.event.id, item.event);
        break;
      case "delivery":
        if (lastAttemptAt(item.delivery) >= lastAttemptAt(this.delivery(item.delivery.id)))
          this.#put(this.#deliveries, item.delivery.id, item.delivery);
        break;
      case "message":
        if (item.message.timeline.length > (this.#messages.get(item.message.id)?.timeline.length ?? 0))
          this.#put(this.#messages, item.message.id, item.message);
        break;
    }
  }

  /** Drops a delivery, if it is known. */
  forget(deliveryId: string): void {
    this.#deliveries.delete(deliveryId);
  }

  /** A delivery as it was added last; null if it is not known. */
  delivery(id: string): Delivery | null {
    return this.#deliveries.get(id) ?? null;
  }

  /** All rows in order of real time. Of rows of one millisecond the cause comes first. */
  rows(): WireRow[] {
    const deliveries = [...this.#deliveries.values()];
    const rows = [
      ...[...this.#requests.values()].map(requestRow),
      ...[...this.#messages.values()].flatMap(hopRows),
      ...[...this.#events.values()].map(eventRow),
      ...deliveries.flatMap(attemptRows),
    ].sort(inOrder);
    // Nothing says what the clock will show when a retry is due: it counts as what it showed last.
    const shiftMs = rows.at(-1)?.shiftMs ?? 0;
    rows.push(...deliveries.flatMap((delivery) => retryRows(delivery, shiftMs)));
    rows.sort(inOrder);
    let before: Row | null = null;
    return rows.map((row) => {
      const sinceMs = before === null ? null : realTime(row) - realTime(before);
      before = row;
      return { ...row, sinceMs };
    });
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

/** The order of rows of one millisecond. */
const RANKS: Readonly<Record<WireRow["kind"], number>> = { request: 0, hop: 1, event: 2, attempt: 3, end: 4, retry: 5 };

function inOrder(a: Row, b: Row): number {
  return realTime(a) - realTime(b) || RANKS[a.kind] - RANKS[b.kind];
}

function requestRow(request: LoggedRequest): Row {
  const { id, method, path, status, durationMs, errorCode, correlationId, createdAt, realAt } = request;
  const code = errorCode === null ? "" : `${errorCode}, `;
  return {
    key: `request ${id} ${createdAt}`,
    ...timeOf(createdAt, realAt),
    direction: "in",
    kind: "request",
    title: `${method} ${path}`,
    status: String(status),
    tone: status >= 500 ? "bad" : status >= 400 ? "warn" : "ok",
    ids: { request: id, correlation: correlationId },
    detail: `${code}${formatMs(durationMs)}`,
  };
}

function hopRows({ id, correlationId, timeline }: WireMessage): Row[] {
  return timeline.map((entry, index) => ({
    key: `hop ${id} ${index}`,
    ...timeOf(entry.at, entry.realAt),
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

function eventRow({ id, type, timestamp, data }: Event): Row {
  const message = "messageId" in data && typeof data.messageId === "string" ? { message: data.messageId } : {};
  const correlation =
    "correlationId" in data && typeof data.correlationId === "string" ? { correlation: data.correlationId } : {};
  return {
    key: `event ${id}`,
    ...timeById(id, timestamp),
    direction: "inside",
    kind: "event",
    title: type,
    status: null,
    tone: type.endsWith(".failed") ? "bad" : "ok",
    ids: { event: id, ...message, ...correlation },
    detail: "errorCode" in data && typeof data.errorCode === "string" ? data.errorCode : "",
  };
}

/** A row of each attempt, then the end if that is not a success of the last attempt. */
function attemptRows(delivery: Delivery): Row[] {
  const rows = delivery.attempts.map((attempt) => attemptRow(delivery, attempt));
  const { id, eventType, status, attempts, createdAt } = delivery;
  if (status === "succeeded" || status === "pending") return rows;
  const last = attempts.at(-1);
  const time = last === undefined ? timeById(id, createdAt) : timeOf(last.at, last.realAt);
  const end: Row = {
    key: `end ${id}`,
    at: time.at + (last?.durationMs ?? 0),
    shiftMs: time.shiftMs,
    direction: "out",
    kind: "end",
    title: `delivery to ${hostOf(delivery.url)}`,
    status,
    tone: status === "cancelled" ? "warn" : "bad",
    ids: idsOf(delivery),
    detail: `${eventType}, after ${attempts.length} ${attempts.length === 1 ? "attempt" : "attempts"}`,
  };
  return [...rows, end];
}

function attemptRow(delivery: Delivery, attempt: Attempt): Row {
  const { id, eventType, url } = delivery;
  const { at, realAt, status, durationMs, error } = attempt;
  const isOk = status !== null && status >= 200 && status < 300;
  const isLast = delivery.status === "exhausted" && attempt === delivery.attempts.at(-1);
  return {
    key: `attempt ${id} ${at}`,
    ...timeOf(at, realAt),
    direction: "out",
    kind: "attempt",
    title: `POST ${hostOf(url)}`,
    status: status === null ? "no response" : String(status),
    tone: isOk ? "ok" : isLast ? "bad" : "warn",
    ids: idsOf(delivery),
    detail: [eventType, durationMs === 0 ? "" : formatMs(durationMs), error]
      .filter((part) => part !== null && part !== "")
      .join(", "),
  };
}

/** The row of the retry that is due; none if there is none. */
function retryRows(delivery: Delivery, shiftMs: number): Row[] {
  const { id, eventType, url, nextAttemptAt, attempts } = delivery;
  if (nextAttemptAt === null || attempts.length === 0) return [];
  const retry: Row = {
    key: `retry ${id} ${attempts.length}`,
    at: Date.parse(nextAttemptAt),
    shiftMs,
    direction: "out",
    kind: "retry",
    title: `retry ${attempts.length} to ${hostOf(url)}`,
    status: "due",
    tone: "warn",
    ids: idsOf(delivery),
    detail: eventType,
  };
  return [retry];
}

function idsOf({ id, eventId, messageId }: Delivery): WireRowIds {
  return { delivery: id, event: eventId, ...(messageId === null ? {} : { message: messageId }) };
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
