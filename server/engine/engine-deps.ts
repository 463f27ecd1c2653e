/** All dependencies of the engine's verbs, and the type by which a verb names those that it needs. */

import type { ClockShift } from "../clock.ts";
import type { LinkBuilder } from "../core/attachment.ts";
import type { EventId, InstanceId } from "../core/id.ts";
import type { ChangeContext } from "../core/message-lifecycle.ts";
import type { FileFetcher } from "../outgoing/fetch.ts";
import type { Provider } from "../providers/provider.ts";
import type { Sealer } from "../secrets.ts";
import type { ThreadCache } from "./chats/thread-cache.ts";
import type { TypingContacts } from "./chats/typing-contacts.ts";
import type { TypingIndicators } from "./chats/typing-indicators.ts";
import type { ConfigCache } from "./config-cache.ts";
import type { OptOutCache } from "./contacts/opt-out-cache.ts";
import type { Deps } from "./deps.ts";
import type { EventNotifier } from "./event-notifier.ts";
import type { Connections } from "./instances/connections.ts";
import type { Membership } from "./members/membership.ts";
import type { BackPressure } from "./messages/back-pressure.ts";
import type { MessageCache } from "./messages/message-cache.ts";
import type { SignedLinks } from "./signed-links.ts";
import type { AttemptFeed } from "./webhooks/attempt-feed.ts";
import type { GoneMarks } from "./webhooks/gone-marks.ts";

export interface EngineDeps extends Deps {
  /** How far `clock.now()` is ahead of the real time. Only `sandbox/clock.ts` changes it. */
  readonly shift: ClockShift;
  /** Draws from [0, 1), for jitter. */
  readonly chance: () => number;
  readonly sealer: Sealer;
  /** Keys, customers, numbers and instances. */
  readonly configCache: ConfigCache;
  /** Lets accepts wait while sending lags. */
  readonly backPressure: BackPressure;
  readonly messageCache: MessageCache;
  readonly threadCache: ThreadCache;
  readonly optOutCache: OptOutCache;
  /** Contacts who are typing. */
  readonly typingContacts: TypingContacts;
  /** Chats in which the customer is shown as typing. */
  readonly typingIndicators: TypingIndicators;
  /** Notifies streams and long polls of new events. */
  readonly eventNotifier: EventNotifier;
  /** Notifies requests that wait for an attempt of a delivery. */
  readonly attempted: AttemptFeed;
  /** Commits which endpoints are gone. */
  readonly goneMarks: GoneMarks;
  readonly connections: Connections;
  /** The place of this process among those on the database. */
  readonly membership: Membership;
  /** The providers of `connections`. */
  readonly providers: ReadonlyMap<InstanceId, Provider>;
  /** Base URL of the service as others reach it, without a slash at the end. */
  readonly publicUrl: () => string;
  /** The download URL of a token. */
  readonly link: LinkBuilder;
  /** Signs and opens tokens. */
  readonly signedLinks: SignedLinks;
  /** Fetches files from URLs that callers name. */
  readonly fetcher: FileFetcher;
  /**
   * Closes everything that is allowed only while all instances are sandboxes. Called before the first other instance is
   * stored.
   */
  readonly leaveSandbox: () => Promise<void>;
  /** Called after a key, named by its hash, was replaced by `key`, or was revoked (null). */
  readonly keyChanged: (hash: string, key: string | null) => void;
}

/** `Deps` and the dependencies named: `With<"threadCache" | "optOutCache">`. */
export type With<Name extends keyof EngineDeps> = Deps & Pick<EngineDeps, Name>;

/** The context of a message's transitions (`core/message-lifecycle.ts`). */
export function changeContext(deps: With<"link">): ChangeContext {
  const { clock, correlationId, link, newId, settings } = deps;
  const { smartEncoding } = settings;
  const context = { now: clock.now(), eventId: (): EventId => newId("evt"), link, smartEncoding };
  return correlationId === undefined ? context : { ...context, correlationId };
}
