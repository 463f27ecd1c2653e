/** What every verb of the engine works with. Made once by the composition, passed first. */

import type { Clock } from "../clock.ts";
import type { AllowList } from "../core/address.ts";
import type { Link } from "../core/attachment.ts";
import type { EventId, InstanceId, NewId, Random } from "../core/id.ts";
import type { ChangeContext } from "../core/message-lifecycle.ts";
import type { Provider } from "../providers/provider.ts";
import type { Sealer } from "../secrets.ts";
import type { Store } from "../store/store.ts";
import type { Feeds } from "./feeds.ts";
import type { Known } from "./known.ts";
import type { Observer } from "./observer.ts";
import type { Recent } from "./recent.ts";
import type { Threads } from "./threads.ts";

/** Settings that the engine goes by; times in milliseconds. */
export interface EngineSettings {
  webhookAllow: AllowList;
  /** Addresses that are fetched from although they are private. */
  fetchAllow: AllowList;
  webhookRetryScheduleMs: readonly number[];
  fallbackAfterMs: number | null;
  messageTtlMs: number;
  retentionMs: number | null;
  /** Whether the inboxes of new customers get events. */
  sandboxInbox: boolean;
  /** Whether a sentence over iMessage counts as a payment although the provider sees payment payloads. */
  paymentText: boolean;
}

export interface Context {
  readonly store: Store;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly random: Random;
  /** In [0, 1): jitter. */
  readonly chance: () => number;
  readonly sealer: Sealer;
  readonly settings: EngineSettings;
  /** Keys, customers' numbers and instances, kept at hand. */
  readonly known: Known;
  readonly recent: Recent;
  readonly threads: Threads;
  readonly feeds: Feeds;
  /** The address of what an attachment's token opens. */
  readonly link: Link;
  readonly providers: ReadonlyMap<InstanceId, Provider>;
  readonly observer: Observer;
  /** Tells the loops that lanes may have something due. */
  readonly wake: { messages(lanes: Iterable<string>): void; deliveries(lanes: Iterable<string>): void };
}

/** What a change to a message needs of the context. */
export function changeContext(context: Context): ChangeContext {
  return { now: context.clock.now(), eventId: (): EventId => context.newId("evt"), link: context.link };
}
