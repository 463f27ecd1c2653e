/** The live stream of events: one read a customer, woken by commits, serves all of its open streams. */

import type { ServerResponse } from "node:http";
import type { EventType } from "../../sdk/wire.ts";
import { ApiError } from "../core/error.ts";
import { FairSemaphore, type Release } from "../core/fair-semaphore.ts";
import type { CustomerId } from "../core/id.ts";
import { type ApiKey, isUsable } from "../core/key.ts";
import type { With } from "../engine/engine-deps.ts";
import { findEvent, listEvents, newestPosition, type PositionedEvent } from "../store/events.ts";
import { closeAfter, type OpenResponses } from "./open-responses.ts";
import type { ApiResponse } from "./route.ts";

/** Streams at once. */
const STREAMS_MAX = 1_000;
/** A customer alone may have 800 of them (see `FairSemaphore`). */
const SHARE_OF_FREE = 4;
const FULL_RETRY_AFTER_SECONDS = 10;
/** A reader that is so far behind is closed, in bytes: 1 MiB. */
const BEHIND_BYTES_MAX = 1_048_576;
/** How often a comment shows that the stream lives, in real milliseconds. */
const HEARTBEAT_MS = 15_000;
/** How often keys are looked at, in real milliseconds: a revoked one's streams close within 1 s. */
const KEYS_EVERY_MS = 500;
/** Events read at a time. */
const READ_AT_ONCE = 100;
/** Bytes written to the streams of a customer before sockets get their turn to take them. */
const WRITTEN_AT_ONCE_BYTES = 131_072;
/** A reader that is catching up and takes nothing for so long is closed, in real milliseconds. */
const STALLED_MS_MAX = 30_000;
/** What is still to be written when a stream ends gets so long, in real milliseconds. */
const END_MS_MAX = 250;
/** Before the first event of all. */
const START = -1;

/** What a stream is to carry. */
export interface Subscription {
  key: ApiKey;
  customerId: CustomerId;
  /** Null: all types. */
  types: ReadonlySet<EventType> | null;
  messageId: string | null;
  /** The id of the last event that the reader has; null: it wants only what happens from now on. */
  lastEventId: string | null;
}

/** One reader. `position` is that of the last event it was given, or that its filter left out. */
interface Stream {
  readonly subscription: Subscription;
  readonly response: ServerResponse;
  position: number;
  /** Closes it at once, whatever its reader has not taken yet. */
  readonly cut: () => void;
}

/** Where a stream begins. `newest`: the last event of all, so far. */
interface Place {
  position: number;
  newest: number;
  isGap: boolean;
}

/** The streams of one customer, and how far all of those that are not catching up have been given events. */
interface Hub {
  readonly customerId: CustomerId;
  position: number;
  /** Streams that are catching up are not in it. */
  readonly live: Set<Stream>;
  /** Those and the others. */
  open: number;
  isReading: boolean;
  /** Something may be new since the present read began. */
  isStale: boolean;
  readonly stop: () => void;
}

/** All open streams of this process. */
export class Streams {
  readonly #deps: With<"configCache" | "eventNotifier">;
  readonly #lasting: OpenResponses;
  readonly #hubs = new Map<CustomerId, Hub>();
  readonly #open = new Set<Stream>();
  /** Permits of streams, from the request until the connection is closed. */
  readonly #permits = new FairSemaphore({ permitsMax: STREAMS_MAX, shareOfFree: SHARE_OF_FREE });
  #stopTimers: (() => void)[] = [];

  constructor(deps: With<"configCache" | "eventNotifier">, lasting: OpenResponses) {
    this.#deps = deps;
    this.#lasting = lasting;
  }

