/** Creates the engine's dependencies, and starts and stops its loops and providers in order. */

import type { Clock, ClockShift } from "../clock.ts";
import type { LinkBuilder } from "../core/attachment.ts";
import { createIdSource, type NewId, type Random } from "../core/id.ts";
import { type MemberWake, readWake } from "../core/member-wake.ts";
import { SerialQueue } from "../core/serial-queue.ts";
import type { FileFetcher } from "../outgoing/fetch.ts";
import { createProvider } from "../providers/registry.ts";
import type { Sealer } from "../secrets.ts";
import type { ReceiverChange, Store } from "../store/store.ts";
import { apply } from "./apply.ts";
import { ThreadCache } from "./chats/thread-cache.ts";
import { TypingContacts } from "./chats/typing-contacts.ts";
import { TypingIndicators } from "./chats/typing-indicators.ts";
import { ConfigCache } from "./config-cache.ts";
import { type ConfigListeners, ConfigSnapshot } from "./config-snapshot.ts";
import { OptOutCache } from "./contacts/opt-out-cache.ts";
import type { EngineSettings } from "./deps.ts";
import type { EngineDeps } from "./engine-deps.ts";
import { EventNotifier } from "./event-notifier.ts";
import { EventWatch } from "./event-watch.ts";
import { Connections } from "./instances/connections.ts";
import { LagExchange } from "./members/lag-exchange.ts";
import { MemberWakes } from "./members/member-wakes.ts";
import { type Membership, soleMember } from "./members/membership.ts";
import type { SharedMembership } from "./members/shared-membership.ts";
import { WorkLeases } from "./members/work-leases.ts";
import { attemptsOf } from "./messages/attempt-notes.ts";
import { BackPressure, LAG_MS_MAX, type Pipeline } from "./messages/back-pressure.ts";
import { Dispatch } from "./messages/dispatch.ts";
import { holdRestored } from "./messages/held.ts";
import { MessageCache } from "./messages/message-cache.ts";
import type { Observer } from "./observer.ts";
import { QuarantineMonitor } from "./quarantine.ts";
import { rereadClock } from "./sandbox/clock.ts";
import { leftSandboxAt } from "./sandbox/leave-sandbox.ts";
import { SignedLinks } from "./signed-links.ts";
import { Sweep } from "./sweep.ts";
import { AttemptFeed } from "./webhooks/attempt-feed.ts";
import type { DeliverLoop } from "./webhooks/deliver-loop.ts";
import { GoneMarks } from "./webhooks/gone-marks.ts";

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
  keyChanged: EngineDeps["keyChanged"];
  /** Absent: this process is the only one on its database. */
  shared?: SharedMembership;
  /** Wakes the process at a base URL; absent: no other one is woken. */
  sendWake?: (url: string, wake: MemberWake | "all") => Promise<void>;
  /** Creates the providers of instances; the registry by default. */
  createProvider?: typeof createProvider;
}

const ALL_RECEIVERS: readonly ReceiverChange[] = [
  { table: "endpoints", id: null },
  { table: "customers", id: null },
];

/** The engine of one process. `deps` are the dependencies of its verbs, before `start` as well. */
export class Engine {
  readonly deps: EngineDeps;
  readonly #sweep: Sweep;
  readonly #snapshot: ConfigSnapshot;
  readonly #eventWatch: EventWatch;
  readonly #lags: LagExchange;
  readonly #shared: SharedMembership | null;
  readonly #memberWakes: MemberWakes;
  #dispatch: Dispatch | null = null;
  #deliver: DeliverLoop | null = null;
  /** The loops that this process runs; null before they start, and in a process without any. */
  #loops: { dispatch: Dispatch; deliver: DeliverLoop } | null = null;

