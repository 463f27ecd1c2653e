/** What every verb of the engine works with. Made once by the composition, passed first. */

import type { Clock, ClockShift } from "../clock.ts";
import type { AllowList } from "../core/address.ts";
import type { LinkBuilder } from "../core/attachment.ts";
import type { EventId, InstanceId, NewId, Random } from "../core/id.ts";
import type { ChangeContext } from "../core/message-lifecycle.ts";
import type { SerialQueue } from "../core/serial-queue.ts";
import type { FileFetcher } from "../outgoing/fetch.ts";
import type { Provider } from "../providers/provider.ts";
import type { Sealer } from "../secrets.ts";
import type { Store } from "../store/store.ts";
import type { TypingIndicators } from "./chats/show-typing.ts";
import type { ThreadCache } from "./chats/threads.ts";
import type { TypingContacts } from "./chats/typing.ts";
import type { ConfigCache } from "./config-cache.ts";
import type { OptOutCache } from "./contacts/opt-outs.ts";
import type { EventNotifier } from "./event-notifier.ts";
import type { Connections } from "./instances/connections.ts";
import type { Links } from "./links.ts";
import type { MessageCache } from "./messages/message-cache.ts";
import type { Observer } from "./observer.ts";
import type { AttemptFeed } from "./webhooks/attempt-feed.ts";
import type { ReceiverCache } from "./webhooks/receiver-cache.ts";

/** Settings that the engine goes by; times in milliseconds. */
export interface EngineSettings {
  webhookAllow: AllowList;
  /** Addresses that are fetched from although they are private. */
  fetchAllow: AllowList;
  webhookRetryScheduleMs: readonly number[];
  /** Attempts at once of an endpoint without a number of its own, and of a callback's origin. */
  webhookConcurrency: number;
  fallbackAfterMs: number | null;
  messageTtlMs: number;
  retentionMs: number | null;
  /** Whether the inboxes of new customers get events. */
  sandboxInbox: boolean;
  /** Whether a sentence over iMessage counts as a payment although the provider sees payment payloads. */
  paymentText: boolean;
  /** Whether what reads the same in GSM-7 goes out by SMS in place of what is not in it. */
  smartEncoding: boolean;
}

export interface Deps {
  /** Of the request that is being worked on, where one changes what an earlier one began. */
  readonly correlationId?: string;
  readonly store: Store;
  readonly clock: Clock;
  /** How far ahead of the real time `clock.now()` is: set by the verbs of the sandbox's clock alone. */
  readonly shift: ClockShift;
  readonly newId: NewId;
  readonly random: Random;
  /** In [0, 1): jitter. */
  readonly chance: () => number;
  readonly sealer: Sealer;
  readonly settings: EngineSettings;
  /** Keys, customers' numbers and instances, kept at hand. */
  readonly configCache: ConfigCache;
  readonly messageCache: MessageCache;
  readonly threadCache: ThreadCache;
  readonly typingContacts: TypingContacts;
  readonly typingIndicators: TypingIndicators;
  /** Who does not want messages from which number, kept at hand. */
  readonly optOutCache: OptOutCache;
  readonly eventNotifier: EventNotifier;
  /** Who waits for an attempt of a delivery. */
  readonly attempted: AttemptFeed;
  /** One command, or one word of a provider, of a message at a time. */
  readonly serial: SerialQueue;
  /** Who has the lanes of deliveries, kept at hand. */
  readonly receiverCache: ReceiverCache;
  /** Where the service is reached from outside, without a slash at the end. */
  readonly publicUrl: () => string;
  /** The address of what an attachment's token opens. */
  readonly link: LinkBuilder;
  /** Makes and opens those tokens. */
  readonly links: Links;
  /** Fetches files that callers name. */
  readonly fetcher: FileFetcher;
  readonly connections: Connections;
  readonly providers: ReadonlyMap<InstanceId, Provider>;
  /** Called before the first instance that is no sandbox counts: what only sandboxes may leave open is closed then. */
  readonly leaveSandbox: () => Promise<void>;
  readonly observer: Observer;
  /** Tells the loops that lanes may have something due. */
  readonly wake: {
    /** `pair`: from whom to whom the one message goes that is meant (`pairOf`). */
    messages(lanes: Iterable<string>, pair?: string): void;
    deliveries(lanes: Iterable<string>): void;
    /** Instances came up or went down, or there are other ways to go: what waits for those that are down is looked at. */
    pausedLanes(): void;
    chores(): void;
  };
}

/** The context of one request: what it changes is told with its correlation id. */
export function forRequest(deps: Deps, correlationId: string): Deps {
  return { ...deps, correlationId };
}

/** What a change to a message needs of the context. */
export function changeContext(deps: Deps): ChangeContext {
  const { clock, correlationId, link, newId } = deps;
  const { smartEncoding } = deps.settings;
  const told = { now: clock.now(), eventId: (): EventId => newId("evt"), link, smartEncoding };
  return correlationId === undefined ? told : { ...told, correlationId };
}
