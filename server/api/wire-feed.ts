/**
 * Sends the Wire the rest beside events: requests of the log, changes of deliveries, timelines of messages. One read every 250 ms serves all
 * streams of a customer, and none runs while nobody watches. After a new connection the client reads the lists: nothing is repeated.
 */

import type { ServerResponse } from "node:http";
import type { Clock } from "../clock.ts";
import type { Delivery } from "../core/delivery.ts";
import type { Event } from "../core/event.ts";
import type { CustomerId, DeliveryId, EventId, KeyId, MessageId } from "../core/id.ts";
import { loggedRequestRecord } from "../core/logged-request.ts";
import { RepeatingTask } from "../core/repeating-task.ts";
import { timelineRecord } from "../core/timeline.ts";
import type { With } from "../engine/engine-deps.ts";
import { listDeliveries } from "../store/deliveries.ts";
import { FIRST_PAGE } from "../store/list-windows.ts";
import { listRequests, type PositionedRequest } from "../store/requests.ts";
import {
  findDeliveries,
  findDeliveriesSince,
  findPendingDeliveries,
  findVersions,
  findWireMessages,
  type WireMessage,
} from "../store/wire.ts";
import { oneRecord } from "./deliveries.ts";

/** Time between two looks, in real milliseconds. */
const LOOK_EVERY_MS = 250;
/** New requests and new deliveries that one look reads. */
const READ_AT_ONCE = 100;
/** Deliveries that are not over, and messages, that a customer's streams follow; the oldest is dropped. */
const FOLLOWED_MAX = 256;
/** The sandbox's inbox is a receiver like the others here: its `url` is a path of the service. */
const ALL = { withInbox: true } as const;
/** A stream whose client is this far behind is closed, in bytes: 1 MiB. */
const BEHIND_BYTES_MAX = 1_048_576;

/** A stream of the Wire. */
export interface WireStream {
  customerId: CustomerId;
  /** The key whose requests are shown; null: those of all keys of the customer. */
  keyId: KeyId | null;
  /** Only this message, its deliveries and requests about it; null: everything. */
  messageId: string | null;
  response: ServerResponse;
}

/** The streams of one customer, and what they were sent. */
interface WireHub {
  readonly streams: Set<WireStream>;
  /** By the service's clock. Requests and deliveries from before are not new. */
  readonly openedAt: number;
  /** When it was opened, in monotonic time. */
  readonly followsSince: number;
  /** Position of the newest request that was sent; null: not known yet. */
  requestPosition: number | null;
  /** Versions of deliveries that were sent or are old, by id, in the order in which they were found. */
  readonly deliveries: Map<DeliveryId, number>;
  /** Deliveries that are not over. */
  readonly pending: Set<DeliveryId>;
  /** Deliveries that changed since the last look, as far as this process knows; also those of old events. */
  readonly changed: Set<DeliveryId>;
  /** Deliveries that were there before the first stream and have not been sent to it. */
  readonly unsent: Set<DeliveryId>;
  /** Messages until their status is final. */
  readonly messages: Map<MessageId, FollowedMessage>;
  /** Correlation ids of messages, for requests about them. */
  readonly correlations: Map<MessageId, string>;
  /** The least id of the events whose deliveries were not looked for; null if there are none. */
  newEvents: EventId | null;
}

/** The version of a message that was read last, and the length of its timeline then. */
interface FollowedMessage {
  version: number;
  length: number;
}

const UNREAD: FollowedMessage = { version: 0, length: 0 };

const FINAL: ReadonlySet<string> = new Set(["delivered", "read", "failed", "unsent", "cancelled", "received"]);

export class WireFeed {
  readonly #deps: With<"attempted">;
  readonly #hubs = new Map<CustomerId, WireHub>();
  readonly #looks: RepeatingTask;

