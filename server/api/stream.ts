/** Live streams of events. Commits wake one reader for each customer, which serves all open streams of the customer. */

import type { ServerResponse } from "node:http";
import type { EventType } from "../../sdk/wire.ts";
import { ApiError } from "../core/error.ts";
import { FairSemaphore, type Release } from "../core/fair-semaphore.ts";
import type { CustomerId, SessionId } from "../core/id.ts";
import { type ApiKey, isUsable } from "../core/key.ts";
import type { With } from "../engine/engine-deps.ts";
import { isStillOpen } from "../engine/sessions/open-session.ts";
import { findEvent, listEvents, newestPosition, type PositionedEvent } from "../store/events.ts";
import { closeAfter, type OpenResponses } from "./open-responses.ts";
import type { ApiResponse } from "./route.ts";

/** Streams at once. */
const STREAMS_MAX = 1_000;
/** A customer alone may have 800 of them (see `FairSemaphore`). */
const SHARE_OF_FREE = 4;
const FULL_RETRY_AFTER_SECONDS = 10;
/** A stream whose client is this far behind is closed, in bytes: 1 MiB. */
const BEHIND_BYTES_MAX = 1_048_576;
/** How often each stream gets a heartbeat comment, in real milliseconds. */
const HEARTBEAT_MS = 15_000;
/** How often keys are checked, in real milliseconds: the streams of a revoked key close within 1 s. */
const KEYS_EVERY_MS = 500;
/** Events read at a time. */
const READ_AT_ONCE = 100;
/** Bytes written to the streams of a customer before the sockets may send them. */
const WRITTEN_AT_ONCE_BYTES = 131_072;
/** A stream that is catching up is closed if its client reads nothing for so long, in real milliseconds. */
const STALLED_MS_MAX = 30_000;
/** How long an ending stream may take to send its rest, in real milliseconds. */
const END_MS_MAX = 250;
/** The position before the first event. */
const START = -1;

/** The events that a client wants from a stream. */
export interface Subscription {
  key: ApiKey;
  /** The session that the key comes from; null if the key was in the request. */
  sessionId: SessionId | null;
  customerId: CustomerId;
  /** Null: all types. */
  types: ReadonlySet<EventType> | null;
  messageId: string | null;
  /** Id of the last event that the client has; null: the client wants later events only. */
  lastEventId: string | null;
  /** The feed of the Wire, if the stream is one of the Wire's: it follows the messages and deliveries of the events. */
  wire: { noteEvent(event: PositionedEvent): void } | null;
}

/** One open stream. `position` is that of the last event that was written to it or left out by its filter. */
interface Stream {
  readonly subscription: Subscription;
  readonly response: ServerResponse;
  position: number;
  /** Closes the stream at once and drops unsent bytes. */
  readonly cut: () => void;
}

/** Where a stream begins. `newest` is the position of the newest event. */
interface StreamStart {
  position: number;
  newest: number;
  isGap: boolean;
}

/** The streams of one customer. `position` is that of the last event written to all live streams. */
interface Hub {
  readonly customerId: CustomerId;
  position: number;
  /** The streams that are not catching up. */
  readonly live: Set<Stream>;
  /** Number of all streams, also of those that are catching up. */
  open: number;
  isReading: boolean;
  /** Whether there may be new events since the current read began. */
  isStale: boolean;
  readonly stop: () => void;
}

/** All open streams of this process. */
export class Streams {
  readonly #deps: With<"configCache" | "eventNotifier">;
  readonly #openResponses: OpenResponses;
  readonly #hubs = new Map<CustomerId, Hub>();
  readonly #open = new Set<Stream>();
  /** Permits of streams, from the request until the connection is closed. */
  readonly #permits = new FairSemaphore({ permitsMax: STREAMS_MAX, shareOfFree: SHARE_OF_FREE });
  #stopTimers: (() => void)[] = [];
  /** Whether keys and sessions are being checked: a slow database gets no second check meanwhile. */
  #isChecking = false;

  constructor(deps: With<"configCache" | "eventNotifier">, openResponses: OpenResponses) {
    this.#deps = deps;
    this.#openResponses = openResponses;
  }

