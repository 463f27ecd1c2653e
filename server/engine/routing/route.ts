/** Chooses the instance that a message goes to: by the number's own, by its customer's routes, and by who is up. */

import { CHANNELS, type Channel } from "../../../sdk/wire.ts";
import { isGroupId } from "../../core/chat.ts";
import type { InstanceId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import { move, placeOf } from "../../core/message-routing.ts";
import { type CustomerNumber, channelsOf } from "../../core/number.ts";
import {
  type Candidate,
  type Chosen,
  candidatesOf,
  choose,
  type NameOf,
  type Origin,
  type Way,
  wayOf,
} from "../../core/routing.ts";
import { capabilitiesOf } from "../../providers/registry.ts";
import type { Deps } from "../deps.ts";
import type { EngineDeps, With } from "../engine-deps.ts";

/** Where one message can go, as read once, so that a decision can rest on it. */
export interface RoutePlan {
  /** The instances that can take it on a channel, in order. */
  on(channel: Channel): readonly Candidate[];
  /** What an instance is called, whether or not it can take the message. */
  nameOf: NameOf;
}

/** The plan of what goes from a number to an address. */
export async function planFrom(
  deps: With<"configCache" | "providers">,
  number: CustomerNumber,
  to: string,
): Promise<RoutePlan> {
  const { routes } = await deps.configCache.customer(number.customerId);
  const { address, instanceId } = number;
  const origin = { address, instanceId, channels: offered(deps, number), routes };
  return planOver(origin, to, await namesOf(deps));
}

/** The plan of what is said in a group: it stays on the instance that has the group. */
export async function planInGroup(deps: Pick<EngineDeps, "configCache">, instanceId: InstanceId): Promise<RoutePlan> {
  const nameOf = await namesOf(deps);
  const only = [{ instanceId, name: nameOf(instanceId), because: "this group's instance" }];
  return { on: () => only, nameOf };
}

/** The plan of a message that was accepted. Its number may be its customer's no more: then where it is counts as that. */
export async function planOf(
  deps: With<"configCache" | "providers">,
  { customerId, from, to, instanceId }: Pick<Message, "customerId" | "from" | "to" | "instanceId">,
): Promise<RoutePlan> {
  if (isGroupId(to)) return planInGroup(deps, instanceId);
  const number = (await deps.configCache.numbers(customerId)).find(({ address }) => address === from);
  if (number !== undefined) return planFrom(deps, number, to);
  const instance = await deps.configCache.instance(instanceId);
  const channels = instance === null ? [] : offered(deps, { instanceId, provider: instance.provider });
  const { routes } = await deps.configCache.customer(customerId);
  return planOver({ address: from, instanceId, channels, routes }, to, await namesOf(deps));
}

/** Customers know instances by their names (`GET /v1/numbers`), and not by their ids. */
async function namesOf({ configCache }: Pick<EngineDeps, "configCache">): Promise<NameOf> {
  const instances = await configCache.instances();
  return (id) => instances.find((instance) => instance.id === id)?.name ?? "a deleted instance";
}

/** Channels that a number has to anybody at all: on its own instance, and by its customer's routes. */
export async function reachOf(deps: With<"configCache" | "providers">, number: CustomerNumber): Promise<Channel[]> {
  const own = offered(deps, number);
  const { routes } = await deps.configCache.customer(number.customerId);
  return channelsOf(
    number.address,
    CHANNELS.filter((channel) => own.includes(channel) || (channel === "sms" && routes.length > 0)),
  );
}

/** Channels that are to be had where a number lives: of what such a provider can do, what this one says while it runs. */
export function offered(
  { providers }: Pick<EngineDeps, "providers">,
  { instanceId, provider }: Pick<CustomerNumber, "instanceId" | "provider">,
): readonly Channel[] {
  const { channels } = capabilitiesOf(provider);
  const running = providers.get(instanceId);
  return running === undefined ? channels : channels.filter((one) => running.capabilities.channels.includes(one));
}

/** Who is up, and what time it is. */
type Standing = Pick<EngineDeps, "connections" | "clock">;

/** The instance of `channel` to go to, of those that were not tried. Null: there is none. */
export function chooseOn(
  deps: Standing,
  plan: RoutePlan,
  channel: Channel,
  tried: readonly InstanceId[] = [],
): Chosen | null {
  return choose(plan.on(channel), tried, (id) => deps.connections.isUp(deps, id));
}

/**
 * The way that a message goes which has tried none yet, or begins anew. Null: there is none, or it stays with the instance
 * that sent a part of it.
 */
export function wayNow(deps: Standing, plan: RoutePlan, { channel, sentPart }: Message): Way | null {
  if (sentPart !== null) return null;
  const chosen = chooseOn(deps, plan, channel);
  return chosen === null ? null : wayOf(chosen);
}

/**
 * The message that waits for an instance which is down, on its way to one that admits it, at the place it had. Null: its
 * instance is up, or there is no other, and it waits where it is.
 */
export function moveInstead(
  deps: Standing & Pick<Deps, "settings">,
  plan: RoutePlan,
  message: Message,
): Message | null {
  const { connections, clock, settings } = deps;
  const { id, instanceId, channel, instancesTried } = message;
  if (message.sentPart !== null || connections.isUp(deps, instanceId)) return null;
  const admits = (other: InstanceId) => connections.admits(deps, other, id);
  const instead = choose(plan.on(channel), [...instancesTried, instanceId], admits);
  if (instead?.isUp !== true) return null;
  const now = clock.now();
  const dueAt = placeOf(message, settings.messageTtlMs, now);
  return move({ message, from: plan.nameOf(instanceId), to: wayOf(instead), dueAt }, now);
}

/** A way that a message can go on by. */
export interface Hop {
  channel: Channel;
  chosen: Chosen;
}

/** The next channel that there is an instance for, where fallback is wanted and one is left. Null: there is none. */
export function nextChannel(deps: Standing, plan: RoutePlan, message: Message): Hop | null {
  if (!message.fallback || message.sentPart !== null) return null;
  for (const channel of message.channelsLeft) {
    const chosen = chooseOn(deps, plan, channel);
    if (chosen !== null) return { channel, chosen };
  }
  return null;
}

function planOver(origin: Origin, to: string, nameOf: NameOf): RoutePlan {
  const read = new Map<Channel, readonly Candidate[]>();
  const on = (channel: Channel) => {
    const candidates = read.get(channel) ?? candidatesOf(origin, to, channel, nameOf);
    read.set(channel, candidates);
    return candidates;
  };
  return { on, nameOf };
}
