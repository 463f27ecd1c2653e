/** Looks up at providers what an address can receive, and caches the answers for a while. */

import type { Channel, FacetimeAvailability, Focus, PhoneCapabilities } from "../../../sdk/wire.ts";
import { Cached } from "../../core/cached.ts";
import { ApiError } from "../../core/error.ts";
import type { CustomerId, InstanceId } from "../../core/id.ts";
import { NotRunningHere } from "../../core/not-running-here.ts";
import type { CustomerNumber } from "../../core/number.ts";
import type { Availability, FocusState } from "../../providers/provider.ts";
import { capabilitiesOf } from "../../providers/registry.ts";
import { findDialogueInstance, hasUsedImessage } from "../../store/contacts.ts";
import { runAction } from "../action.ts";
import type { With } from "../engine-deps.ts";
import { planFrom } from "../routing/route.ts";

/** A positive answer is cached for an hour: people rarely change phones. */
const AVAILABILITY_MS = 3_600_000;
/** A negative answer is cached for five minutes: Apple's first answer is known to be wrong at times. */
const UNAVAILABILITY_MS = 300_000;
/** A focus changes during the day: a minute still protects the provider from repeated requests. */
const FOCUS_MS = 60_000;
/** Most cached answers of each kind. */
const KEPT_MAX = 10_000;

/** A provider's answer: its time (shifted), and whether it came from the cache. */
interface CachedLookup<Value> {
  value: Value;
  at: number;
  cached: boolean;
}

/** Caches answers for a while. Concurrent lookups of one key share one request. */
class LookupCache<Value> {
  readonly #now: () => number;
  readonly #answers: Cached<string, { value: Value; at: number }>;

  constructor(now: () => number, keptMs: (value: Value) => number) {
    this.#now = now;
    this.#answers = new Cached({ max: KEPT_MAX, expiry: { now, keptMs: ({ value }) => keptMs(value) } });
  }

  /**
   * Returns the answer for `key`. If `ask` fails, returns an expired answer; without an expired answer, throws the
   * error of `ask`.
   */
  async get(key: string, ask: () => Promise<Value>): Promise<CachedLookup<Value>> {
    const known = this.#answers.peek(key);
    if (known !== undefined) return { ...known, cached: true };
    try {
      const answer = await this.#answers.get(key, async () => ({ value: await ask(), at: this.#now() }));
      return { ...answer, cached: false };
    } catch (error) {
      const last = this.#answers.last(key);
      if (last === undefined || !(error instanceof ApiError)) throw error;
      return { ...last, cached: true };
    }
  }
}

/** Looks up addresses at providers for customers, through a cache. */
export class AvailabilityLookups {
  readonly #deps: With<"configCache" | "membership" | "providers">;
  readonly #availability: LookupCache<Availability>;
  readonly #focus: LookupCache<FocusState>;