  constructor(deps: With<"attempted">) {
    this.#deps = deps;
    deps.attempted.watch({
      customers: () => [...this.#hubs].map(([customerId, { followsSince }]) => [customerId, followsSince] as const),
      changed: (id, customerId) => this.#noteChange(id, customerId),
    });
    this.#looks = new RepeatingTask({
      clock: deps.clock,
      run: () => this.#look(),
      fault: (error) => deps.observer.fault("wire-feed", error),
      retryMs: LOOK_EVERY_MS,
    });
  }

  /** Sends to a stream what happens from now on, until it is closed. */
  add(stream: WireStream): void {
    const hub = this.#hubs.get(stream.customerId) ?? newHub(this.#deps.clock);
    this.#hubs.set(stream.customerId, hub);
    hub.streams.add(stream);
    if (stream.messageId !== null) follow(hub.messages, stream.messageId as MessageId, UNREAD);
    stream.response.once("close", () => {
      hub.streams.delete(stream);
      if (hub.streams.size === 0) this.#hubs.delete(stream.customerId);
    });
    this.#looks.schedule(0);
  }

  /** An event was sent to a stream of the customer: its deliveries are new, and its message may have changed. */
  noteEvent({ id, customerId, messageId }: Pick<Event, "id" | "customerId" | "messageId">): void {
    const hub = this.#hubs.get(customerId);
    if (hub === undefined) return;
    noteNewEvent(hub, id);
    if (messageId !== null && !hub.messages.has(messageId)) follow(hub.messages, messageId, UNREAD);
  }

  #noteChange(id: DeliveryId, customerId: CustomerId): void {
    const hub = this.#hubs.get(customerId);
    if (hub === undefined) return;
    keep(hub.changed, id);
    // The first look may have found the record as it is after this change.
    if (hub.unsent.delete(id)) hub.deliveries.delete(id);
  }

  /** Resolves with the time until the next look; null if nobody watches. */
  async #look(): Promise<number | null> {
    for (const [customerId, hub] of [...this.#hubs]) {
      try {
        await this.#lookFor(customerId, hub);
      } catch (error) {
        this.#deps.observer.fault("wire-feed", error);
      }
    }
    return this.#hubs.size === 0 ? null : LOOK_EVERY_MS;
  }

  async #lookFor(customerId: CustomerId, hub: WireHub): Promise<void> {
    // Requests come first: they caused the rest.
    await this.#sendMessages(customerId, hub, await this.#requestsOf(customerId, hub));
    await this.#sendDeliveries(customerId, hub);
  }

  async #requestsOf(customerId: CustomerId, hub: WireHub): Promise<PositionedRequest[]> {
    const { db } = this.#deps.store;
    if (hub.requestPosition === null) {
      const newest = { order: "newest", from: null, limit: READ_AT_ONCE } as const;
      const { records } = await listRequests(db, { customerId }, newest);
      const last = records.find(({ createdAt }) => createdAt < hub.openedAt) ?? records.at(READ_AT_ONCE - 1);
      hub.requestPosition = last?.position ?? 0;
      await this.#findPending(customerId, hub);
    }
    const page = { order: "oldest", from: hub.requestPosition, limit: READ_AT_ONCE } as const;
    const { records } = await listRequests(db, { customerId }, page);
    hub.requestPosition = records.at(-1)?.position ?? hub.requestPosition;
    return records;
  }

  /** Follows deliveries that were there before the first stream. */
  async #findPending(customerId: CustomerId, hub: WireHub): Promise<void> {
    const { db } = this.#deps.store;
    const pending = await findPendingDeliveries(db, customerId, FOLLOWED_MAX - READ_AT_ONCE);
    const { records } = await listDeliveries(db, customerId, ALL, FIRST_PAGE, READ_AT_ONCE);
    for (const delivery of [...pending, ...records.toReversed()]) {
      // A delivery that has changed since the stream was opened is sent.
      if (delivery.createdAt >= hub.openedAt || hub.changed.has(delivery.id)) continue;
      note(hub, delivery);
      hub.unsent.add(delivery.id);
    }
  }

  async #sendMessages(customerId: CustomerId, hub: WireHub, requests: readonly PositionedRequest[]): Promise<void> {
    const messages = await this.#changedMessages(customerId, hub);
    for (const { id, correlationId } of messages) follow(hub.correlations, id, correlationId);
    for (const request of requests) {
      const data = JSON.stringify(loggedRequestRecord(request));
      send(hub, "request", data, ({ keyId, messageId }) => {
        if (keyId !== null && keyId !== request.keyId) return false;
        return messageId === null || isAbout(hub, request, messageId as MessageId);
      });
    }
    for (const message of messages) {
      const { length } = message.timeline;
      if (length !== hub.messages.get(message.id)?.length)
        send(hub, "message", JSON.stringify(messageItem(message)), ofMessage(message.id));
      hub.messages.set(message.id, { version: message.version, length });
      if (FINAL.has(message.status)) hub.messages.delete(message.id);
    }
  }

  async #changedMessages(customerId: CustomerId, hub: WireHub): Promise<WireMessage[]> {
    const { db } = this.#deps.store;
    const followed = [...hub.messages];
    const versions = await findVersions(
      db,
      "messages",
      customerId,
      followed.map(([id]) => id),
    );
    const changed = followed.filter(([id, { version }]) => (versions.get(id) ?? version) !== version);
    return findWireMessages(
      db,
      customerId,
      changed.map(([id]) => id),
    );
  }

  async #sendDeliveries(customerId: CustomerId, hub: WireHub): Promise<void> {
    const { newEvents, changed } = hub;
    const known = [...changed];
    hub.newEvents = null;
    changed.clear();
    try {
      await this.#sendChanged(customerId, hub, newEvents, known);
    } catch (error) {
      // The next look finds what this one could not read.
      if (newEvents !== null) noteNewEvent(hub, newEvents);
      for (const id of known) keep(changed, id);
      throw error;
    }
  }

  /** Sends deliveries of events since one (null: none), and those that are pending or known to have changed. */
  async #sendChanged(
    customerId: CustomerId,
    hub: WireHub,
    since: EventId | null,
    known: readonly DeliveryId[],
  ): Promise<void> {
    const { db } = this.#deps.store;
    const changed: Delivery[] = [];
    if (since !== null) changed.push(...(await findDeliveriesSince(db, customerId, since, READ_AT_ONCE)));
    const listed = new Set(changed.map(({ id }) => id));
    const others = [...new Set([...hub.pending, ...known])].filter((id) => !listed.has(id));
    const versions = await findVersions(db, "deliveries", customerId, others);
    const ids = others.filter((id) => versions.has(id) && versions.get(id) !== hub.deliveries.get(id));
    changed.push(...(await findDeliveries(db, customerId, ids)));
    for (const delivery of changed) {
      if (hub.deliveries.get(delivery.id) === delivery.version) continue;
      note(hub, delivery);
      hub.unsent.delete(delivery.id);
      const data = JSON.stringify(await oneRecord(this.#deps, delivery));
      send(hub, "delivery", data, ofMessage(delivery.messageId));
    }
    // A delivery that is gone, or cannot be decoded, is followed no more.
    const found = new Set(changed.map(({ id }) => id));
    for (const id of others) if (!versions.has(id) || (ids.includes(id) && !found.has(id))) hub.pending.delete(id);
  }
}

function newHub(clock: Clock): WireHub {
  return {
    openedAt: clock.now(),
    followsSince: clock.monotonic(),
    streams: new Set(),
    requestPosition: null,
    deliveries: new Map(),
    pending: new Set(),
    changed: new Set(),
    unsent: new Set(),
    messages: new Map(),
    correlations: new Map(),
    newEvents: null,
  };
}

/** Adds an entry, and drops the oldest one beyond the bound. */
function follow<Id, Value>(followed: Map<Id, Value>, id: Id, value: Value, max = FOLLOWED_MAX): void {
  followed.delete(id);
  followed.set(id, value);
  const [oldest] = followed.keys();
  if (followed.size > max && oldest !== undefined) followed.delete(oldest);
}

/** Processes commit events in another order than that of their ids. */
function noteNewEvent(hub: WireHub, id: EventId): void {
  if (hub.newEvents === null || id < hub.newEvents) hub.newEvents = id;
}

function note(hub: WireHub, { id, version, dueAt }: Delivery): void {
  follow(hub.deliveries, id, version, FOLLOWED_MAX * 4);
  hub.pending.delete(id);
  if (dueAt !== null) keep(hub.pending, id);
}

/** Adds an id, and drops the oldest one beyond the bound. */
function keep<Id>(kept: Set<Id>, id: Id): void {
  kept.add(id);
  const [oldest] = kept;
  if (kept.size > FOLLOWED_MAX && oldest !== undefined) kept.delete(oldest);
}

function isAbout(hub: WireHub, { correlationId, path }: PositionedRequest, messageId: MessageId): boolean {
  return hub.correlations.get(messageId) === correlationId || path.startsWith(`/v1/messages/${messageId}`);
}

function ofMessage(id: string | null): (stream: WireStream) => boolean {
  return ({ messageId }) => messageId === null || messageId === id;
}

function messageItem({ id, status, correlationId, timeline }: WireMessage) {
  return { id, status, correlationId, timeline: timelineRecord(timeline) };
}

function send(hub: WireHub, name: string, data: string, isFor: (stream: WireStream) => boolean): void {
  for (const stream of hub.streams) {
    const { response } = stream;
    if (response.destroyed || response.writableEnded || !isFor(stream)) continue;
    response.write(`event: ${name}\ndata: ${data}\n\n`);
    if (response.writableLength > BEHIND_BYTES_MAX) response.destroy();
  }
}
