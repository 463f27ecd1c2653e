/**
 * The providers of this process, one for each instance: connects them at the start and after changes, and stops them.
 */

import { createHash } from "node:crypto";
import type { InstanceId, MessageId } from "../../core/id.ts";
import type { Instance } from "../../core/instance.ts";
import { SerialQueue } from "../../core/serial-queue.ts";
import type { Applied, Health, Provider, SendAttempts, Signal } from "../../providers/provider.ts";
import { accountSettingsOf, type createProvider } from "../../providers/registry.ts";
import type { Sealer } from "../../secrets.ts";
import { CircuitBreaker } from "../breaker.ts";
import type { ConfigCache } from "../config-cache.ts";
import { withDeadline } from "../deadline.ts";
import type { Deps } from "../deps.ts";
import { hookUrl, type Links } from "../links.ts";
import { instanceSecretPlace } from "../secret-places.ts";
import { memoryOf } from "./memory.ts";

/** Time limit for a provider's health, in real milliseconds; after it the status is `unknown`. */
const HEALTH_WITHIN_MS = 2_000;
/** Characters of an account's hash. */
const ACCOUNT_LENGTH = 16;

/** An instance's provider, and the account that its settings name: a hash, equal for instances of one account. */
export interface Connection {
  provider: Provider;
  /** Null if unknown. */
  account: string | null;
}

/** The dependencies of `Connections`. */
interface ConnectionDeps extends Deps {
  readonly sealer: Sealer;
  readonly configCache: ConfigCache;
  readonly links: Links;
  readonly publicUrl: () => string;
}

/** Verbs of the engine that providers reach. */
interface ConnectionPorts {
  /** Applies a signal of an instance; resolves once its effect is on disk. */
  apply(instanceId: InstanceId, signal: Signal): Promise<Applied>;
  /** The send attempts of an instance. */
  attempts(instanceId: InstanceId): SendAttempts;
}

export class Connections {
  readonly #createProvider: typeof createProvider;
  readonly #ports: ConnectionPorts;
  readonly #providers: Map<InstanceId, Provider>;
  /** Why an instance has no provider, in words for its operator. */
  readonly #problems = new Map<InstanceId, string>();
  /** Account of each instance, kept after it stops, so that a duplicate received by its replacement is still recognised. */
  readonly #accounts = new Map<InstanceId, string>();
  readonly #breakers = new Map<InstanceId, CircuitBreaker>();
  /** Connects and disconnects an instance in sequence. */
  readonly #serial = new SerialQueue();

  /** `providers`: providers that already run. */
  constructor(create: typeof createProvider, ports: ConnectionPorts, providers = new Map<InstanceId, Provider>()) {
    this.#createProvider = create;
    this.#ports = ports;
    this.#providers = providers;
  }

  get providers(): ReadonlyMap<InstanceId, Provider> {
    return this.#providers;
  }

  /** The present connection of the instance; null while it does not run. */
  of(id: InstanceId): Connection | null {
    const provider = this.#providers.get(id);
    return provider === undefined ? null : { provider, account: this.#accounts.get(id) ?? null };
  }

  /** Notes the accounts of instances before the first one connects, so that instances of one account share their duplicates. */
  noteAccounts(deps: Pick<ConnectionDeps, "sealer">, instances: readonly Instance[]): void {
    for (const instance of instances) {
      try {
        this.#accounts.set(instance.id, accountOf(instance, openConfig(deps, instance)));
      } catch {
        // Its settings cannot be read, which connecting it reports.
      }
    }
  }

  /** The instance and all others with the same account, present or former: each may have received a signal of the others. */
  withSameAccount(id: InstanceId): InstanceId[] {
    const account = this.#accounts.get(id);
    const others = [...this.#accounts].filter(([other, its]) => its === account && other !== id);
    return [id, ...others.map(([other]) => other)];
  }

  /** The account of the instance; its own id if the account is unknown. */
  accountKey(id: InstanceId): string {
    return this.#accounts.get(id) ?? id;
  }

  /** Whether messages can be sent to the instance at present: it runs, does not report that it is down, and its breaker is not open. */
  isUp({ clock }: Pick<Deps, "clock">, id: InstanceId): boolean {
    const provider = this.#providers.get(id);
    return provider !== undefined && provider.isUp !== false && this.breaker(id).state(clock.now()) !== "open";
  }

  /** Whether a message that waits in the lane of another instance may move to this instance. */
  admits(deps: Pick<Deps, "clock">, id: InstanceId, messageId: MessageId): boolean {
    return this.isUp(deps, id) && this.breaker(id).admits(messageId, deps.clock.now());
  }

  /** The circuit breaker of the instance. */
  breaker(id: InstanceId): CircuitBreaker {
    const breaker = this.#breakers.get(id) ?? new CircuitBreaker();
    this.#breakers.set(id, breaker);
    return breaker;
  }

  /** Opens the instance's breaker for `waitMs`, unless `from` is no longer its provider. */
  reportDown({ clock }: Pick<Deps, "clock">, id: InstanceId, from: Provider, waitMs: number): void {
    if (this.#providers.get(id) === from) this.breaker(id).trip(waitMs, clock.now());
  }

  /** Closes the instance's breaker after it accepted a message, unless `from` is no longer its provider. */
  reportUp(deps: Deps, id: InstanceId, from: Provider): void {
    const isClosed = this.breaker(id).state(deps.clock.now()) === "closed";
    if (!isClosed && this.#providers.get(id) === from) this.#changed(deps, id);
  }

  /**
   * Creates the instance's provider from its settings and starts it, in place of the former provider. Never throws:
   * `health` reports a failure.
   */
  connect(deps: ConnectionDeps, instance: Instance): Promise<void> {
    return this.#serial.run(instance.id, async () => {
      await this.#takeDown(deps, instance.id);
      try {
        await this.#make(deps, instance);
      } catch (error) {
        this.#problems.set(instance.id, "It could not be started; the log says why.");
        deps.observer.fault(`provider.start:${instance.id}`, error);
      }
      this.#changed(deps, instance.id);
    });
  }

  /** Stops the instance's provider, which ends its work in flight. */
  disconnect(deps: ConnectionDeps, id: InstanceId): Promise<void> {
    return this.#serial.run(id, async () => {
      await this.#takeDown(deps, id);
      this.#changed(deps, id);
    });
  }

