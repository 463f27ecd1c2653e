/** The providers of this process, one for each instance: connected at start, again when an instance changed, taken down. */

import type { InstanceId } from "../../core/id.ts";
import type { Instance } from "../../core/instance.ts";
import type { Health, Provider } from "../../providers/provider.ts";
import type { createProvider } from "../../providers/registry.ts";
import { apply } from "../apply.ts";
import type { Context } from "../context.ts";
import { instanceSecretPlace } from "../secret-places.ts";
import { hookUrl } from "./hooks.ts";
import { memoryOf } from "./memory.ts";

/** An instance that said of a hand-over that it is down is left alone for as long as it wished, within these bounds. */
const REST_MS_MIN = 1_000;
const REST_MS_MAX = 60_000;
/** How long a provider may take to say how it is, in real milliseconds; beyond it nobody knows. */
const HEALTH_WITHIN_MS = 2_000;

export class Connections {
  readonly #createProvider: typeof createProvider;
  readonly #providers: Map<InstanceId, Provider>;
  /** Why an instance has no provider, in words for its operator. */
  readonly #problems = new Map<InstanceId, string>();
  /** Until when instances are left alone that said of a hand-over that they are down, by shifted time. */
  readonly #restsUntil = new Map<InstanceId, number>();
  /** What is being done to an instance: one thing after the other. */
  readonly #turns = new Map<InstanceId, Promise<void>>();

  /** `create` makes providers; `providers` are those that run already. */
  constructor(create: typeof createProvider, providers = new Map<InstanceId, Provider>()) {
    this.#createProvider = create;
    this.#providers = providers;
  }

  get providers(): ReadonlyMap<InstanceId, Provider> {
    return this.#providers;
  }

  /** Whether anything can be handed to the instance at present: it runs, and neither says nor has just said that it is down. */
  isUp({ clock }: Pick<Context, "clock">, id: InstanceId): boolean {
    const provider = this.#providers.get(id);
    return provider !== undefined && provider.isUp !== false && (this.#restsUntil.get(id) ?? 0) <= clock.now();
  }

  /** Leaves an instance alone that said of a hand-over that it is down: for `ms`, within bounds, or until it says otherwise. */
  rest({ clock }: Pick<Context, "clock">, id: InstanceId, ms: number): void {
    this.#restsUntil.set(id, clock.now() + Math.min(Math.max(ms, REST_MS_MIN), REST_MS_MAX));
  }

  /** Makes the instance's provider from its settings and starts it, in place of the one it had. Never throws: `health` tells. */
  connect(context: Context, instance: Instance): Promise<void> {
    return this.#inTurn(instance.id, async () => {
      await this.#takeDown(context, instance.id);
      try {
        await this.#make(context, instance);
      } catch (error) {
        this.#problems.set(instance.id, "It could not be started; the log says why.");
        context.observer.fault("provider.start", error);
      }
      this.#changed(context, instance.id);
    });
  }

  /** Stops the instance's provider; what it had in hand ends as its provider ends it. */
  disconnect(context: Context, id: InstanceId): Promise<void> {
    return this.#inTurn(id, async () => {
      await this.#takeDown(context, id);
      this.#changed(context, id);
    });
  }

  /** Stops all of them at once. */
  async stop(context: Context): Promise<void> {
    await Promise.all([...this.#providers.keys()].map((id) => this.disconnect(context, id)));
  }

  /** How an instance is: what its provider says in time, or why it has none. */
  async health(context: Pick<Context, "clock">, id: InstanceId): Promise<Health> {
    const provider = this.#providers.get(id);
    if (provider === undefined) {
      const problem = this.#problems.get(id) ?? "It is not running.";
      return { status: "unhealthy", message: problem, warnings: [problem] };
    }
    let stop = () => {};
    const late = new Promise<Health>((resolve) => {
      const warning = "It did not say how it is within 2 seconds.";
      stop = context.clock.after(HEALTH_WITHIN_MS, () => resolve({ status: "unknown", warnings: [warning] }));
    });
    try {
      return await Promise.race([provider.health(), late]);
    } catch {
      return { status: "unknown", warnings: ["It could not say how it is."] };
    } finally {
      stop();
    }
  }

  async #make(context: Context, instance: Instance): Promise<void> {
    const { id: instanceId } = instance;
    const config = openConfig(context, instance);
    const memory = memoryOf(context.store, instanceId);
    const { clock, observer } = context;
    const provider = this.#createProvider(instance.provider, {
      instanceId,
      memory,
      clock,
      config,
      hookUrl: () => hookUrl(context, instanceId),
      numbers: () => context.known.numbersOn(instanceId),
      changed: () => this.#changed(context, instanceId),
      fault: (error) => observer.fault(`provider.${instance.provider}:${instanceId}`, error),
    });
    try {
      await provider.start((signal) => apply(context, instanceId, signal));
    } catch (error) {
      // What of it had begun would go on beside its successor.
      await provider.stop();
      throw error;
    }
    this.#providers.set(instanceId, provider);
  }

  /** It came up or went down: what waits for it goes on, or goes elsewhere. */
  #changed(context: Context, id: InstanceId): void {
    this.#restsUntil.delete(id);
    context.wake.messages([id]);
    context.wake.outages();
  }

  async #takeDown(context: Context, id: InstanceId): Promise<void> {
    const provider = this.#providers.get(id);
    this.#providers.delete(id);
    this.#problems.delete(id);
    this.#restsUntil.delete(id);
    try {
      await provider?.stop();
    } catch (error) {
      context.observer.fault("provider.stop", error);
    }
  }

  async #inTurn(id: InstanceId, work: () => Promise<void>): Promise<void> {
    const before = this.#turns.get(id) ?? Promise.resolve();
    const turn = before.then(work);
    this.#turns.set(id, turn);
    try {
      await turn;
    } finally {
      if (this.#turns.get(id) === turn) this.#turns.delete(id);
    }
  }
}

/** An instance's settings, secrets in clear. Throws when they were sealed with another key. */
export function openConfig({ sealer }: Pick<Context, "sealer">, instance: Instance): Record<string, unknown> {
  if (instance.config === null) return {};
  return JSON.parse(sealer.open(instance.config, instanceSecretPlace(instance.id))) as Record<string, unknown>;
}