  constructor(deps: With<"configCache" | "membership" | "providers">) {
    this.#deps = deps;
    this.#availability = new LookupCache(
      () => deps.clock.now(),
      ({ imessage }) => (imessage === false ? UNAVAILABILITY_MS : AVAILABILITY_MS),
    );
    this.#focus = new LookupCache(
      () => deps.clock.now(),
      () => FOCUS_MS,
    );
  }

  /**
   * The channels on which `address` can receive messages from the customer's numbers. If no provider knows, earlier
   * messages decide. Focus is included only for contacts with messages in both directions.
   */
  async capabilities(customerId: CustomerId, address: string): Promise<PhoneCapabilities> {
    const deps = this.#deps;
    const numbers = await deps.configCache.numbers(customerId);
    const [reported, state] = await Promise.all([
      orNull(this.#deps, this.#available(customerId, address, numbers)),
      orNull(this.#deps, this.#focused(customerId, address)),
    ]);
    const imessage = reported?.value.imessage ?? (await hasUsedImessage(deps.store.db, customerId, address));
    const plans = await Promise.all(numbers.map((number) => planFrom(deps, number, address)));
    const offers = (channel: Channel) => plans.some((plan) => plan.on(channel).length > 0);
    const sms = offers("sms");
    return {
      phoneNumber: address,
      capabilities: { imessage, sms, facetime: reported?.value.facetime ?? false },
      iMessage: imessage,
      recommendedChannel: imessage && offers("imessage") ? "imessage" : sms ? "sms" : null,
      lastChecked: new Date(reported?.at ?? deps.clock.now()).toISOString(),
      cached: reported?.cached ?? false,
      ...focusOf(state?.value ?? { focused: false }),
    };
  }

  /** Whether `address` is on iMessage, by the provider of one number; null if the provider does not know or does not answer. */
  async imessage(number: CustomerNumber, address: string): Promise<boolean | null> {
    const reported = await orNull(this.#deps, this.#available(number.customerId, address, [number]));
    return reported?.value.imessage ?? null;
  }

  /**
   * Whether `address` takes FaceTime calls; false also if its provider does not know. Throws 400 if no number
   * of the customer is on a provider that supports calls, and the errors of `runAction`.
   */
  async facetime(customerId: CustomerId, address: string): Promise<FacetimeAvailability> {
    const numbers = await this.#deps.configCache.numbers(customerId);
    const { value, cached } = await this.#available(customerId, address, numbers);
    return { phoneNumber: address, available: value.facetime ?? false, cached };
  }

  /**
   * Whether a person has notifications silenced. Throws 404 without messages in both directions, and the errors of
   * `runAction`.
   */
  async focus(customerId: CustomerId, address: string): Promise<Focus> {
    const { value, cached } = await this.#focused(customerId, address);
    return { phoneNumber: address, focusActive: value.focused, ...focusOf(value), cached };
  }

  /** Asks from the default number, else from the first number whose provider supports the lookup. */
  async #available(customerId: CustomerId, address: string, numbers: readonly CustomerNumber[]) {
    const deps = this.#deps;
    // The provider of a number may run in another process, which then asks.
    const able = ({ instanceId, provider }: CustomerNumber) => {
      const running = deps.providers.get(instanceId);
      if (running === undefined) return capabilitiesOf(provider).channels.includes("imessage");
      return running.actions?.availability !== undefined;
    };
    const number = numbers.find(able) ?? numbers[0];
    if (number === undefined) {
      throw new ApiError("NO_DEFAULT_ADDRESS", "This customer has no number to ask from; an admin adds one.");
    }
    const { instanceId } = number;
    return await this.#availability.get(keyOf(customerId, instanceId, address), () =>
      runAction(deps, instanceId, "availability", (ask, abort) => ask(customerId, address, abort)),
    );
  }

  async #focused(customerId: CustomerId, address: string): Promise<CachedLookup<FocusState>> {
    const deps = this.#deps;
    const instanceId = await findDialogueInstance(deps.store.db, customerId, address);
    if (instanceId === null) {
      const message = `Nothing is known of a focus of ${address}: only people show it who have been written to and have written.`;
      throw new ApiError("NOT_FOUND", message);
    }
    return await this.#focus.get(keyOf(customerId, instanceId, address), () =>
      runAction(deps, instanceId, "focus", (ask, abort) => ask(customerId, address, abort)),
    );
  }
}

function focusOf({ focused, focusMode }: FocusState): FocusState {
  return focusMode === undefined ? { focused } : { focused, focusMode };
}

function keyOf(customerId: CustomerId, instanceId: InstanceId, address: string): string {
  return `${customerId} ${instanceId} ${address}`;
}

/** The answer, or null if the lookup was refused. Throws `NotRunningHere` if another process can answer. */
async function orNull<Value>({ membership }: With<"membership">, answer: Promise<Value>): Promise<Value | null> {
  try {
    return await answer;
  } catch (error) {
    const isElsewhere =
      error instanceof NotRunningHere && !membership.isAlone && membership.ownerOf(error.instanceId) !== null;
    if (error instanceof ApiError && !isElsewhere) return null;
    throw error;
  }
}