  /** Stops a deleted instance's provider and removes its setup on the remote side. A failed removal is logged. */
  remove(deps: ConnectionDeps, id: InstanceId): Promise<void> {
    return this.#serial.run(id, async () => {
      try {
        await this.#providers.get(id)?.remove?.();
      } catch (error) {
        deps.observer.fault(`provider.remove:${id}`, error);
      }
      await this.#takeDown(deps, id);
      this.#changed(deps, id);
    });
  }

  /** Stops all providers at once. */
  async stop(deps: ConnectionDeps): Promise<void> {
    await Promise.all([...this.#providers.keys()].map((id) => this.disconnect(deps, id)));
  }

  /** The health of an instance: its provider's report, or why it has no provider or no report in time. */
  async health(deps: Pick<Deps, "clock">, id: InstanceId): Promise<Health> {
    const provider = this.#providers.get(id);
    if (provider === undefined) {
      const problem = this.#problems.get(id) ?? "It is not running.";
      return { status: "unhealthy", message: problem, warnings: [problem] };
    }
    const late: Health = { status: "unknown", warnings: ["It did not report its health within 2 seconds."] };
    try {
      return await withDeadline(deps.clock, new AbortController(), () => provider.health(), late, HEALTH_WITHIN_MS);
    } catch {
      return { status: "unknown", warnings: ["It could not report its health."] };
    }
  }

  async #make(deps: ConnectionDeps, instance: Instance): Promise<void> {
    const { id: instanceId } = instance;
    const config = openConfig(deps, instance);
    const memory = memoryOf(deps.store, instanceId);
    const { clock, observer } = deps;
    const provider = this.#createProvider(instance.provider, {
      instanceId,
      memory,
      attempts: this.#ports.attempts(instanceId),
      clock,
      config,
      hookUrl: () => hookUrl(deps, instanceId),
      numbers: () => deps.configCache.numbersOn(instanceId),
      senders: () => deps.configCache.sendersOver(instanceId),
      changed: () => this.#changed(deps, instanceId),
      fault: (error) => observer.fault(`provider.${instance.provider}:${instanceId}`, error),
    });
    this.#accounts.set(instanceId, accountOf(instance, config));
    try {
      await provider.start((signal) => this.#ports.apply(instanceId, signal));
    } catch (error) {
      // A half-started provider would run beside its successor.
      await provider.stop();
      throw error;
    }
    this.#providers.set(instanceId, provider);
  }

  /** The instance went up or down: waiting messages are sent, or move to other instances. */
  #changed(deps: Deps, id: InstanceId): void {
    this.breaker(id).reset();
    deps.wake.messages([id]);
    deps.wake.pausedLanes();
  }

  async #takeDown(deps: Deps, id: InstanceId): Promise<void> {
    const provider = this.#providers.get(id);
    this.#providers.delete(id);
    this.#problems.delete(id);
    this.#breakers.delete(id);
    try {
      await provider?.stop();
    } catch (error) {
      deps.observer.fault(`provider.stop:${id}`, error);
    }
  }
}

/** A hash of the account in an instance's settings, or of the instance's id without an account. */
function accountOf({ id, provider }: Instance, config: Readonly<Record<string, unknown>>): string {
  const settings = accountSettingsOf(provider);
  const named = settings.length === 0 ? [id] : settings.map((setting) => config[setting] ?? null);
  return createHash("sha256").update(JSON.stringify(named)).digest("base64url").slice(0, ACCOUNT_LENGTH);
}

/** An instance's settings with plain secrets. Throws if they were sealed with another key. */
export function openConfig({ sealer }: Pick<ConnectionDeps, "sealer">, instance: Instance): Record<string, unknown> {
  if (instance.config === null) return {};
  return JSON.parse(sealer.open(instance.config, instanceSecretPlace(instance.id))) as Record<string, unknown>;
}
