/**
 * The providers of this process, one for each instance: connects them at the start and after changes, and stops them.
 */

import { createHash } from "node:crypto";
import type { InstanceId, MessageId } from "../../core/id.ts";
import type { Instance } from "../../core/instance.ts";
import { recordOf } from "../../core/loose-json.ts";
import { SerialQueue } from "../../core/serial-queue.ts";
import type { Applied, Health, Provider, SendAttempts, Signal } from "../../providers/provider.ts";
import { accountSettingsOf, type createProvider } from "../../providers/registry.ts";
import type { Sealer } from "../../secrets.ts";
import type { LeaseEpoch } from "../../store/members.ts";
import { findMessage } from "../../store/messages.ts";
import { findProviderReference } from "../../store/send-attempts.ts";
import type { Operation } from "../../store/store.ts";
import { CircuitBreaker } from "../breaker.ts";
import type { ConfigCache } from "../config-cache.ts";
import { optOutWordsAt } from "../contacts/opt-out-words.ts";
import { withDeadline } from "../deadline.ts";
import type { Deps } from "../deps.ts";
import { hasWorker, type Membership, soleMember } from "../members/membership.ts";
import { instanceSecretPlace } from "../secret-places.ts";
import { hookUrl, type SignedLinks } from "../signed-links.ts";
import { LastEvent, storedLastEvent } from "./last-event.ts";
import { memoryOf } from "./memory.ts";

/** Time limit for a provider's health, in real milliseconds; after it the status is `unknown`. */
const HEALTH_WITHIN_MS = 2_000;
const NO_WORKER = "It is not running, since no process sends: start one with TB_ROLE worker or all.";
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
  readonly signedLinks: SignedLinks;
  readonly publicUrl: () => string;
}

/** Verbs of the engine that providers reach. */
interface ConnectionPorts {
  /** Applies a signal of an instance; resolves once its effect is on disk. */
  apply(instanceId: InstanceId, signal: Signal): Promise<Applied>;
  /** The send attempts of an instance; nothing of them is written unless `required` holds. */
  attempts(instanceId: InstanceId, required: readonly Operation[]): SendAttempts;
  /** Which instances this process owns; all of them if absent. */
  membership?: Membership;
}

/** This process does not own the instance any more, and may write nothing for it. */
class NotOwner extends Error {}

export class Connections {
  readonly #createProvider: typeof createProvider;
  readonly #ports: ConnectionPorts;
  readonly #providers: Map<InstanceId, Provider>;
  /** Why an instance has no provider, in words for its operator. */
  readonly #problems = new Map<InstanceId, string>();
  /** Account of each instance, kept after it stops, so that a duplicate received by its replacement is still recognised. */
  readonly #accounts = new Map<InstanceId, string>();
  readonly #breakers = new Map<InstanceId, CircuitBreaker>();
  /** Of each instance that is connected or being connected. */
  readonly #lastEvents = new Map<InstanceId, LastEvent>();
  readonly #membership: Membership;
  /** The lease that each provider was connected under. */
  readonly #epochs = new WeakMap<Provider, LeaseEpoch>();
  /** Providers that are being stopped. */
  readonly #stopping = new Set<InstanceId>();
  /** Outcomes that are being stored with what a provider remembers of them. */
  readonly #storing = new WeakMap<Provider, Set<Promise<unknown>>>();
  /** Connects and disconnects an instance in sequence. */
  readonly #serial = new SerialQueue();