  constructor(parts: EngineParts) {
    this.#shared = parts.shared ?? null;
    const membership: Membership = parts.shared ?? soleMember();
    const others = new MemberWakes({ membership, send: parts.sendWake ?? (async () => {}) });
    this.#memberWakes = others;
    const connections = new Connections(parts.createProvider ?? createProvider, {
      apply: (instanceId, signal) => apply(this.deps, instanceId, signal),
      attempts: (instanceId, required) => attemptsOf(() => this.deps, instanceId, required),
      membership,
    });
    const threadCache = new ThreadCache();
    const isConfigCurrent = () => this.#snapshot.isCurrent;
    const eventNotifier = new EventNotifier();
    const newId: NewId = createIdSource(() => parts.clock.real(), parts.random);
    this.deps = {
      ...parts,
      newId,
      membership,
      configCache: new ConfigCache(parts.store.db, isConfigCurrent),
      backPressure: new BackPressure(parts, this.#pipeline()),
      messageCache: new MessageCache(),
      threadCache,
      generation: () => threadCache.generation,
      refused: (transaction) => threadCache.dropRequired(transaction),
      typingContacts: new TypingContacts(),
      typingIndicators: new TypingIndicators(),
      optOutCache: new OptOutCache(parts.store.db, { isCurrent: isConfigCurrent }),
      eventNotifier,
      attempted: new AttemptFeed(),
      goneMarks: new GoneMarks(() => this.deps),
      signedLinks: new SignedLinks(),
      serial: new SerialQueue(),
      connections,
      providers: connections.providers,
      wake: {
        messages: (lanes, pair) => {
          this.#loops?.dispatch.wake(lanes, pair);
          others.messages(lanes);
        },
        deliveries: (lanes, atOnce) => {
          this.#loops?.deliver.wake(lanes, atOnce);
          others.deliveries(lanes, atOnce);
        },
        resetDeliveries: async (customerId) => await this.#deliver?.drop(customerId),
        repaired: () => this.#deliver?.repaired(),
        events: (transaction) => {
          eventNotifier.notify(transaction);
          for (const one of transaction) if (one.op === "event") this.deps.observer.emitted(one.event);
        },
        pausedLanes: () => this.#loops?.dispatch.pausedLanes.wake(),
        chores: () => {
          this.#sweep.wake();
          this.#loops?.dispatch.pausedLanes.wake();
        },
      },
    };
    this.#sweep = new Sweep(this.deps);
    this.#snapshot = new ConfigSnapshot(parts, this.#configListeners());
    const accepts = membership.member.role !== "worker";
    this.#lags = new LagExchange({ ...parts, ownLagMs: () => this.#longestLagMs(), lagMsMax: LAG_MS_MAX, accepts });
    this.#eventWatch = new EventWatch(parts, { events: eventNotifier, attempts: this.deps.attempted });
  }

  /** Whether what other processes changed has been dropped here. */
  get isConfigCurrent(): boolean {
    return this.#snapshot.isCurrent;
  }

  /** Drops what another process may have changed, part by part. */
  #configListeners(): ConfigListeners {
    const { deps } = this;
    let knownLeftAt: string | null = null;
    const clear = () => deps.configCache.clear();
    return {
      keys: clear,
      async routing() {
        clear();
        deps.wake.pausedLanes();
        void deps.membership.refresh();
      },
      receivers: async () => await this.#deliver?.changed(ALL_RECEIVERS),
      optOuts: () => deps.optOutCache.clear(),
      threads: () => deps.threadCache.clear(),
      quarantine() {
        deps.store.rechecked();
        deps.wake.repaired();
      },
      async settings() {
        const leftAt = await leftSandboxAt(deps);
        // Leaving resets the clock. Later moves of the clock, which change settings too, stand.
        if (leftAt !== knownLeftAt) await deps.leaveSandbox();
        knownLeftAt = leftAt;
        await rereadClock(deps);
        deps.wake.chores();
      },
    };
  }

