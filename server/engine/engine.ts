/** The engine as one thing: its context, its loops and its providers, started and stopped in order. */

import type { Clock } from "../clock.ts";
import type { Link } from "../core/attachment.ts";
import { createIdSource, type InstanceId, type NewId, type Random } from "../core/id.ts";
import type { Provider } from "../providers/provider.ts";
import { createProvider } from "../providers/registry.ts";
import type { Sealer } from "../secrets.ts";
import type { ClaimedDelivery, Store } from "../store/store.ts";
import { apply } from "./apply.ts";
import { openConfig } from "./connect.ts";
import type { Context, EngineSettings } from "./context.ts";
import { createDeliver, type Sender } from "./deliver.ts";
import { Dispatch } from "./dispatch.ts";
import { Feeds } from "./feeds.ts";
import { Known } from "./known.ts";
import type { Lanes } from "./lanes.ts";
import { memoryOf } from "./memory.ts";
import type { Observer } from "./observer.ts";
import { Recent } from "./recent.ts";
import { Sweep } from "./sweep.ts";
import { Threads } from "./threads.ts";

/** What an engine is made of. */
export interface EngineParts {
  store: Store;
  clock: Clock;
  random: Random;
  chance: () => number;
  sealer: Sealer;
  settings: EngineSettings;
  observer: Observer;
  link: Link;
  /** Makes the providers of instances: the registry, unless something else is wanted. */
  createProvider?: typeof createProvider;
}

/** The engine of one process. `context` is what its verbs are called with, before and after `start`. */
export class Engine {
  readonly context: Context;
  readonly #createProvider: typeof createProvider;
  readonly #providers = new Map<InstanceId, Provider>();
  readonly #sweep: Sweep;
  #dispatch: Dispatch | null = null;
  #deliver: Lanes<ClaimedDelivery> | null = null;

  constructor(parts: EngineParts) {
    this.#createProvider = parts.createProvider ?? createProvider;
    const newId: NewId = createIdSource(() => parts.clock.real(), parts.random);
    this.context = {
      ...parts,
      newId,
      known: new Known(parts.store.db),
      recent: new Recent(),
      threads: new Threads(),
      feeds: new Feeds(),
      providers: this.#providers,
      wake: {
        messages: (lanes) => this.#dispatch?.lanes.wake(lanes),
        deliveries: (lanes) => this.#deliver?.wake(lanes),
      },
    };
    this.#sweep = new Sweep(this.context);
  }

  /** Takes up what the last process left, starts the providers, then the loops. */
  async start(sender: Sender): Promise<void> {
    const { context } = this;
    await context.store.release(Number.POSITIVE_INFINITY, context.clock.now());
    for (const instance of await context.known.instances()) {
      const { id: instanceId } = instance;
      const memory = memoryOf(context.store, instanceId);
      const config = openConfig(context, instance);
      const provider = this.#createProvider(instance.provider, { instanceId, memory, clock: context.clock, config });
      if (provider !== null) this.#providers.set(instanceId, provider);
    }
    const concurrency = [...this.#providers.values()].map(({ capabilities }) => capabilities.concurrency);
    this.#dispatch = new Dispatch(context, Math.max(1, ...concurrency));
    this.#deliver = createDeliver(context, sender);
    for (const [id, provider] of this.#providers) await provider.start((signal) => apply(context, id, signal));
    this.#deliver.start();
    this.#dispatch.lanes.start();
    this.#sweep.start();
  }

  /** Takes up nothing more, and resolves when what is in hand has ended. */
  async stop(): Promise<void> {
    await Promise.all([this.#dispatch?.stop(), this.#sweep.stop()]);
    for (const provider of this.#providers.values()) await provider.stop();
    await this.#deliver?.stop();
  }

  /** Waits no longer for open hand-overs, so that a stop under way can end: their outcome is unknown. */
  cutOff(): void {
    this.#dispatch?.cutOff();
  }
}
