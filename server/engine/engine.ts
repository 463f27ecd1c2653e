/** Creates the engine's dependencies, and starts and stops its loops and providers in order. */

import type { Clock, ClockShift } from "../clock.ts";
import type { LinkBuilder } from "../core/attachment.ts";
import { createIdSource, type NewId, type Random } from "../core/id.ts";
import { SerialQueue } from "../core/serial-queue.ts";
import type { FileFetcher } from "../outgoing/fetch.ts";
import { createProvider } from "../providers/registry.ts";
import type { Sealer } from "../secrets.ts";
import type { Store } from "../store/store.ts";
import { apply } from "./apply.ts";
import { ThreadCache } from "./chats/thread-cache.ts";
import { TypingContacts } from "./chats/typing-contacts.ts";
import { TypingIndicators } from "./chats/typing-indicators.ts";
import { ConfigCache } from "./config-cache.ts";
import { OptOutCache } from "./contacts/opt-out-cache.ts";
import type { EngineSettings } from "./deps.ts";
import type { EngineDeps } from "./engine-deps.ts";
import { EventNotifier } from "./event-notifier.ts";
import { Connections } from "./instances/connections.ts";
import { Links } from "./links.ts";
import { attemptsOf } from "./messages/attempt-notes.ts";
import { BackPressure, type Pipeline } from "./messages/back-pressure.ts";
import { Dispatch } from "./messages/dispatch.ts";
import { holdRestored } from "./messages/held.ts";
import { MessageCache } from "./messages/message-cache.ts";
import type { Observer } from "./observer.ts";
import { QuarantineMonitor } from "./quarantine.ts";
import { Sweep } from "./sweep.ts";
import { AttemptFeed } from "./webhooks/attempt-feed.ts";
import type { DeliverLoop } from "./webhooks/deliver-loop.ts";

/** The parts of an engine that the composition provides. */
export interface EngineParts {
  store: Store;
  clock: Clock;
  shift: ClockShift;
  random: Random;
  chance: () => number;
  sealer: Sealer;
  settings: EngineSettings;
  observer: Observer;
  publicUrl: () => string;
  link: LinkBuilder;
  fetcher: FileFetcher;
  leaveSandbox: EngineDeps["leaveSandbox"];
  /** Creates the providers of instances; the registry by default. */
  createProvider?: typeof createProvider;
}

/** The engine of one process. `deps` are the dependencies of its verbs, before `start` as well. */
export class Engine {
  readonly deps: EngineDeps;
  readonly #sweep: Sweep;
  #dispatch: Dispatch | null = null;
  #deliver: DeliverLoop | null = null;

  constructor(parts: EngineParts) {
    const connections = new Connections(parts.createProvider ?? createProvider, {
      apply: (instanceId, signal) => apply(this.deps, instanceId, signal),
      attempts: (instanceId) => attemptsOf(() => this.deps, instanceId),
    });
    const threadCache = new ThreadCache();
    const eventNotifier = new EventNotifier();
    const newId: NewId = createIdSource(() => parts.clock.real(), parts.random);
    this.deps = {
      ...parts,
      newId,
      configCache: new ConfigCache(parts.store.db),
      backPressure: new BackPressure(parts, this.#pipeline()),
      messageCache: new MessageCache(),
      threadCache,
      generation: () => threadCache.generation,
      typingContacts: new TypingContacts(),
      typingIndicators: new TypingIndicators(),
      optOutCache: new OptOutCache(parts.store.db),
      eventNotifier,
      attempted: new AttemptFeed(),
      links: new Links(),
      serial: new SerialQueue(),
      connections,
      providers: connections.providers,
      wake: {
        messages: (lanes, pair) => this.#dispatch?.wake(lanes, pair),
        deliveries: (lanes) => this.#deliver?.wake(lanes),
        resetDeliveries: async (customerId) => await this.#deliver?.drop(customerId),
        repaired: () => this.#deliver?.repaired(),
        events: (transaction) => eventNotifier.notify(transaction),
        pausedLanes: () => this.#dispatch?.pausedLanes.wake(),
        chores: () => {
          this.#sweep.wake();
          this.#dispatch?.pausedLanes.wake();
        },
      },
    };
    this.#sweep = new Sweep(this.deps);
  }

  #pipeline(): Pipeline {
    return {
      lagMs: () => ({ dispatch: this.#dispatch?.lanes.lagMs() ?? 0, deliver: this.#deliver?.lagMs() ?? 0 }),
      ended: () => (this.#dispatch?.lanes.ended ?? 0) + (this.#deliver?.ended ?? 0),
    };
  }

  /** Continues the work of the last process, starts the providers, then the loops. */
  async start(deliver: DeliverLoop): Promise<void> {
    const { deps } = this;
    await deps.links.load(deps);
    await deps.store.releaseLeases(Number.POSITIVE_INFINITY, deps.clock.now());
    await new QuarantineMonitor(deps).check();
    await holdRestored(deps);
    this.#dispatch = new Dispatch(deps);
    this.#deliver = deliver;
    deps.store.watchReceivers((changes) => deliver.changed(changes));
    const instances = await deps.configCache.instances();
    deps.connections.noteAccounts(deps, instances);
    for (const instance of instances) await deps.connections.connect(deps, instance);
    this.#deliver.start();
    this.#dispatch.start();
    this.#sweep.start();
  }

  /** Starts no more work, and resolves when work in flight has ended. */
  async stop(): Promise<void> {
    this.deps.backPressure.stop();
    await Promise.all([this.#dispatch?.stop(), this.#sweep.stop()]);
    await this.deps.connections.stop(this.deps);
    this.deps.typingIndicators.stop();
    await this.deps.typingContacts.stop(this.deps);
    await this.#deliver?.stop();
  }

  /** Stops waiting for send attempts in flight, so that a stop can end; their outcome is unknown. */
  cutOff(): void {
    this.#dispatch?.cutOff();
  }
}