  /** The loops of this process. What they cannot take on, other processes may: accepts wait for the slowest. */
  #pipeline(): Pipeline {
    return {
      lagMs: () => {
        const elsewhere = this.#lags.elsewhereMs;
        const { dispatch = 0, deliver = 0 } = this.#ownLagMs();
        return { dispatch: Math.max(dispatch, elsewhere), deliver: Math.max(deliver, elsewhere) };
      },
      ended: () => (this.#loops?.dispatch.lanes.ended ?? 0) + (this.#loops?.deliver.ended ?? 0),
    };
  }

  #longestLagMs(): number {
    return Math.max(0, ...Object.values(this.#ownLagMs()));
  }

  #ownLagMs(): { dispatch?: number; deliver?: number } {
    if (this.#loops === null) return {};
    return { dispatch: this.#loops.dispatch.lanes.lagMs(), deliver: this.#loops.deliver.lagMs() };
  }

  /** Continues the work of the last process, starts the providers, then the loops. A process that is no worker runs none. */
  async start(deliver: DeliverLoop): Promise<void> {
    const { deps } = this;
    const { membership, store } = deps;
    await deps.signedLinks.load(deps);
    // While others live, a lease may be one of theirs.
    if (membership.isAlone) await store.releaseLeases(Number.POSITIVE_INFINITY, deps.clock.now());
    await new QuarantineMonitor(deps).check();
    await holdRestored(deps);
    const dispatch = new Dispatch(deps);
    this.#dispatch = dispatch;
    this.#deliver = deliver;
    store.watchReceivers((changes) => deliver.changed(changes));
    store.watchUncertain(() => {
      deps.configCache.clear();
      deps.optOutCache.clear();
      void deliver.changed(ALL_RECEIVERS);
    });
    await this.#snapshot.start();
    this.#eventWatch.start();
    this.#lags.start();
    const isWorker = membership.member.role !== "api";
    // It owns no lane yet; once it does, nobody else begins anything there.
    if (isWorker) deliver.start();
    if (this.#shared === null) await this.#connectAll();
    else await this.#shared.start(new WorkLeases(deps, { dispatch, deliver }));
    if (isWorker) {
      this.#loops = { dispatch, deliver };
      dispatch.start();
    }
    this.#sweep.start();
  }

  /** Another process has committed work of this one, and says so in the body of its request. */
  woken(text: string): void {
    const wake = readWake(text);
    if (wake === null || this.#loops === null) return;
    const { dispatch, deliver } = this.#loops;
    if (wake === "all") {
      dispatch.lanes.look();
      deliver.look();
      return;
    }
    const { membership } = this.deps;
    dispatch.wake(wake.messages.filter((lane) => membership.servesSince(lane) !== null));
    deliver.wake(
      wake.deliveries.filter((lane) => membership.ownsLane(lane)),
      wake.atOnce,
    );
  }

  async #connectAll(): Promise<void> {
    const { deps } = this;
    const instances = await deps.configCache.instances();
    deps.connections.noteAccounts(deps, instances);
    for (const instance of instances) await deps.connections.connect(deps, instance);
  }

  /** Starts no more work, and resolves when work in flight has ended. */
  async stop(): Promise<void> {
    this.deps.backPressure.stop();
    await Promise.all([this.#snapshot.stop(), this.#eventWatch.stop()]);
    await Promise.all([this.#dispatch?.stop(), this.#sweep.stop()]);
    await this.deps.connections.stop(this.deps);
    await this.#lags.stop();
    this.#memberWakes.stop();
    this.deps.typingIndicators.stop();
    await this.deps.typingContacts.stop(this.deps);
    // Everything of the instances has ended: others may own them at once, and the lanes as their attempts end.
    await Promise.all([this.#shared?.retire(), this.#deliver?.stop()]);
    await this.#shared?.stop();
    await this.deps.goneMarks.stop();
  }

  /** Stops waiting for send attempts in flight, so that a stop can end; their outcome is unknown. */
  cutOff(): void {
    this.#dispatch?.cutOff();
  }
}