  /** `providers`: providers that already run. */
  constructor(create: typeof createProvider, ports: ConnectionPorts, providers = new Map<InstanceId, Provider>()) {
    this.#createProvider = create;
    this.#ports = ports;
    this.#membership = ports.membership ?? soleMember();
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

  /** Whether the provider of an instance runs or is being stopped in this process. */
  isRunning(id: InstanceId): boolean {
    return this.#providers.has(id) || this.#stopping.has(id);
  }

  /** The operations by which a transaction about a provider's work requires that no other process owns the instance by now. */
  requireOwner(provider: Provider): Operation[] {
    const epoch = this.#epochs.get(provider);
    return epoch === undefined ? [] : [{ op: "requireEpoch", ...epoch }];
  }

  /**
   * Stores an outcome with what the provider remembers of it. A successor of the provider is made after that, and so reads it.
   * Null, and nothing is stored, if the provider is being replaced already.
   */
  storeMemory<Value>(id: InstanceId, provider: Provider, store: () => Promise<Value>): Promise<Value> | null {
    if (this.#providers.get(id) !== provider) return null;
    const storing = this.#storing.get(provider) ?? new Set();
    this.#storing.set(provider, storing);
    const work = store();
    storing.add(work);
    const done = () => void storing.delete(work);
    work.then(done, done);
    return work;
  }

  /**
   * Whether messages can be sent to the instance at present: it runs, does not report that it is down, and its breaker is not open.
   * If another process runs the instance, as its last beat said.
   */
  isUp({ clock }: Pick<Deps, "clock">, id: InstanceId): boolean {
    const provider = this.#providers.get(id);
    if (provider === undefined) return this.#membership.reportOf(id)?.isUp === true;
    return provider.isUp !== false && this.breaker(id).state(clock.now()) !== "open";
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
    const elsewhere = provider === undefined ? this.#membership.reportOf(id) : null;
    if (elsewhere !== null) {
      if (elsewhere.isUp) return { status: "healthy", message: "Another process runs it." };
      const where = this.#membership.ownerOf(id)?.url ?? null;
      const message = `Another process${where === null ? "" : ` (${where})`} runs it: its log and its /health say why.`;
      return { status: "unhealthy", message };
    }
    if (provider === undefined) {
      const idle = hasWorker(this.#membership) ? "It is not running." : NO_WORKER;
      const problem = this.#problems.get(id) ?? idle;
      return { status: "unhealthy", message: problem, warnings: [problem] };
    }
    const late: Health = { status: "unknown", warnings: ["It did not report its health within 2 seconds."] };
    try {
      return await withDeadline(deps.clock, new AbortController(), () => provider.health(), late, HEALTH_WITHIN_MS);
    } catch {
      return { status: "unknown", warnings: ["It could not report its health."] };
    }
  }

  /** When the peer last sent an event to this process, or to one before it, in epoch milliseconds; null if not known here. */
  lastEventHere(id: InstanceId): number | null {
    return this.#lastEvents.get(id)?.at ?? null;
  }

  /** When the peer of an instance last sent an event, whichever process runs the instance; null if there was none yet. */
  async lastEventAt({ store }: Pick<Deps, "store">, id: InstanceId): Promise<number | null> {
    const isHere = this.#lastEvents.has(id);
    const known = isHere ? this.lastEventHere(id) : (this.#membership.reportOf(id)?.lastEventAt ?? null);
    return isHere || known !== null ? known : storedLastEvent(store, id);
  }

  async #make(deps: ConnectionDeps, instance: Instance): Promise<void> {
    const { id: instanceId } = instance;
    const config = openConfig(deps, instance);
    const epoch = this.#membership.epochOf(instanceId);
    const required = epoch === null ? [] : [{ op: "requireEpoch", ...epoch } as const];
    const memory = memoryOf(deps.store, instanceId, required);
    const { clock, observer } = deps;
    const fault = (error: unknown) => observer.fault(`provider.${instance.provider}:${instanceId}`, error);
    const lastEvent = await LastEvent.load(memory, clock, fault);
    this.#lastEvents.set(instanceId, lastEvent);
    const provider = this.#createProvider(instance.provider, {
      instanceId,
      memory,
      attempts: this.#ports.attempts(instanceId, required),
      clock,
      config,
      hookUrl: () => hookUrl(deps, instanceId),
      numbers: () => deps.configCache.numbersOn(instanceId),
      senders: () => deps.configCache.sendersOver(instanceId),
      isNumber: async (address) => (await deps.configCache.numberAt(address)) !== null,
      optOutWordsAt: (address) => optOutWordsAt(deps.configCache, address),
      findSent: (reference) => sentBy(deps.store.db, instanceId, reference),
      mayWrite: () => this.#owns(instanceId, epoch),
      changed: () => this.#changed(deps, instanceId),
      eventReceived: () => lastEvent.note(),
      fault,
    });
    if (epoch !== null) this.#epochs.set(provider, epoch);
    this.#accounts.set(instanceId, accountOf(instance, config));
    try {
      await provider.start((signal) => this.#apply(instanceId, signal));
    } catch (error) {
      // A half-started provider would run beside its successor.
      await provider.stop();
      throw error;
    }
    this.#providers.set(instanceId, provider);
  }

  /**
   * Whether the instance is this process's under the lease that a provider was connected with. Under a later lease, another process
   * may have owned it in between, and have sent what the provider was about to send. Signals are applied under either: some peers never
   * repeat what was refused, and a signal that comes twice changes nothing.
   */
  #owns(instanceId: InstanceId, epoch: LeaseEpoch | null): boolean {
    if (!this.#membership.owns(instanceId)) return false;
    const present = this.#membership.epochOf(instanceId);
    return present?.lease === epoch?.lease && present?.epoch === epoch?.epoch;
  }

  /** Throws if another process may own the instance by now: the provider reports the signal again, or its successor does. */
  async #apply(instanceId: InstanceId, signal: Signal): Promise<Applied> {
    if (!this.#membership.owns(instanceId)) throw new NotOwner(`another process runs ${instanceId} by now`);
    return this.#ports.apply(instanceId, signal);
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
    this.#stopping.add(id);
    try {
      await provider?.stop();
    } catch (error) {
      deps.observer.fault(`provider.stop:${id}`, error);
    }
    if (provider !== undefined) await Promise.allSettled(this.#storing.get(provider) ?? []);
    await this.#lastEvents.get(id)?.stop();
    this.#lastEvents.delete(id);
    this.#stopping.delete(id);
  }
}

/** The addresses of the message that an instance sent under a provider's reference. */
async function sentBy(
  db: Deps["store"]["db"],
  instanceId: InstanceId,
  reference: string,
): Promise<{ from: string; to: string } | null> {
  const found = await findProviderReference(db, instanceId, reference);
  const message = found === null ? null : await findMessage(db, found.messageId as MessageId);
  return message?.direction === "outbound" ? { from: message.from, to: message.to } : null;
}

/** A hash of the account in an instance's settings, or of the instance's id without an account. */
function accountOf({ id, provider }: Instance, config: Readonly<Record<string, unknown>>): string {
  const settings = accountSettingsOf(provider);
  const named = settings.length === 0 ? [id] : settings.map((setting) => config[setting] ?? null);
  return createHash("sha256").update(JSON.stringify(named)).digest("base64url").slice(0, ACCOUNT_LENGTH);
}

/** An instance's settings with plain secrets. Throws if they were sealed with another key, or are no JSON object. */
function openConfig({ sealer }: Pick<ConnectionDeps, "sealer">, instance: Instance): Record<string, unknown> {
  if (instance.config === null) return {};
  const config = recordOf(JSON.parse(sealer.open(instance.config, instanceSecretPlace(instance.id))));
  if (config === null) throw new Error(`the settings of ${instance.id} are no JSON object`);
  return { ...config };
}

/** As `openConfig`, but null if the settings cannot be opened: the instance can still be shown, replaced and deleted. */
export function openConfigOrNull(
  deps: Pick<ConnectionDeps, "sealer">,
  instance: Instance,
): Record<string, unknown> | null {
  try {
    return openConfig(deps, instance);
  } catch {
    return null;
  }
}
