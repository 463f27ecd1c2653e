/** Events of the fake Mac: posts each webhook once and unsigned, as BlueBubbles does, and sends the same event to every socket. */

import type { MessageRow } from "./chat-db.ts";
import { badRequest, notFound } from "./envelope.ts";
import type { Faults } from "./faults.ts";
import { messageRecord, notificationRecord } from "./records.ts";

/** After this time a message that was pushed before counts as new. */
const CACHE_MS = 3_600_000;

/** Event types that a webhook may be registered for. */
const NAMES: readonly string[] = [
  "*,new-message,updated-message,message-send-error,group-name-change,group-icon-changed,group-icon-removed",
  "participant-removed,participant-added,participant-left,chat-read-status-changed,typing-indicator",
  "scheduled-message-error,server-update,new-server,new-findmy-location,hello-world,incoming-facetime",
  "ft-call-status-changed,imessage-alias-removed,theme-backup-created,theme-backup-updated,theme-backup-deleted",
  "settings-backup-created,settings-backup-updated,settings-backup-deleted",
].flatMap((line) => line.split(","));

export interface Webhook {
  id: number;
  url: string;
  events: string[];
  created: string;
}

/** An event, and its receivers: the ids of webhooks, and the number of sockets. */
export interface MacEvent {
  type: string;
  data: unknown;
  webhooks: number[];
  sockets: number;
}

interface Event {
  type: string;
  webhook: unknown;
  socket: unknown;
}

export class Events {
  readonly webhooks: Webhook[] = [];
  readonly emitted: MacEvent[] = [];
  readonly #faults: Faults;
  readonly #now: () => number;
  /** Sends to every socket; returns their number. */
  readonly #toSockets: (type: string, data: unknown) => number;
  readonly #seenAt = new Map<string, number>();
  #kept: Event[] = [];
  #last: Event | null = null;
  #made = 0;
  #open = 0;

  constructor(faults: Faults, now: () => number, toSockets: (type: string, data: unknown) => number) {
    this.#faults = faults;
    this.#now = now;
    this.#toSockets = toSockets;
  }

  /** Webhooks in flight. */
  get open(): number {
    return this.#open;
  }

  /** Registering a known URL again keeps its old event types. */
  register(url: unknown, events: unknown): Webhook {
    if (typeof url !== "string" || !url.startsWith("http")) throw badRequest("Webhook URL is required!");
    if (!Array.isArray(events) || events.length === 0) throw badRequest("The events field is required.");
    const unknown = events.find((event) => !NAMES.includes(String(event)));
    if (unknown !== undefined) {
      throw badRequest(`Invalid webhook event: ${String(unknown)}! Webhook must be one of: ${NAMES.join(",")}`);
    }
    const known = this.webhooks.find((webhook) => webhook.url === url);
    if (known !== undefined) return known;
    this.#made += 1;
    const created = new Date(Math.floor(this.#now() / 1_000) * 1_000).toISOString();
    const webhook = { id: this.#made, url, events: events.map(String), created };
    this.webhooks.push(webhook);
    return webhook;
  }

  unregister(id: number): void {
    const at = this.webhooks.findIndex((webhook) => webhook.id === id);
    if (at === -1) throw notFound("Webhook does not exist!");
    this.webhooks.splice(at, 1);
  }

  /** Pushes a created or changed message: `new-message` if it was not pushed within the hour, otherwise `updated-message`. */
  message(row: MessageRow, tempGuid?: string): void {
    const isNew = tempGuid !== undefined || !this.#isSeen(row);
    this.#seenAt.set(row.guid, this.#now());
    const more = tempGuid === undefined ? {} : { tempGuid };
    this.emit(
      isNew ? "new-message" : "updated-message",
      { ...notificationRecord(row, isNew), ...more },
      { ...messageRecord(row), ...more },
    );
  }

  /** Pushes a row sent with a `tempGuid` twice: with the `tempGuid` and without it. */
  sent(row: MessageRow, tempGuid: string | undefined): void {
    if (tempGuid !== undefined) this.message(row, tempGuid);
    this.#seenAt.delete(row.guid);
    this.message(row);
  }

  /** Marks rows as pushed: rows that exist when the server starts, and rows that arrived while the file watcher was off. */
  seed(rows: readonly MessageRow[]): void {
    for (const row of rows) this.#seenAt.set(row.guid, this.#now());
  }

  emit(type: string, webhook: unknown, socket: unknown = webhook): void {
    const silent: readonly Parameters<Faults["has"]>[0][] = ["asleep", "unreachable", "eventsLost"];
    if (silent.some((fault) => this.#faults.has(fault))) return;
    const event = { type, webhook, socket };
    this.#last = event;
    if (this.#faults.has("eventsReversed")) this.#kept.push(event);
    else this.#send(event);
  }

  /** Repeats the last event. */
  again(): void {
    if (this.#last !== null) this.#send(this.#last);
  }

  /** Pushes the held events, newest first. */
  release(): void {
    const kept = this.#kept.reverse();
    this.#kept = [];
    for (const event of kept) this.#send(event);
  }

  #isSeen(row: MessageRow): boolean {
    const seenAt = this.#seenAt.get(row.guid);
    return seenAt !== undefined && this.#now() - seenAt <= CACHE_MS;
  }

  #send(event: Event): void {
    for (let times = this.#faults.has("eventsTwice") ? 2 : 1; times > 0; times -= 1) this.#sendOnce(event);
  }

  #sendOnce({ type, webhook, socket }: Event): void {
    const sockets = this.#toSockets(type, structuredClone(socket));
    const pushed: MacEvent = { type, data: structuredClone(webhook), webhooks: [], sockets };
    this.emitted.push(pushed);
    if (this.#faults.has("webhooksLost")) return;
    for (const { id, url, events } of this.webhooks) {
      if (!events.includes(type) && !events.includes("*")) continue;
      pushed.webhooks.push(id);
      void this.#post(url, JSON.stringify({ type, data: webhook }));
    }
  }

  /** One POST without a retry. */
  async #post(url: string, body: string): Promise<void> {
    this.#open += 1;
    try {
      const headers = { "content-type": "application/json", "user-agent": "axios/1.7.9" };
      const response = await fetch(url, { method: "POST", headers, body });
      await response.arrayBuffer();
    } catch {
      // BlueBubbles only logs that nobody listens.
    } finally {
      this.#open -= 1;
    }
  }
}