  /** Opens a stream. Throws a 503 when the customer's share of the 1,000 is used up, or when the service is stopping. */
  async open(subscription: Subscription, isHead: boolean): Promise<ApiResponse> {
    const release = this.#acquire(subscription.customerId);
    const from = await this.#place(subscription).catch((error: unknown) => {
      release();
      throw error;
    });
    const headers = {
      "Content-Type": "text/event-stream",
      "Cache-Control": "no-cache",
      "X-Accel-Buffering": "no",
    };
    // The answer is called before this turn ends, unless it is a HEAD or the client is gone by then.
    const unused = setImmediate(release);
    if (isHead) return { headers, stream: (response) => void response.end() };
    return {
      headers,
      stream: (response) => {
        clearImmediate(unused);
        response.once("close", release);
        // A comment at once, so that the head passes whatever buffers on the way.
        response.write(from.isGap ? ": gap\n\n" : ": open\n\n");
        this.#add(subscription, response, from);
      },
    };
  }

  #acquire(customerId: CustomerId): Release {
    const release = this.#lasting.isStopped ? null : this.#permits.tryAcquire(customerId);
    if (release !== null) return release;
    const own = this.#permits.usedBy(customerId);
    const reason =
      own > 0
        ? `This customer has ${own} streams open, its share of ${STREAMS_MAX}. Close one, or try again`
        : `The service has no room for a stream. Try again`;
    const message = `${reason} in ${FULL_RETRY_AFTER_SECONDS} s.`;
    throw new ApiError("SERVICE_UNAVAILABLE", message, { retryAfterSeconds: FULL_RETRY_AFTER_SECONDS });
  }

  /** Where the stream begins: behind the last event that its reader has, before all where that is gone, or now. */
  async #place({ customerId, lastEventId }: Subscription): Promise<Place> {
    const { db } = this.#deps.store;
    const newest = (await newestPosition(db, customerId)) ?? START;
    if (lastEventId === null) return { position: newest, newest, isGap: false };
    const last = await findEvent(db, customerId, lastEventId);
    return { position: last?.position ?? START, newest, isGap: last === null };
  }

  #add(subscription: Subscription, response: ServerResponse, { position, newest }: Place): void {
    const hub = this.#hubOf(subscription.customerId, newest);
    const stream: Stream = { subscription, response, position, cut: () => response.destroy() };
    const forget = this.#lasting.add(() => this.#end(stream));
    this.#open.add(stream);
    hub.open += 1;
    if (this.#open.size === 1) this.#startTimers();
    // What is written to a reader that has just gone fails there; that it has gone is told by `close`.
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

  /** Ends a stream in good order; one whose reader takes nothing is cut. */
  #end({ response, cut }: Stream): void {
    closeAfter(response);
    response.end();
    const cancel = this.#deps.clock.after(END_MS_MAX, cut);
    response.once("close", cancel);
  }

  /** The customer's hub; a new one begins at `position`: what comes after it is read at once. */
  #hubOf(customerId: CustomerId, position: number): Hub {
    const known = this.#hubs.get(customerId);
    if (known !== undefined) return known;
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

  /** Gives what is new to the live streams of a customer, until nothing is. */
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
      // The next heartbeat looks again.
      this.#deps.observer.fault("stream", error);
    } finally {
      hub.isReading = false;
    }
  }

  /** Gives a stream what it has not had yet, as fast as its reader takes it, and then puts it among the live ones. */
  async #catchUp(hub: Hub, stream: Stream): Promise<void> {
    const { messageId } = stream.subscription;
    try {
      while (stream.position < hub.position && isOpen(stream)) {
        // Whatever was there when this read began is in it, or before it.
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

  /** Resolves when the reader took what was written, or is gone; one that takes nothing for 30 s is closed. */
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

  /** A comment to every stream, and a look at what no commit of this process told of. */
  #beat(): void {
    for (const stream of this.#open) {
      if (isOpen(stream)) stream.response.write(":\n\n");
    }
    for (const hub of this.#hubs.values()) void this.#read(hub);
  }

  /** Closes the streams whose key is revoked or expired by now. */
  async #closeUnusable(): Promise<void> {
    const { configCache, clock, observer } = this.#deps;
    const streams = Map.groupBy(this.#open, ({ subscription }) => subscription.key.hash);
    for (const [hash, ofKey] of streams) {
      try {
        const key = configCache.key(hash) ?? (await configCache.findKey(hash));
        if (key !== null && isUsable(key, clock.real())) continue;
        for (const stream of ofKey) this.#end(stream);
      } catch (error) {
        observer.fault("stream", error);
      }
    }
  }
}

/** Writes events to the live streams of a hub, a little at a time, and moves the hub on. */
async function spread(hub: Hub, events: readonly PositionedEvent[]): Promise<void> {
  let bytes = 0;
  for (const event of events) {
    // Before anything is written: a stream that catches up meanwhile reads what this one is not given.
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

/** Writes the event, where the stream wants it, in one piece. Answers whether the reader keeps up. */
function give(stream: Stream, event: PositionedEvent): boolean {
  const { types, messageId } = stream.subscription;
  if (types !== null && !types.has(event.type)) return true;
  if (messageId !== null && event.messageId !== messageId) return true;
  if (!isOpen(stream)) return true;
  return stream.response.write(`id: ${event.id}\nevent: ${event.type}\ndata: ${event.bytes}\n\n`);
}

function isOpen({ response }: Stream): boolean {
  return !response.destroyed && !response.writableEnded;
}