  /** Opens a stream. Throws 503 if the customer's share of the 1,000 streams is used up or the service is stopping. */
  async open(subscription: Subscription, isHead: boolean): Promise<ApiResponse> {
    const release = this.#acquire(subscription.customerId);
    const from = await this.#startOf(subscription).catch((error: unknown) => {
      release();
      throw error;
    });
    const headers = {
      "Content-Type": "text/event-stream",
      "Cache-Control": "no-store",
      "X-Accel-Buffering": "no",
    };
    // `stream` is called before this immediate runs, unless the request is a HEAD or the client has gone.
    const unused = setImmediate(release);
    if (isHead) return { headers, stream: (response) => void response.end() };
    return {
      headers,
      stream: (response) => {
        clearImmediate(unused);
        response.once("close", release);
        // A comment at once makes proxies that buffer pass the head on.
        response.write(from.isGap ? ": gap\n\n" : ": open\n\n");
        this.#add(subscription, response, from);
      },
    };
  }

  #acquire(customerId: CustomerId): Release {
    const release = this.#openResponses.isStopped ? null : this.#permits.tryAcquire(customerId);
    if (release !== null) return release;
    const own = this.#permits.usedBy(customerId);
    const reason =
      own > 0
        ? `This customer has ${own} open streams, its share of ${STREAMS_MAX}. Close a stream, or try again`
        : `The service has no room for a stream. Try again`;
    const message = `${reason} in ${FULL_RETRY_AFTER_SECONDS} s.`;
    throw new ApiError("SERVICE_UNAVAILABLE", message, { retryAfterSeconds: FULL_RETRY_AFTER_SECONDS });
  }

  /** Where the stream begins: after the client's last event, at the first stored event if that one is gone, or now. */
  async #startOf({ customerId, lastEventId }: Subscription): Promise<StreamStart> {
    const { db } = this.#deps.store;
    const newest = (await newestPosition(db, customerId)) ?? START;
    if (lastEventId === null) return { position: newest, newest, isGap: false };
    const last = await findEvent(db, customerId, lastEventId);
    return { position: last?.position ?? START, newest, isGap: last === null };
  }

  #add(subscription: Subscription, response: ServerResponse, { position, newest }: StreamStart): void {
    const hub = this.#hubOf(subscription.customerId, newest);
    const stream: Stream = { subscription, response, position, cut: () => response.destroy() };
    const forget = this.#openResponses.add(() => this.#end(stream));
    this.#open.add(stream);
    hub.open += 1;
    if (this.#open.size === 1) this.#startTimers();
    // Writing to a client that has just gone fails; `close` follows.
    response.on("error", () => {});
    response.once("close", () => {
      forget();
      this.#open.delete(stream);
      hub.live.delete(stream);
      hub.open -= 1;
      if (hub.open === 0) this.#drop(hub);
      if (this.#open.size === 0) this.#stopAllTimers();
    });
    void this.#catchUp(hub, stream);
  }

  /** Ends a stream after its last bytes; cuts it if the client does not read them. */
  #end({ response, cut }: Stream): void {
    closeAfter(response);
    response.end();
    const cancel = this.#deps.clock.after(END_MS_MAX, cut);
    response.once("close", cancel);
  }

  /** The customer's hub. A new hub begins at `position` and reads later events at once. */
  #hubOf(customerId: CustomerId, position: number): Hub {
    const existing = this.#hubs.get(customerId);
    if (existing !== undefined) return existing;
    const stop = this.#deps.eventNotifier.listen(customerId, () => void this.#read(hub));
    const hub: Hub = { customerId, position, live: new Set(), open: 0, isReading: false, isStale: false, stop };
    this.#hubs.set(customerId, hub);
    void this.#read(hub);
    return hub;
  }

  #drop(hub: Hub): void {
    hub.stop();
    this.#hubs.delete(hub.customerId);
  }

  /** Writes new events to the live streams of a customer until there are none. */
  async #read(hub: Hub): Promise<void> {
    hub.isStale = true;
    if (hub.isReading) return;
    hub.isReading = true;
    try {
      while (hub.isStale && hub.open > 0) {
        hub.isStale = false;
        const events = await this.#eventsAfter(hub.customerId, hub.position, null);
        if (events.length === READ_AT_ONCE) hub.isStale = true;
        await spread(hub, events);
      }
    } catch (error) {
      // The next heartbeat reads again.
      this.#deps.observer.fault("stream", error);
    } finally {
      hub.isReading = false;
    }
  }

  /** Writes missed events to a stream as fast as its client reads, and then adds it to the live streams. */
  async #catchUp(hub: Hub, stream: Stream): Promise<void> {
    const { messageId } = stream.subscription;
    try {
      while (stream.position < hub.position && isOpen(stream)) {
        // This read includes every event up to here.
        const reached = hub.position;
        const events = await this.#eventsAfter(hub.customerId, stream.position, messageId);
        for (const event of events) {
          stream.position = event.position;
          if (!give(stream, event)) await this.#drained(stream);
          if (!isOpen(stream)) return;
        }
        if (events.length < READ_AT_ONCE) stream.position = Math.max(stream.position, reached);
      }
      if (isOpen(stream)) hub.live.add(stream);
    } catch (error) {
      this.#deps.observer.fault("stream", error);
      stream.cut();
    }
  }

  #eventsAfter(customerId: CustomerId, from: number, messageId: string | null): Promise<PositionedEvent[]> {
    const filter = messageId === null ? {} : { messageId };
    const page = { order: "oldest", from, limit: READ_AT_ONCE } as const;
    return listEvents(this.#deps.store.db, customerId, filter, page);
  }

  /** Resolves when the client has read everything or is gone. Closes the stream if the client reads nothing for 30 s. */
  #drained({ response, cut }: Stream): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#deps.clock.after(STALLED_MS_MAX, cut);
      const end = () => {
        cancel();
        response.off("drain", end);
        response.off("close", end);
        resolve();
      };
      response.on("drain", end);
      response.on("close", end);
      if (response.destroyed || !response.writableNeedDrain) end();
    });
  }

  #startTimers(): void {
    this.#stopTimers = [
      this.#every(HEARTBEAT_MS, () => this.#beat()),
      this.#every(KEYS_EVERY_MS, () => this.#closeUnusable()),
    ];
  }

  #stopAllTimers(): void {
    for (const stop of this.#stopTimers) stop();
    this.#stopTimers = [];
  }

  #every(ms: number, action: () => unknown): () => void {
    let stopTimer = () => {};
    const again = () => {
      stopTimer = this.#deps.clock.after(ms, () => {
        again();
        void action();
      });
    };
    again();
    return () => stopTimer();
  }

  /** Writes a comment to every stream, and reads events whose commits did not wake this process. */
  #beat(): void {
    for (const stream of this.#open) {
      if (isOpen(stream)) stream.response.write(":\n\n");
    }
    for (const hub of this.#hubs.values()) void this.#read(hub);
  }

  /** Closes the streams of keys that are revoked or expired, and of sessions that have ended. */
  async #closeUnusable(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      await this.#checkCallers();
    } finally {
      this.#isChecking = false;
    }
  }

  async #checkCallers(): Promise<void> {
    const streams = Map.groupBy(this.#open, ({ subscription }) => subscription.sessionId ?? subscription.key.hash);
    for (const ofCaller of streams.values()) {
      const [first] = ofCaller;
      try {
        if (first === undefined || (await this.#isUsable(first.subscription))) continue;
        for (const stream of ofCaller) this.#end(stream);
      } catch (error) {
        this.#deps.observer.fault("stream", error);
      }
    }
  }

  async #isUsable({ key: { hash }, sessionId }: Subscription): Promise<boolean> {
    if (sessionId !== null) return isStillOpen(this.#deps, sessionId);
    const { configCache, clock } = this.#deps;
    const key = configCache.key(hash) ?? (await configCache.findKey(hash));
    return key !== null && isUsable(key, clock.real());
  }
}

/** Writes events to the live streams of a hub, a little at a time, and advances the hub's position. */
async function spread(hub: Hub, events: readonly PositionedEvent[]): Promise<void> {
  let bytes = 0;
  for (const event of events) {
    // Before writing, so that a stream which is still catching up reads this event itself.
    hub.position = event.position;
    for (const stream of hub.live) {
      if (event.position <= stream.position) continue;
      stream.position = event.position;
      give(stream, event);
      if (stream.response.writableLength > BEHIND_BYTES_MAX) stream.cut();
    }
    bytes += event.bytes.length;
    if (bytes < WRITTEN_AT_ONCE_BYTES) continue;
    bytes = 0;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

/** Writes the event in one piece if the stream subscribes to it. Returns whether the client keeps up. */
function give(stream: Stream, event: PositionedEvent): boolean {
  const { types, messageId, wire } = stream.subscription;
  if (types !== null && !types.has(event.type)) return true;
  if (messageId !== null && event.messageId !== messageId) return true;
  if (!isOpen(stream)) return true;
  wire?.noteEvent(event);
  const name = wire === null ? event.type : "event";
  return stream.response.write(`id: ${event.id}\nevent: ${name}\ndata: ${event.bytes}\n\n`);
}

function isOpen({ response }: Stream): boolean {
  return !response.destroyed && !response.writableEnded;
}
